"""The types that are rejected for a chip are listed in docs/chips.md: every type of the language,
on every chip."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kernels import CHIPS, TOP, features  # noqa: E402

import tessera as tsr  # noqa: E402
from tessera import Tensor  # noqa: E402

# : The language's types; the test below compares them with the page that lists them.
TYPES = (
    "fp64 fp32 tf32 bf16 fp16 fp8_e4m3 fp8_e5m2 fp6_e2m3 fp6_e3m2 fp4_e2m1 int64 int32 int16 int8 uint8 bool"
).split()
CONTRACT = TOP.parent / "shared" / "LANGUAGE.md"


@tsr.function(via="ptx")
def scaled(x):
    return (x.to(tsr.fp32) * 2).to(x.dtype)


@tsr.function(via="ptx")
def product(a, b):
    return a @ b


@tsr.function(via="tileir")
def tiled(x):
    return x * 2


def refused(chip: str, name: str) -> str | None:
    """The message, or nothing if all compiles."""
    dtype = getattr(tsr, name, None)
    if dtype is None:
        return f"there is no tsr.{name}"
    try:
        scaled.inspect_ir("ptx", Tensor[64, 64, dtype], target=chip)
        if name != "bool":  # has no products
            product.inspect_ir("ptx", Tensor[64, 64, dtype], Tensor[64, 64, dtype], target=chip)
    except tsr.TesseraError as error:
        return str(error)
    return None


def lacking(chip: str) -> set[str]:
    return {
        name.removeprefix("tensors of ")
        for name, chips in features().items()
        if name.startswith("tensors of ") and chip not in chips
    }


@pytest.mark.parametrize("chip", CHIPS)
def test_types(chip):
    reported = {name: message for name in TYPES if (message := refused(chip, name))}
    assert set(reported) == lacking(chip), reported


def test_the_types_are_the_language_s():
    if not CONTRACT.exists():
        pytest.skip("unsupported: the language's description is not here")
    listed = re.search(r"^- `(fp64 fp32 [\w\s]+)`", CONTRACT.read_text(), re.MULTILINE)
    assert listed and listed[1].split() == TYPES


@pytest.mark.parametrize("chip", CHIPS)
def test_cuda_tile_ir_backend(chip):
    if chip in features()["tileir"]:
        assert tiled.inspect_ir("tileir", Tensor[64, 64, tsr.fp32], target=chip)
    else:
        with pytest.raises(tsr.CompileError, match="which begins with sm_80"):
            tiled.inspect_ir("tile", Tensor[64, 64, tsr.fp32], target=chip)
