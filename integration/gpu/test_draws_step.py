"""Drawn programs on the way to the machine with a GPU, without one: bundles, the step, results."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TOP / "benchmarks/gpu"), str(TOP / "benchmarks")]

import build
import merge
import steps
from draws import gpu
from draws.distributions import draws

SEED = 3
OURS = "tessera"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> Path:
    """The first four draws, as code of this CPU."""
    out = tmp_path_factory.mktemp("draws")
    drawn = draws(SEED, 60, "gpu")
    names = [one.name for one in drawn if one.program.flops < 1e8 and one.program.bytes < 1 << 20]
    options = argparse.Namespace(
        draw_seed=str(SEED), draws=60, draw_part="1/1", target="cpu", jobs=1, names=names[:4]
    )
    assert build.build_draws(out, options) == []
    return out


def test_bundles(bundles):
    known = gpu.manifest(bundles)
    assert known["seed"] == SEED and len(known["draws"]) == 4
    for name, one in known["draws"].items():
        assert one["good"] and "predicted" in one["explained"], name
        assert (bundles / f"{name[:3]}.tsb").exists() and (bundles / f"{name[:3]}.npz").exists()
    assert (bundles / "gpu.py").exists() and not list(bundles.glob("test_*"))


def test_results_are_checked(bundles):
    """On the CPU, by the code that runs on the GPU."""
    torch = pytest.importorskip("torch")
    import tessera as tsr

    for name in gpu.manifest(bundles)["draws"]:
        one, _ = gpu._draw(bundles, name)
        tensors = gpu.arguments(one, "cpu")
        function = tsr.load(bundles / f"{one.number:03}.tsb").draw
        out = function(*tensors)
        assert gpu.check(one, bundles, tensors, out) is None, name
        damaged = out.clone()
        damaged.view(-1)[-1] = 77  # the last element is part of the sample
        assert gpu.check(one, bundles, tensors, damaged), name
        if not one.program.index_of:
            last = out.numel() // 2
            damaged = out.clone()
            damaged.view(-1)[last] = 1e4 if torch.is_floating_point(out) else 9999
            assert gpu.check(one, bundles, tensors, damaged), name


def test_step(bundles, monkeypatch):
    step = steps.STEPS["draws"]
    monkeypatch.setattr(step, "folder", bundles)
    names = step.names()
    assert len(names) == 4 and step.compiled(names) == names
    assert len(step.compiled([str(number) for number in range(300)])) == step.chunk
    failed = {"good": False, "refused": "sort is not supported\nmore"}
    assert "refused: sort is not supported" in step.line(names[0], failed)


TIMES = {
    OURS: {"burst_ms": 0.02, "ratio": 1.0, "graph": True, "cold": True},
    "eager": {"burst_ms": 0.06, "ratio": 3.0, "graph": True, "cold": True},
    "compile": {"burst_ms": 0.03, "ratio": 1.5, "graph": True, "cold": True},
    "flex": {"failure": "unsupported"},
    "copy": {"burst_ms": 0.01, "ratio": 0.5, "graph": True, "cold": True},
}


def test_ratio_to_the_best_peer():
    found = gpu.judge(TIMES)
    assert found["against"] == "compile" and found["ratio"] == 1.5 and found["of_copy"] == 0.5
    assert found["failed"] == {"flex": "unsupported"}
    assert "1.50       20.0 us, compile 30.0 us, 0.50 of a copy" in gpu.line("name", found)
    alone = gpu.judge({OURS: TIMES[OURS]})
    assert "ratio" not in alone and "no peer" in gpu.line("name", alone)


def test_results_are_merged(tmp_path, monkeypatch, capsys):
    names = [one.name for one in draws(SEED, 3, "gpu")]
    good = {"good": True, "seed": SEED, "explained": "  grid a in tiles of 8", **gpu.judge(TIMES)}
    items = {
        names[0]: {**good, "overhead_us": {OURS: 2.0, "eager": 6.0}},
        names[1]: {"good": False, "failure": "no result in 150 s"},
        names[2]: {**good, "ratio": 0.8},
    }
    about = {"commit": "abc", "target": "sm_90", "device": "NVIDIA H200"}
    parts = []
    for number, chosen in enumerate((names[:2], names[2:])):  # two runs that continue each other
        data = {**about, "time": f"2026-01-0{number + 1}"}
        data["steps"] = {"draws": {name: items[name] for name in chosen}}
        parts.append(tmp_path / f"{number}.json")
        parts[-1].write_text(json.dumps(data))
    monkeypatch.setattr(sys, "argv", ["merge.py", "--into", str(tmp_path), *map(str, parts)])
    assert merge.main() == 0
    stored = json.loads((tmp_path / "draws/h200-abc.json").read_text())
    assert set(stored["results"]["GPU"]) == {*names, "overhead"}
    text = (tmp_path / "draws/h200-abc.txt").read_text()
    assert "3 of 3 draws" in text and "1 failed, each counts 0.1" in text
    assert "grid a in tiles of 8" in text and "tessera 2.00 us" in text
    assert not (tmp_path / "h200-abc.json").exists()  # there were no other steps
