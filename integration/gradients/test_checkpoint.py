"""Checkpoint policies: what gradients save is stored, the rest is recomputed, and results stay."""

from __future__ import annotations

import numpy as np
import pytest
import tessera as tsr


@tsr.function
def block(x, w1, w2):
    h = tsr.checkpoint_name(tsr.gelu(x @ w1), "hidden")
    return tsr.tanh(h @ w2)


def loss_with(policy):
    layer = tsr.checkpoint(block, policy=policy)

    @tsr.function
    def loss(x, w1, w2):
        y = layer(x, w1, w2)
        y = layer(y, w1, w2)
        return (y * y).sum()

    return loss


RNG = np.random.default_rng(0)
ARGUMENTS = [RNG.standard_normal(shape) / 2 for shape in ((8, 6), (6, 10), (10, 6))]
POLICIES = ["auto", "nothing", "everything", "contractions", ("hidden",), ()]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_results_are_unchanged(policy):
    loss = loss_with(policy)
    expected = tsr.value_and_grad(loss_with("auto"), argnums=(0, 1, 2))(*ARGUMENTS)
    found = tsr.value_and_grad(loss, argnums=(0, 1, 2))
    for one, other in zip(found(*ARGUMENTS), expected):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in zip(found.reference(*ARGUMENTS), expected):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(loss(*ARGUMENTS), expected[0])


def graph(policy):
    return tsr.grad(loss_with(policy), argnums=(1, 2)).inspect_ir("graph", *ARGUMENTS)


def test_policies_take_effect():
    """Forward and backward need 12 contractions: two in each of two layers forward, and two for
    each of them backward, less the gradient of x."""
    plain = graph("auto")
    contractions = plain.count("gir.contract ")
    assert "gir.materialize" not in plain and "gir.recompute" not in plain
    nothing = graph("nothing")
    assert "gir.materialize" not in nothing and "gir.recompute" in nothing
    assert nothing.count("gir.contract ") > contractions
    saved = graph("contractions")
    assert saved.count("gir.contract ") == contractions
    assert saved.count("a checkpoint policy saves it") == 4
    named = graph(("hidden",))
    assert named.count("a checkpoint policy saves it") == 2
    assert contractions < named.count("gir.contract ") <= nothing.count("gir.contract ")
    everything = graph("everything")
    assert everything.count("gir.contract ") == contractions
    assert everything.count("a checkpoint policy saves it") > 4


def test_gradients_of_gradients():
    def second(policy):
        loss = loss_with(policy)

        @tsr.function
        def norm(x, w1, w2):
            g = tsr.grad(loss)(x, w1, w2)
            return (g * g).sum()

        return tsr.grad(norm, argnums=(0, 1))(*ARGUMENTS)

    expected = second("auto")
    for policy in POLICIES[1:]:
        for one, other in zip(second(policy), expected):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@tsr.checkpoint(policy="nothing")
@tsr.function
def decorated(x):
    return tsr.exp(tsr.sin(x))


@tsr.checkpoint(policy=("a", "b"))
def named(x):
    return tsr.exp(tsr.checkpoint_name(tsr.sin(x), "a")).sum()


def test_decorators():
    x = ARGUMENTS[0]
    np.testing.assert_allclose(decorated(x), np.exp(np.sin(x)))
    np.testing.assert_allclose(tsr.vjp(decorated)(x, x), np.exp(np.sin(x)) * np.cos(x) * x)
    np.testing.assert_allclose(tsr.grad(named)(x), np.exp(np.sin(x)) * np.cos(x))
    assert "gir.recompute" in tsr.vjp(decorated).inspect_ir("graph", x, x)


def test_inside_functions_and_structures():
    @tsr.function
    def both(x, pair):
        a, b = pair
        return tsr.sin(x * a), (tsr.cos(x), b * x)

    @tsr.function
    def loss(x, y):
        first, (second, third) = tsr.checkpoint(both, policy="nothing")(x, (y, 2.0))
        return (first * second + third * y).sum()

    @tsr.function
    def plain(x, y):
        first, (second, third) = both(x, (y, 2.0))
        return (first * second + third * y).sum()

    x, y = ARGUMENTS[0], ARGUMENTS[0] * 2
    for one, other in zip(
        tsr.grad(loss, argnums=(0, 1))(x, y), tsr.grad(plain, argnums=(0, 1))(x, y)
    ):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("policy", ["some", ("a;b",), (3,)])
def test_wrong_policies(policy):
    with pytest.raises(tsr.ArgumentError, match="expected 'auto', 'nothing'"):
        tsr.checkpoint(block, policy=policy)
