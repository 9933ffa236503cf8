"""Functions with a derivative rule: `@tsr.custom_vjp` and `f.defvjp(forward, backward)`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import tessera as tsr


@tsr.custom_vjp
def clipped(x, limit: float = 1.0):
    return x * 2


def clipped_forward(x, limit):
    return clipped(x, limit), (x, limit)


def clipped_backward(x, limit, cotangent):
    return tsr.clamp(2 * cotangent, -limit, limit), None


clipped.defvjp(clipped_forward, clipped_backward)


@tsr.custom_vjp
@tsr.function(numerics="strict")
def scaled(x, w):
    return x * w, x.argmax(dim=1), w.sum()


def scaled_forward(x, w):
    return (x * w, x.argmax(dim=1), w.sum()), (x, w)


def scaled_backward(x, w, y_cotangent, sum_cotangent):
    return 10 * y_cotangent * w, (y_cotangent * x).sum(dim=0) + 100 * sum_cotangent


scaled.defvjp(scaled_forward, scaled_backward)


@tsr.custom_vjp
def cube(x):
    return x * x * x


def cube_forward(x):
    return cube(x), (x,)


def cube_backward(x, cotangent):
    return 3 * x * x * cotangent


cube.defvjp(cube_forward, cube_backward)


@tsr.custom_vjp
def exponential(x):
    return tsr.exp(x)


def exponential_forward(x):
    y = exponential(x)
    return y, y  # one residual needs no tuple


def exponential_backward(y, cotangent):
    return 2 * y * cotangent  # wrong on purpose, so that the rule can be told from the body


exponential.defvjp(exponential_forward, exponential_backward)

X = np.linspace(-1, 1, 12).reshape(3, 4)
W = np.linspace(0.5, 2, 4)


def test_body():
    np.testing.assert_allclose(clipped(X), 2 * X)
    np.testing.assert_allclose(clipped(X, 0.5), 2 * X)
    y, best, total = scaled(X, W)
    np.testing.assert_allclose(y, X * W)
    np.testing.assert_array_equal(best, X.argmax(axis=1))
    np.testing.assert_allclose(total, W.sum())


def test_rule_inside():
    @tsr.function
    def loss(x):
        return (clipped(x, 3.0) * x).sum()

    # The cotangent of clipped(x) is x, and that of x is 2x.
    np.testing.assert_allclose(tsr.grad(loss)(X * 4), np.clip(2 * X * 4, -3, 3) + 2 * X * 4)
    np.testing.assert_allclose(tsr.grad(loss).reference(X), np.clip(2 * X, -3, 3) + 2 * X)


def test_rule_outside():
    np.testing.assert_allclose(tsr.vjp(clipped, wrt="x")(X, 1.0, X), np.clip(2 * X, -1, 1))
    g = tsr.vjp(exponential)
    np.testing.assert_allclose(g(X, X), 2 * np.exp(X) * X)
    assert "custom_vjp" not in g.inspect_ir("graph")


def test_several_results():
    @tsr.function
    def loss(x, w):
        y, best, total = scaled(x, w)
        return y.sum() + total + 0 * best.sum()

    dx, dw = tsr.grad(loss, argnums=(0, 1))(X, W)
    np.testing.assert_allclose(dx, 10 * np.broadcast_to(W, X.shape))
    np.testing.assert_allclose(dw, X.sum(axis=0) + 100)

    @tsr.function
    def part(x, w):
        return scaled(x, w)[2] * 2

    np.testing.assert_allclose(tsr.grad(part, argnums=1)(X, W), np.full(4, 200.0))


def test_gradients_of_gradients():
    @tsr.function
    def total(x):
        return cube(x).sum()

    @tsr.function
    def slope(x):
        return tsr.grad(total)(x).sum()

    @tsr.function
    def curvature(x):
        return tsr.grad(slope)(x).sum()

    np.testing.assert_allclose(tsr.grad(total)(X), 3 * X * X)
    np.testing.assert_allclose(tsr.grad(slope)(X), 6 * X, atol=1e-15)
    np.testing.assert_allclose(tsr.grad(curvature)(X), np.full_like(X, 6.0))

    # The rule holds for the calls in its own forward part, too.
    @tsr.function
    def sums(x):
        return exponential(x).sum()

    @tsr.function
    def first(x):
        return tsr.grad(sums)(x).sum()

    np.testing.assert_allclose(tsr.grad(first)(X), 4 * np.exp(X))
    value, derivative = tsr.jvp(cube)(X, X)
    np.testing.assert_allclose(derivative, 3 * X**3, atol=1e-15)


def test_numbers_and_narrow_types():
    x = X.astype(np.float32)
    result = tsr.vjp(cube)(x, x)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, 3 * x**3, rtol=1e-6)

    @tsr.function
    def loss(x, limit):
        return clipped(x, limit).sum()

    np.testing.assert_allclose(tsr.grad(loss)(X, 0.5), np.full_like(X, 0.5))


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tsr.custom_vjp
    def loss(self, x):
        return (x * x).sum() * self.scale

    def _forward(self, x):
        return (x * x).sum() * self.scale, x

    def _backward(x, cotangent):  # noqa: N805 (the residuals are the arguments)
        return 7 * x * cotangent

    loss.defvjp(_forward, _backward)


def test_methods():
    np.testing.assert_allclose(Model(3.0).loss(X), 3 * (X * X).sum())
    np.testing.assert_allclose(tsr.grad(Model(3.0).loss)(X), 7 * X)


def test_new_rules_are_used():
    @tsr.custom_vjp
    def f(x):
        return x.sum()

    def forward(x):
        return x.sum(), x

    def one(x, cotangent):
        return x * cotangent

    def two(x, cotangent):
        return 2 * x * cotangent

    g = tsr.grad(f)
    with pytest.raises(tsr.CompileError, match="'f' has no derivative rule; call f.defvjp"):
        g(X)
    f.defvjp(forward, one)
    np.testing.assert_allclose(g(X), X)
    f.defvjp(forward, two)
    np.testing.assert_allclose(g(X), 2 * X)


def test_is_a_function():
    assert "clipped" in repr(clipped) and clipped.__name__ == "clipped"
    assert pickle.loads(pickle.dumps(clipped)) is clipped
    with pytest.raises(tsr.ArgumentError, match="expected a function for 'backward', found"):
        clipped.defvjp(clipped_forward, 3)
    with pytest.raises(tsr.ArgumentError, match="found a lambda; define it with def"):
        clipped.defvjp(lambda x, limit: (x, ()), clipped_backward)
    with pytest.raises(tsr.ArgumentError, match="tsr.custom_vjp: expected a function, found"):
        tsr.custom_vjp(3)
