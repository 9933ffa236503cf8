"""Composite operations: norms, einsum, losses, padding. All types, sizes of 0, 1 and primes.

Each is compared twice: with the reference, element by element within its bound, and the reference
with NumPy's equivalent, so that both follow PyTorch.
"""

import numpy as np
import pytest
from harness import FLOATS, INTEGERS, check, define, has_bf16, random

floats = pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(
            one,
            marks=pytest.mark.skipif(
                one == "bf16" and not has_bf16(), reason="NumPy has no bf16 without ml_dtypes"
            ),
        )
        for one in FLOATS
    ],
)


def agree(function, expected, *arguments, least: float = 0.5) -> None:
    """The function agrees with its reference, and the reference with NumPy in float64."""
    check(function, *arguments, least=least)
    wide = [
        a.astype("f8") if getattr(a, "dtype", np.dtype("i4")).kind not in "iub" else a
        for a in arguments
    ]
    with np.errstate(all="ignore"):
        theirs = expected(*wide)
    np.testing.assert_allclose(function.reference(*arguments), theirs, rtol=1e-6, atol=1e-7)


# --- lengths of vectors ---------------------------------------------------------------------------------


@floats
@pytest.mark.parametrize("p", ["0", "1", "2", "3", "0.5", "-1", "tsr.inf", "-tsr.inf", "'fro'"])
def test_norm(p, dtype):
    order = {"'fro'": 2, "tsr.inf": np.inf, "-tsr.inf": -np.inf}.get(p) or float(
        p.removeprefix("'").removesuffix("'")
    )

    def expected(x, axis, keep):
        if order == 0:
            return (x != 0).sum(axis=axis, keepdims=keep).astype("f8")
        if np.isinf(order):
            return (abs(x).max if order > 0 else abs(x).min)(axis=axis, keepdims=keep)
        return (abs(x) ** order).sum(axis=axis, keepdims=keep) ** (1 / order)

    for dim, axis in (("None", None), ("-1", -1), ("(0, 1)", (0, 1))):
        f = define(
            f"def f(x):\n    return tsr.norm(x, p={p}, dim={dim}, keepdim={dim != 'None'})\n"
        )
        for shape in [(1, 1), (7, 13), (2, 5, 3)]:
            agree(f, lambda x: expected(x, axis, dim != "None"), random(shape, dtype))
    if order >= 0 and not np.isinf(order):
        agree(
            define(f"def f(x):\n    return x.norm({p}, 1)\n"),
            lambda x: expected(x, 1, False),
            random((3, 0), dtype),
        )


def test_norm_of_numbers():
    f = define(
        "def f(x):\n    return tsr.norm(x, 3), tsr.vector_norm(x, ord=2, dtype=fp64), tsr.norm(x)\n"
    )
    check(f, np.asarray(-2.5, "f4"))
    check(f, random((13, 3)))


# --- normalisations -------------------------------------------------------------------------------------


@floats
@pytest.mark.parametrize(
    "shape, groups",
    [((2, 6, 5), 3), ((1, 4), 2), ((3, 7, 1, 1), 1), ((2, 5, 3, 2), 5), ((0, 4, 3), 2)],
)
def test_group_norm(shape, groups, dtype):
    f = define(f"def f(x, w, b):\n    return tsr.group_norm(x, {groups}, w, b, eps=1e-3)\n")

    def expected(x, w, b):
        rows = x.reshape(shape[0], groups, int(np.prod(shape[1:])) // groups)
        y = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-3)
        channels = (1, shape[1], *[1] * (len(shape) - 2))
        return y.reshape(shape) * w.reshape(channels) + b.reshape(channels)

    parameters = random(shape[1:2], dtype), random(shape[1:2], dtype, seed=1)
    agree(f, expected, random(shape, dtype), *parameters)
    check(define(f"def f(x):\n    return tsr.group_norm(x, {groups})\n"), random(shape, dtype))


