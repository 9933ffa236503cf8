"""Recorded calls: allowed results, code and arguments in an archive, run again on the CPU."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cpu"), str(HERE.parent / "random")]

import ranges  # noqa: E402
import record  # noqa: E402
import replay  # noqa: E402

import harness  # noqa: E402
import tessera as tsr  # noqa: E402

has_bf16 = importlib.util.find_spec("ml_dtypes") is not None
FLOATS = [t for t in ranges.KINDS if has_bf16 or t in ("fp64", "fp32", "fp16")]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [0, 1e-17, 1e-9, 1e-3, 1, np.inf, np.nan])
def test_ranges_are_the_bounds(dtype, scale):
    """In the type's order or in float64: the same elements are correct."""
    rng = np.random.default_rng(0)
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -1e-310, 1e308, 400, 1e-7]
    value = np.concatenate([rng.standard_normal(2000), special])
    kind = harness.numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        bound = np.abs(value) * scale
        off = rng.uniform(-1.3, 1.3, value.shape) * np.where(np.isfinite(bound), bound, 1)
        found = (value + off).astype(kind)
        found[3] = np.nan
        wide = found.astype(np.float64)
        good = (np.abs(wide - value) <= bound) | (np.isnan(wide) & np.isnan(value))
        good |= wide == value
        nearest = value.astype(kind)
        # If no number of the type is within the bound, the nearest one is correct.
        good |= (found == nearest) & ~(np.abs(nearest.astype(np.float64) - value) <= bound)
    excluded = np.zeros(value.shape, bool)
    excluded[5] = True
    first, count = ranges.allowed(value, bound, excluded, dtype)
    bad = ranges.wrong(found.view(np.uint8), dtype, first, count)
    assert set(bad) == set(np.flatnonzero(~good & ~excluded))


def test_ranges_of_integers():
    value = np.array([0, 5, -7], np.int64)
    first, count = ranges.allowed(value, np.zeros(3), np.array([False, False, True]), "int16")
    found = np.array([0, 6, 100], np.int16)
    assert list(ranges.wrong(found.view(np.uint8), "int16", first, count)) == [1]


def recorded(tmp_path: Path, text: str, *arguments, sources=None, target: str = "cpu"):
    archive = record.Archive(tmp_path / "a.zip", target)
    archive.add("case", harness.define(text), list(arguments), sources or [None] * len(arguments))
    archive.close()
    return replay.Archive(tmp_path / "a.zip")


@pytest.mark.parametrize("layout", harness.LAYOUTS)
@pytest.mark.parametrize("dtype", [t for t in (*FLOATS, "int32", "bool") if "fp8" not in t])
def test_every_layout(tmp_path, layout, dtype):
    x = harness.random((5, 7, 6), dtype, layout)
    archive = recorded(
        tmp_path, "def f(x):\n    return x.transpose(0, 1) + x[:, :1, 0], x[1:]\n", x
    )
    assert replay.run(archive, "case", replay.CPU) == {
        "good": True,
        "compared": 5 * 7 * 6 + 4 * 7 * 6,
    }


def test_numbers_and_empty_arrays(tmp_path):
    text = "def f(x, a: float, n: int):\n    return (x * a + n).sum(0)\n"
    archive = recorded(tmp_path, text, harness.random((0, 5)), 0.5, 3)
    assert replay.run(archive, "case", replay.CPU)["good"]


def test_arguments_are_drawn_again(tmp_path):
    source = [[33, 17], "fp32", "reversed", None, None, 4]
    x = harness.random(*source)
    archive = recorded(tmp_path, "def f(x):\n    return tsr.exp(x)\n", x, sources=[source])
    argument = archive.cases["case"]["arguments"][0]
    assert "data" not in argument and replay.run(archive, "case", replay.CPU)["good"]
    argument["crc"] += 1
    with pytest.raises(RuntimeError, match="draws other numbers"):
        replay.run(archive, "case", replay.CPU)


def test_random_programs_are_drawn_again():
    from generate import generate

    x = generate(3).arguments(1)[0]
    assert np.array_equal(replay.draw(["seed", 3, 1, 0]), x, equal_nan=True)


def test_wrong_results_are_found(tmp_path):
    archive = recorded(tmp_path, "def f(x):\n    return x + 1.0\n", harness.random((4, 5)))
    case = archive.cases["case"]
    value = np.arange(20.0)
    outs = [("fp32", (4, 5), replay.HostMemory(value.astype("f4").view(np.uint8)))]
    result = replay.compare(archive, case, outs)
    assert not result["good"] and "at (0, 0) fp32 is" in result["wrong"]
    outs = [("fp32", (20,), outs[0][2])]
    assert replay.compare(archive, case, outs)["wrong"] == "result 0 is fp32[20], not fp32[4, 5]"


def test_large_results_are_sampled(tmp_path):
    x = harness.random((300, 500))
    archive = recorded(tmp_path, "def f(x):\n    return x + 1.0\n", x)
    case = archive.cases["case"]
    indices = ranges.compared(x.size)
    assert len(set(indices)) == ranges.SAMPLE and {0, x.size - 1} <= set(indices)
    assert replay.run(archive, "case", replay.CPU) == {"good": True, "compared": ranges.SAMPLE}

    def result(at: int, value: float) -> str:
        found = (x + np.float32(1)).ravel()
        found[at] = value
        outs = [("fp32", x.shape, replay.HostMemory(found.view(np.uint8)))]
        return replay.compare(archive, case, outs).get("wrong", "")

    middle = int(indices[len(indices) // 2])
    where = tuple(int(i) for i in np.unravel_index(middle, x.shape))
    assert f"at {where} fp32 is" in result(middle, 99.0)
    other = next(i for i in range(x.size) if i not in set(indices))
    assert result(other, 99.0) == ""
    poison = np.array([-1], np.int32).view(np.float32)[0]
    assert result(other, poison) == "result 0: 1 elements are not written"


def test_a_call_without_bounds_is_not_right(tmp_path):
    """An infinite exponential: the reference excludes everything that depends on it."""
    text = "def f(x):\n    e = tsr.exp(x)\n    return e / e.sum()\n"
    archive = recorded(tmp_path, text, np.full(5, 1e5, np.float32))
    result = replay.run(archive, "case", replay.CPU)
    assert result == {
        "good": True,
        "unsupported": "the reference knows no bound of any of 5 elements",
        "compared": 0,
    }


def test_refused_calls_stay_in_the_archive(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise tsr.CompileError("not on this machine")

    monkeypatch.setattr(type(harness.define("def f(x):\n    return x\n")), "compile", refuse)
    archive = recorded(tmp_path, "def f(x):\n    return x + 1.0\n", harness.random((4, 5)))
    result = replay.run(archive, "case", replay.CPU)
    assert result == {"good": False, "refused": "not on this machine"}
