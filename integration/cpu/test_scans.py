"""Scans: all types, odd sizes, every dimension and layout; fused producers and consumers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import DTYPES, FLOATS, LAYOUTS, check, define, has_bf16, numpy_dtype, random

SHAPES = [(0,), (1,), (13,), (1031,), (17, 31), (3, 0, 5), (3, 1, 5), (4, 67, 9), (2, 3, 5, 7)]


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_types_and_sizes(name, dtype):
    skip_without_bf16(dtype)
    for dim in (0, -1):
        f = define(f"def f(x):\n    return tsr.{name}(x, dim={dim}), x.{name}({dim})\n")
        low, high = (0.5, 1.5) if name == "cumprod" and dtype in FLOATS else (None, None)
        least = 0.5
        if name == "cumprod" and dtype == "fp16":
            # No product of a thousand overflows the type, but the errors of as many roundings have
            # no bound.
            low, high, least = 0.9, 1.11, 0.4
        for shape in SHAPES if dtype in ("fp32", "int64") else SHAPES[:5]:
            result, _ = check(f, random(shape, dtype, low=low, high=high), least=least)
            expected = numpy_dtype(dtype if dtype in FLOATS else "int64")
            assert result.dtype == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_against_numpy(name):
    f = define(f"def f(x):\n    return tsr.{name}(x, 0), tsr.{name}(x, 1), tsr.{name}(x, 2)\n")
    for dtype in ("int64", "int32", "uint8"):
        x = random((5, 130, 17), dtype)
        for dim, result in enumerate(f(x)):
            with np.errstate(over="ignore"):
                assert (result == getattr(np, name)(x, axis=dim, dtype=np.int64)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int32"])
def test_layouts(dtype, layout):
    f = define("def f(x):\n    return tsr.cumsum(x, -1), tsr.cumsum(x, 0)\n")
    for shape in [(13,), (17, 31), (3, 5, 70)]:
        check(f, random(shape, dtype, layout))


@pytest.mark.parametrize("dtype", ["fp32", "fp64", "bf16", "fp16", "int64", "int8", "bool"])
@pytest.mark.parametrize("columns", [16, 21, 32, 33])
def test_short_rows(columns, dtype):
    skip_without_bf16(dtype)
    f = define(
        "def f(x, m):\n"
        "    y = tsr.where(m, x, 0).cumsum(-1)\n"
        "    return y, y - x, x.flip(-1).cumsum(-1).flip(-1)\n"
    )
    shape = (5, 137, columns)
    check(f, random(shape, dtype), random(shape, "bool"))


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int32"])
def test_many_short_rows(dtype):
    """So many that a thread of a GPU scans a row, where lanes would have one element each."""
    skip_without_bf16(dtype)
    shape = (127, 127, 21)
    f = define("def f(x, m):\n    return tsr.where(m, x, 0).cumsum(-1) + x\n")
    check(f, random(shape, dtype), random(shape, "bool"))


@pytest.mark.parametrize(
    "shape, dim",
    [((100_003,), 0), ((3, 70_001), 1), ((70_001, 3), 0), ((129, 33, 65), 1), ((1, 5000), 1)],
)
def test_long(shape, dim):
    f = define(f"def f(x):\n    return tsr.cumsum(x, {dim})\n")
    check(f, random(shape, "fp64"))
    check(f, random(shape, "fp32"))
    check(f, random(shape, "int32"))


def test_scalar_and_types():
    check(define("def f(x):\n    return tsr.cumsum(x, 0), tsr.cumprod(x, -1)\n"), random(()))
    check(
        define("def f(x):\n    return tsr.cumsum(x, 0, dtype=fp64), x.cumsum(0, dtype=int32)\n"),
        random((70,), "fp32", low=-5, high=5),
    )
    check(define("def f(x):\n    return tsr.cumsum(x, 0, dtype=fp32)\n"), random((70,), "int8"))


@pytest.mark.parametrize(
    "text",
    [
        "tsr.cumsum(tsr.exp(-x * x), 1) * 2.0 + x",
        "tsr.cumsum(tsr.softmax(x, dim=1), 1)",
        "tsr.cumsum(x - tsr.mean(x, dim=1, keepdim=True), 1)",
        "tsr.cumsum(x, 1) / tsr.sum(abs(x), dim=1, keepdim=True)",
        "tsr.softmax(tsr.cumsum(x, 1), dim=1)",
        "tsr.sum(tsr.cumsum(x, 1), dim=1)",
        "tsr.sum(tsr.cumsum(x, 1), dim=0)",
        "tsr.cumsum(tsr.sum(x, dim=0), 0)",
        "tsr.cumsum(tsr.cumsum(x, 1), 1)",
        "tsr.cumsum(tsr.cumsum(x, 0), 1)",
        "tsr.cumsum(x, 0) + tsr.cumsum(x, 1)",
        "(tsr.cumsum(x, 1), tsr.sum(x, dim=1), tsr.cumsum(x * x, 1))",
        "(tsr.cumsum(x, 1), tsr.cumsum(x, 0))",
        "tsr.flip(tsr.cumsum(tsr.flip(x, dim=1), 1), dim=1)",
        "tsr.cumsum(x.transpose(0, 1), 0)",
        "tsr.cumsum(x, 1).transpose(0, 1)",
        "tsr.cumsum(x, 1)[:, 1:] - tsr.cumsum(x, 1)[:, :-1]",
        "tsr.cumsum(x.reshape(x.shape[0] * x.shape[1]), 0)",
        "tsr.cumsum(x, 1).reshape(x.shape[0] * x.shape[1])",
        "tsr.cumsum(tsr.where(x > 0, x, 0.0), 1)",
        "tsr.cumsum(tsr.ones_like(x), 1) + x",
        "tsr.cumsum(tsr.ones((40, 70)), 0)",
        "tsr.cumsum(x @ x.transpose(0, 1), 1)",
        "tsr.cumsum(x, 1) @ tsr.cumsum(x, 1).transpose(0, 1)",
        "tsr.cumsum(tsr.rand(x.shape, 3), 0)",
        "tsr.concat([tsr.cumsum(x, 1), x], dim=1)",
        "tsr.cumsum(tsr.concat([x, x], dim=1), 1)",
        "tsr.where(tsr.cumsum(tsr.where(x > 1.0, 1, 0), 1) == 0, x, 0.0)",
    ],
)
def test_fused(text):
    f = define(f"def f(x):\n    return {text}\n")
    for shape in [(5, 7), (40, 300), (1, 33), (33, 1)]:
        check(f, random(shape))


def test_special_values():
    f = define("def f(x):\n    return tsr.cumsum(x, 0), tsr.cumprod(x, 0)\n")
    for values in ([1, np.inf, 2, -np.inf, 3], [1, np.nan, 2], [0.0, np.inf, 1], [-0.0, -0.0]):
        for padding in (0, 40):
            x = np.array([1.0] * padding + values, np.float32)
            check(f, x)
            with np.errstate(all="ignore"):
                assert np.array_equal(f(x)[0], np.cumsum(x, dtype=np.float32), equal_nan=True)


def test_one_kernel():
    """Producers and consumers share the scan's kernel."""
    f = define("def f(x):\n    return tsr.exp(tsr.cumsum(tsr.log(x * x + 1.0), 1)) + x\n")
    text = f.inspect_ir("sched", random((40, 300)))
    assert text.count("sched.kernel") == 1 and text.count("sched.scan") == 1


@pytest.mark.parametrize("shape, dim", [((7, 10_000), 1), ((1000, 1000), 0), ((300_000,), 0)])
def test_threads_change_nothing(shape, dim, monkeypatch):
    code = (
        "import sys, hashlib; sys.path.insert(0, {here!r})\nfrom harness import define, random\n"
        "f = define('def f(x):\\n    return tsr.cumsum(x, {dim})\\n')\n"
        "print(hashlib.sha256(f(random({shape})).tobytes()).hexdigest())\n"
    )
    code = code.format(here=str(Path(__file__).parent), dim=dim, shape=shape)
    digests = set()
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("TESSERA_NUM_THREADS", threads)
        digests.add(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(digests) == 1


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int32"])
def test_few_long_scans(dtype):
    """A GPU scans equal parts in parallel; other parts go through shared memory."""
    rows, columns = (define(f"def f(x):\n    return tsr.cumsum(x, dim={dim})\n") for dim in (-1, 0))
    check(rows, random((1, 64 * 18000), dtype))
    check(columns, random((64 * 6000, 3), dtype))
    check(rows, random((3, 20001), dtype))
