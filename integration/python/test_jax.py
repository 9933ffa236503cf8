"""JAX's arrays on the CPU, where JAX is installed."""

import numpy as np
import pytest
import tessera as tsr

jax = pytest.importorskip("jax")
jnp = jax.numpy


@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, -1) @ v


@tsr.function
def double(x):
    return x + x


def test_attention():
    q, k, v = jax.random.normal(jax.random.key(0), (3, 2, 50, 64))
    out = attention(q, k, v)
    assert isinstance(out, jax.Array) and out.shape == q.shape
    expected = jax.nn.softmax(q @ k.mT * 0.125, -1) @ v
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int32", "int8", "uint8"],
)
def test_types(dtype):
    x = jnp.arange(12).reshape(3, 4).astype(dtype)
    y = double(x)
    assert isinstance(y, jax.Array) and y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype("float32"), 2 * x.astype("float32"))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (33, 5)])
def test_shapes(shape):
    y = double(jnp.ones(shape))
    assert isinstance(y, jax.Array) and y.shape == shape and bool((y == 2).all())


def test_nothing_is_copied():
    from tessera.arrays import adapt

    x = jnp.ones((64, 64))
    for array in (x, x.astype("bfloat16")):
        assert adapt("x", array)[0][0] == array.unsafe_buffer_pointer()


def test_arrays_cannot_be_written():
    x = jnp.ones(4)
    with pytest.raises(tsr.ArgumentError, match="out: expected an array that can be written"):
        double(x, out=x)
    assert bool((x == 1).all())


def test_inside_of_a_trace():
    with pytest.raises(tsr.ArgumentError, match="call the function outside of jax.jit"):
        jax.jit(double)(jnp.ones(4))
    call = jax.jit(lambda x: jax.pure_callback(double, jax.ShapeDtypeStruct((4,), "float32"), x))
    assert call(jnp.ones(4)).tolist() == [2, 2, 2, 2]
