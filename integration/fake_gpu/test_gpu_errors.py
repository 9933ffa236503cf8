"""Errors around a GPU are reported clearly, and the process and the function stay usable."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fake
import numpy as np
import pytest
from exchange import LIBRARIES, array, fake_arrays
from fake import gpu

import tessera as tsr

HERE = Path(__file__).resolve().parent


@tsr.function
def double(x):
    return x + x


@tsr.function
def columns(a, b):
    """Has a temporary as large as a @ b."""
    return tsr.softmax(tsr.matmul(a, b), dim=0)


# -- machines on which no call can work -----------------------------------------------------------

PROGRAM = """
    import sys
    sys.path[:0] = {paths!r}
    from exchange import array
    from fake import gpu
    import tessera as tsr

    @tsr.function(via={via!r})
    def double(x):
        return x + x

    for _ in range(2):
        try:
            double(gpu(8, 64))
        except {error} as error:
            print(error)
    double(array(8, 64))
"""


def message(tmp_path, error="tsr.DeviceError", via="auto", **environment) -> str:
    """The error of the call in another process, twice the same; the CPU still works."""
    program = tmp_path / "program.py"
    paths = [str(HERE), str(HERE.parent / "python")]
    program.write_text(textwrap.dedent(PROGRAM).format(paths=paths, error=error, via=via))
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    half = len(done.stdout) // 2
    assert done.stdout[:half] == done.stdout[half:] and half
    return done.stdout[:half].strip()


def test_no_driver(tmp_path):
    text = message(tmp_path, TESSERA_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert text.startswith("no NVIDIA driver was found: /nowhere/libcuda.so.1")


def test_cuda_turned_off(tmp_path):
    assert "turned off by TESSERA_CUDA_LIBRARY=none" in message(
        tmp_path, TESSERA_CUDA_LIBRARY="none"
    )


def test_an_old_driver(tmp_path):
    text = message(tmp_path, FAKE_CUDA_VERSION="11080")
    assert "too old: it supports CUDA 11.8, expected 12.0 or later" in text


def test_no_gpu(tmp_path):
    assert "shows no GPU to this process" in message(tmp_path, FAKE_CUDA_DEVICES="0")


def test_a_library_that_is_no_driver(tmp_path):
    text = message(tmp_path, TESSERA_CUDA_LIBRARY=str(LIBRARIES / "libtessera_rt.so"))
    assert text.endswith("is not an NVIDIA driver")


def test_a_chip_that_is_not_known(tmp_path):
    text = message(tmp_path, "tsr.CompileError", FAKE_CUDA_CAPABILITY="60")
    assert "target 'sm_60' is not supported, expected" in text and "sm_90" in text


def test_no_assembler(tmp_path):
    text = message(
        tmp_path,
        "tsr.CompileError",
        "tileir",
        TESSERA_TILEIRAS="/nowhere/tileiras",
        TESSERA_CACHE=str(tmp_path / "cache"),
    )
    for part in ("target 'sm_90' is not supported here", "make tileiras", "TESSERA_TILEIRAS"):
        assert part in text


# -- arguments ------------------------------------------------------------------------------------


def test_devices_are_not_mixed():
    @tsr.function
    def add(x, y):
        return x + y

    for other, place in ((array(8), "the cpu"), (np.ones(8, np.float32), "the cpu")):
        with pytest.raises(tsr.ArgumentError, match="argument 'y': expected an array on cuda:0 as"):
            add(gpu(8), other)
        with pytest.raises(
            tsr.ArgumentError, match=f"on {place} as argument 'x', found one on cuda"
        ):
            add(other, gpu(8))
    with pytest.raises(tsr.ArgumentError, match="found one on cuda:1"):
        add(gpu(8), gpu(8, ordinal=1))
    with pytest.raises(tsr.DeviceError, match="no device cuda:7; this process sees 2"):
        add(gpu(8, ordinal=7), gpu(8, ordinal=7))


@pytest.mark.assembles
def test_results_on_another_device():
    x = gpu(8)
    for out in (array(8), gpu(8, ordinal=1)):
        with pytest.raises(tsr.ArgumentError, match="on the device of the arguments, cuda:0"):
            double(x, out=out)


# -- the driver fails -----------------------------------------------------------------------------


@pytest.mark.assembles
def test_no_memory_for_a_temporary():
    small = gpu(256, 64, dtype="fp16"), gpu(64, 256, dtype="fp16")
    columns(*small)
    large = gpu(16384, 64, dtype="fp16"), gpu(64, 16384, dtype="fp16")
    out = gpu(16384, 16384, dtype="fp16")
    for _ in range(2):
        with pytest.raises(tsr.OutOfMemoryError) as raised:
            columns(*large, out=out)
        for part in (
            "'columns' needs 1.0 GiB of temporary memory",
            "out of memory on cuda:0",
            "free",
        ):
            assert part in str(raised.value)
    columns(*small)
    assert tsr.metrics()["device_memory_in_use"] == 0
    assert fake.counts().misuses == 0


@pytest.mark.assembles
def test_no_memory_for_a_result():
    x = gpu(8)
    double(x)
    fake_arrays.set_failing(True)
    try:
        with pytest.raises(tsr.OutOfMemoryError, match=r"a result has the shape \(8,\)"):
            double(x)
    finally:
        fake_arrays.set_failing(False)
    assert double(x).shape == (8,)


@pytest.mark.assembles
def test_a_refused_launch_names_the_kernel():
    x = gpu(8)
    double(x)
    fake.fail_next("cuLaunchKernelEx", 1)
    with pytest.raises(
        tsr.DeviceError, match=r"kernel 'double_0', grid \(1, 1, 1\).*arguments \(0x"
    ):
        double(x)
    assert double(x).shape == (8,)


@pytest.mark.assembles
def test_code_that_cannot_be_loaded():
    @tsr.function
    def triple(x):
        return x + x + x

    fake.fail_next("cuLibraryLoadData", 209)
    with pytest.raises(tsr.DeviceError, match="function 'triple' for sm_90"):
        triple(gpu(8))
    assert triple(gpu(8)).shape == (8,)


@pytest.mark.assembles
def test_a_lost_device(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(HERE), str(HERE.parent / "python")]!r}
        import fake, tessera as tsr
        from exchange import array
        from fake import gpu

        @tsr.function
        def double(x):
            return x + x

        double(gpu(8))
        fake.fail_next("cuLaunchKernelEx", 700)
        for _ in range(2):
            try:
                double(gpu(8))
            except tsr.DeviceError as error:
                print(str(error).splitlines()[0])
        double(array(8))
        """)
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second and "nothing runs on this GPU until the process is restarted" in first
