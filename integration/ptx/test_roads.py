"""What was measured decides the road of a program, where nobody says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import tessera as tsr
from tessera import Tensor, fp32
from tessera.bench import roads

TOP = Path(__file__).resolve().parents[2]
PROGRAM = """
import tessera as tsr


@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)
"""


def test_measurements_decide(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("TESSERA_CACHE", str(cache))
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    explain = [TOP / "build/bin/tessera", "explain", f"{file}::softmax", "--arg", "x=fp32[64,64]"]

    def road() -> str:
        done = subprocess.run([*explain, "--target", "sm_90"], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0].rpartition("via ")[2]

    assert road() == "ptx"
    namespace: dict = {}
    exec(compile(PROGRAM, str(file), "exec"), namespace)
    found = {}
    for via in ("auto", "ptx"):
        function = tsr.function(via=via)(namespace["softmax"].__wrapped__)
        found[via] = function.compile(Tensor[64, 64, fp32], target="sm_90").report()
    assert found["auto"]["road"] == "ptx" and found["auto"]["program"] == found["ptx"]["program"]

    roads.remember("sm_90", found["auto"]["program"], "tileir", 0.1, 0.2, "softmax, a test")
    assert road() == "tileir"
    roads.remember("sm_90", found["auto"]["program"], "ptx", 0.1, 0.2, "softmax, again")
    assert road() == "ptx"
    lines = (cache / "roads-sm_90.txt").read_text().splitlines()
    assert lines[0] == "tessera roads 1 sm_90" and len(lines) == 3
    (cache / "roads-sm_90.txt").write_text("no table\n")
    assert road() == "ptx"
