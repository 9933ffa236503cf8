"""The comparisons that other tests rely on: of the CPU's suite (harness.py) and of random programs
(worker.py)."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("cpu", "random")]

import harness  # noqa: E402
import worker  # noqa: E402

VALUES = np.array([1.0, 2.0, np.nan, np.inf])


def expectation(excluded=False, value=VALUES, dtype="fp32"):
    mask = np.broadcast_to(excluded, value.shape)
    return SimpleNamespace(
        value=value,
        bound=np.where(mask, np.inf, 0.25),
        excluded=mask,
        dtype=SimpleNamespace(name=dtype),
    )


class Function:
    """Returns these elements, and has this reference."""

    def __init__(self, result, expected):
        self.result, self.expected = result, expected

    def reference(self, *_, bounds):
        assert bounds
        return self.expected

    def __call__(self, *_, out):
        out[...] = self.result


def test_the_suite_compares():
    for right in (VALUES, VALUES + 0.25):
        harness.check(Function(right, expectation()))
    for at, value in ((0, 1.5), (0, np.nan), (2, 1.0), (3, 1.0), (3, -np.inf)):
        wrong = VALUES.copy()
        wrong[at] = value
        with pytest.raises(AssertionError, match=rf"1 of 4 elements are wrong; at \({at},\)"):
            harness.check(Function(wrong, expectation()))
    harness.check(Function(0, expectation(value=np.zeros((0, 3)))))


def test_nothing_compared_is_never_right():
    for least in (0, 0.0, -1, 2):
        with pytest.raises(AssertionError, match="expected a share"):
            harness.check(Function(VALUES, expectation()), least=least)
    for least in (1e-9, 0.5, 1):
        with pytest.raises(AssertionError, match="only 0 of 4 elements could be compared"):
            harness.check(Function(VALUES, expectation(True)), least=least)
    first = [False, True, True, True]
    harness.check(Function(VALUES, expectation(first)), least=0.25)
    with pytest.raises(AssertionError, match="only 1 of 4 elements could be compared"):
        harness.check(Function(VALUES, expectation(first)))


def test_what_is_not_a_number_can_be_asked_for():
    nothing = np.full(3, np.nan)
    with pytest.raises(AssertionError, match="only 0 of 3"):
        harness.check(Function(nothing, expectation(True, nothing)))
    harness.check(Function(nothing, expectation(True, nothing)), nan=True)
    with pytest.raises(AssertionError, match="3 of 3 elements are wrong"):
        harness.check(Function(0.0, expectation(True, nothing)), nan=True)


def test_random_programs_compare():
    assert worker.compare(VALUES.astype("f4"), expectation()) == ("", 0)
    assert worker.compare(VALUES.astype("f4"), expectation([True, False, False, False])) == ("", 1)
    assert "at (0,) expected" in worker.compare((VALUES + 0.5).astype("f4"), expectation())[0]
    assert "shape (3,), expected (4,)" == worker.compare(VALUES[:3].astype("f4"), expectation())[0]
    assert "elements of float64, expected fp32" == worker.compare(VALUES, expectation())[0]


def test_results_are_written_into_poisoned_memory():
    for shape in ((), (3,), (0, 2)):
        (out,) = worker.poisoned([expectation(value=np.ones(shape))])
        assert out.shape == shape and np.isnan(out).all()
