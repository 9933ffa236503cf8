"""Code of the PTX backend on the fake libcuda: launch shapes, the cache, reports."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake import gpu, launches

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ptx"))

from assemblers import PTXAS

import tessera as tsr
from tessera import Tensor, fp32
from tessera.compiler import library_path
from tessera.tools import identity

assembles = pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")


def make():
    @tsr.function(via="ptx")
    def softmax(x):
        return tsr.softmax(x, dim=-1)

    return softmax


@pytest.fixture
def driver_assembles(monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", "none")


def test_ptx_is_launched_with_its_blocks(driver_assembles):
    """The fake libcuda rejects a launch whose block size differs from the PTX."""
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
    assert (report["target"], report["backend"]) == ("sm_90a:ptx", "ptx")
    assert report["assembler"].startswith("ptxas ")
    (kernel,) = report["kernels"]
    assert kernel["threads"] % 32 == 0 and 0 < kernel["registers"] <= 255
    assert kernel["spill_bytes"] == 0 and kernel["shared_bytes"] >= 0
    assert 0 < kernel["occupancy"] <= 1


def test_stages_and_backends(driver_assembles):
    types = [Tensor[64, 1000, fp32]]
    assert ".target sm_80" in make().inspect_ir("ptx", *types, target="sm_80")
    with pytest.raises(
        tsr.CompileError, match="'tileir' does not exist for target 'sm_80' via 'ptx'"
    ):
        make().inspect_ir("tileir", *types, target="sm_80")
    with pytest.raises(
        tsr.ArgumentError, match="option 'via': expected 'auto' or 'tileir' or 'ptx'"
    ):
        make().compile(*types, target="sm_90", via="spirv")


def test_cache_distinguishes_backends_and_assemblers(tmp_path, monkeypatch):
    library = library_path()
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    none = identity("ptxas", library)
    for name in ("one", "two"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} {'x' * len(name)}\n" + "#" * ord(name[0]))
        program.chmod(0o755)
    seen = [none]
    for name in ("one", "two"):
        monkeypatch.setenv("TESSERA_PTXAS", str(tmp_path / name))
        seen.append(identity("ptxas", library))
    assert len({str(one) for one in seen}) == 3
    monkeypatch.delenv("TESSERA_PTXAS")
    folder = tmp_path / "bin"
    folder.mkdir()
    before = identity("ptxas", library)
    shutil.copy(tmp_path / "one", folder / "ptxas")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert identity("ptxas", library) != before


@assembles
def test_cubins_are_found_whatever_the_place_of_the_assembler(tmp_path, monkeypatch):
    """A copied cache works on a machine with the same tools elsewhere, with the same
    measurements."""
    command = [sys.executable, "-m", "tessera", "cache"]
    table = tmp_path / "cache" / "tuning-sm_90.txt"
    table.parent.mkdir(mode=0o700)
    table.write_text("tessera tuning 2 sm_90\n")
    cached = []
    for number, folder in enumerate(("cache", "cache", "other")):
        place = tmp_path / str(number) / "ptxas"
        place.parent.mkdir()
        shutil.copyfile(PTXAS, place)
        place.chmod(0o755)
        os.utime(place, (1e9 + number, 1e9))
        monkeypatch.setenv("TESSERA_PTXAS", str(place))
        monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / folder))
        if number == 2:
            subprocess.run([*command, "import", str(tmp_path / "cache.tsa")], check=True)
        cached.append(make().compile(Tensor[10, 64, fp32], target="sm_90")._artifact.cached)
        subprocess.run([*command, "export", str(tmp_path / "cache.tsa")], check=True)
    assert cached == [False, True, True]
    (tmp_path / "other" / "tuning-sm_90.txt").write_text(
        "tessera tuning 2 sm_90\n# other measurements\n"
    )
    assert not make().compile(Tensor[10, 64, fp32], target="sm_90")._artifact.cached
    with open(tmp_path / "2/ptxas", "ab") as file:
        file.write(b"another release")
    assert not make().compile(Tensor[10, 64, fp32], target="sm_90")._artifact.cached


@pytest.mark.parametrize("kind", ["pipe", "open", "link", "huge", "binary"])
def test_tables_that_are_none(tmp_path, monkeypatch, kind, driver_assembles):
    """Measurements that others could have written, or that are not text, are ignored."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    for name in ("tuning-sm_90.txt", "backends-sm_90.txt"):
        table = tmp_path / "cache" / name
        if kind == "pipe":
            os.mkfifo(table, 0o600)
        elif kind == "link":
            table.symlink_to("/dev/zero")
        else:
            table.write_bytes(
                bytes(range(256)) * 10
                if kind == "binary"
                else f"tessera {name[:-10]} 1 sm_90\n".encode()
            )
        if kind == "open":
            table.chmod(0o666)
        elif kind == "huge":
            os.truncate(table, 1 << 40)

    @tsr.function
    def softmax(x):
        return tsr.softmax(x, dim=-1)

    assert not softmax.compile(Tensor[10, 64, fp32], target="sm_90")._artifact.cached
    assert softmax.compile(Tensor[10, 64, fp32], target="sm_90")._artifact.cached


def mixed():
    """A contraction in fp32, which uses CUDA Tile IR, and a softmax of its rows, which uses PTX."""

    @tsr.function
    def weights(x, w):
        return tsr.softmax(x @ w, dim=-1)

    return weights


@pytest.mark.assembles
def test_kernels_of_one_program_use_both_backends(driver_assembles):
    types = [Tensor[512, 256, fp32], Tensor[256, 512, fp32]]
    compiled = mixed().compile(*types, target="sm_90")
    report = compiled.report()
    assert (report["target"], report["backend"]) == (
        f"sm_90:ptx+tileir,{platform.machine()}",
        "ptx+tileir",
    )
    assert [kernel["backend"] for kernel in report["kernels"]] == ["tileir", "ptx"]
    for via in ("ptx", "tileir"):
        one = mixed().compile(*types, target="sm_90", via=via).report()
        assert one["backend"] == via and not any("backend" in kernel for kernel in one["kernels"])


@pytest.mark.assembles
def test_both_backends_are_launched_in_a_call(driver_assembles, tmp_path):
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
def test_stages_of_one_backend_decide_for_both(driver_assembles):
    """A kernel that shares a cubin uses the backend of the program's contractions."""
    types = [Tensor[512, 256, fp32], Tensor[256, 512, fp32]]
    show = lambda stage: mixed().inspect_ir(stage, *types, target="sm_90")  # noqa: E731
    assert show("ptx").count(".visible .entry") == 2
    assert show("tileir").count("entry @") == 2
    assert show("sched").count("sched.backend") == 2
    assert show("target").count("tessera_target.image") == 2
