"""What runs in which tier, and what is told about it."""

import gc
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import tessera as tsr
from programs import EXACT, check, data, make, wait_for, with_regions


def only(function):
    (record,) = function.specializations()
    return record


def test_the_first_call_is_interpreted():
    mix = make()
    before = tsr.metrics()["compilations"]
    x, y = data(20, 30), data(40, 30, seed=1)
    check(mix, x, y)
    record = only(mix)
    assert (record.tier, record.calls, record.hits, record.seconds_saved) == (1, 1, 0, 0.0)
    assert tsr.metrics()["compilations"] == before
    assert "first call, interpreted in" in repr(record)


def test_one_call_does_not_start_a_compilation(events):
    mix = make(hot=0)
    mix(data(20, 30), data(40, 30))
    assert only(mix).job is None
    assert not events


def test_hot_functions_are_compiled_in_the_background(events):
    mix = make(hot=0)
    x, y = data(20, 30), data(40, 30, seed=1)
    first = mix(x, y)
    mix(x, y)
    assert wait_for(lambda: events)
    (swap,) = events
    assert (swap.kind, swap.function, swap.reason) == ("swap", "mix", "")
    assert swap.arguments == only(mix).arguments and swap.seconds > 0
    check(mix, x, y)
    record = only(mix)
    assert (record.tier, record.calls, record.hits) == (2, 3, 1)
    assert record.reason == "first call" and "compiled in" in repr(record)
    np.testing.assert_allclose(mix(x, y), first, rtol=1e-4, atol=1e-6)


def test_calls_are_compiled_when_their_time_pays():
    mix = make(hot=1e9)
    for _ in range(5):
        mix(data(20, 30), data(40, 30))
    assert only(mix).tier == 1 and only(mix).job is None


@pytest.mark.parametrize("tier", [2, 3])
def test_pinned_to_compiled_code(tier):
    mix = make(tier=tier)
    check(mix, data(20, 30), data(40, 30))
    assert only(mix).tier == 2


def test_pinned_to_the_interpreter(events):
    mix = make(tier=1, hot=0)
    for _ in range(5):
        check(mix, data(20, 30), data(40, 30))
    assert only(mix).tier == 1 and not events and only(mix).job is None


@pytest.mark.parametrize("pinned, tier", [("1", 1), ("2", 2), ("3", 2), ("auto", 1)])
def test_the_environment_pins_all(monkeypatch, pinned, tier):
    monkeypatch.setenv("TESSERA_TIER", pinned)
    mix = make(tier="auto" if pinned == "auto" else 1 if tier == 2 else 2)
    mix(data(20, 30), data(40, 30))
    assert only(mix).tier == tier


def test_wrong_choices(monkeypatch):
    for tier in (0, 4, "two", 2.0, True, None):
        with pytest.raises(tsr.ArgumentError, match="option 'tier': expected 'auto', 1, 2 or 3"):
            make(tier=tier)
    for hot in (-1, "soon", True, float("nan")):
        with pytest.raises(tsr.ArgumentError, match="option 'hot': expected a number"):
            make(hot=hot)
    monkeypatch.setenv("TESSERA_TIER", "fast")
    with pytest.raises(tsr.TesseraError, match="TESSERA_TIER: expected auto, 1, 2 or 3"):
        make()(data(20, 30), data(40, 30))


def test_the_long_form():
    @tsr.jit(tier=2, hot=0.5, matmul="tf32")
    def double(x):
        return x + x

    np.testing.assert_array_equal(double(data(9)), 2 * data(9))
    assert only(double).tier == 2


@pytest.mark.parametrize("options", [*EXACT, {"optimization_level": 1}])
def test_exact_results_are_those_of_compiled_code(options, events):
    mix, compiled = make(**options), make(tier=2, **options)
    x, y = data(20, 30), data(40, 30, seed=1)
    np.testing.assert_array_equal(mix(x, y), compiled(x, y))
    assert only(mix).tier == 2 and not events


def test_what_the_interpreter_does_not_run(monkeypatch, events):
    def refuse(unit):
        raise tsr.function.__globals__["NotInterpretable"]("no such kernel")

    monkeypatch.setitem(tsr.function.__globals__, "interpret", refuse)
    mix = make()
    check(mix, data(20, 30), data(40, 30))
    assert only(mix).tier == 2
    assert [(one.kind, one.reason) for one in events] == [("fallback", "no such kernel")]


def test_warm():
    mix = make()
    x, y = data(20, 30), data(40, 30)
    record = mix.warm(x, y)
    assert record.tier == 2 and record.calls == 0
    check(mix, x, y)
    assert only(mix) is record and record.hits == 1
    assert mix.warm(x, y) is record


def test_warm_after_calls():
    mix = make()
    x, y = data(20, 30), data(40, 30)
    mix(x, y)
    assert only(mix).tier == 1
    assert mix.warm(x, y).tier == 2
    assert only(mix).calls == 1


def test_warm_of_types():
    mix = make()
    mix.warm(tsr.Tensor[20, 30, tsr.fp32], tsr.Tensor[40, 30, tsr.fp32])
    mix(data(20, 30), data(40, 30))
    assert only(mix).tier == 2


def test_warm_of_several():
    first, second = make(), with_regions()
    records = tsr.warm([(first, data(20, 30), data(40, 30)), (second, data(9), data(9))])
    assert [one.tier for one in records] == [2, 2]
    assert records == [only(first), only(second)]
    assert tsr.warm([]) == []
    with pytest.raises(tsr.ArgumentError, match="warm: expected tuples"):
        tsr.warm([first])


