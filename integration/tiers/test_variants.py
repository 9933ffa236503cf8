"""Tier 3: code for what calls have in common, its guards, and what happens when they fail."""

import itertools
import json
import time

import numpy as np
import pytest
import tessera as tsr
from programs import EXACT, check, data, make, power, wait_for
from tessera import Tensor, facts, variants
from tessera.background import pending


def masked(**options):
    @tsr.function(hot=0, **options)
    def attend(q, k, v, mask):
        scores = tsr.where(mask, q @ k.T * 0.125, -tsr.inf)
        return tsr.softmax(scores, dim=-1) @ v

    return attend


def settle(function, *arguments, calls=80):
    """Calls until nothing is compiled, and then so often that a variant would run."""
    for _ in range(calls):
        result = function(*arguments)
    assert wait_for(lambda: pending() == 0)
    return result


def only_variant(function):
    (record,) = function.specializations()
    (variant,) = record.variants
    return variant


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_number_that_is_constant(trusted, events):
    f, x = power(tier=3), np.abs(data(300, 300))
    settle(f, x, 2.0)
    close(f(x, 2.0), x * x)
    variant = only_variant(f)
    assert variant.facts == ("p == 2.0",) and variant.state == "active"
    assert variant.hits == 1 and variant.misses == (0,) and variant.predicted_gain > 0.05
    assert f.specializations()[0].tier == 3
    assert [(one.kind, one.reason) for one in events] == [("swap", "p == 2.0")]
    for p in (3.0, -1.0, 0.5, float("nan"), float("inf")):
        close(f(x, p), x ** np.float32(p))
    assert only_variant(f).misses == (5,)
    close(f(x, 2.0), x * x)
    assert only_variant(f).hits == 2


def test_interpreted_then_compiled_then_specialised(trusted, events):
    f, x = power(), np.abs(data(300, 300))
    for tier in (1, 2, 3):
        assert wait_for(lambda tier=tier: f(x, 2.0) is None or f.specializations()[0].tier == tier)
    assert wait_for(lambda: pending() == 0)  # events are told after the swap
    assert [one.kind for one in events] == ["swap", "swap"]
    (record,) = f.specializations()
    assert record.hits <= record.calls and record.special_hits <= record.hits


def test_figures(trusted):
    before = tsr.tiers.stats()
    f, x = power(tier=3), np.abs(data(300, 300))
    settle(f, x, 2.0)
    for _ in range(5):
        f(x, 2.0)
    (record,) = f.specializations()
    assert (record.calls, record.hits, record.special_hits) == (85, 85, 5)
    after = tsr.tiers.stats()
    assert after["tier3"] - before["tier3"] == 1
    assert after["tier3_calls"] - before["tier3_calls"] == 5
    assert "tier 3, active: p == 2.0" in repr(record.variants[0])


def test_a_mask_that_is_causal(trusted):
    f = masked(tier=3)
    q, k, v = data(200, 64), data(200, 64, seed=1), data(200, 64, seed=2)
    mask = np.tril(np.ones((200, 200), bool))
    settle(f, q, k, v, mask)
    check(f, q, k, v, mask)
    variant = only_variant(f)
    assert variant.facts[-1] == "mask is True where -i0 + i1 <= 0, else False"
    assert variant.hits == 1
    mask[3, 150] = True  # the same array, with other elements
    check(f, q, k, v, mask)
    assert (variant.hits, variant.misses[-1]) == (1, 1)
    mask[3, 150] = False
    check(f, q, k, v, mask.copy())
    assert variant.hits == 2


def test_indices_are_checked_when_they_change(trusted, monkeypatch):
    monkeypatch.setattr(variants, "_LEAST_GAIN", -1.0)

    @tsr.function(hot=0, tier=3)
    def rows(table, i):
        return table[i] * 2

    table, i = data(50, 33), np.arange(7, 27)
    settle(rows, table, i)
    np.testing.assert_array_equal(rows(table, i), table[7:27] * 2)
    i[3] = 49
    np.testing.assert_array_equal(rows(table, i), table[i] * 2)
    i[3] = 50
    with pytest.raises(tsr.OutOfRangeError):
        rows(table, i)


def test_sizes(trusted):
    f = make(hot=0, tier=3)
    x, y = data(33, 50), data(70, 50, seed=1)
    settle(f, x, y)
    check(f, x, y)
    variant = only_variant(f)
    assert "x.shape[0] == 33" in variant.facts and variant.hits == 1
    check(f, data(34, 50), y)  # of the same class
    assert len(f.specializations()) == 1 and sum(variant.misses) == 1
    check(f, x, y)
    assert variant.hits == 2


@pytest.mark.parametrize("options", EXACT)
def test_exact_results_do_not_depend_on_the_tier(options, events):
    f, x = power(tier=3, **options), np.abs(data(100, 100))
    results = {settle(f, x, 2.0).tobytes() for _ in range(3)}
    assert len(results) == 1 and not events
    assert f.specializations()[0].variants == []


