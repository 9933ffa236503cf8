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


def mixed():
    """A product in fp32, which goes by CUDA Tile IR, and a softmax of its rows, which goes by PTX."""

    @tsr.function
    def weights(x, w):
        return tsr.softmax(x @ w, dim=-1)

    return weights


@pytest.mark.assembles
def test_kernels_of_one_program_come_by_both_roads(driver_assembles):
    types = [Tensor[512, 256, fp32], Tensor[256, 512, fp32]]
    compiled = mixed().compile(*types, target="sm_90")
    report = compiled.report()
    assert (report["target"], report["road"]) == ("sm_90:ptx+tileir,x86_64", "ptx+tileir")
    assert [kernel["road"] for kernel in report["kernels"]] == ["tileir", "ptx"]
    for via in ("ptx", "tileir"):
        one = mixed().compile(*types, target="sm_90", via=via).report()
        assert one["road"] == via and not any("road" in kernel for kernel in one["kernels"])


@pytest.mark.assembles
def test_both_roads_are_launched_in_a_call(driver_assembles, tmp_path):
    weights, before = mixed(), launches()
    x, w = gpu(512, 256), gpu(256, 512)
    weights(x, w)
    assert launches() == before + 2
    file = tmp_path / "weights.tsb"
    weights.compile(x, w).save(file)
    tsr.load(file).weights(x, w)
    assert launches() == before + 4
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(b"sm_90:tileir") + 400] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(tsr.TesseraError, match="the checksum of section [0-9]+ does not match"):
        tsr.load(file)


@pytest.mark.assembles
def test_stages_of_one_road_decide_for_both(driver_assembles):
    """What is of one cubin takes the road of the program's products."""
    types = [Tensor[512, 256, fp32], Tensor[256, 512, fp32]]
    show = lambda stage: mixed().inspect_ir(stage, *types, target="sm_90")  # noqa: E731
    assert show("ptx").count(".visible .entry") == 2
    assert show("tileir").count("entry @") == 2
    assert show("sched").count("sched.road") == 2
    assert show("target").count("tessera_target.image") == 2
