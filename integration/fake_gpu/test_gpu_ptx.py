"""Code by way of our own PTX on the stand-in for libcuda: shapes of launches, the cache, reports."""

from __future__ import annotations

import os
import shutil

import pytest
from fake import gpu, launches

import tessera as tsr
from tessera import Tensor, fp32
from tessera.compiler import library_path
from tessera.tools import ptxas_identity

PTXAS = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
assembles = pytest.mark.skipif(not os.access(PTXAS, os.X_OK), reason="unsupported: ptxas is not installed")


def make():
    @tsr.function(via="ptx")
    def softmax(x):
        return tsr.softmax(x, dim=-1)

    return softmax


@pytest.fixture
def driver_assembles(monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", "none")


def test_ptx_is_launched_with_its_blocks(driver_assembles):
    """The stand-in refuses a launch whose block is not what the PTX says."""
    softmax, before = make(), launches()
    softmax(gpu(10, 64))
    assert launches() == before + 1


@assembles
def test_cubins_are_launched_with_their_blocks(monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", PTXAS)
    softmax, before = make(), launches()
    softmax(gpu(10, 64))
    assert launches() == before + 1


@assembles
def test_reports(monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", PTXAS)
    report = make().compile(Tensor[64, 1000, fp32], target="sm_90").report()
    assert (report["target"], report["road"]) == ("sm_90a:ptx", "ptx")
    assert report["assembler"].startswith("ptxas ")
    (kernel,) = report["kernels"]
    assert kernel["threads"] % 32 == 0 and 0 < kernel["registers"] <= 255
    assert kernel["spill_bytes"] == 0 and kernel["shared_bytes"] >= 0
    assert 0 < kernel["occupancy"] <= 1


def test_stages_and_roads(driver_assembles):
    types = [Tensor[64, 1000, fp32]]
    assert ".target sm_80" in make().inspect_ir("ptx", *types, target="sm_80")
    with pytest.raises(tsr.CompileError, match="'tileir' does not exist for target 'sm_80' via 'ptx'"):
        make().inspect_ir("tileir", *types, target="sm_80")
    with pytest.raises(tsr.ArgumentError, match="option 'via': expected 'auto' or 'tileir' or 'ptx'"):
        make().compile(*types, target="sm_90", via="spirv")


def test_the_cache_tells_roads_and_assemblers_apart(tmp_path, monkeypatch):
    library = library_path()
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    none = ptxas_identity(library)
    for name in ("one", "two"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} {'x' * len(name)}\n" + "#" * ord(name[0]))
        program.chmod(0o755)
    seen = [none]
    for name in ("one", "two"):
        monkeypatch.setenv("TESSERA_PTXAS", str(tmp_path / name))
        seen.append(ptxas_identity(library))
    assert len({str(one) for one in seen}) == 3
    monkeypatch.delenv("TESSERA_PTXAS")
    folder = tmp_path / "bin"
    folder.mkdir()
    before = ptxas_identity(library)
    shutil.copy(tmp_path / "one", folder / "ptxas")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert ptxas_identity(library) != before
