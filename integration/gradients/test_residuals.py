"""Forward and backward as two functions: gradients are those of `tsr.vjp`, and what is saved is what
the cost of computing it again suggests."""

from __future__ import annotations

import numpy as np
import pytest
import tessera as tsr
from judge import define
from tessera.residuals import Pair

RNG = np.random.default_rng(0)


def values(*shapes, dtype=np.float64):
    return [(RNG.standard_normal(shape) / 2).astype(dtype) for shape in shapes]


@tsr.function
def attention(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def causal(q, k, v):
    scores = q @ k.mT
    i, j = tsr.iota(scores.shape, dim=-2), tsr.iota(scores.shape, dim=-1)
    return tsr.softmax(tsr.where(j <= i, scores, -tsr.inf), dim=-1) @ v


@tsr.function
def grouped(q, k, v):
    """Several heads of q share a head of k and v."""
    h, s, d = q.shape
    q = q.reshape(k.shape[0], h // k.shape[0], s, d)
    return (tsr.softmax(q @ k[:, None].mT, dim=-1) @ v[:, None]).reshape(h, s, d)


@tsr.function
def mlp(x, w, b, v):
    return tsr.gelu(x @ w + b) @ v


@tsr.function
def norm(x, scale, shift):
    return tsr.layer_norm(x, scale, shift)


@tsr.function
def dropped(x, w):
    return tsr.dropout(tsr.tanh(x @ w), 0.3, seed=7) ** 2


@tsr.function
def best(x):
    values, indices = (x * x).max(dim=1)
    return values, indices, x.sum()


@tsr.function
def elementwise(x):
    return tsr.sin(x) * 2


@tsr.function
def clipped(x, w):
    return tsr.relu(x @ w) @ w.mT


@tsr.function
def rectified(x, w):
    return tsr.relu(x @ w)


@tsr.function
def named(x, w, b, v):
    return tsr.tanh(tsr.checkpoint_name(tsr.gelu(x @ w + b), "hidden") @ v)


@tsr.function
def ordered(x):
    return x.sort(dim=1)[0] ** 2


@tsr.function
def scaled(x, w, factor: float = 0.5):
    return tsr.tanh(x @ w) * factor


def heads(h, s, t, d):
    return (h, s, d), (h, t, d), (h, t, d)


CASES = {
    "attention": (attention, values(*heads(2, 7, 9, 4))),
    "causal": (causal, values(*heads(2, 9, 9, 4))),
    "grouped": (grouped, values((4, 7, 4), (2, 9, 4), (2, 9, 4))),
    "mlp": (mlp, values((5, 4), (4, 8), (8,), (8, 3))),
    "norm": (norm, values((5, 12), (12,), (12,))),
    "dropped": (dropped, values((16, 8), (8, 16))),
    "best": (best, values((5, 6))),
    "elementwise": (elementwise, values((5, 6))),
    "clipped": (clipped, values((5, 4), (4, 8))),
    "rectified": (rectified, values((5, 4), (4, 8))),
    "named": (tsr.checkpoint(named, policy=("hidden",)), values((5, 4), (4, 8), (8,), (8, 3))),
    "ordered": (ordered, values((5, 6))),
    "scaled": (scaled, values((5, 4), (4, 3))),
    "empty": (mlp, values((0, 4), (4, 8), (8,), (8, 3))),
    "one": (attention, values(*heads(1, 1, 1, 1))),
    "policy": (tsr.checkpoint(mlp, policy="contractions"), values((5, 4), (4, 8), (8,), (8, 3))),
    "nothing": (tsr.checkpoint(mlp, policy="nothing"), values((5, 4), (4, 8), (8,), (8, 3))),
    "everything": (tsr.checkpoint(mlp, policy="everything"), values((5, 4), (4, 8), (8,), (8, 3))),
}


def tensors(result) -> list:
    return list(result) if isinstance(result, tuple) else [result]


class Gradients:
    """The gradients of a function through its forward and backward."""

    def __init__(self, function, count: int | None = None):
        names = function._parameters.names
        self.function = function
        self.names = names
        self.pair = Pair(function, tuple(names[:count]))

    def __call__(self, arguments, cotangents=None):
        by_name = dict(zip(self.names, arguments))
        results, residuals, split = self.pair.run(by_name)
        parts = tensors(results)
        is_float = [part.dtype.kind == "f" for part in parts]
        if cotangents is None:
            cotangents = [np.cos(np.arange(part.size)).reshape(part.shape) for part in parts]
            cotangents = [one.astype(part.dtype) for one, part in zip(cotangents, parts)]
        assert split is not None
        made = split.gradients(by_name, cotangents, is_float, split.saved(parts, residuals))
        assert made is not None, "backward was compiled from another function"
        return results, [made[name] for name in self.pair.wanted], cotangents

    def saved(self) -> dict:
        return self.pair.forward.specializations()[-1].report()["partition"]


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function, arguments = CASES[name]
    count = len(arguments)
    results, made, cotangents = Gradients(function, count)(arguments)
    parts = tensors(results)
    for one, other in zip(parts, tensors(function(*arguments))):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    given = [one if one.dtype.kind == "f" else 0 for one in cotangents]
    vjp = tsr.vjp(function, wrt=tuple(function._parameters.names[:count]), results=len(parts))
    defaults = function._parameters.defaults.values()
    expected = vjp(*arguments, *list(defaults)[: len(function._parameters.names) - count], *given)
    assert len(made) == len(expected)
    for one, other in zip(made, expected):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["attention", "causal", "grouped", "mlp", "norm", "clipped"])
def test_finite_differences(name):
    function, arguments = CASES[name]
    result, made, (cotangent,) = Gradients(function)(arguments)
    for index, gradient in enumerate(made):
        direction = RNG.standard_normal(gradient.shape)

        def moved(step, index=index, direction=direction):
            shifted = list(arguments)
            shifted[index] = arguments[index] + step * direction
            return float((function.reference(*shifted) * cotangent).sum())

        expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
        assert np.sum(gradient * direction) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_statistics_of_rows_are_saved():
    gradients = Gradients(attention)
    arguments = values(*heads(2, 256, 300, 16), dtype=np.float32)
    gradients(arguments)
    partition = gradients.saved()
    residuals = [one for one in partition["saved"] if "result" not in one]
    assert [one["value"].split()[1] for one in residuals] == ["max", "sum"]
    assert partition["bytes"] == sum(one["bytes"] for one in residuals)
    assert 100 * partition["bytes"] < partition["recomputed"][0]["bytes"]
    assert [one["result"] for one in partition["saved"] if "result" in one] == [0]
    assert [one["value"].split()[0] for one in partition["recomputed"]] == ["contract"]
    assert len(partition["inputs"]) == 3


def test_products_are_saved():
    gradients = Gradients(mlp)
    gradients(values((64, 512), (512, 600), (600,), (600, 64), dtype=np.float32))
    partition = gradients.saved()
    assert [one["value"].split()[0] for one in partition["saved"]] == ["add"]  # of the bias
    assert not partition["recomputed"]


def test_nothing_is_saved_of_elementwise_work():
    gradients = Gradients(elementwise)
    gradients(CASES["elementwise"][1])
    assert gradients.saved()["saved"] == [] and gradients.saved()["bytes"] == 0


def test_a_limit_of_bytes():
    limited = tsr.function(residual_bytes=1000)(mlp.__wrapped__)
    gradients = Gradients(limited)
    arguments = values((64, 512), (512, 600), (600,), (600, 64), dtype=np.float32)
    _, made, _ = gradients(arguments)
    partition = gradients.saved()
    assert partition["bytes"] <= 1000 and partition["recomputed"]
    for one, other in zip(made, Gradients(mlp)(arguments)[1]):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_policies():
    saved = Gradients(CASES["policy"][0])
    saved(CASES["policy"][1])
    assert [one["value"].split()[0] for one in saved.saved()["saved"]] == ["materialize"]
    nothing = Gradients(CASES["nothing"][0])
    nothing(CASES["nothing"][1])
    assert nothing.saved()["bytes"] == 0


def test_masks_are_saved_as_bools():
    gradients = Gradients(rectified)
    gradients(values((64, 512), (512, 600), dtype=np.float32))
    (saved,) = gradients.saved()["saved"]
    assert saved["type"].endswith("i1>")


def test_named_tensors_are_saved():
    gradients = Gradients(CASES["named"][0])
    gradients(CASES["named"][1])
    saved = [one["value"].split()[0] for one in gradients.saved()["saved"] if "result" not in one]
    assert saved == ["materialize"]


def test_other_sizes_use_the_same_code():
    gradients = Gradients(attention)
    for rows in (300, 310, 290, 333):
        arguments = values(*heads(2, rows, 300, 16), dtype=np.float32)
        result, made, cotangents = gradients(arguments)
        expected = tsr.vjp(attention)(*arguments, *cotangents)
        for one, other in zip(made, expected):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_cotangents_of_other_layouts():
    arguments = CASES["mlp"][1]
    gradients = Gradients(mlp)
    _, dense, _ = gradients(arguments, [np.ones((5, 3))])
    _, strided, _ = gradients(arguments, [np.ones((3, 5)).T])
    _, repeated, _ = gradients(arguments, [np.broadcast_to(np.float64(1), (5, 3))])
    for one, *others in zip(dense, strided, repeated):
        for other in others:
            np.testing.assert_allclose(one, other)


def test_functions_without_gradients():
    @tsr.function
    def index(x):
        return x.argmax(dim=1)

    x = CASES["best"][1][0]
    result, residuals, split = Pair(index, ("x",)).run({"x": x})
    assert split is None and residuals == []
    np.testing.assert_array_equal(result, x.argmax(axis=1))


def test_explanations():
    pair = Pair(attention, ("q", "k", "v"))
    arguments = values(*heads(2, 256, 300, 16), dtype=np.float32)
    explained = pair.forward.inspect_ir("explain", *arguments)
    assert explained.startswith("forward saves 8.0 KiB for backward\n")
    assert "saves     reduce max" in explained and "it is result 0" in explained
    assert "again     contract" in explained and "reads     'q'" in explained


def test_the_number_of_cotangents():
    function = define("def f(q):\n    return q * q, q + 1\n")
    made = Pair(function, ("q",)).forward
    backward = type(made)(function, "backward", "backward:q,:1:0", ["cotangent"])
    with pytest.raises(tsr.CompileError, match="expected 2 cotangents, found 1"):
        backward(np.ones(3), np.ones(3))


def test_malformed_requests():
    for text in ("forward:q,;grad:q", "backward:q,:1:x", "backward:q,:1:2:3"):
        function = define("def f(q):\n    return q * q\n")
        function._options = {**function._options, "grad": text}
        with pytest.raises(tsr.CompileError, match="expected 'KIND:PARAMETERS'"):
            function(np.ones(3))
