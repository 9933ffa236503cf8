"""Functions called with GPU arrays: compiled for the GPU, and launched on its streams."""

import fake
import pytest
from exchange import array, fake_arrays
from fake import gpu

import tessera as tsr
from tessera import Tensor, fp32

pytestmark = pytest.mark.assembles


def make():
    @tsr.function
    def scaled(x, y, factor: float):
        return x * factor + y

    return scaled


def test_a_call_compiles_for_the_gpu_and_launches():
    scaled = make()
    x, y = gpu(100, 64), gpu(100, 64)
    before = fake.launches()
    result = scaled(x, y, 0.5)
    assert type(result) is fake_arrays.Array and result.shape == (100, 64)
    assert fake.launches() == before + 1
    (made,) = scaled.specializations()
    assert made.unit.target == "sm_90" and "for sm_90: first call" in repr(made)
    arguments = fake.last_launch()[1]
    assert {x.address, y.address, result.address} <= set(arguments)


def test_sizes_of_one_class_share_the_code():
    scaled = make()
    for rows in (100, 101, 127, 65, 100):
        scaled(gpu(rows, 64), gpu(rows, 64), 0.5)
    assert len(scaled.specializations()) == 1
    scaled(gpu(300, 64), gpu(300, 64), 0.5)
    assert [one.reason for one in scaled.specializations()] == [
        "first call",
        "argument 'x': dimension 0 is of another size class",
    ]


def test_the_stream_is_the_librarys_or_the_given_one():
    scaled = make()
    x, y, out = gpu(10, 64), gpu(10, 64), gpu(10, 64)
    theirs, ours = fake.new_stream(), fake.new_stream()
    try:
        fake_arrays.set_stream(theirs)
        for _ in range(2):  # the slow path, then the fast one
            assert scaled(x, y, 0.5, out=out) is out
            assert fake.last_launch()[0] == theirs
            assert scaled(x, y, 0.5, out=out, stream=ours) is out
            assert fake.last_launch()[0] == ours
            scaled(x, y, 0.5, stream=ours)
            assert fake.last_launch()[0] == ours

        class Stream:
            def __cuda_stream__(self):
                return 0, ours

        scaled(x, y, 0.5, out=out, stream=Stream())
        assert fake.last_launch()[0] == ours
        with pytest.raises(tsr.ArgumentError, match="stream: expected a stream of PyTorch"):
            scaled(x, y, 0.5, stream="0")
    finally:
        fake_arrays.set_stream(0)
    with pytest.raises(tsr.DeviceError, match="stream= is for CUDA arrays"):
        scaled(array(10, 64), array(10, 64), 0.5, stream=ours)


def test_one_function_on_the_cpu_and_on_two_gpus():
    scaled = make()
    scaled(array(10, 64), array(10, 64), 0.5)
    scaled(gpu(10, 64), gpu(10, 64), 0.5)
    scaled(gpu(10, 64, ordinal=1), gpu(10, 64, ordinal=1), 0.5)
    before = fake.launches()
    scaled(array(10, 64), array(10, 64), 0.5)
    assert fake.launches() == before
    made = scaled.specializations()
    assert [one.unit.target for one in made] == ["cpu", "sm_90", "sm_90"]
    assert [one.reason for one in made[1:]] == ["the arrays are on another device"] * 2
    assert made[1].unit.options == made[2].unit.options and made[2].cached


def test_results_that_are_given():
    scaled = make()
    x, y = gpu(10, 64), gpu(10, 64)
    scaled(x, y, 0.5)
    out = gpu(10, 64)
    made = fake_arrays.allocations()
    assert scaled(x, y, 0.5, out=out) is out
    assert out.address in fake.last_launch()[1] and fake_arrays.allocations() == made
    # In place, and where kernels cannot write: through new memory and a copy on the stream.
    for target in (x, gpu(10, 64, offset=4)):
        copies = tsr.metrics()["copies"]
        assert scaled(x, y, 0.5, out=target) is target
        assert target.address not in fake.last_launch()[1] or target is x
        assert tsr.metrics()["copies"] == copies + 1
    with pytest.raises(tsr.DeviceError, match="out: expected a dense array"):
        scaled(x, y, 0.5, out=gpu(10, 64, strides=(128, 2)))


def test_addresses_that_are_not_aligned():
    scaled = make()
    x, y = gpu(10, 64), gpu(10, 64)
    scaled(x, y, 0.5)
    shifted = gpu(10, 64, offset=4)
    for _ in range(2):
        scaled(shifted, y, 0.5)
        assert shifted.address in fake.last_launch()[1]
    scaled(x, y, 0.5)
    assert [one.reason for one in scaled.specializations()] == [
        "first call",
        "an address is no multiple of 16 bytes",
    ]
    with pytest.raises(tsr.ArgumentError, match="multiple of the element's size, found 0x"):
        scaled(gpu(10, 64, offset=2), y, 0.5)


