"""`tsr.grad` and its relatives as a user calls them: outside and inside functions, and errors."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
import tessera as tsr
from judge import define


@tsr.function
def loss(x, w, scale: float = 2.0):
    return (tsr.tanh(x @ w) * scale).sum()


@tsr.function
def pair(x, w):
    y = x * w
    return y.sum(), y


@tsr.function
def cube(x):
    return x * x * x


@tsr.function
def step(x, w):
    value, gradient = tsr.value_and_grad(loss, wrt="w")(x, w)
    return value, w - 0.1 * gradient


@tsr.function
def clipped(x, w):
    g = tsr.grad(loss, argnums=1)(x, w)
    return g / tsr.maximum(tsr.norm(g), 1.0)


gradient_of_w = tsr.grad(loss, wrt="w")


@tsr.function
def captured(x, w):
    return gradient_of_w(x, w) * 2


X = np.linspace(-1, 1, 12).reshape(3, 4)
W = np.linspace(0.5, -0.7, 8).reshape(4, 2)
EXPECTED_W = X.T @ (2 * (1 - np.tanh(X @ W) ** 2))
EXPECTED_X = (2 * (1 - np.tanh(X @ W) ** 2)) @ W.T


def test_argnums_and_names():
    np.testing.assert_allclose(tsr.grad(loss)(X, W), EXPECTED_X)
    np.testing.assert_allclose(tsr.grad(loss, 1)(X, W), EXPECTED_W)
    np.testing.assert_allclose(tsr.grad(loss, wrt="w")(X, W), EXPECTED_W)
    dx, dw = tsr.grad(loss, argnums=(0, 1))(X, W)
    np.testing.assert_allclose(dx, EXPECTED_X)
    np.testing.assert_allclose(dw, EXPECTED_W)
    (only,) = tsr.grad(loss, wrt=("w",))(X, W)
    np.testing.assert_allclose(only, EXPECTED_W)


def test_number_as_parameter():
    np.testing.assert_allclose(tsr.grad(loss, wrt="scale")(X, W, 3.0), np.tanh(X @ W).sum())


def test_value_and_grad():
    value, dw = tsr.value_and_grad(loss, wrt="w")(X, W, scale=2.0)
    np.testing.assert_allclose(value, 2 * np.tanh(X @ W).sum())
    np.testing.assert_allclose(dw, EXPECTED_W)


def test_auxiliary_results():
    value, y, dw = tsr.value_and_grad(pair, wrt="w", has_aux=True)(X[0], W[:, 0])
    np.testing.assert_allclose(value, (X[0] * W[:, 0]).sum())
    np.testing.assert_allclose(y, X[0] * W[:, 0])
    np.testing.assert_allclose(dw, X[0])
    dx, y = tsr.grad(pair, has_aux=True)(X[0], W[:, 0])
    np.testing.assert_allclose(dx, W[:, 0])


def test_vjp():
    cotangent = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(tsr.vjp(cube)(X, cotangent), 3 * X * X * cotangent)
    dx, dw = tsr.vjp(pair, results=2)(X[0], W[:, 0], 1.0, cotangent[0])
    np.testing.assert_allclose(dx, W[:, 0] * (1 + cotangent[0]))
    np.testing.assert_allclose(dw, X[0] * (1 + cotangent[0]))
    assert list(inspect.signature(tsr.vjp(cube)).parameters) == ["x", "cotangent"]


def test_jvp():
    tangent = np.arange(12.0).reshape(3, 4)
    value, derivative = tsr.jvp(cube)(X, tangent)
    np.testing.assert_allclose(value, X**3)
    np.testing.assert_allclose(derivative, 3 * X * X * tangent, atol=1e-15)


def test_second_derivatives():
    @tsr.function
    def total(x):
        return cube(x).sum()

    @tsr.function
    def slope(x):
        return tsr.grad(total)(x).sum()

    np.testing.assert_allclose(tsr.grad(slope)(X), 6 * X, atol=1e-15)

    @tsr.function
    def power(x):
        return x**4

    third = tsr.grad(tsr.grad(tsr.grad(power)))
    np.testing.assert_allclose(third(np.float64(1.5).reshape(())), 24 * 1.5)


def test_inside():
    value, w = step(X, W)
    np.testing.assert_allclose(value, 2 * np.tanh(X @ W).sum())
    np.testing.assert_allclose(w, W - 0.1 * EXPECTED_W)
    np.testing.assert_allclose(clipped(X, W), EXPECTED_W / max(np.linalg.norm(EXPECTED_W), 1))
    np.testing.assert_allclose(captured(X, W), EXPECTED_W * 2)


def test_arguments_are_independent():
    """A derivative does not pass through what an argument was computed from."""

    @tsr.function
    def product(a, b):
        return (a * b).sum()

    @tsr.function
    def f(x):
        return tsr.grad(product)(x, x), tsr.grad(product)(x, 2 * x)

    first, second = f(X)
    np.testing.assert_allclose(first, X)
    np.testing.assert_allclose(second, 2 * X)


def test_stop_gradient():
    f = define("def f(x):\n    return (x * tsr.stop_gradient(x) + x.detach()).sum()\n")
    np.testing.assert_allclose(tsr.grad(f)(X), X)
    np.testing.assert_allclose(f(X), (X * X + X).sum())


def test_looking_inside():
    g = tsr.grad(loss, wrt="w")
    g(X, W)
    assert "gir.contract" in g.inspect_ir("graph")
    assert "gir.vjp" not in g.inspect_ir("graph")
    np.testing.assert_allclose(g.reference(X, W), EXPECTED_W)
    assert len(g.specializations()) == 1
    compiled = g.compile(X, W)
    np.testing.assert_allclose(compiled(X, W), EXPECTED_W)
    assert loss(X, W).shape == ()
    assert pickle.loads(pickle.dumps(g))(X, W).shape == W.shape
    assert list(inspect.signature(g).parameters) == ["x", "w", "scale"]


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tsr.function
    def loss(self, x):
        return (x * x).sum() * self.scale


def test_methods():
    np.testing.assert_allclose(tsr.grad(Model(3.0).loss)(X), 6 * X)


def test_unused_parameter():
    f = define("def f(x, w):\n    return x.sum()\n")
    with pytest.warns(UserWarning, match="does not depend on 'w'; its gradient is zero"):
        assert not tsr.grad(f, wrt="w")(X, W).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tsr.grad(f, wrt="x")(X, W)


@pytest.mark.parametrize(
    ("text", "wrt", "message"),
    [
        ("def f(x, n):\n    return x.argmax()\n", "x", "expected a float to differentiate as the result of 'f'"),
        ("def f(x, n):\n    return x * 2\n", "x", "expected a scalar to differentiate"),
        ("def f(x, n):\n    return x.sum() * n\n", "n", "expected a float to differentiate with respect to 'n'"),
        ("def f(x, n):\n    return x.sum()\n", "y", "'f' has no parameter 'y'"),
        ("def f(x, n):\n    return x.sum(), x\n", "x", "has_aux=True differentiates the first"),
    ],
)  # fmt: skip
def test_errors(text, wrt, message):
    with pytest.raises(tsr.CompileError, match=message.replace("(", r"\(")):
        tsr.grad(define(text), wrt=wrt)(X, 3)


def test_wrong_requests():
    with pytest.raises(tsr.ArgumentError, match="decorated with @tsr.function"):
        tsr.grad(np.sin)
    with pytest.raises(tsr.ArgumentError, match="expected a number below 3"):
        tsr.grad(loss, 3)
    with pytest.raises(tsr.ArgumentError, match="either argnums or wrt"):
        tsr.grad(loss, 0, wrt="w")
    with pytest.raises(tsr.ArgumentError, match="expected the name or number"):
        tsr.grad(loss, wrt="w;x")
