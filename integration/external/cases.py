#!/usr/bin/env python3
"""NumPy as the judge of operations that PyTorch's operator database lacks (run.py runs it).

A case is a text of the language, the arrays that it is called with, and the same in NumPy;
equations of einsum are those of NumPy's own test. Types and shapes must be the same (NumPy's own
default types are converted to the language's first), elements within NumPy's tolerance.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build/python"))

import numpy as np

import tessera as tsr


class Case(NamedTuple):
    text: str
    expected: Callable[..., Any]
    arguments: tuple = ()


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 4
    return np.asarray(values, dtype)


NAMES = "xyzuvws"  # of arguments

X, Y, SQUARE = numbers(5, 7), numbers(5, 7, seed=1), numbers(6, 6)
INTEGERS, BYTES = numbers(5, 7, dtype="int32"), numbers(5, 7, dtype="int8")
SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan], "float32")
EMPTY, SCALAR = np.zeros((3, 0, 2), "float32"), np.asarray(2.5, "float32")


def _iota(shape: tuple[int, ...], dim: int) -> np.ndarray:
    return np.broadcast_to(
        np.arange(shape[dim]).reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape
    )


CASES = [
    # windows, whose method has the name of another function of PyTorch
    Case(
        "x.unfold(1, 3, 2)",
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)[:, ::2],
        (X,),
    ),
    Case(
        "tsr.conv1d_weight(x, (1, 1, 3), y)",
        lambda x, y: np.einsum(
            "bop,bcpk->ock", y, np.lib.stride_tricks.sliding_window_view(x, 3, axis=2)
        ),
        (numbers(2, 1, 9), numbers(2, 1, 7, seed=1)),
    ),
    Case(
        "tsr.conv2d_weight(x, (3, 2, 2, 2), y)",
        lambda x, y: np.einsum(
            "bopq,bcpqkl->ockl",
            y,
            np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3)),
        ),
        (numbers(2, 2, 5, 4), numbers(2, 3, 4, 3, seed=1)),
    ),
    Case(
        "tsr.conv3d_weight(x, (1, 1, 2, 1, 2), y)",
        lambda x, y: np.einsum(
            "bopqr,bcpqrklm->ocklm",
            y,
            np.lib.stride_tricks.sliding_window_view(x, (2, 1, 2), axis=(2, 3, 4)),
        ),
        (numbers(1, 1, 3, 2, 3), numbers(1, 1, 2, 2, 2, seed=1)),
    ),
    # iota, which neither library has under this name, and creation by sizes of arguments
    Case("tsr.iota((3, 4), dim=0)", lambda: _iota((3, 4), 0)),
    Case("tsr.iota((3, 4), dim=-1, dtype=tsr.fp32)", lambda: _iota((3, 4), 1).astype("f4")),
    Case("tsr.iota(x.shape, dim=1)", lambda x: _iota(x.shape, 1), (X,)),
    Case("tsr.arange(x.shape[0], x.shape[0] + 9, 2)", lambda x: np.arange(5, 14, 2), (X,)),
    Case(
        "tsr.iota((0, 3), dim=1), tsr.iota((2, 3, 4), dim=-2, dtype=tsr.int16)",
        lambda: (_iota((0, 3), 1), _iota((2, 3, 4), 1).astype("i2")),
    ),
    # random bits: the vector that Random123 publishes for philox4x32 with ten rounds, key and counter 0, as a fraction
    Case(
        "tsr.rand((1,), seed=0, dtype=tsr.fp64), tsr.rand(1, seed=0)",
        lambda: (
            [0xE169C58D6627E8D5 >> 11] * np.exp2([-53.0]),
            np.exp2([-24.0], dtype="f4") * (0xE169C58D6627E8D5 >> 40),
        ),
    ),
    Case("tsr.zeros((x.shape[1], 2), dtype=tsr.int32)", lambda x: np.zeros((7, 2), "i4"), (X,)),
    # operators as Python writes them
    Case("-x + 2 * y - x / y", lambda x, y: -x + 2 * y - x / y, (X, Y)),
    Case("x // y, x % y", lambda x, y: (np.floor_divide(x, y), np.mod(x, y)), (X, Y)),
    Case("x // 3, x % 3, -x // 3, -x % 3", lambda x: (x // 3, x % 3, -x // 3, -x % 3), (INTEGERS,)),
    Case(
        "x ** 2, x ** 3, abs(x) ** 0.5, 2.0 ** x",
        lambda x: (x**2, x**3, abs(x) ** 0.5, np.float32(2) ** x),
        (X,),
    ),
    Case(
        "(x > 0) & (y > 0) | ~(x > y) ^ (x != y)",
        lambda x, y: (x > 0) & (y > 0) | ~(x > y) ^ (x != y),
        (X, Y),
    ),
    Case(
        "(x & 6) | (x ^ 3) + (x << 1) - (x >> 1)",
        lambda x: (x & 6) | (x ^ 3) + (x << 1) - (x >> 1),
        (INTEGERS,),
    ),
    Case("x @ y.T, x.T @ y", lambda x, y: (x @ y.T, x.T @ y), (X, Y)),
    Case(
        "x[0] @ y[0], x @ y[0], x[:, 0] @ y",
        lambda x, y: (x[0] @ y[0], x @ y[0], x[:, 0] @ y),
        (X, Y),
    ),
    # indices as Python writes them
    Case(
        "x[1], x[-1], x[1:3], x[::2], x[::-1]",
        lambda x: (x[1], x[-1], x[1:3], x[::2], x[::-1]),
        (X,),
    ),
    Case(
        "x[4:1:-2, 1:-1], x[..., 2], x[None, :, None]",
        lambda x: (x[4:1:-2, 1:-1], x[..., 2], x[None, :, None]),
        (X,),
    ),
    Case("x[10:20], x[:, 5:2], x[:, 1:100]", lambda x: (x[10:20], x[:, 5:2], x[:, 1:100]), (X,)),
    # types: what is not converted, and what NumPy and PyTorch agree on
    Case("x + y, x * y, x - y", lambda x, y: (x + y, x * y, x - y), (INTEGERS, BYTES)),
    Case("x + y", lambda x, y: x + y, (X, X.astype("float64"))),
    Case(
        "x.to(tsr.int32), x.to(tsr.bool), x.to(tsr.fp64)",
        lambda x: (x.astype("i4"), x.astype(bool), x.astype("f8")),
        (X,),
    ),
    Case("x.to(tsr.uint8) + 1", lambda x: abs(x).astype("u1") + np.uint8(1), (abs(X),)),
    # special values, no elements, no dimensions
    Case(
        "tsr.isnan(x), tsr.isinf(x), tsr.isfinite(x)",
        lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x)),
        (SPECIAL,),
    ),
    Case(
        "tsr.maximum(x, 0.0), tsr.minimum(x, 0.0), 1 / x",
        lambda x: (np.maximum(x, 0), np.minimum(x, 0), 1 / x),
        (SPECIAL,),
    ),
    Case(
        "tsr.floor(x), tsr.ceil(x), tsr.trunc(x), tsr.round(x)",
        lambda x: (np.floor(x), np.ceil(x), np.trunc(x), np.round(x)),
        (SPECIAL,),
    ),
    Case(
        "x.sum(), x.sum(axis=1), x.prod(axis=0), x.sum(axis=(0, 2), keepdims=True)",
        lambda x: (x.sum(), x.sum(axis=1), x.prod(axis=0), x.sum(axis=(0, 2), keepdims=True)),
        (EMPTY,),
    ),
    Case(
        "x + 1, x.reshape(1, 1), x.sum(), tsr.stack([x, x])",
        lambda x: (x + 1, x.reshape(1, 1), x.sum(), np.stack([x, x])),
        (SCALAR,),
    ),
    # NumPy's words
    Case(
        "tsr.concatenate([x, y], axis=1), tsr.concat([x, y]), tsr.stack([x, y], axis=2), tsr.ger(x[0], y[1])",
        lambda x, y: (
            np.concatenate([x, y], 1),
            np.concatenate([x, y]),
            np.stack([x, y], 2),
            np.outer(x[0], y[1]),
        ),
        (X, Y),
    ),
    Case(
        "tsr.amax(x, axis=0), x.mean(axis=1, keepdims=True)",
        lambda x: (x.max(axis=0), x.mean(axis=1, keepdims=True)),
        (X,),
    ),
    Case(
        "tsr.var(x, axis=0, correction=0), tsr.std(x, axis=0, correction=1)",
        lambda x: (x.var(axis=0), x.std(axis=0, ddof=1)),
        (X,),
    ),
    Case(
        "tsr.roll(x, 3), tsr.roll(x, (1, -2), (0, 1)), tsr.flip(x, (0,))",
        lambda x: (np.roll(x, 3), np.roll(x, (1, -2), (0, 1)), np.flip(x, 0)),
        (X,),
    ),
    Case(
        "tsr.tril(x, -1), tsr.triu(x, 2), tsr.eye(6) * x",
        lambda x: (np.tril(x, -1), np.triu(x, 2), np.eye(6, dtype="f4") * x),
        (SQUARE,),
    ),
    Case(
        "tsr.einsum('ii', x), tsr.einsum('ii->i', x), tsr.einsum('ij->ji', x), tsr.einsum('ij,kj,kl', x, x, x)",
        lambda x: (np.einsum("ii", x), np.einsum("ii->i", x), x.T, np.einsum("ij,kj,kl", x, x, x)),
        (SQUARE,),
    ),
    Case(
        "tsr.einsum('ik,ij->ij', x, y), tsr.einsum('ik,ij->ij', x[:, :1], y)",  # sums of integers are int64, as in PyTorch
        lambda x, y: (np.einsum("ik,ij->ij", x.astype("i8"), y), x[:, :1] * y),
        (INTEGERS, INTEGERS),
    ),
    Case(
        "tsr.einsum('...i,...i->...', x, y), tsr.einsum('b...,b->...', x, y[:, 0])",
        lambda x, y: (np.einsum("...i,...i->...", x, y), np.einsum("b...,b->...", x, y[:, 0])),
        (X, Y),
    ),
    Case(
        "tsr.pad(x, (1, 2), 'reflect'), tsr.pad(x, (2, 1), 'replicate'), tsr.pad(x, (1, 1), 'circular')",
        lambda x: (
            np.pad(x, ((0, 0), (1, 2)), "reflect"),
            np.pad(x, ((0, 0), (2, 1)), "edge"),
            np.pad(x, ((0, 0), (1, 1)), "wrap"),
        ),
        (X,),
    ),
]


def einsums() -> list[Case]:
    """The equations of NumPy's own test of einsum, with its sizes; none if NumPy was packaged
    without tests."""
    sizes = dict(zip("abcdefghij", (2, 3, 4, 5, 4, 3, 2, 6, 5, 4)))
    path = Path(np.__file__).parent / "_core/tests/test_einsum.py"
    text = path.read_text() if path.exists() else ""
    found = re.findall(r"(?:optimize_compare|build_operands)\('([a-j,]+(?:->[a-j]*)?)'", text)
    cases = []
    for equation in dict.fromkeys(found):
        terms = equation.split("->")[0].split(",")
        operands = [
            numbers(*(sizes[letter] for letter in term), dtype="float64", seed=i)
            for i, term in enumerate(terms)
        ]
        cases.append(
            Case(
                f"tsr.einsum({equation!r}, {', '.join(NAMES[: len(terms)])})",
                lambda *operands, equation=equation: np.einsum(equation, *operands, optimize=True),
                tuple(operands),
            )
        )
    return cases


CASES += einsums()


def define(text: str, count: int) -> Any:
    name = f"<numpy case {abs(hash(text))}>"
    source = f"@tsr.function\ndef f({', '.join(NAMES[:count])}):\n    return {text}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {"tsr": tsr}
    exec(compile(source, name, "exec"), scope)  # noqa: S102 (the text was written right here)
    return scope["f"]


def check(case: Case) -> str:
    """The error, or nothing."""
    with np.errstate(all="ignore"):
        expected = case.expected(*case.arguments)
    try:
        results = define(case.text, len(case.arguments))(*case.arguments)
    except tsr.TesseraError as error:
        return str(error).splitlines()[0]
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for number, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        theirs = np.asarray(theirs)
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return (
                f"result {number} is {ours.dtype}{ours.shape}, NumPy's {theirs.dtype}{theirs.shape}"
            )
        if not np.allclose(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True):
            return f"result {number} differs from NumPy's"
    return ""


def main() -> int:
    failed = 0
    for case in CASES:
        if wrong := check(case):
            failed += 1
            print(f"{case.text}: {wrong}")
    print(f"{len(CASES)} cases of NumPy: {len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
