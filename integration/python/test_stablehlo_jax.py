"""JAX programs through StableHLO, where JAX is installed: bytes and text, against float64."""

import numpy as np
import pytest
import tessera as tsr

jax = pytest.importorskip("jax")
jnp = jax.numpy
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def integers(*shape, high):
    return RNG.integers(0, high, shape).astype(np.int32)


def exported(function, *arrays):
    shapes = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in arrays]
    return jax.export.export(jax.jit(function))(*shapes)


def check(function, *arrays, tolerance=1e-3):
    """The module as bytes and as pretty text, against JAX in float64."""
    module = exported(function, *arrays)
    with jax.enable_x64(True):
        wide = [one.astype(np.float64) if one.dtype == np.float32 else one for one in arrays]
        expected = [np.asarray(one) for one in jax.tree.leaves(jax.jit(function)(*wide))]
    for source in (module.mlir_module_serialized, module.mlir_module()):
        found = tsr.from_stablehlo(source)(*arrays)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(expected)
        for got, want in zip(found, expected):
            assert got.shape == want.shape
            if want.dtype.kind == "f":
                scale = max(1.0, float(np.abs(want).max()))
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)
            else:
                np.testing.assert_array_equal(got, want)


def perceptron(x, w, v):
    return jax.nn.gelu(x @ w) @ v


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def network(x, w, u):
    numbers = ("NHWC", "HWIO", "NHWC")
    y = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=numbers))
    y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.reshape(y.shape[0], -1) @ u


def layer_norm(x, scale, shift):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * scale + shift


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


MODELS = {
    "perceptron": (perceptron, (normal(4, 16), normal(16, 8), normal(8, 3)), 3),
    "attention": (attention, (normal(2, 3, 6, 16), normal(2, 3, 6, 16), normal(2, 3, 6, 16)), 3),
    "network": (network, (normal(2, 12, 12, 3), normal(3, 3, 3, 8), normal(72, 5)), 3),
    "layer_norm": (layer_norm, (normal(4, 16), normal(16), normal(16)), 3),
    "cross_entropy": (cross_entropy, (normal(4, 8), integers(4, high=8)), 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    function, arrays, _ = MODELS[name]
    check(function, *arrays)


@pytest.mark.parametrize("name", MODELS)
def test_gradients(name):
    function, arrays, floats = MODELS[name]
    check(jax.grad(lambda *a: (function(*a) ** 2).sum(), argnums=tuple(range(floats))), *arrays)


X = normal(4, 16)
PROGRAMS = {
    "embedding": (jax.grad(lambda e, i: (e[i] ** 2).sum()), normal(10, 4), integers(2, 3, high=10)),
    "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), X),
    "sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jax.lax.top_k(x, 3)[0]), X),
    "scans": (lambda x: (jnp.cumsum(x, 1), jax.lax.cummax(x, 1), jax.lax.cumlogsumexp(x, 1)), X),
    "loop": (lambda x: jax.lax.fori_loop(0, 5, lambda i, c: c * 0.5 + x[i % 4], x[0]), X),
    "scan": (
        lambda x: jax.lax.scan(lambda c, t: (jnp.tanh(c + t), c * t), jnp.zeros_like(x[0]), x),
        X,
    ),
    "cond": (lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: x * 2, lambda x: x - 1, x), X),
    "updates": (
        lambda x, i: (x.at[1].set(0.5), x.at[i].add(1.0), x.at[:, 2:5].mul(3), x.at[i, i].max(2.0)),
        X,
        np.array([0, 2, 2], np.int32),
    ),
    "dynamic": (
        lambda x, i: (
            jax.lax.dynamic_slice(x, (i, i), (2, 5)),
            jax.lax.dynamic_update_slice(x, x[:2, :3], (i, i)),
        ),
        X,
        np.array(2, np.int32),
    ),
    "transposed": (
        lambda x, w: jax.lax.conv_transpose(
            x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        normal(2, 6, 6, 3),
        normal(3, 3, 3, 4),
    ),
    "special": (lambda x: (jax.lax.lgamma(x), jax.lax.erf(x), jnp.arcsinh(x)), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, *arrays = PROGRAMS[name]
    check(function, *arrays)


def test_names_and_sources(tmp_path):
    arrays = normal(4, 16), normal(16, 8), normal(8, 3)
    module = exported(perceptron, *arrays)
    model = tsr.from_stablehlo(module)
    assert model.inputs == ("x", "w", "v") and model.outputs == ("result",)
    path = tmp_path / "module.mlirbc"
    path.write_bytes(module.mlir_module_serialized)
    np.testing.assert_array_equal(tsr.from_stablehlo(path)(*arrays), model(*arrays))


def test_sizes_that_vary():
    (rows,) = jax.export.symbolic_shape("n")

    def function(x):
        return jax.nn.softmax(x.reshape(-1, 16), -1) + jnp.zeros((x.shape[0], 1))

    shape = jax.ShapeDtypeStruct((rows, 16), np.float32)
    model = tsr.from_stablehlo(jax.export.export(jax.jit(function))(shape).mlir_module_serialized)
    for n in (2, 5):
        x = normal(n, 16)
        np.testing.assert_allclose(model(x), function(x), rtol=1e-4, atol=1e-5)


def test_bytes_that_are_no_modules():
    data = exported(jnp.tanh, normal(3)).mlir_module_serialized
    for bad in (data[:20], data[: len(data) // 2], b"ML\xefR" + bytes(50)):
        with pytest.raises(tsr.CompileError, match="the module is not valid"):
            tsr.from_stablehlo(bad)
    with pytest.raises(tsr.CompileError, match="the module is not valid"):
        tsr.from_stablehlo("func.func @main() { stablehlo.nothing }")
