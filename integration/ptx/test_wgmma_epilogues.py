"""Epilogues of wgmma contractions whose tiles CTAs of a cluster share: the simulator runs them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_tma import ELEMENTS, TESSERA, compiled, program, pytestmark  # noqa: F401

EPILOGUES = """
import tessera as tsr


@tsr.function
def turned(x, w):
    return (x @ w).mT


@tsr.function
def linear(x, w, b, r):
    return tsr.silu(x @ w + b) + r


@tsr.function
def scaled(x, w, c):
    return (x @ w) * c[:, None]
"""


ENDS = [("turned", []), ("linear", ["b=bf16[136]", "r=bf16[136,136]"]), ("scaled", ["c=bf16[136]"])]


def check_end(
    folder: Path, end: tuple[str, list[str]], tiles: tuple[int, int], config: str, wanted: str
) -> None:
    """A contraction and its epilogue, with these tiles, launch and tuning: it has the expected form, and
    there are no findings."""
    function, more = end
    source, edited, placed = (
        folder / name for name in ("program.py", "edited.mlir", "placed.mlir")
    )
    source.write_text(EPILOGUES)
    arguments = [
        word for one in ["x=bf16[136,328]", "w=bf16[328,136]", *more] for word in ("--arg", one)
    ]
    target = ["--target", "sm_90", "--via", "ptx"]
    text = subprocess.run(
        [
            TESSERA,
            "compile",
            f"{source}::{function}",
            *arguments,
            *target,
            "--emit",
            "sched",
            "-o",
            "-",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for kind, tile in zip(("parallel", "stream"), tiles):
        text = re.sub(rf"({kind} \w+ = \S+ tile) \d+", rf"\1 {tile}", text)
    edited.write_text(re.sub(r"launch <[^>]*>( tuning <[^>]*>)?", config, text))
    subprocess.run(
        [TESSERA, "compile", edited, *target, "--emit", "placed", "-o", placed],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tile.wgmma" in placed.read_text() and wanted in placed.read_text()
    done = subprocess.run(
        [TESSERA, "simulate", placed, *arguments, "--seeds", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("blocks", [2, 4])
def test_shared_epilogues(tmp_path, end, blocks):
    """What follows a shared product is done to the columns that each block finishes."""
    launch = f"launch <num_warps = 4, cluster_size = {blocks}>"
    config = f"{launch} tuning <num_stages = 2, use_tma = 1, wgmma = 1>"
    check_end(tmp_path, end, (64, 64 * blocks), config, "tile.dsmem_store")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("side", [0, 1])
def test_spread_epilogues(tmp_path, end, side):
    """What follows a product is done to the rows or columns that each block has."""
    launch = f"launch <num_warps = 8, cluster_size = 2, cluster_axis = {side}>"
    config = f"{launch} tuning <num_stages = 3, use_tma = 1, wgmma = 1>"
    check_end(tmp_path, end, (256, 64), config, "multicast")
