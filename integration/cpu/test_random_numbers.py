"""The counter-based generator: Philox's published vectors, the same bits everywhere, moments,
dropout."""

import numpy as np
import pytest
from harness import FLOATS, check, define, has_bf16, numpy_dtype, random

SHAPES = [(0,), (1,), (7,), (1031,), (3, 0, 5), (17, 31), (2, 3, 5, 7), ()]
DIGITS = {"fp64": 53, "fp32": 24, "fp16": 11, "bf16": 8}


def philox(counter: np.ndarray, stream: int, seed: int, upper: bool = False) -> np.ndarray:
    """The first 64 bits of Philox4x32-10's blocks, or the others, as an independent
    implementation."""
    mask = np.uint64(0xFFFFFFFF)
    counter = counter.astype(np.uint64)
    c = [
        counter & mask,
        counter >> np.uint64(32),
        np.full_like(counter, stream),
        np.zeros_like(counter),
    ]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            p1 >> np.uint64(32) ^ c[1] ^ np.uint64(key[0]),
            p1 & mask,
            p0 >> np.uint64(32) ^ c[3] ^ np.uint64(key[1]),
            p0 & mask,
        ]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c[3] << np.uint64(32) | c[2] if upper else c[1] << np.uint64(32) | c[0]


def test_known_answers():
    """Random123's vectors for philox4x32 with 10 rounds, here for this file's own formula."""
    assert int(philox(np.array([0]), 0, 0)[0]) == 0xE169C58D6627E8D5
    assert int(philox(np.array([0]), 0, 0, upper=True)[0]) == 0x9B00DBD8BC57AC4C


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_bits(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define(
        f"def f(n: int, seed: int):\n    return tsr.rand((n, 37), seed=seed, dtype={dtype})\n"
    )
    for seed in (0, 1, 12345, -1, 2**40 + 17, 2**63 - 1, -(2**62)):
        result = f(29, seed)
        assert result.dtype == numpy_dtype(dtype)
        digits = np.uint64(DIGITS[dtype])
        whole = philox(np.arange(29 * 37), 0, seed & 2**64 - 1) >> np.uint64(64) - digits
        expected = whole.astype(np.float64) * 2.0 ** -int(digits)
        assert (result.astype(np.float64).reshape(-1) == expected).all()


def test_constant_and_argument_seeds():
    for seed in (0, 7, 2**33 + 5, 2**60 + 3, -9):
        constant = define(f"def f(x):\n    return x + tsr.rand(x.shape, {seed}, fp64)\n")
        argument = define("def f(x, seed: int):\n    return x + tsr.rand_like(x, seed)\n")
        tensor = define("def f(x, seed):\n    return x + tsr.rand_like(x, seed=seed)\n")
        x = np.zeros((5, 11))
        assert (constant(x) == argument(x, seed)).all()
        assert (constant(x) == tensor(x, np.array(seed))).all()


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_reference(name, dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define(
        f"def f(x, seed: int):\n    return tsr.{name}_like(x, seed) * 2.0, tsr.sum(tsr.{name}(x.shape, seed + 1, {dtype}))\n"
    )
    for shape in SHAPES:
        check(f, np.zeros(shape, numpy_dtype(dtype)), 3)


def test_place_decides():
    """Views, blocks and consumers do not change an element's bits."""
    whole = define("def f(x, seed: int):\n    return tsr.randn(x.shape, seed)\n")
    views = define("""def f(x, seed: int):
    r = tsr.randn(x.shape, seed)
    return r.transpose(0, 1), r[1:, ::3], r.reshape(x.shape[1] * x.shape[0])[5:], tsr.sum(r, dim=0), tsr.flip(r, dim=-1)
""")
    x = random((53, 47))
    r = whole(x, 9)
    transposed, part, flat, sums, flipped = views(x, 9)
    assert (
        (transposed == r.T).all()
        and (part == r[1:, ::3]).all()
        and (flat == r.reshape(-1)[5:]).all()
    )
    assert (flipped == r[:, ::-1]).all() and np.allclose(sums, r.sum(0), atol=1e-4)


def test_moments():
    f = define(
        "def f(n: int, seed: int):\n    return tsr.rand((n, 1000), seed), tsr.randn((n, 1000), seed)\n"
    )
    u, z = (a.astype(np.float64) for a in f(1000, 2024))
    count = u.size
    assert abs(u.mean() - 1 / 2) < 5 * np.sqrt(1 / 12 / count) and abs(
        u.var() - 1 / 12
    ) < 5 * np.sqrt(1 / 180 / count)
    assert 0 <= u.min() and u.max() < 1
    assert abs(z.mean()) < 5 / np.sqrt(count) and abs(z.var() - 1) < 5 * np.sqrt(2 / count)
    assert abs((z**3).mean()) < 5 * np.sqrt(15 / count) and abs((z**4).mean() - 3) < 5 * np.sqrt(
        96 / count
    )
    assert 4.5 < np.abs(z).max() < 6.7
    # A thousand equal cells: the statistic has 999 degrees of freedom.
    cells = np.histogram(u, 1000, (0, 1))[0]
    assert abs(((cells - 1000) ** 2 / 1000).sum() - 999) < 5 * np.sqrt(2 * 999)
    # Neither the next element nor the other kind of number is correlated.
    for a, b in ((z[:, :-1], z[:, 1:]), (u - 0.5, z), (z[:-1], z[1:])):
        assert abs((a * b).mean()) < 5 * a.std() * b.std() / np.sqrt(a.size)


def test_neighbouring_seeds():
    f = define("def f(n: int, seed: int):\n    return tsr.randn((n,), seed)\n")
    rows = np.stack(
        [f(100_000, seed).astype(np.float64) for seed in (0, 1, 2, 3, 2**32, 2**32 + 1)]
    )
    correlation = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(correlation).max() < 5 / np.sqrt(rows.shape[1])


def test_threads(monkeypatch):
    import subprocess
    import sys

    text = (
        "import sys, hashlib; sys.path.insert(0, {here!r})\nfrom harness import define\n"
        "f = define('def f(n: int, s: int):\\n    return tsr.randn((n, 333), s)\\n')\n"
        "print(hashlib.sha256(f(3001, 5).tobytes()).hexdigest())\n"
    )
    from pathlib import Path

    code = text.format(here=str(Path(__file__).parent))
    digests = set()
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("TESSERA_NUM_THREADS", threads)
        digests.add(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(digests) == 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define("def f(x, seed: int):\n    return tsr.dropout(x, 0.25, seed=seed)\n")
    g = define("def f(x, p: float, seed: int):\n    return tsr.dropout(x, p, seed=seed)\n")
    for shape in SHAPES:
        check(f, random(shape, dtype), 1)
        check(g, random(shape, dtype), 0.25, 1)
    x = np.ones((400, 500), numpy_dtype(dtype))
    first, again, other = f(x, 1), f(x, 1), f(x, 2)
    assert (first == again).all() and (first == g(x, 0.25, 1)).all() and (first != other).any()
    kept = first != 0
    share = np.float64(kept.mean())
    assert abs(share - 0.75) < 5 * np.sqrt(0.75 * 0.25 / x.size)
    assert np.unique(first.astype(np.float64)).tolist() == [
        0.0,
        float(numpy_dtype(dtype).type(4 / 3)),
    ]
    number = np.arange(x.size)
    blocks = np.where(
        number % 8 < 4, philox(number // 8, 3, 1), philox(number // 8, 3, 1, upper=True)
    )
    drawn = blocks >> (number % 4 * 16).astype(np.uint64) & np.uint64(0xFFFF)
    assert (kept.reshape(-1) == (drawn >= 0.25 * 65536)).all()
    # The mask depends on the seed and the shape, not on the type.
    assert (kept == (f(np.ones(x.shape, np.float32), 1) != 0)).all()


def test_dropout_bounds():
    for p, factor in ((0, 1), (1, 0)):
        f = define(f"def f(x):\n    return tsr.dropout(x, {p}, seed=3)\n")
        x = np.array([1.0, -2.0, np.inf, 4.0], np.float32)
        expected = x if factor else np.zeros_like(x)
        assert (f(x) == expected).all()
    f = define("def f(x):\n    return tsr.dropout(x, 0.5, training=False, seed=3)\n")
    assert (f(x) == x).all()


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
def test_dropout_before_a_contraction(dtype):
    """Few rows and a long K: blocks without kept elements are skipped, so that contractions are
    under a condition."""
    if dtype == "bf16" and not has_bf16():
        pytest.skip("unsupported: NumPy has no bf16 without ml_dtypes")
    f = define("def f(x, w):\n    return tsr.dropout(x, 0.25, seed=1) @ w\n")
    for rows in (1, 7, 16):
        check(f, random((rows, 257), dtype), random((257, 7), dtype, seed=1))