@floats
@pytest.mark.parametrize(
    "shape, groups", [((2, 6, 5), 3), ((3, 7, 1, 1), 1), ((1, 4, 3, 11), 2), ((0, 4, 3), 2)]
)
def test_work_after_group_norm(shape, groups, dtype):
    """Channels read the statistics of their groups."""
    f = define(f"def f(x, w):\n    return tsr.silu(tsr.group_norm(x, {groups}, w) + x[:, :1])\n")
    x, w = random(shape, dtype), random(shape[1:2], dtype, seed=1)
    check(f, x, w)
    if x.size:
        x[(0,) * x.ndim] = np.nan
        x[(-1,) * x.ndim] = np.inf
        check(f, x, w, least=0.01, nan=True)


@floats
@pytest.mark.parametrize("layout", ["dense", "permuted", "stepped", "offset"])
@pytest.mark.parametrize("shape", [(6, 7, 3), (2, 3, 5, 11), (1, 1, 1), (0, 3, 2), (5, 37, 41)])
def test_norm_of_planes(shape, layout, dtype):
    """Rows of several dimensions, which are adjacent in memory or not."""
    f = define(
        "def f(x, w, b, c):\n"
        "    y = tsr.layer_norm(x, x.shape[-2:], w, b)\n"
        "    s = (x - x.amax(dim=(-2, -1), keepdim=True)).exp()\n"
        "    return y, s / s.sum(dim=(-2, -1), keepdim=True), tsr.layer_norm(x, x.shape[-2:]) * c\n"
    )
    w, b = (random(shape[-2:], dtype, seed=seed) for seed in range(2))
    check(f, random(shape, dtype, layout), w, b, random(shape[-1:], dtype))


@floats
@pytest.mark.parametrize("shape", [(5, 9, 3, 7), (3, 1, 37, 2), (2, 3, 5, 1), (3, 0, 2, 4)])
def test_short_rows_of_batches(shape, dtype):
    f = define(
        "def f(x, m):\n"
        "    return tsr.softmax(x, dim=-1), tsr.where(m, x, 0).cumsum(dim=-1), x.mean(dim=-1) * m[0, ..., 0]\n"
    )
    check(f, random(shape, dtype), random(shape, "bool"))


@floats
@pytest.mark.parametrize("shape", [(3, 5), (2, 7, 3), (1, 1, 1), (2, 3, 5, 2), (0, 3, 2)])
def test_batch_norm(shape, dtype):
    channels = (1, shape[1], *[1] * (len(shape) - 2))
    f = define("def f(x, m, v, w, b):\n    return tsr.batch_norm(x, m, v, w, b, eps=1e-3)\n")

    def expected(x, m, v, w, b):
        y = (x - m.reshape(channels)) / np.sqrt(v.reshape(channels) + 1e-3)
        return y * w.reshape(channels) + b.reshape(channels)

    m, w, b = (random(shape[1:2], dtype, seed=seed) for seed in range(3))
    v = random(shape[1:2], dtype, low=0.5, high=2)
    agree(f, expected, random(shape, dtype), m, v, w, b)
    if 0 not in shape:
        f = define("def f(x, m, v):\n    return tsr.batch_norm(x, m, v, training=True)\n")
        check(f, random(shape, dtype), m, v)


# --- einsum ---------------------------------------------------------------------------------------------

