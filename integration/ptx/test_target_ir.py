"""Per-thread kernels written by hand: what a chip has is assembled, what it lacks is refused, as docs/chips.md says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kernels import CHIPS, OPERATIONS, features, module, products  # noqa: E402
from assemblers import assembler  # noqa: E402

from tessera.targets import chips  # noqa: E402

TESSERA = Path(__file__).resolve().parents[2] / "build" / "bin" / "tessera"


@pytest.fixture(params=["ptx", "cubin"])
def stage(request, chip):
    if request.param == "cubin" and not assembler(chip):
        pytest.skip(f"unsupported: ptxas for {chip} is not installed")
    return request.param


def compile(
    tmp_path: Path, chip: str, text: str, stage: str = "ptx"
) -> subprocess.CompletedProcess:
    file = tmp_path / "kernel.mlir"
    file.write_text(text)
    command = [TESSERA, "compile", file, "--target", chip, "--emit", stage, "-o", tmp_path / "out"]
    environment = {**os.environ, "TESSERA_PTXAS": str(assembler(chip))}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def check(tmp_path: Path, chip: str, text: str, stage: str, has: bool, feature: str) -> None:
    done = compile(tmp_path, chip, text, stage)
    if has:
        assert done.returncode == 0, done.stderr
    else:
        assert (
            done.returncode == 1
            and f"but the module is for {chip}" in done.stderr
            and feature in done.stderr
        )


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("feature", OPERATIONS)
def test_operations(feature, chip, stage, tmp_path):
    having = features()[feature] if feature else set(CHIPS)
    check(tmp_path, chip, module(chip, OPERATIONS[feature]), stage, chip in having, feature)


@pytest.mark.parametrize("chip", CHIPS)
def test_products(chip, stage, tmp_path):
    """Every shape and type of tensor cores."""
    having = [product for product in products() if chip in product.chips]
    lacking = [product for product in products() if chip not in product.chips]
    check(tmp_path, chip, module(chip, *(product.body() for product in having)), stage, True, "")
    for product in lacking if stage == "ptx" else []:
        check(tmp_path, chip, module(chip, product.body()), "ptx", False, "mma")


@pytest.mark.parametrize("chip", CHIPS)
def test_limits(chip, tmp_path):
    """As much as the chip has is taken, one more is not."""
    limits = chips()[chip]["limits"]
    shared, cluster = limits["shared_bytes_per_cta"], limits["ctas_per_cluster"]
    for config, message in [
        (f"block = [1024], shared = {shared}, regs = 64", ""),
        (f"block = [256], cluster = [{cluster}], regs = 255", ""),
        (f"block = [32], shared = {shared + 1}", f"a CTA of {chip} has {shared}"),
        (f"block = [32], cluster = [{2 * cluster}]", "cluster of"),
        ("block = [1024], regs = 72", f"an SM of {chip} has {limits['registers_per_sm']}"),
    ]:
        done = compile(tmp_path, chip, module(chip, "", config=config))
        assert (done.returncode == 0) == (not message) and message in done.stderr, done.stderr


def test_configurations_are_in_the_ptx(tmp_path):
    config = "grid = [?], block = [16, 4, 2], shared = 8192, regs = 64, cluster = [2, 2]"
    assert compile(tmp_path, "sm_90", module("sm_90", "", config=config)).returncode == 0
    text = (tmp_path / "out").read_text()
    for line in (".reqntid 16, 4, 2", ".maxnreg 64", ".reqnctapercluster 2, 2, 1"):
        assert line in text


def test_other_chips_are_refused(tmp_path):
    done = compile(tmp_path, "sm_80", module("sm_90", ""))
    assert done.returncode == 1 and "is for sm_90, but the target is sm_80" in done.stderr
