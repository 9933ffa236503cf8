"""`--emit sass`: by a disassembler of CUDA's, and a clear message without one."""

from __future__ import annotations

import pytest
from test_bundles import HAS_TILEIRAS, HERE, TESSERA, run

pytestmark = pytest.mark.skipif(not HAS_TILEIRAS, reason="tileiras is not installed")
COMMAND = [TESSERA, "compile", f"{HERE}/functions.py::doubled", "--arg=x=fp32[64]"]
SASS = [*COMMAND, "--target", "sm_90", "--emit", "sass"]


def test_calls_the_disassembler(tmp_path):
    program = tmp_path / "nvdisasm"
    program.write_text('#!/bin/sh\necho "$1" "$(head -c 4 "$2" | tail -c 3)"\n')
    program.chmod(0o755)
    assert run(*SASS, TESSERA_NVDISASM=str(program)) == "-c ELF\n"


def test_says_how_to_get_one():
    text = run(*SASS, TESSERA_NVDISASM="/nowhere", status=1)
    assert "stage 'sass' is not supported here: neither nvdisasm nor cuobjdump was found" in text


def test_tells_what_it_said(tmp_path):
    program = tmp_path / "nvdisasm"
    program.write_text("#!/bin/sh\necho broken\nexit 3\n")
    program.chmod(0o755)
    assert "failed (status 3): broken" in run(*SASS, TESSERA_NVDISASM=str(program), status=1)


def test_profiling_keeps_lines(tmp_path):
    """Line tables of cubins name the program's lines, if requested."""
    cubins = []
    for option in ("true", "false"):
        cubin = tmp_path / option
        options = ["--target", "sm_90", "--option", f"profiling={option}"]
        run(*COMMAND, *options, "--emit", "cubin", "-o", cubin)
        cubins.append(cubin.read_bytes())
    assert b".debug_line" in cubins[0] and b"functions.py" in cubins[0]
    assert b".debug_line" not in cubins[1]