EQUATIONS = [
    ("ij->ji", [(3, 5)]),
    ("ij->", [(3, 5)]),
    ("ij->j", [(7, 1)]),
    ("ii", [(5, 5)]),
    ("ii->i", [(7, 7)]),
    ("iji->j", [(3, 5, 3)]),
    ("i,i", [(13,), (13,)]),
    ("i,j", [(3,), (5,)]),
    ("ij,jk", [(3, 5), (5, 7)]),
    ("ij,jk->ki", [(3, 5), (5, 7)]),
    ("bij,bjk->bik", [(2, 3, 5), (2, 5, 7)]),
    ("bhid,bhjd->bhij", [(2, 3, 5, 7), (2, 3, 4, 7)]),
    ("ij,ij->ij", [(3, 5), (3, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 5), (4, 5, 7)]),
    ("...,...", [(3, 5), (5,)]),
    ("i...,i->...", [(3, 2, 5), (3,)]),
    ("ij,jk,kl->il", [(3, 50), (50, 2), (2, 7)]),
    ("ab,cb,cd,da", [(2, 3), (5, 3), (5, 7), (7, 2)]),
    ("ij,k->ijk", [(3, 5), (7,)]),
    ("ijk,k->ij", [(0, 3, 5), (5,)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    (" b i d , b d o -> b i o ", [(2, 3, 5), (2, 5, 1)]),
    ("ijk,jil,kl->l", [(2, 3, 5), (3, 2, 7), (5, 7)]),
    ("Ab,bA", [(3, 5), (5, 3)]),
    ("ij,j->i", [(5, 3), (3,)]),
]


@pytest.mark.parametrize("equation, shapes", EQUATIONS, ids=[equation for equation, _ in EQUATIONS])
def test_einsum(equation, shapes):
    names = "xyzw"[: len(shapes)]
    f = define(
        f"def f({', '.join(names)}):\n    return tsr.einsum({equation!r}, {', '.join(names)})\n"
    )
    arrays = [random(shape, "fp64", seed=seed) for seed, shape in enumerate(shapes)]
    agree(f, lambda *wide: np.einsum(equation, *wide), *arrays)


@floats
def test_einsum_types(dtype):
    f = define("def f(x, y):\n    return tsr.einsum('bik,bkj->bij', [x, y])\n")
    check(f, random((2, 5, 7), dtype), random((2, 7, 3), dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_einsum_integers(dtype):
    f = define(
        "def f(x, y):\n    return tsr.einsum('ik,kj->ij', x, y), tsr.einsum('ij->i', x), tsr.einsum('ik,kj->ikj', x, y)\n"
    )
    check(f, random((5, 3), dtype, low=0, high=4), random((3, 7), dtype, low=0, high=4))


def test_einsum_order():
    """(3 x 50)(50 x 2)(2 x 700): the first two first."""
    f = define("def f(x, y, z):\n    return tsr.einsum('ij,jk,kl->il', x, y, z)\n")
    graph = f.inspect_ir("graph", random((3, 50)), random((50, 2)), random((2, 700)))
    first = next(line for line in graph.splitlines() if "gir.contract" in line)
    assert "%x, %y" in first or "%arg0, %arg1" in first, graph


# --- losses ---------------------------------------------------------------------------------------------


def log_softmax(x, axis):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


@floats
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(7, 13), (1, 3), (2, 5, 3), (3, 2, 5, 7)])
def test_cross_entropy(shape, reduction, dtype):
    f = define(f"def f(x, t):\n    return tsr.cross_entropy(x, t, reduction={reduction!r})\n")
    x, t = random(shape, dtype), random((shape[0], *shape[2:]), "int64", low=0, high=shape[1])

    def expected(x, t):
        losses = -np.take_along_axis(log_softmax(x, 1), np.expand_dims(t, 1), 1).squeeze(1)
        return losses if reduction == "none" else getattr(losses, reduction)()

    agree(f, expected, x, t)
    if len(shape) == 4:
        # Ignored targets, some and all of a row; whole tiles of the last dimension.
        for last in (shape[3], 8):
            x, t = (
                random((*shape[:3], last), dtype),
                random((shape[0], shape[2], last), "int64", low=0, high=shape[1]),
            )
            check(f, x, t)
            t[0, :, 3], t[1] = -100, -100
            check(f, x, t)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_options(reduction, smoothing):
    f = define(
        f"def f(x, t, w):\n    return tsr.cross_entropy(x, t, weight=w, ignore_index=2, reduction={reduction!r}, "
        f"label_smoothing={smoothing})\n"
    )
    x, t, w = (
        random((13, 5), "fp64"),
        random((13,), "int64", low=0, high=5),
        random((5,), "fp64", low=0.5, high=2),
    )

    def expected(x, t, w):
        logs = log_softmax(x, 1)
        keep = t != 2
        losses = (
            -w[t] * logs[np.arange(len(t)), t] * (1 - smoothing) - (w * logs).sum(1) * smoothing / 5
        )
        losses = np.where(keep, losses, 0)
        return (
            losses
            if reduction == "none"
            else losses.sum() / (w[t][keep].sum() if reduction == "mean" else 1)
        )

    agree(f, expected, x, t, w)


@floats
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_cross_entropy_of_probabilities(smoothing, dtype):
    f = define(
        f"def f(x, p, w):\n    return tsr.cross_entropy(x, p, w, label_smoothing={smoothing})\n"
    )

    def expected(x, p, w):
        shares = p * (1 - smoothing) + smoothing / x.shape[1]
        return -(shares * w[:, None] * log_softmax(x, 1)).sum(1).mean()

    agree(
        f,
        expected,
        random((3, 5, 7), dtype),
        random((3, 5, 7), dtype, low=0, high=1),
        random((5,), dtype, low=0.5, high=1),
    )


def test_cross_entropy_edges():
    f = define(
        "def f(x, t):\n    return tsr.cross_entropy(x, t), tsr.cross_entropy(x, t, reduction='sum')\n"
    )
    check(f, random((0, 5)), np.zeros(0, "i8"))
    check(f, random((3, 5)), np.full(3, -100))
    check(f, random((5,)), np.asarray(3))
    check(f, np.full((2, 3), 1000.0, "f4"), np.array([0, 2]))


def test_cross_entropy_of_one_class():
    """Class indices are constant in one block, and vary over many while live ones are searched."""
    f = define(
        "def f(x, t):\n    s = x.sum(dim=1, keepdim=True)\n    return tsr.cross_entropy(s, t % s.shape[1], reduction='none').sum(dim=0)\n"
    )
    for shape in ((2, 520), (4, 600), (3, 744), (37, 33), (300, 5)):
        (loss,) = check(f, random(shape, "bf16"), random(shape[:1], "int64", low=0, high=9))
        assert loss == 0  # the sums' bounds are wide


def test_cross_entropy_of_a_product_is_one_pass():
    """Logits that a contraction computes are not stored."""
    f = define("def f(h, w, t):\n    return tsr.cross_entropy(h @ w.T, t, reduction='none')\n")
    h, w, t = random((37, 16)), random((301, 16), seed=1), random((37,), "int64", low=0, high=301)
    check(f, h, w, t)
    assert f.inspect_ir("sched").count("sched.kernel") == 1, f.inspect_ir("sched")


@floats
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse_loss(reduction, dtype):
    f = define(f"def f(x, y):\n    return tsr.mse_loss(x, y, reduction={reduction!r})\n")
    for shape in [(13,), (3, 7), (1,)]:
        check(f, random(shape, dtype), random(shape, dtype, seed=1))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_one_hot(dtype):
    f = define("def f(x):\n    return tsr.one_hot(x, 8)\n")
    for shape in [(5,), (3, 7), (0, 2), ()]:
        agree(f, lambda x: x[..., None] == np.arange(8), random(shape, dtype, low=0, high=8))


# --- borders --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int32", "uint8", "bool"])
@pytest.mark.parametrize(
    "mode, theirs",
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_pad(mode, theirs, dtype):
    f = define(f"def f(x):\n    return tsr.pad(x, (2, 1, 0, 3), {mode!r})\n")
    agree(f, lambda x: np.pad(x, ((0, 0), (0, 3), (2, 1)), theirs), random((2, 5, 7), dtype))
    check(define(f"def f(x):\n    return tsr.pad(x, (-2, 1), {mode!r})\n"), random((3, 7), dtype))