def test_more_elements_than_32_bits_count():
    @tsr.function
    def total(x):
        return tsr.sum(x, dim=-1)

    total(gpu(20, 1 << 20, strides=(64, 0)))
    x = gpu(20, 1 << 20, strides=(1 << 28, 0))
    for _ in range(2):
        before = fake.launches()
        total(x)
        assert fake.launches() > before
    assert [one.reason for one in total.specializations()] == [
        "first call",
        "a tensor reaches over more than 2^31 elements",
    ]


def test_results_with_more_elements_than_32_bits_count():
    @tsr.function
    def outer(x, y):
        return x[:, None] * y[None, :]

    assert outer(gpu(1000), gpu(2000000)).shape == (1000, 2000000)
    for _ in range(2):
        assert outer(gpu(1000), gpu(2560000)).shape == (1000, 2560000)
    assert outer(gpu(1000), gpu(2000000)).shape == (1000, 2000000)
    assert [one.reason for one in outer.specializations()] == [
        "first call",
        "a tensor reaches over more than 2^31 elements",
    ]


def test_negative_strides():
    scaled = make()
    x = gpu(10, 64, strides=(-64, -1))
    scaled(x, gpu(10, 64), 0.5)
    assert x.address in fake.last_launch()[1]


def test_ahead_of_time(tmp_path):
    scaled = make()
    compiled = scaled.compile(Tensor["M", 64, fp32], Tensor["M", 64, fp32], 0.5, target="sm_90")
    x, y, out = gpu(10, 64), gpu(10, 64), gpu(10, 64)
    for _ in range(3):
        assert compiled(x, y, 0.5, out=out) is out
    with pytest.raises(tsr.ArgumentError, match="not of the class that was compiled"):
        compiled(gpu(10, 32), gpu(10, 32), 0.5)
    with pytest.raises(
        tsr.DeviceError, match="compiled for target 'sm_90', the arrays are on the cpu"
    ):
        compiled(array(10, 64), array(10, 64), 0.5)
    compiled.save(tmp_path / "scaled.tsb")
    loaded = tsr.load(tmp_path / "scaled.tsb").scaled
    before = fake.launches()
    for _ in range(3):
        assert loaded(x, y, 0.5, out=out) is out
        assert type(loaded(x, y, 0.5)) is fake_arrays.Array
    assert fake.launches() == before + 6
    with pytest.raises(tsr.ArgumentError, match="expected arguments by position"):
        loaded(x, y, factor=0.5)


def test_targets_and_stages():
    scaled = make()
    types = Tensor[128, 64, fp32], Tensor[128, 64, fp32], 0.5
    for target in ("sm_90", "sm_90a", "cuda"):
        text = scaled.inspect_ir("target", *types, target=target)
        assert 'cpu "sm_90"' in text and 'format "ptx"' in text
    assert "cuda_tile.module" in scaled.inspect_ir("tileir", *types, target="sm_80")
    scaled(gpu(10, 64), gpu(10, 64), 0.5)
    assert "cuda_tile.module" in scaled.inspect_ir("tileir")
    with pytest.raises(tsr.CompileError, match="'asm' does not exist for target 'sm_90'"):
        scaled.inspect_ir("asm")


@pytest.mark.assembles
def test_backends():
    made = make().compile(Tensor[8, fp32], Tensor[8, fp32], 0.5, target="sm_90", via="tileir")
    assert made.report()["backend"] == "tileir"
    with pytest.raises(tsr.CompileError, match="'sm_90:ptx' is not supported via 'tileir'"):
        make().compile(Tensor[8, fp32], Tensor[8, fp32], 0.5, target="sm_90:ptx", via="tileir")
    with pytest.raises(tsr.CompileError, match="'sm_75' is not supported via 'tileir'.*via 'ptx'"):
        make().compile(Tensor[8, fp32], Tensor[8, fp32], 0.5, target="sm_75", via="tileir")


def test_targets_that_cannot_run():
    @tsr.function(target="cpu")
    def double(x):
        return x + x

    with pytest.raises(tsr.DeviceError, match="arrays on cuda:0 run on target 'sm_90'"):
        double(gpu(8))

    @tsr.function(target="sm_80")
    def triple(x):
        return x + x + x

    with pytest.raises(tsr.DeviceError, match="sm_80"):
        triple(gpu(8))
    with pytest.raises(tsr.DeviceError, match="arrays on the cpu run on target 'cpu'"):
        triple(array(8))
