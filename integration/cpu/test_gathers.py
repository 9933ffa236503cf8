"""Indexing by tensors: gather, take, index_select, embedding, x[i], scatter_add."""

import re

import numpy as np
import pytest
import tessera as tsr
from harness import DTYPES, INTEGERS, LAYOUTS, check, define, has_bf16, random


def indices(
    shape, size: int, dtype: str = "int64", layout: str = "dense", low: int = 0, seed: int = 1
):
    """Random indices into a dimension, some repeated, out of order."""
    return random(shape, dtype, layout, low=low, high=size, seed=seed)


FORMS = [
    ("tsr.embedding(i, x)", (7,)),
    ("tsr.embedding(x, i)", (7,)),
    ("tsr.embedding(i, x)", (3, 5)),
    ("tsr.embedding(i, x)", ()),
    ("tsr.index_select(x, 0, i)", (7,)),
    ("tsr.index_select(x, -1, i)", (4,)),
    ("x.index_select(0, i)", ()),
    ("tsr.take(x, i)", (5,)),
    ("x.take(i)", (2, 3)),
    ("tsr.take(x, i, dim=1)", (2, 3)),
    ("tsr.take(x, i, axis=0)", (1,)),
    ("x[i]", (7,)),
    ("x[i]", (2, 3)),
    ("x[i]", ()),
    ("x[:, i]", (4,)),
    ("x[..., i]", (2, 2)),
    ("x[i, :2]", (3,)),
    ("x[i, 1]", (3,)),
    ("x[1, i]", (3,)),
    ("x[i, i]", (5,)),
    ("x[i[:, None], i[None]]", (5,)),
    ("x[None, i]", (3,)),
    ("x[i, None]", (3,)),
    ("x[::2][i]", (4,)),
    ("x[:, ::-1][:, i]", (4,)),
    ("x.mT[i]", (4,)),
    ("(x * 2.0)[i]", (6,)),
    ("x[i][i]", (5,)),
    ("x.reshape(-1)[i]", (6,)),
    ("x[i] + x[:1]", (5,)),
    ("x.sum(dim=1)[i]", (5,)),
    ("x.softmax(dim=0)[i]", (5,)),
    ("x[x.argmax(dim=0)]", (2,)),
    ("x[:, [2, 0, -1]]", (1,)),
    ("x[i, [1]]", (4,)),
    ("tsr.iota((x.shape[0],), dim=0)[i]", (5,)),
    ("x[i].to(fp64)", (9,)),
    ("x[i] @ x.mT", (9,)),
    ("x[i].sum(dim=0)", (9,)),
    ("tsr.softmax(x[i], dim=-1)", (9,)),
]