def test_pinned_to_tier_2(monkeypatch):
    x = np.abs(data(100, 100))
    f = power(tier=2)
    settle(f, x, 2.0)
    assert f.specializations()[0].variants == []
    monkeypatch.setenv("TESSERA_TIER", "2")
    f = power(tier=3)
    settle(f, x, 2.0)
    assert f.specializations()[0].variants == []


def test_a_fact_that_keeps_failing_is_given_up(trusted, events):
    f, x = power(tier=3), np.abs(data(100, 100))
    settle(f, x, 2.0)
    for i in range(40):
        close(f(x, 3.0 + i / 8), x ** np.float32(3.0 + i / 8))
    assert [one.kind for one in events] == ["swap", "miss"]
    assert events[1].reason == "p == 2.0 does not hold any more"
    assert only_variant(f).state == "missed"
    assert f.specializations()[0].tier == 2
    assert f.specializations()[0].notes == ("p == 2.0 does not hold any more",)
    misses = only_variant(f).misses
    f(x, 3.0)
    assert only_variant(f).misses == misses  # calls do not check it any more


def test_values_that_alternate_get_a_variant_each(trusted):
    f, x = power(tier=3), np.abs(data(100, 100))
    settle(f, x, 2.0)
    for _ in range(200):
        for p in (2.0, 2.0, 2.0, 3.0):
            f(x, p)
    assert wait_for(lambda: pending() == 0)
    (record,) = f.specializations()
    assert [one.facts for one in record.variants] == [("p == 2.0",), ("p == 3.0",)]
    for p in (2.0, 3.0):
        before = [one.hits for one in record.variants]
        close(f(x, p), x ** np.float32(p))
        assert sum(one.hits for one in record.variants) == sum(before) + 1


def test_what_changes_all_the_time_is_compiled_seldom(trusted, events):
    """Each value stays just long enough for a variant."""
    f, x = power(tier=3), np.abs(data(20, 20))
    for i in range(60):
        p = 2.0 + i / 4
        close(settle(f, x, p, calls=60), x ** np.float32(p))
    compiled = f.specializations()[0].variants
    assert len(compiled) <= variants._MOST_FAILURES
    assert all(one.state != "active" for one in compiled[:-1])


def test_many_variants_in_a_minute(monkeypatch):
    budget, clock = variants.Budget(), itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert [budget.take() for _ in range(8)] == [True] * 6 + [False] * 2
    for _ in range(60):
        next(clock)
    assert budget.take()


def test_no_gain_is_predicted(events):
    @tsr.function(hot=0, tier=3)
    def add(x, y):
        return x + y

    settle(add, data(64, 64), data(64, 64))
    (record,) = add.specializations()
    assert record.notes == ("calls have nothing in common",)  # the class has one size only
    settle(add, data(33, 33), data(33, 33))
    assert add.specializations()[-1].notes == ("no gain predicted",)
    assert not events


def test_a_variant_that_is_not_faster_ends(monkeypatch, events):
    """Its code is not optimised."""
    monkeypatch.setattr(variants, "predicted_us", lambda unit: 1.0 + sum(map(sum, unit.sizes())))
    monkeypatch.setattr(variants, "_needed", lambda unit, observed, facts: (facts, 0.1))
    monkeypatch.setattr(variants, "is_measurable", lambda unit, observed: True)
    slow = variants.specialised

    def specialised(unit, observed, facts):
        made = slow(unit, observed, facts)
        made.options = [*made.options, ("optimization_level", "0")]
        return made

    monkeypatch.setattr(variants, "specialised", specialised)

    @tsr.function(hot=0, tier=3)
    def product(x, y):
        return x @ y

    x = data(150, 150)
    settle(product, x, x)
    settle(product, x, x, calls=100)
    assert [one.kind for one in events] == ["swap", "miss"]
    assert events[1].reason == "not faster than tier 2 when it was measured"
    assert only_variant(product).state == "slower" and only_variant(product).hits <= 32
    check(product, x, x)


def test_a_compiler_that_fails_is_told_once(monkeypatch, events):
    f, x = power(tier=3), np.abs(data(100, 100))
    f(x, 2.0)

    def fail(*_):
        raise RuntimeError("the compiler is broken")

    monkeypatch.setattr(variants, "predicted_us", fail)
    for _ in range(10):
        close(settle(f, x, 2.0), x * x)
    assert [(one.kind, one.reason) for one in events] == [("failure", "the compiler is broken")]
    assert f.specializations()[0].notes == ("the compilation failed: the compiler is broken",)


def test_calls_through_python(trusted):
    """With keywords, and as a method."""

    class Layer:
        @tsr.function(hot=0, tier=3)
        def power(self, x, p: float):
            return x**p

    layer, x = Layer(), np.abs(data(100, 100))
    for _ in range(50):
        layer.power(x, p=2.0)
    assert wait_for(lambda: pending() == 0)
    close(layer.power(x, p=2.0), x * x)
    close(layer.power(x, p=3.0), x**3)
    assert only_variant(layer.power).hits == 1

    f = power(tier=3)
    settle(f, x, 2.0)
    out = np.empty_like(x)
    assert f(x=x, p=2.0, out=out) is out
    close(out, x * x)
    assert only_variant(f).hits == 1


