"""tsr.print: the output of a function after it has run."""

from __future__ import annotations

import numpy as np
import pytest

import tessera as tsr


@tsr.function
def attention(x, y):
    scores = x @ y
    tsr.print("scores", scores)
    weights = tsr.softmax(scores, dim=-1)
    tsr.print(weights, x.shape[0])
    return weights


@tsr.function
def arguments(x):
    tsr.print("all of", "x:", x)
    return x + 1


@tsr.function
def inner(x):
    tsr.print("inner", x * 2)
    return x * 3


@tsr.function
def outer(x):
    return inner(x) + inner(x + 1)


@tsr.function
def types(x):
    tsr.print(
        x.to(tsr.bf16), x.to(tsr.fp16), tsr.where(x < 2, x, 0).to(tsr.int32), x > 0, x.to(tsr.fp64)
    )
    return x


@tsr.function
def nothing(x):
    tsr.print("label")
    return x


@tsr.function
def none(x):
    tsr.print(x, None)
    return x


def test_values_in_order(capfd):
    x, y = np.eye(2, 3, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    result = attention(x, y)
    text = capfd.readouterr().out
    assert text == (
        "scores: fp32[2, 2]\n[[0., 1.],\n [2., 3.]]\n"
        "weights: fp32[2, 2]\n[[0.268941, 0.731059],\n [0.268941, 0.731059]]\n"
        "x.shape[0]: int64[]\n2\n"
    )
    np.testing.assert_allclose(result, attention.reference(x, y), rtol=1e-6)
    assert capfd.readouterr().out == ""  # the reference prints nothing


def test_again_with_other_sizes(capfd):
    for rows in (1, 3, 3):
        attention(np.ones((rows, 2), np.float32), np.ones((2, 2), np.float32))
        assert f"scores: fp32[{rows}, 2]\n" in capfd.readouterr().out


def test_arguments_strided(capfd):
    arguments(np.arange(8, dtype=np.int32)[::-2])
    assert capfd.readouterr().out == "all of x:: int32[4]\n[7, 5, 3, 1]\n"


def test_helpers_print_each_time(capfd):
    outer(np.float32([1, 2]))
    assert capfd.readouterr().out == "inner: fp32[2]\n[2., 4.]\ninner: fp32[2]\n[4., 6.]\n"


def test_types(capfd):
    types(np.float32([1.5, -np.inf, np.nan, 0]))
    assert capfd.readouterr().out.splitlines()[1::2] == [
        "[ 1.5, -inf,  nan,   0.]",
        "[ 1.5, -inf,  nan,   0.]",
        "[          1, -2147483648,           0,           0]",
        "[ True, False, False, False]",
        "[ 1.5, -inf,  nan,   0.]",
    ]


def test_many_and_no_elements(capfd):
    arguments(np.zeros((100, 100), np.int8))
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:5] == ["[[0, 0, 0, ..., 0, 0, 0],"] + 2 * [" [0, 0, 0, ..., 0, 0, 0],"] + [
        " ...,"
    ]
    assert len(lines) == 8
    arguments(np.zeros((0, 3), np.int8))
    assert capfd.readouterr().out == "all of x:: int8[0, 3]\n[]\n"


def test_bundles_print(capfd, tmp_path):
    path = tmp_path / "inner.tsb"
    inner.compile(tsr.Tensor["N", tsr.fp32]).save(path)
    tsr.load(path).inner(np.float32([5, 6]))
    assert capfd.readouterr().out == "inner: fp32[2]\n[10., 12.]\n"


@pytest.mark.parametrize(
    "function, message",
    [
        (nothing, "expected a tensor or a number to print"),
        (none, "expected tensors, numbers or strings to print, found None"),
    ],
)
def test_what_cannot_be_printed(function, message):
    with pytest.raises(tsr.CompileError, match=message):
        function(np.ones(3, np.float32))


def test_gpus_wait(capfd):
    """Every backend supports it: the host program's text lists the printed tensors."""
    for target in ("sm_90:ptx", "sm_90:tileir"):
        listing = inner.inspect_ir("target", tsr.Tensor["N", tsr.fp32], target=target)
        assert 'tessera_target.print "inner"' in listing
