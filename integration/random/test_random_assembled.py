"""Random programs compiled for every chip, through PTX and CUDA Tile IR, and assembled by NVIDIA's
programs.

`run.py --assemble ptx` and `run.py --assemble tileir` run more of them. CUDA Tile IR's assembler is
slow.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
if not (HERE.parent / "ptx").is_dir():
    pytest.skip("unsupported: an archive has no list of chips", allow_module_level=True)

import run  # noqa: E402
import seeds  # noqa: E402
from budget import judge  # noqa: E402

CHIPS = {
    backend: run.chips(backend) for backend in ("ptx", "tileir")
}  # and the search path of assemblers

from assemblers import PTXAS, TOP  # noqa: E402

TILEIRAS = TOP / ".venv/bin/tileiras"


@pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")
def test_by_ptx(tmp_path):
    mode = ("assemble", "ptx", *CHIPS["ptx"])
    judge(tmp_path, seeds.first(), 40 * len(CHIPS["ptx"]), mode=mode, options="--assemble ptx")


@pytest.mark.skipif(not TILEIRAS.exists(), reason="unsupported: tileiras is not installed")
def test_by_tile_ir(tmp_path):
    mode = ("assemble", "tileir", *CHIPS["tileir"])
    judge(tmp_path, seeds.first(), 9 * len(CHIPS["tileir"]), mode=mode, options="--assemble tileir")


def test_every_chip_has_programs():
    assert len(CHIPS["ptx"]) >= 8 and set(CHIPS["tileir"]) < set(CHIPS["ptx"])
    for chips in CHIPS.values():
        assert len({(seeds.first() + number) % len(chips) for number in range(len(chips))}) == len(
            chips
        )


def test_what_an_assembler_refuses_is_an_error(tmp_path, monkeypatch):
    """A missing assembler, and one that rejects everything, are no reasons to skip."""
    broken = tmp_path / "ptxas"
    broken.write_text(
        "#!/bin/sh\ncase $* in *version*) echo 'Cuda compilation tools, release 13.0, V13.0.88';; *) exit 1;; esac\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("TESSERA_PTXAS_12", str(broken))
    results = run.run(
        0, 2, tmp_path / "report.jsonl", 1, float("inf"), 1, ("assemble", "ptx", "sm_70")
    )
    assert {line["status"] for line in results.values()} == {"error"}, results