def test_tensors_that_are_written_are_not_constant(trusted, monkeypatch):
    monkeypatch.setattr(variants, "_LEAST_GAIN", -1.0)

    @tsr.function(hot=0, tier=3)
    def add(state: tsr.Region["read | write", Tensor["N", tsr.fp32]], x):
        state[:] = state * 0 + x

    state, x = np.zeros(37, np.float32), np.ones(37, np.float32)
    settle(add, state, x)
    for value in (1, 2, 3):
        x[:] = value
        add(state, x)
        np.testing.assert_array_equal(state, x)
    for variant in add.specializations()[0].variants:
        assert not any("state is" in one for one in variant.facts)


# -- patterns -------------------------------------------------------------------------------------


def grid(*shape):
    return np.indices(shape)


PATTERNS = {
    "ones": np.ones((5, 7), np.float32),
    "zeros": np.zeros(6, np.int64),
    "true": np.ones((3, 4), bool),
    "half": np.full((2, 3), 0.5, np.float16),
    "minus zero": np.full(3, -0.0, np.float32),
    "infinite": np.full((2, 2), -np.inf, np.float64),
    "positions": np.arange(9),
    "positions from 3 by -2": np.arange(3, -15, -2, dtype=np.int32),
    "plane": (grid(4, 5)[0] * 5 + grid(4, 5)[1]).astype(np.int32),
    "causal": np.tril(np.ones((6, 6), bool)),
    "causal, shifted": np.tril(np.ones((4, 9), bool), 5),
    "upper": np.triu(np.ones((6, 6), bool), 1),
    "window": np.abs(np.subtract(*grid(8, 8))) <= 2,
    "batches": np.broadcast_to(np.tril(np.ones((5, 5), bool)), (2, 3, 5, 5)).copy(),
    "prefix": np.arange(12) < 7,
    "rows": np.broadcast_to((np.arange(6) < 4)[:, None], (6, 5)).copy(),
    "additive": np.where(np.tril(np.ones((6, 6), bool)), 0, -np.inf).astype(np.float32),
    "corner": sum(grid(5, 5)) < 5,
    "one": np.ones((1, 1), np.float32),
    "rank 0": np.array(3, np.int32),
}
NO_PATTERNS = {
    "random": data(5, 5),
    "random mask": np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]], bool),
    "sorted": np.array([0, 1, 1, 4]),
    "nan": np.full(3, np.nan, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "three values": np.array([0, 1, 2], np.float32),
    "batches that differ": np.stack([np.tril(np.ones((3, 3), bool)), np.ones((3, 3), bool)]),
}


def pattern_of(x):
    from tessera.arrays import adapt

    code = adapt("x", x)[0][1]
    return facts.pattern_of(facts.DTYPES[code].name, list(x.shape), x.tobytes())


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_computed(name):
    x = PATTERNS[name]
    pattern = pattern_of(x)
    assert pattern is not None and facts.pattern_text(pattern)

    @tsr.function(tier=2)
    def both(x, y):
        return x, y

    y = data(3)
    both(x, y)
    unit = both.specializations()[0].unit
    text = json.dumps(pattern)
    made = unit.with_description([(4, text), unit.description[1]])
    from tessera.compiled import Compiled
    from tessera.compiler import specialise

    compiled = Compiled(both._parameters, None, made, specialise(made))
    table = compiled._table
    compiled._load(0)
    from tessera.arrays import adapt

    arrays = []

    def allocate(number, dtype, shape):
        arrays.append(np.empty(shape, x.dtype if number == 0 else y.dtype))
        return arrays[-1].ctypes.data, arrays[-1]

    table.run([text, adapt("y", y)[0]], 0, allocate, 0)
    assert arrays[0].tobytes() == x.tobytes() and arrays[0].shape == x.shape


@pytest.mark.parametrize("name", NO_PATTERNS)
def test_other_tensors_have_no_pattern(name):
    assert pattern_of(NO_PATTERNS[name]) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "tensor"}',
        '{"kind": "tensor", "dtype": "fp33", "shape": [2], "steps": [0], "value": []}',
        '{"kind": "tensor", "dtype": "fp32", "shape": [2], "steps": [], "value": []}',
        '{"kind": "tensor", "dtype": "fp32", "shape": [-2], "steps": [0], "value": []}',
        '{"kind": "tensor", "dtype": "fp32", "shape": [2], "steps": [0], "value": [{"kind": "none"}]}',
        '{"kind": "tensor", "dtype": "fp32", "shape": ["n"], "steps": [0], "value": []}',
    ],
)
def test_malformed_patterns(text):
    f = power(tier=2)
    f(data(3), 2.0)
    unit = f.specializations()[0].unit
    made = unit.with_description([(4, text), unit.description[1]])
    with pytest.raises(tsr.TesseraError, match="argument 'x' is not a constant that can be read"):
        made.compile(["graph"], no_code=True)
