"""Functions in programs that JAX differentiates or traces, where JAX is installed."""

import numpy as np
import pytest

import tessera as tsr

jax = pytest.importorskip("jax")
jnp = jax.numpy


@tsr.function
def layer(x, w, scale: float = 1.5):
    return tsr.tanh(x @ w) * scale


@tsr.function
def best(x):
    return x.max(dim=1)


@tsr.function
def lookup(table, i):
    return table[i] ** 2


def plain(x, w, scale=1.5):
    return jnp.tanh(x @ w) * scale


X = jnp.asarray(np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4))
W = jnp.asarray(np.linspace(0.5, -0.7, 12, dtype=np.float32).reshape(4, 3))


def test_gradients():
    got = jax.grad(lambda x, w: (layer(x, w) ** 2).sum(), argnums=(0, 1))(X, W)
    expected = jax.grad(lambda x, w: (plain(x, w) ** 2).sum(), argnums=(0, 1))(X, W)
    for one, other in zip(got, expected):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    got = jax.grad(lambda w: layer(X, w, scale=2.0).sum())(W)
    np.testing.assert_allclose(got, jax.grad(lambda w: plain(X, w, 2.0).sum())(W), rtol=1e-5)


def test_compiled_programs():
    def loss(x, w):
        return (layer(x, w) ** 2).sum()

    np.testing.assert_allclose(jax.jit(layer)(X, W), plain(X, W), rtol=1e-5)
    got = jax.jit(jax.grad(loss))(X, W)
    np.testing.assert_allclose(got, jax.grad(loss)(X, W), rtol=1e-5)


def test_integers():
    values, indices = best(X)
    got = jax.grad(lambda x: best(x)[0].sum())(X)
    np.testing.assert_allclose(got, np.eye(4)[np.asarray(indices)])
    i = jnp.array([1, 1, 3])
    got = jax.grad(lambda table: lookup(table, i).sum())(X)
    np.testing.assert_allclose(got, jax.grad(lambda table: (table[i] ** 2).sum())(X), rtol=1e-6)
    jax.vjp(lookup, X, i)[1](jnp.ones((3, 4), jnp.float32))


def test_gradients_of_gradients():
    def first(f):
        return jax.grad(lambda x: f(x, W).sum())

    got = jax.grad(lambda x: (first(layer)(x) ** 2).sum())(X)
    expected = jax.grad(lambda x: (first(plain)(x) ** 2).sum())(X)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_batches():
    xs = jnp.stack([X, 2 * X])
    np.testing.assert_allclose(
        jax.vmap(layer, in_axes=(0, None))(xs, W),
        jax.vmap(plain, in_axes=(0, None))(xs, W),
        rtol=1e-5,
    )


@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT, dim=-1) @ v


def test_what_forward_saves_is_used():
    q, k, v = (jax.random.normal(jax.random.key(i), (2, 9, 4)) for i in range(3))
    got = jax.grad(lambda *args: (attention(*args) ** 2).sum(), argnums=(0, 1, 2))(q, k, v)
    assert len(attention.__dict__["_pairs"]) == 1 and "_vjps" not in attention.__dict__

    def expected(q, k, v):
        return ((jax.nn.softmax(q @ k.mT) @ v) ** 2).sum()

    for one, other in zip(got, jax.grad(expected, argnums=(0, 1, 2))(q, k, v)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    second = jax.grad(lambda q: (jax.grad(lambda q: attention(q, k, v).sum())(q) ** 2).sum())(q)
    plain = jax.grad(
        lambda q: (jax.grad(lambda q: (jax.nn.softmax(q @ k.mT) @ v).sum())(q) ** 2).sum()
    )
    np.testing.assert_allclose(second, plain(q), rtol=1e-3, atol=1e-5)