def test_warm_raises_what_the_compiler_says():
    @tsr.function
    def wrong(x):
        return tsr.sofmax(x)

    with pytest.raises(tsr.CompileError, match="did you mean 'softmax'"):
        wrong.warm(data(3))


def test_failures_are_told_once(monkeypatch, events):
    calls = []

    def fail(*_):
        calls.append(1)
        raise RuntimeError("the compiler is broken\nand more")

    monkeypatch.setitem(tsr.function.__globals__, "specialise", fail)
    mix = make(hot=0)
    x, y = data(20, 30), data(40, 30)
    for _ in range(3):
        mix(x, y)
    assert wait_for(lambda: events)
    for _ in range(3):
        check(mix, x, y)
    assert [(one.kind, one.reason) for one in events] == [("failure", "the compiler is broken")]
    assert calls == [1] and only(mix).tier == 1
    with pytest.raises(RuntimeError, match="the compiler is broken"):
        mix.warm(x, y)


def test_failures_are_warnings_without_a_callback(monkeypatch):
    def fail(*_):
        raise RuntimeError("the compiler is broken")

    monkeypatch.setitem(tsr.function.__globals__, "specialise", fail)
    mix = make(hot=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            mix(data(20, 30), data(40, 30))
        assert wait_for(lambda: found)
    assert len(found) == 1 and "stays in its tier: its compilation failed" in str(found[0].message)


def test_callbacks_that_fail_do_not_disturb(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def wrong(event):
        raise ValueError(event.kind)

    remove = tsr.tiers.on_event(wrong)
    mix = make(hot=0)
    for _ in range(2):
        mix(data(20, 30), data(40, 30))
    assert wait_for(lambda: only(mix).tier == 2 and told)
    remove()
    assert isinstance(told[0].exc_value, ValueError)
    with pytest.raises(tsr.ArgumentError, match="on_event: expected a function"):
        tsr.tiers.on_event("print")


def test_statistics():
    gc.collect()  # statistics are those of the functions that exist
    before = tsr.tiers.stats()
    mix = make(hot=0)
    x, y = data(20, 30), data(40, 30)
    for _ in range(2):
        mix(x, y)
    assert wait_for(lambda: only(mix).tier == 2)
    for _ in range(4):
        mix(x, y)
    after = tsr.tiers.stats()
    changed = {name: after[name] - before[name] for name in after}
    assert changed["tier1_calls"] == 2 and changed["tier2_calls"] == 4
    assert changed["swaps"] == 1 and changed["failures"] == 0 and changed["compilations"] == 1
    assert changed["compile_seconds"] > 0
    assert only(mix).seconds_saved != 0.0


def test_cached_code_is_used_at_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, numpy as np, tessera as tsr

            @tsr.function
            def double(x):
                return tsr.exp(x) + x

            x = np.ones(100, np.float32)
            double(x)
            print([(one.tier, one.cached) for one in double.specializations()])
            double.warm(x)
            """
        )
    )
    command = [sys.executable, str(script)]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert first.stdout.strip() == "[(1, False)]"
    assert second.stdout.strip() == "[(2, True)]"


def both(body):
    """The message of an error in tier 1 and in tier 2."""
    messages = []
    for tier in (1, 2):
        with pytest.raises(Exception) as caught:
            body(tier)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]
    return messages[0]


def test_errors_of_the_program_are_the_same():
    def body(tier):
        @tsr.function(tier=tier)
        def wrong(x):
            return x @ tsr.sofmax(x)

        wrong(data(3, 3))

    assert both(body)[0] is tsr.CompileError


def test_errors_of_arguments_are_the_same():
    def sizes(tier):
        make(tier=tier)(data(20, 30), data(40, 31))

    def later(tier):
        mix = make(tier=tier)
        mix(data(20, 30), data(40, 30))
        mix(data(20, 30), data(40, 31))

    def kinds(tier):
        make(tier=tier)("text", data(40, 31))

    for body in (sizes, later, kinds):
        both(body)


def test_errors_of_data_are_the_same():
    def body(tier):
        @tsr.function(tier=tier)
        def rows(table, i):
            return table[i]

        rows(data(5, 3), np.array([1, 2, 7]))

    assert both(body)[0] is tsr.OutOfRangeError


def test_results_and_destinations():
    update = with_regions(tier=1)
    state, x = data(9), data(9, seed=1)
    check(update, state, x)
    out = np.empty(9, np.float32), np.empty((), np.float32)
    assert update(state, x=x, out=out)[0] is out[0]
    np.testing.assert_allclose(out[0], state + x, rtol=1e-6)
    mix = make(tier=1)
    check(mix, data(40, 30)[::2], data(30, 40).T)
    check(mix, data(20, 30)[::-1], data(40, 30))


def test_dumps_are_of_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_DUMP", str(tmp_path / "dump"))
    mix = make()
    mix(data(20, 30), data(40, 30))
    assert only(mix).tier == 2 and os.listdir(tmp_path / "dump")


def test_gradients_are_interpreted_too():
    @tsr.function
    def loss(w, x):
        return (tsr.tanh(x @ w) ** 2).sum()

    gradient = tsr.grad(loss, wrt="w")
    check(gradient, data(30, 20), data(50, 30, seed=1))
    assert only(gradient).tier == 1
