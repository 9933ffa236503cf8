"""Views, slices, concatenation and creation: operations that move elements without computing."""

import pytest
from harness import DTYPES, LAYOUTS, check, define, has_bf16, random

VIEWS = [
    "x.transpose(0, 1)",
    "x.transpose(-1, 0)",
    "tsr.permute(x, (2, 0, 1))",
    "x.permute(1, 2, 0)",
    "x.mT",
    "x.unsqueeze(0)",
    "x.unsqueeze(-1)",
    "x.unsqueeze(1).squeeze(1)",
    "x.reshape(-1)",
    "x.reshape(x.shape[0] * x.shape[1], x.shape[2])",
    "x.reshape(x.shape[0], x.shape[1] * x.shape[2])",
    "x.transpose(0, 2).reshape(-1)",
    "x.view(x.shape[0], -1)",
    "tsr.flatten(x)",
    "x[0]",
    "x[-1]",
    "x[:, 1]",
    "x[..., 0]",
    "x[1:]",
    "x[:, :2]",
    "x[:, 1:3]",
    "x[..., ::2]",
    "x[:, -2:]",
    "x[None]",
    "x[:, None, 1:]",
    "x[1:, ..., -1]",
    "x[:1].expand(4, x.shape[1], x.shape[2])",
    "tsr.concat((x, x), dim=0)",
    "tsr.concat((x, x * 2, x), dim=-1)",
    "tsr.concat((x[1:], x[:1]), dim=0)",
    "tsr.concat((x, tsr.zeros((x.shape[0], 2, x.shape[2]), dtype=x.dtype)), dim=1)",
]


@pytest.mark.parametrize("text", VIEWS)
def test_views(text):
    f = define(f"def f(x):\n    return {text}\n")
    for shape in [(2, 3, 5), (3, 4, 7), (17, 5, 8)]:
        check(f, random(shape))


@pytest.mark.parametrize(
    "text", ["x.transpose(0, 1)", "x[1:, ::2]", "x.reshape(-1)", "tsr.concat((x, x), dim=1)"]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype, text):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define(f"def f(x):\n    return {text}\n")
    check(f, random((5, 13), dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    f = define(
        "def f(x):\n    return x.transpose(0, 1) + 1.0, x.reshape(-1), x[1:, :, ::2] * 2.0\n"
    )
    check(f, random((3, 5, 7), "fp32", layout))


CREATIONS = [
    "tsr.iota((x.shape[0], 5), dim=0)",
    "tsr.iota(x.shape, dim=-1) + x",
    "tsr.arange(x.shape[0])",
    "tsr.arange(2, 20, 3)",
    "tsr.full((3, x.shape[1]), 2.5)",
    "tsr.zeros((2, 3))",
    "tsr.ones(x.shape, dtype=int32)",
    "tsr.full((), 1.5) * x",
    "tsr.zeros_like(x) + 1",
    "tsr.where(tsr.iota(x.shape, dim=0) <= tsr.iota(x.shape, dim=1), x, 0.0)",
]


@pytest.mark.parametrize("text", CREATIONS)
def test_creation(text):
    f = define(f"def f(x):\n    return {text}\n")
    for shape in [(1, 1), (3, 5), (17, 31)]:
        check(f, random(shape))


def test_sizes_as_numbers():
    f = define('def f(x: Tensor["N", "D"]):\n    return x * (1.0 / D) + N, x.sum() / (N * D)\n')
    for shape in [(2, 3), (5, 31), (1, 1)]:
        check(f, random(shape))


def test_several_results():
    f = define("def f(x, y):\n    return x + y, x.T, (x * y).sum(dim=-1), tsr.full((2,), 3.0), x\n")
    for shape in [(1, 1), (3, 5), (31, 17)]:
        check(f, random(shape), random(shape, seed=1))


def test_views_inside_a_program():
    f = define("""def f(x, w):
    heads = (x @ w).reshape(x.shape[0], 4, -1).transpose(0, 1)
    scores = heads @ heads.transpose(-2, -1)
    return (tsr.softmax(scores, dim=-1) @ heads).transpose(0, 1).reshape(x.shape[0], -1)
""")
    for rows in (1, 5, 33):
        check(f, random((rows, 12)), random((12, 32), seed=1))


def test_rotation():
    f = define("""def f(x, cos, sin):
    half = x.shape[-1] // 2
    turned = tsr.concat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin
""")
    check(f, random((2, 7, 16)), random((7, 16), seed=1), random((7, 16), seed=2))