@pytest.mark.parametrize("text,shape", FORMS)
def test_forms(text, shape):
    f = define(f"def f(x, i):\n    return {text}\n")
    for size in [(5, 4), (17, 31), (4, 4), (64, 128)]:
        check(f, random(size), indices(shape, 2 if "::2" in text else 4))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_gather(dim):
    f = define(f"def f(x, i):\n    return tsr.gather(x, {dim}, i)\n")
    for size in [(3, 4, 5), (7, 17, 13), (2, 3, 129)]:
        for shape in [size, tuple(max(1, n - 1) for n in size)]:
            check(f, random(size), indices(shape, size[dim]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define(
        "def f(x, i, j):\n    return tsr.embedding(i, x), tsr.gather(x, 1, j), x[i, i], tsr.scatter_add(x, 0, j, x)\n"
    )
    check(f, random((13, 37), dtype), indices((11,), 13), indices((13, 37), 13))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_index_types(dtype):
    f = define(
        "def f(x, i, j):\n    return tsr.embedding(i, x), tsr.gather(x, 0, j), tsr.take(x, j), tsr.scatter_add(x, 1, j, x)\n"
    )
    check(f, random((19, 40)), indices((23,), 19, dtype), indices((19, 40), 19, dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    f = define(
        "def f(x, i, j):\n    return tsr.embedding(i, x), x[:, i], tsr.gather(x, 1, j), tsr.take(x, j), x[i, i]\n"
    )
    check(
        f,
        random((13, 33), "fp32", layout),
        indices((7, 5), 13, "int64", layout),
        indices((13, 33), 33, "int32", layout),
    )


@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 255, 1000])
def test_sizes(size):
    f = define(
        'def f(x: Tensor["V", "D"], i: Tensor["N"]):\n    return tsr.embedding(i, x), x[:, i % D], tsr.take(x, i)\n'
    )
    for count in [1, 2, 5, 31, 300]:
        check(f, random((5, size)), indices((count,), 5))


def test_empty():
    f = define(
        "def f(x, i):\n    return tsr.embedding(i, x), x[:, i], tsr.take(x, i), tsr.index_select(x, 0, i)\n"
    )
    check(f, random((4, 3)), indices((0,), 3))
    check(define("def f(x, i):\n    return x[i]\n"), random((4, 0)), indices((3,), 4))
    check(
        define("def f(x, i, s):\n    return tsr.scatter_add(x, 0, i, s)\n"),
        random((4,)),
        indices((0,), 4),
        random((0,)),
    )


@pytest.mark.parametrize("text", ["x[i]", "x[:, i]", "tsr.take(x, i)", "x[i, i]"])
def test_from_the_end(text):
    f = define(f"def f(x, i):\n    return {text}\n")
    for dtype in ("int64", "int32", "int8"):
        check(f, random((5, 7)), indices((11,), 5, dtype, low=-5))


# The dimension that is indexed, its size, and whether indices below 0 count from its end.
OUTSIDE = [
    ("x[i]", "index {} is out of range for dimension 0 of size 5", 5, True),
    ("x[:, i]", "index {} is out of range for dimension 1 of size 7", 7, True),
    ("x[i, 1]", "index {} is out of range for dimension 0 of size 5", 5, True),
    ("tsr.take(x, i)", "index {} of 'take' is out of range for dimension 0 of size 35", 35, True),
    (
        "tsr.take(x, i, dim=1)",
        "index {} of 'take' is out of range for dimension 1 of size 7",
        7,
        True,
    ),
    (
        "tsr.gather(x, 0, i[:, None])",
        "index {} of 'gather' is out of range for dimension 0 of size 5",
        5,
        False,
    ),
    (
        "tsr.index_select(x, 1, i)",
        "index {} of 'index_select' is out of range for dimension 1 of size 7",
        7,
        False,
    ),
    (
        "tsr.embedding(i, x)",
        "index {} of 'embedding' is out of range for dimension 0 of size 5",
        5,
        False,
    ),
    (
        "tsr.embedding(i, x).sum(dim=0)",
        "index {} of 'embedding' is out of range for dimension 0 of size 5",
        5,
        False,
    ),
    (
        "tsr.softmax(x[i], dim=-1) @ x.mT",
        "index {} is out of range for dimension 0 of size 5",
        5,
        True,
    ),
    (
        "tsr.scatter_add(x, 0, i[:, None], x)",
        "index {} of 'scatter_add' is out of range for dimension 0 of size 5",
        5,
        False,
    ),
    (
        "tsr.one_hot(i, 6) + x[0, 0]",
        "class {} of 'one_hot' is out of range for 6 classes",
        6,
        False,
    ),
    (
        "tsr.cross_entropy(x[:3], i)",
        "class {} of 'cross_entropy' is out of range for 7 classes",
        7,
        False,
    ),
]


@pytest.mark.parametrize("text,message,size,wraps", OUTSIDE)
def test_outside(text, message, size, wraps):
    """An error that names the index and shows the line; the function works again afterwards."""
    f = define(f"def f(x, i):\n    return {text}\n")
    x, good = random((5, 7)), np.array([0, 4, 1], np.int64)
    expected = f(x, good)
    for dtype in (np.int64, np.int32):
        for wrong in (size, size + 100, -size - 1 if wraps else -1, 2**31 - 1, -(2**31)):
            i = np.array([0, wrong, 1], dtype)
            with pytest.raises(tsr.OutOfRangeError) as error:
                f(x, i)
            lines = str(error.value).splitlines()
            assert lines[0] == message.format(wrong)
            assert lines[1].strip() == f"|     return {text}"
            assert lines[2].strip("| ").startswith("^")
            with pytest.raises(tsr.CompileError, match=re.escape(message.format(wrong))):
                f.reference(x, i)
    if wraps:
        check(f, x, np.array([-1, -size, size - 1], np.int64))
    assert issubclass(tsr.OutOfRangeError, IndexError)
    np.testing.assert_array_equal(f(x, good), expected)


def test_far_outside():
    """In a long tensor the first block with an index out of range is reported, on all threads."""
    f = define("def f(x, i):\n    return tsr.embedding(i, x)\n")
    x, i = random((50, 64)), indices((20000,), 50)
    i[[7001, 7002, 19999]] = [2**62, 77, -3]
    for _ in range(20):
        with pytest.raises(IndexError, match="index 77 of 'embedding'"):
            f(x, i)
    i[[7001, 7002, 19999]] = 0
    check(f, x, i)


def test_known_inside():
    """Values that are indices by construction need no check."""
    for text in (
        "x[x.argmax(dim=0)]",
        "x[tsr.iota((x.shape[0],), dim=0)]",
        "tsr.gather(x, 1, x.max(dim=1).indices[:, None])",
    ):
        f = define(f"def f(x):\n    return {text}\n")
        check(f, random((5, 7)))
        assert "check" not in f.inspect_ir("graph", random((5, 7)))


def test_like_numpy():
    x, i, j = random((5, 6, 7)), indices((4, 3), 5), indices((3,), 5, seed=2)
    cases = [
        "x[i]",
        "x[:, i]",
        "x[..., i]",
        "x[i, j]",
        "x[i, :, j]",
        "x[:, i, j]",
        "x[i, None, j]",
        "x[i, 1:, j]",
        "x[i[:, :1], j]",
        "x[i, j, j]",
        "x[-1, i]",
        "x[None, i, j]",
    ]
    for text in cases:
        np.testing.assert_array_equal(
            define(f"def f(x, i, j):\n    return {text}\n")(x, i, j), eval(text)
        )


SCATTERS = [
    (0, (7,), (5,), (5,)),
    (0, (4, 6), (9, 6), (9, 6)),
    (1, (4, 6), (4, 11), (4, 11)),
    (1, (5, 3, 4), (5, 8, 4), (5, 8, 4)),
    (0, (4, 6), (3, 5), (9, 8)),
    (-1, (3, 70), (3, 300), (3, 300)),
]


@pytest.mark.parametrize("dim,size,shape,sources", SCATTERS)
def test_scatter_add(dim, size, shape, sources):
    f = define(f"def f(x, i, s):\n    return tsr.scatter_add(x, {dim}, i, s)\n")
    x, i, s = random(size), indices(shape, size[dim]), random(sources, seed=3)
    check(f, x, i, s)
    expected = x.astype(np.float64)
    for at in np.ndindex(*shape):
        to = list(at)
        to[dim] = i[at]
        expected[tuple(to)] += s[at]
    np.testing.assert_allclose(f(x, i, s), expected, rtol=1e-5, atol=1e-5)


def test_fused():
    """A gather is fused like any other load."""
    f = define(
        "def f(x, i, g):\n    y = x[i]\n    return y * tsr.rsqrt((y * y).mean(dim=-1, keepdim=True) + 1e-5) * g\n"
    )
    args = random((50, 96)), indices((20,), 50), random((96,))
    check(f, *args)
    assert str(f.inspect_ir("sched", *args)).count("sched.kernel") == 1
    for text in ["x[i] @ w", "w.mT @ x[i].mT", "tsr.relu(x[i] + 1.0)[:, ::2] * 2.0"]:
        g = define(f"def f(x, i, w):\n    return {text}\n")
        args = random((50, 96)), indices((20,), 50), random((96, 40))
        check(g, *args)
        stores = re.findall(r"sched.kernel @\w+\(.*\) -> \(%", str(g.inspect_ir("sched", *args)))
        assert len(stores) == 1  # a check of the indices may be a kernel that stores nothing


def test_loss():
    """The statistics of a row and one of its elements: the row is read once and nothing is
    stored."""
    f = define(
        "def f(x, y):\n    return -tsr.gather(tsr.log_softmax(x, dim=-1), -1, y[:, None]).squeeze(-1)\n"
    )
    for shape in [(3, 7), (64, 1000), (5, 4099)]:
        check(f, random(shape), indices(shape[:1], shape[1]))
    args = random((64, 1000)), indices((64,), 1000)
    assert str(f.inspect_ir("sched", *args)).count("sched.kernel") == 1


def test_run_time_sizes():
    f = define('def f(x: Tensor["V", "D"], i: Tensor["N"]):\n    return x[i]\n')
    for v, d, n in [(10, 16, 5), (11, 16, 6), (300, 48, 77), (12, 160, 1000)]:
        check(f, random((v, d)), indices((n,), v))
    assert len(f.specializations()) <= 3


def test_deterministic():
    f = define("def f(x, i, s):\n    return tsr.scatter_add(x, 0, i, s)\n")
    x, i, s = random((100,)), indices((5000,), 100), random((5000,))
    first = f(x, i, s)
    for _ in range(5):
        np.testing.assert_array_equal(f(x, i, s), first)


def test_sources_that_go_where_the_index_does_not_look_at_them():
    """The index is computed and the same for all sources along the dimension."""
    function = define("""def f(x):
    i = tsr.iota(x.shape, dim=0)
    j = tsr.full(x.shape, 2, dtype=tsr.int64)
    return tsr.scatter_add(x, 1, i, x), tsr.scatter_add(x, 1, j, tsr.ones(x.shape))""")
    check(function, random((5, 7, 3)))
