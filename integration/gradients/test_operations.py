"""The gradient of every operation: finite differences in float64, and the compiled gradient."""

from __future__ import annotations

import numpy as np
import pytest
import tessera as tsr
from judge import check_differences, check_gradients, define, random

#: Elementwise operations of one operand, and the range of their operands.
UNARY = {
    "abs(x)": (-2, 2),
    "acos(x)": (-0.9, 0.9),
    "asin(x)": (-0.9, 0.9),
    "atan(x)": (-2, 2),
    "cos(x)": (-2, 2),
    "cosh(x)": (-2, 2),
    "elu(x, 0.7)": (-2, 2),
    "erf(x)": (-2, 2),
    "erfc(x)": (-2, 2),
    "exp(x)": (-2, 2),
    "exp2(x)": (-2, 2),
    "expm1(x)": (-2, 2),
    "gelu(x)": (-2, 2),
    'gelu(x, approximate="tanh")': (-2, 2),
    "hardsigmoid(x)": (-2, 2),
    "hardswish(x)": (-2, 2),
    "leaky_relu(x, 0.1)": (-2, 2),
    "log(x)": (0.3, 3),
    "log1p(x)": (-0.5, 3),
    "log2(x)": (0.3, 3),
    "mish(x)": (-2, 2),
    "neg(x)": (-2, 2),
    "reciprocal(x)": (0.3, 3),
    "relu(x)": (-2, 2),
    "rsqrt(x)": (0.3, 3),
    "selu(x)": (-2, 2),
    "sigmoid(x)": (-2, 2),
    "silu(x)": (-2, 2),
    "sin(x)": (-2, 2),
    "sinh(x)": (-2, 2),
    "softplus(x)": (-2, 2),
    "softplus(x, 2.0, 3.0)": (-2, 2),
    "sqrt(x)": (0.3, 3),
    "square(x)": (-2, 2),
    "tan(x)": (-1, 1),
    "tanh(x)": (-2, 2),
    "clamp(x, -0.5, 0.7)": (-2, 2),
}

#: Operations of two operands of the same shape.
BINARY = (
    "x + y",
    "x - 2 * y",
    "x * y",
    "x / y",
    "x ** y",
    "x ** 3",
    "x ** 1.5",
    "x % y",
    "tsr.fmod(x, y)",
    "tsr.maximum(x, y)",
    "tsr.minimum(x, y)",
    "tsr.atan2(x, y)",
    "tsr.lerp(x, y, 0.3)",
    "tsr.where(x > y, x * x, tsr.sin(y))",
    "tsr.clamp(x, max=y)",
)

#: Operations on a matrix x of 5 by 6 with a vector of 6 and indices.
SHAPED = (
    "x.sum(dim=0)",
    "x.sum()",
    "x.mean(dim=1)",
    "x.prod(dim=1)",
    "x.amax(dim=0)",
    "x.amin(dim=(0, 1))",
    "x.max(dim=1)[0]",
    "x.min(dim=0)[0]",
    "x.var(dim=1)",
    "x.var(dim=0, correction=0)",
    "x.std(dim=1)",
    "tsr.norm(x, dim=1)",
    "tsr.norm(x, 3.0, dim=1)",
    "tsr.norm(x, 1.0)",
    "x.logsumexp(dim=1)",
    "x.softmax(dim=1)",
    "x.softmax(dim=0, safe=True)",
    "x.log_softmax(dim=0)",
    "x.cumsum(dim=1)",
    "x.cumprod(dim=0)",
    "x.sort(dim=1)[0]",
    "x.sort(dim=0, descending=True)[0]",
    "x.topk(3, dim=1)[0]",
    "x.T @ x",
    "x @ v",
    "tsr.outer(v, v)",
    "tsr.dot(v, v * v)",
    "tsr.matmul(x.unsqueeze(0), x.T.expand(3, 6, 5))",
    'tsr.einsum("ij,kj->ik", x, x)',
    'tsr.einsum("ij,ij->j", x, x)',
    "tsr.linear(x, x[:4], v[:4])",
    "tsr.layer_norm(x, (6,), v, v * 2)",
    "tsr.layer_norm(x, (5, 6))",
    "tsr.rms_norm(x, (6,), v)",
    "tsr.group_norm(x.reshape(5, 6, 1), 2)",
    "x[1:4, ::2]",
    "x[::-1, 4:1:-1]",
    "x[:, 3]",
    "x[..., None, :]",
    "x[-1]",
    "x.reshape(6, 5) * 2",
    "x.T.reshape(2, 15)",
    "x.flatten()",
    "x.expand(2, 5, 6)",
    "x.repeat(2, 1)",
    "x.flip(0)",
    "x.roll(2, 1)",
    "x.tril()",
    "x.triu(1)",
    "tsr.concat((x, x * 2, v[None, :]), dim=0)",
    "tsr.stack((x, x * x), dim=1)",
    "tsr.pad(x, (1, 2))",
    "x.split(2, dim=1)[1]",
    "x.chunk(3, dim=1)[2]",
    "x[i]",
    "x[:, i]",
    "x[i, i]",
    "x.index_select(1, i)",
    "tsr.embedding(i, x)",
    "tsr.gather(x, 1, i[None, :].expand(5, 4))",
    "tsr.take(x, i)",
    "tsr.scatter_add(x, 0, i[:, None].expand(4, 6), v.expand(4, 6) * x[:4])",
    "tsr.cross_entropy(x[:4], i)",
    "tsr.mse_loss(x, x * x)",
    "tsr.squeeze(x[:, :1], 1)",
    "x.to(tsr.fp32).to(tsr.fp64) * 1.0",
)


