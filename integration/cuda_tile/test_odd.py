"""Extreme sizes and layouts, assembled by NVIDIA's tileiras for sm_90.

More elements than 32 bits can count, negative strides, eight dimensions, no elements, rows longer
than any block.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = """import tessera as tsr

@tsr.function
def add(x, y):
    return x + y

@tsr.function
def statistics(x):
    return x.sum(), tsr.amax(x, dim=-1), (x > 0).any(dim=0)

@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)

@tsr.function
def product(x, y):
    return x @ y

@tsr.function
def eight(x, y):
    return (x.transpose(0, 7) * y).sum(dim=(1, 3, 5)), x.permute(7, 6, 5, 4, 3, 2, 1, 0)

@tsr.function
def parts(x, y, c):
    s = tsr.concat([c, x])
    return (tsr.softmax(s, dim=-1)[c.shape[0]:] * y).sum(), tsr.logsumexp(s, dim=-1)
"""

#: function and arguments; steps follow a size: 77:-2 is every second element, backwards.
CASES = {
    "large_sum": ("add", "x=fp32[70000,70000]", "y=fp32[70000,70000]"),
    "large_rows": ("softmax", "x=bf16[70000,70000]"),
    "large_product": ("product", "x=bf16[65536,65536]", "y=bf16[65536,65536]"),
    "backwards": ("add", "x=fp32[1000:-1,77:-1]", "y=fp32[1000,77]"),
    "backwards_rows": ("softmax", "x=fp32[1000:-1,77:-2]"),
    "backwards_product": ("product", "x=bf16[100:-1,64:-1]", "y=bf16[64:-1,96:2]"),
    "eight_dimensions": ("eight", "x=fp32[3,2,3,2,3,2,3,5]", "y=fp32[5,2,3,2,3,2,3,3]"),
    "nothing": ("add", "x=fp32[0]", "y=fp32[0]"),
    "nothing_in_rows": ("softmax", "x=fp32[7,0]"),
    "no_rows": ("softmax", "x=bf16[0,7]"),
    "sum_of_nothing": ("product", "x=bf16[3,0]", "y=bf16[0,4]"),
    "product_without_rows": ("product", "x=fp32[0,3]", "y=fp32[3,4]"),
    "one_element": ("statistics", "x=int8[1,1]"),
    "long_rows": ("softmax", "x=fp32[64,100000]"),
    "longer_than_a_block": ("softmax", "x=bf16[8,16385]"),
    "few_long_rows": ("statistics", "x=fp32[4,10000000]"),
    "odd_number_of_parts": ("parts", "x=fp32[300000]", "y=fp32[300000]", "c=fp32[5]"),
}

installed = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ


def compile_case(name: str, folder: Path, stage: str) -> bytes:
    function, *arguments = CASES[name]
    program, out = folder / "program.py", folder / "out"
    program.write_text(PROGRAM)
    command = [
        TOP / "build/bin/tessera",
        "compile",
        f"{program}::{function}",
        "--target",
        "sm_90",
        "--emit",
        stage,
    ]
    command += [word for argument in arguments for word in ("--arg", argument)]
    done = subprocess.run([*map(str, command), "-o", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.skipif(not installed, reason="tileiras is not installed")
@pytest.mark.parametrize("name", CASES)
def test_assembles(name: str, tmp_path: Path) -> None:
    assert compile_case(name, tmp_path, "cubin").startswith(b"\x7fELF")


@pytest.mark.parametrize("name", ["large_sum", "large_rows", "large_product"])
def test_large_tensors_are_indexed_by_64_bits(name: str, tmp_path: Path) -> None:
    text = compile_case(name, tmp_path, "tileir")
    assert set(re.findall(rb"tile<ptr<\w+>>, %\d+: tile<(\w+)>", text)) == {
        b"i64"
    }  # sizes after an address


def test_others_are_indexed_by_32_bits(tmp_path: Path) -> None:
    text = compile_case("long_rows", tmp_path, "tileir")
    assert set(re.findall(rb"tile<ptr<\w+>>, %\d+: tile<(\w+)>", text)) == {b"i32"}
