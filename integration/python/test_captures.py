"""Captured constants and helpers: a change of their value is noticed at the next call."""

import math

import numpy as np
import pytest
import tessera as tsr

SCALE = 2.0
X = np.arange(12, dtype=np.float32)


@tsr.function
def scaled(x):
    return x * SCALE


def check(got, factor):
    np.testing.assert_array_equal(got, X * np.float32(factor))


def test_globals():
    global SCALE
    SCALE = 2.0
    check(scaled(X), 2)
    check(scaled(X), 2)
    SCALE = 3
    check(scaled(X), 3)
    SCALE = 2.0
    check(scaled(X), 2)
    assert len(scaled.specializations()) == 2  # going back needs no compilation


def test_closures():
    factor = 2.0

    @tsr.function
    def times(x):
        return x * factor

    check(times(X), 2)
    factor = 5.0
    check(times(X), 5)


def test_two_closures_of_one_text():
    def make(factor):
        @tsr.function
        def times(x):
            return x * factor

        return times

    double, triple = make(2.0), make(3.0)
    check(double(X), 2)
    check(triple(X), 3)
    check(double(X), 2)


class Settings:
    pass


SETTINGS = Settings()


def test_attributes():
    SETTINGS.scale = 2.0

    @tsr.function
    def times(x):
        return x * SETTINGS.scale

    check(times(X), 2)
    SETTINGS.scale = 4.0
    check(times(X), 4)


class Layer:
    def __init__(self, scale):
        self.scale = scale

    @tsr.function
    def forward(self, x):
        return x * self.scale


def test_methods():
    a, b = Layer(2.0), Layer(3.0)
    check(a.forward(X), 2)
    check(b.forward(X), 3)
    a.scale = 7.0
    check(a.forward(X), 7)
    check(b.forward(X), 3)
    assert a.forward is a.forward


def test_methods_called_through_their_class():
    a, b = Layer(2.0), Layer(3.0)
    check(Layer.forward(a, X), 2)
    check(Layer.forward(b, X), 3)
    check(Layer.forward(a, X), 2)
    a.scale = 4.0
    check(Layer.forward(a, X), 4)


@tsr.function
def helper(x):
    return x * SCALE


@tsr.function
def through_helper(x):
    return helper(x) + 0.0


def test_constants_of_helpers():
    global SCALE
    SCALE = 2.0
    check(through_helper(X), 2)
    SCALE = 6.0
    check(through_helper(X), 6)
    SCALE = 2.0


def test_another_helper_under_the_same_name():
    global helper
    global SCALE
    SCALE = 2.0
    check(through_helper(X), 2)
    before = helper

    @tsr.function
    def other(x):
        return x * 9.0

    try:
        helper = other
        check(through_helper(X), 9)
    finally:
        helper = before
    check(through_helper(X), 2)


def test_kinds_of_constants():
    number, flag, word, pair, kind, nothing = 3, True, "tanh", (2.0, 4.0), tsr.fp32, None

    @tsr.function
    def use(x):
        y = x * number if flag else x
        if word == "tanh" and nothing is None:
            y = y * pair[1]
        return y.to(kind)

    check(use(X), 12)
    flag = False
    check(use(X), 4)
    pair = (2.0, math.inf)
    assert np.isinf(use(X)[1:]).all()


def test_numpy_numbers_are_numbers():
    factor = np.float32(2.5)

    @tsr.function
    def times(x):
        return x * factor

    check(times(X), 2.5)


def test_captured_arrays_are_errors():
    weights = np.ones(12, np.float32)

    @tsr.function
    def times(x):
        return x * weights

    with pytest.raises(tsr.CompileError, match="(?s)weights.*argument"):
        times(X)


def test_names_that_do_not_exist():
    @tsr.function
    def times(x):
        return x * SCAEL  # noqa: F821

    with pytest.raises(tsr.CompileError, match="(?s)SCAEL.*did you mean.*SCALE"):
        times(X)


def test_modules_and_aliases():
    from math import sqrt as root

    from tessera import maximum as larger

    @tsr.function
    def use(x):
        return larger(x, 0.0) * (root(16.0) + math.floor(math.e) - 2)

    check(use(X), 4)


@tsr.function
def itself(x):
    return itself(x) + 1.0


@tsr.function
def first_of_two(x):
    return second_of_two(x) + 1.0


@tsr.function
def second_of_two(x):
    return first_of_two(x) * 2.0


@pytest.mark.parametrize("function", [itself, first_of_two])
def test_recursion_is_an_error(function):
    with pytest.raises(tsr.CompileError, match="recursion is not supported"):
        function(X)