def weighed(expression: str, parameters: str) -> str:
    """A scalar that depends on every element of the result with another weight."""
    return f"""def f({parameters}):
    y = {expression}
    n = y.numel() if y.ndim else 1
    weight = tsr.cos(tsr.arange(n).to(fp64) * 0.7 + 0.3)
    return (y.reshape(n) * weight).sum()
"""


@pytest.mark.parametrize("expression", UNARY)
def test_unary(expression):
    low, high = UNARY[expression]
    f = define(weighed(f"tsr.{expression}", "x"))
    x = random((5, 7), "fp64", low=low, high=high)
    check_differences(f, x)
    check_gradients(f, x)


@pytest.mark.parametrize("expression", BINARY)
def test_binary(expression):
    f = define(weighed(expression, "x, y"))
    x, y = (random((3, 7), "fp64", low=0.3, high=2.5, seed=seed) for seed in (1, 2))
    check_differences(f, x, y, wrt=(0, 1))
    check_gradients(f, x, y, wrt=(0, 1))


@pytest.mark.filterwarnings("ignore:the result of 'f' does not depend on 'v'")
@pytest.mark.parametrize("expression", SHAPED)
def test_shaped(expression):
    f = define(weighed(expression, "x, v, i"))
    x, v = random((5, 6), "fp64", low=0.3, high=2.5), random((6,), "fp64", low=0.5, high=1.5)
    i = np.array([2, 0, 2, 4])
    tolerance = 1e-2 if "fp32" in expression else 1e-6
    check_differences(f, x, v, i, wrt=(0, 1), tolerance=tolerance)
    check_gradients(f, x, v, i, wrt=(0, 1))


@pytest.mark.parametrize("padding", [2, -3])
def test_padding_of_embeddings(padding):
    """Rows of the padding index are read, and get no gradient."""
    f = define(
        f"def f(x, i):\n    y = tsr.embedding(i, x, padding_idx={padding})\n    return (y * y).sum()\n"
    )
    x, i = random((5, 6), "fp64"), np.array([2, 0, 2, 4])
    rows = x[i]
    np.testing.assert_allclose(f(x, i), (rows * rows).sum())
    expected = np.zeros_like(x)
    expected[[0, 4]] = 2 * x[[0, 4]]
    np.testing.assert_allclose(tsr.grad(f)(x, i), expected)


@pytest.mark.parametrize("zeros", [(), (2,), (0, 3), (1, 2, 4)])
@pytest.mark.parametrize("expression", ["x.prod(dim=1)", "x.prod()", "x.cumprod(dim=1)"])
def test_second_derivative_of_products_with_zeros(expression, zeros):
    text = weighed(expression, "x").replace("def f", "def inner")
    text += "\n\n@tsr.function\n" + weighed("tsr.grad(inner)(x)", "x")
    x = random((1, 6), "fp64", low=0.3, high=2.5)
    x[0, list(zeros)] = 0
    check_differences(define(text), x, tolerance=1e-5)


def test_products_that_overflow_after_a_zero():
    f = define("def f(x):\n    return x.cumprod(dim=0).sum()\n")
    gradient = tsr.grad(f)(np.array([2, 0, 1e30, 1e30, 1], np.float32))
    np.testing.assert_array_equal(gradient[2:], 0)


SECOND = (
    *(f"tsr.{expression}" for expression in UNARY),
    "x.prod(dim=1)",
    "x.var(dim=1)",
    "x.std(dim=1)",
    "x.logsumexp(dim=1)",
    "x.softmax(dim=1)",
    "x.log_softmax(dim=0)",
    "x.cumsum(dim=1) * x",
    "x.cumprod(dim=0)",
    "x.sort(dim=1)[0] ** 2",
    "x.amax(dim=1) ** 2",
    "x.T @ x",
    "tsr.layer_norm(x, (7,), x[0], x[1])",
    "tsr.rms_norm(x, (7,), x[0])",
    "x[::2, 1:] ** 3",
    "x[tsr.arange(3)] ** 2",
    "tsr.concat((x * x, x), dim=0) ** 2",
)


@pytest.mark.parametrize("expression", SECOND)
def test_second_derivative(expression):
    """The gradient of a weighed sum of the gradient."""
    low, high = UNARY.get(expression.removeprefix("tsr."), (0.3, 2.5))
    text = weighed(expression, "x").replace("def f", "def inner")
    text += "\n\n@tsr.function\n" + weighed("tsr.grad(inner)(x)", "x")
    f = define(text)
    x = random((5, 7), "fp64", low=low, high=high)
    check_differences(f, x, tolerance=1e-5)
    check_gradients(f, x)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("expression", ["x.softmax(dim=1)", "x @ x.T", "tsr.gelu(x) / (1 + x * x)"])
def test_narrow_types(expression, dtype):
    if dtype == "bf16":
        pytest.importorskip("ml_dtypes")
    f = define(f"def f(x):\n    y = {expression}\n    return (y * y).sum()\n")
    check_gradients(f, random((9, 13), dtype))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (1, 17), (17, 1), (31, 127)])
def test_sizes(shape):
    f = define("def f(x):\n    return (x.softmax(dim=1) * x).sum() + (x.T @ x).mean()\n")
    x = random(shape, "fp32")
    if 0 in shape:
        import tessera as tsr

        assert tsr.grad(f)(x).shape == shape
    else:
        check_gradients(f, x)
