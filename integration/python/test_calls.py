"""Calls: layouts, types, numbers, defaults, out=, other libraries, several results."""

import platform

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor, fp32


@tsr.function
def affine(x, y):
    return x * 2.0 + y


def values(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(dtype)


def same(got, expected):
    assert type(got) is np.ndarray and got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "shape", [(), (1,), (0,), (3,), (17,), (64,), (1000,), (3, 0), (5, 7), (2, 3, 4), (1, 130, 1)]
)
def test_shapes(shape):
    x, y = values(*shape), values(*shape, seed=1)
    same(affine(x, y), x * np.float32(2) + y)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8]
)
def test_types(dtype):
    @tsr.function
    def double(x):
        return x + x

    x = values(37, dtype=dtype)
    same(double(x), x + x)


LAYOUTS = {
    "dense": lambda a: a,
    "fortran": np.asfortranarray,
    "transposed": lambda a: a.T.copy().T,
    "every second row": lambda a: np.repeat(a, 2, 0)[::2],
    "every third column": lambda a: np.repeat(a, 3, 1)[:, ::3],
    "rows backwards": lambda a: a[::-1].copy()[::-1],
    "columns backwards": lambda a: a[:, ::-1].copy()[:, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "read-only": lambda a: _read_only(a),
    "not aligned": lambda a: _misaligned(a),
}


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _misaligned(a):
    raw = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    raw[...] = a
    return raw


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_layouts(first, second):
    x, y = LAYOUTS[first](values(12, 18)), LAYOUTS[second](values(12, 18, seed=1))
    same(affine(x, y), x * np.float32(2) + y)


def test_numbers_are_run_time_values():
    @tsr.function
    def scale(x, a: float, n: int):
        return x * a + n

    x = values(20)
    for a, n in [(0.5, 3), (2, -1), (np.float64(4.0), np.int32(7))]:
        same(scale(x, a, n), x * np.float32(a) + np.float32(n))
    assert len(scale.specializations()) == 1


def test_defaults_and_keywords():
    @tsr.function
    def shift(x, a: float = 2.0, b: float = 1.0):
        return x * a + b

    x = values(20)
    same(shift(x), x * np.float32(2) + np.float32(1))
    same(shift(x, 3.0), x * np.float32(3) + np.float32(1))
    same(shift(x, b=5.0), x * np.float32(2) + np.float32(5))
    same(shift(b=5.0, a=4.0, x=x), x * np.float32(4) + np.float32(5))


def test_several_results():
    @tsr.function
    def both(x):
        return x + 1.0, x * 2.0

    @tsr.function
    def one(x):
        return (x + 1.0,)

    x = values(33)
    result = both(x)
    assert type(result) is tuple and len(result) == 2
    same(result[0], x + np.float32(1))
    same(result[1], x * np.float32(2))
    result = one(x)
    assert type(result) is tuple and len(result) == 1
    same(result[0], x + np.float32(1))


def test_results_that_are_one_value():
    @tsr.function
    def twice(x):
        y = x + 1.0
        return y, y

    @tsr.function
    def given(x):
        return x

    @tsr.function
    def given_twice(x):
        return x, x.T, x

    @tsr.function
    def nothing_computed(x):
        return tsr.zeros((2, 3)), tsr.ones(x.shape)

    x = values(5, 7)
    for result in twice(x):
        same(result, x + np.float32(1))
    same(given(x), x)
    assert not np.shares_memory(given(x), x)
    first, second, third = given_twice(x)
    same(first, x)
    same(second, x.T)
    same(third, x)
    zeros, ones = nothing_computed(x)
    same(zeros, np.zeros((2, 3), np.float32))
    same(ones, np.ones((5, 7), np.float32))


def test_out():
    x, y = values(6, 8), values(6, 8, seed=1)
    expected = x * np.float32(2) + y
    out = np.full((6, 8), np.nan, np.float32)
    assert affine(x, y, out=out) is out
    same(out, expected)
    strided = np.full((12, 16), np.nan, np.float32)
    affine(x, y, out=strided[::2, ::2])
    same(strided[::2, ::2].copy(), expected)
    assert np.isnan(strided[1::2]).all()
    in_place = x.copy()
    affine(in_place, y, out=in_place)
    same(in_place, expected)


def test_out_of_several():
    @tsr.function
    def both(x):
        return x + 1.0, x * 2.0

    x = values(10)
    outs = np.empty(10, np.float32), np.empty(10, np.float32)
    result = both(x, out=outs)
    assert result[0] is outs[0] and result[1] is outs[1]
    same(outs[0], x + np.float32(1))
    same(outs[1], x * np.float32(2))
    with pytest.raises(tsr.ArgumentError, match="out"):
        both(x, out=outs[0])
    with pytest.raises(tsr.ArgumentError, match=r"out\[1\]: it overlaps another array of out"):
        both(x, out=(outs[0], outs[0]))


@pytest.mark.parametrize(
    "out, message",
    [
        (np.empty(9, np.float32), r"out: expected fp32\[10\], found fp32\[9\]"),
        (np.empty(10, np.float64), r"out: expected fp32\[10\], found fp64\[10\]"),
        (_read_only(np.empty(10, np.float32)), "out: expected an array that can be written"),
    ],
)
def test_wrong_out(out, message):
    with pytest.raises(tsr.ArgumentError, match=message):
        affine(values(10), values(10), out=out)


def test_out_without_elements():
    empty = np.empty((3, 0, 2), np.float32)  # the first stride is 0
    assert affine(empty, empty, out=empty) is empty


def test_partial_overlap_is_an_error():
    buffer = np.zeros(20, np.float32)
    with pytest.raises(tsr.ArgumentError, match="overlaps an argument partly"):
        affine(buffer[:10], buffer[:10], out=buffer[5:15])


def test_sizes_that_disagree():
    @tsr.function
    def named(x: Tensor["N"], y: Tensor["N"]):
        return x + y

    same(named(values(8), values(8)), values(8) * np.float32(2))
    for _ in range(2):
        with pytest.raises(tsr.ArgumentError, match="'y'.*8.*9|'y'.*9.*8"):
            named(values(8), values(9))
    same(named(values(8), values(8)), values(8) * np.float32(2))


def test_arrays_too_large():
    huge = np.broadcast_to(np.float32(1), (1 << 40,))
    with pytest.raises(MemoryError, match="out of memory"):
        affine(huge, huge)
    same(affine(values(3), values(3)), values(3) * np.float32(3))


def test_large_results_begin_at_a_cache_line():
    @tsr.function
    def twice(x):
        return x + x

    for dtype in ("float32", "float16", "int8"):
        results = [twice(np.ones((n, 257), dtype)) for n in (1, 300, 301, 2000)]
        assert all(r.flags.c_contiguous and r.flags.writeable for r in results)
        assert all(r.ctypes.data % 64 == 0 for r in results if r.nbytes >= 1 << 16)


def test_bf16_through_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x, y = values(50).astype(ml_dtypes.bfloat16), values(50, seed=1).astype(ml_dtypes.bfloat16)
    result = affine(x, y)
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(
        result.astype(np.float32), x.astype(np.float32) * 2 + y.astype(np.float32)
    )


def test_types_of_other_packages_need_no_python_code(monkeypatch):
    """The first call compiles; further ones read and create such arrays like NumPy's own."""

    @tsr.function
    def twice(x):
        return x + x

    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        for shape in ((6, 8), (300, 400)):
            x = (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)
            part = x[::-2, ::3]
            twice(x), twice(part)
            with monkeypatch.context() as patch:
                patch.setattr("tessera.arrays.NumPyLibrary.specification", None)
                for one in (x, part):
                    result = twice(one)
                    assert result.dtype == dtype and result.flags.writeable
                    np.testing.assert_array_equal(
                        result.astype(np.float32), 2 * one.astype(np.float32)
                    )


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    x, y = torch.arange(24.0).reshape(4, 6), torch.ones(6, 4).T
    result = affine(x, y)
    assert type(result) is torch.Tensor
    assert torch.equal(result, x * 2 + y)
    out = torch.empty(4, 6)
    assert affine(x, y, out=out) is out
    assert torch.equal(out, x * 2 + y)
    assert affine(x.to(torch.bfloat16), y.to(torch.bfloat16)).dtype is torch.bfloat16


class ThroughDLPack:
    """An array of an unknown library."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.device, 0


def test_dlpack():
    x = values(9)
    same(affine(ThroughDLPack(x), x), x * np.float32(3))
    with pytest.raises(tsr.DeviceError, match="argument 'x': memory of cuda:0 cannot be used"):
        affine(ThroughDLPack(x, device=2), x)


def test_compile_ahead(tmp_path):
    compiled = affine.compile(Tensor[128, fp32], Tensor[128, fp32])
    x, y = values(128), values(128, seed=1)
    same(compiled(x, y), x * np.float32(2) + y)
    assert isinstance(compiled.report(), dict)
    assert "tile" in compiled.inspect_ir("tile")
    with pytest.raises(tsr.ArgumentError, match="not of the class that was compiled"):
        compiled(x[:100], y[:100])
    compiled.save(tmp_path / "affine.tsb")
    loaded = tsr.load(tmp_path / "affine.tsb")
    same(loaded.affine(x, y), x * np.float32(2) + y)
    assert dir(loaded) == ["affine", "manifest"]
    with pytest.raises(AttributeError, match="has no function 'other'; it has affine"):
        loaded.other


def test_compile_for_sizes_that_are_not_known():
    compiled = affine.compile(Tensor["N", fp32], Tensor["N", fp32])
    for n in (2, 37, 128, 1000):
        same(compiled(values(n), values(n)), values(n) * np.float32(3))


def test_compile_for_another_machine(tmp_path):
    foreign = "x86_64:avx2,fma" if platform.machine() == "aarch64" else "aarch64:neon"
    compiled = affine.compile(Tensor[128, fp32], Tensor[128, fp32], target=foreign)
    assert compiled.inspect_ir("asm")
    compiled.save(tmp_path / "foreign.tsb")
    for call in (
        lambda: compiled(values(128), values(128)),
        lambda: tsr.load(tmp_path / "foreign.tsb"),
    ):
        with pytest.raises(tsr.DeviceError, match="no code for this machine: the code is for"):
            call()
    with pytest.raises(tsr.CompileError, match="target 'z80' is not supported"):
        affine.compile(Tensor[128, fp32], Tensor[128, fp32], target="z80")


@pytest.mark.parametrize("stage", ["graph", "sched", "tile", "target", "llvm", "asm"])
def test_inspect(stage):
    x = values(16)
    affine(x, x)
    assert affine.inspect_ir(stage)
    assert affine.inspect_ir(stage, x, x)
    assert affine.inspect_ir(stage, Tensor[16, fp32], Tensor[16, fp32])


def test_reference():
    x, y = values(10), values(10, seed=1)
    got = affine.reference(x, y)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, x.astype(np.float64) * 2 + y)
    detailed = affine.reference(x, y, bounds=True)
    assert detailed.dtype is fp32 and detailed.bound.shape == (10,) and not detailed.excluded.any()
    assert (np.abs(affine(x, y) - detailed.value) <= detailed.bound).all()


def test_compile_errors_leave_the_function_usable():
    @tsr.function
    def branch(x):
        if x > 0:
            return x
        return -x

    for _ in range(2):
        with pytest.raises(tsr.CompileError) as caught:
            branch(values(3))
        error = caught.value.diagnostics[0]
        assert error.severity == "error" and error.file == __file__
        assert open(__file__).read().splitlines()[error.line - 1].strip().startswith("if x > 0")
        assert "where" in str(caught.value)
