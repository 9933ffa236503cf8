"""The GPU check's bundles: created with NVIDIA's assembler, loaded as far as possible without a
GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from build import ROWS, TOP, compile_row, copy_scripts

import tessera as tsr

installed = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ
assembles = pytest.mark.skipif(not installed, reason="tileiras is not installed")
QUICK = [row for row in ROWS if not row.flops]


class OnGpu:
    """An array of fp32 that claims to be on a GPU."""

    def __init__(self, shape: tuple[int, ...], address: int = 0x7F0000000000):
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": "<f4",
            "strides": None,
            "version": 3,
        }


@assembles
@pytest.mark.parametrize("row", QUICK, ids=lambda row: row.name)
def test_makes_bundle(row, tmp_path):
    assert compile_row(row, tmp_path, "sm_90:tileir,x86_64") is None
    data = (tmp_path / row.bundle).read_bytes()
    assert data[:4] == b"TSRB" and b"sm_90:tileir,x86_64" in data


@assembles
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a GPU")
def test_says_why_it_cannot_run(tmp_path):
    assert compile_row(QUICK[1], tmp_path, "sm_90") is None
    with pytest.raises(tsr.DeviceError, match="no code for this machine: the code is for sm_90"):
        tsr.load(tmp_path / QUICK[1].bundle)


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a GPU")
def test_folder_is_whole(tmp_path):
    copy_scripts(tmp_path, TOP / "build")
    assert not (tmp_path / "tessera/libtessera.so").exists()
    alone = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, str(tmp_path / "check.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=alone)
    assert done.returncode == 0 and "unsupported" in done.stdout, done.stderr
    (tmp_path / "tessera/errors.py").unlink()
    done = subprocess.run(command, capture_output=True, text=True, env=alone)
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr


def test_mixed_devices(tmp_path):
    @tsr.function
    def double(x):
        return x + x

    double.compile(tsr.Tensor[64, tsr.fp32]).save(tmp_path / "double.tsb")
    double_ahead = tsr.load(tmp_path / "double.tsb").double
    x = np.ones(64, np.float32)
    assert (double_ahead(x) == 2).all()
    with pytest.raises(tsr.ArgumentError, match="on the device of the arguments"):
        double_ahead(x, out=OnGpu((64,)))
    if not os.path.exists("/dev/nvidiactl"):
        with pytest.raises(tsr.DeviceError, match="no NVIDIA driver was found"):
            double(OnGpu((64,)))
