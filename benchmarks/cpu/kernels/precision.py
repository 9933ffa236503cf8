"""fp16 and bf16 against the same program of ours in fp32: half the bytes should never be slower."""

from __future__ import annotations

from typing import Callable

import numpy as np
from ..harness import OURS, Case, Prepared, Target
from . import attention, chain, matmul, rows

try:
    from ml_dtypes import bfloat16
except ImportError:
    bfloat16 = None


def _programs() -> list[tuple[str, Callable, Callable, Callable | None, float]]:
    """Name, function, operands of a type, check, operations."""
    found: list[tuple[str, Callable, Callable, Callable | None, float]] = []
    for size in (512, 1024):
        found.append(
            (
                f"matmul {size}",
                matmul.matmul,
                lambda t, s=size: matmul.operands(s, s, s, t),
                matmul.check,
                2.0 * size**3,
            )
        )
    found.append(
        (
            "attention S=1024 D=64",
            attention.plain,
            lambda t: attention.operands(1024, 64, t),
            None,
            attention.flops("plain", 1024, 64),
        )
    )
    found.append(
        (
            "softmax 2048x1024",
            rows.softmax,
            lambda t: rows.operands("softmax", (2048, 1024), t),
            lambda *a: rows.check("softmax", a),
            0.0,
        )
    )
    found.append(
        (
            "layer_norm 2048x1024",
            rows.layer_norm,
            lambda t: rows.operands("layer_norm", (2048, 1024), t),
            lambda *a: rows.check("layer_norm", a),
            0.0,
        )
    )
    found.append(
        ("chain 1024x1024", chain.chain, lambda t: chain.operands((1024, 1024), t), None, 0.0)
    )
    return found


def _near(function: Callable, narrow: tuple, wide: tuple) -> str | None:
    """Against fp32 on the same numbers: a few units of the narrow type at the result's scale."""
    found = np.asarray(function(*narrow)).astype(np.float64)
    expected = np.asarray(function(*wide)).astype(np.float64)
    unit = 2.0**-11 if narrow[0].dtype == np.float16 else 2.0**-8
    error = np.abs(found - expected).max() / np.abs(expected).max()
    return (
        None
        if error <= 8 * unit
        else f"relative error {error:.2g}, expected at most {8 * unit:.2g}"
    )


def _prepare(program, dtype) -> Prepared:
    _, function, operands, check, _ = program
    narrow = tuple(operands(dtype))
    wide = tuple(a.astype(np.float32) for a in narrow)
    calls = {OURS: lambda: function(*narrow), "fp32": lambda: function(*wide)}
    if check is not None and dtype == np.float16:
        return Prepared(calls, lambda: check(*narrow))
    return Prepared(calls, lambda: _near(function, narrow, wide))


def cases() -> list[Case]:
    types = {"fp16": np.float16} | ({"bf16": bfloat16} if bfloat16 else {})
    target = (Target("fp32", ("fp32",), 1.0),)
    return [
        Case(
            label,
            program[0],
            lambda p=program, d=dtype: _prepare(p, d),
            target,
            flops=program[4],
            quick="512" in program[0] or "softmax" in program[0],
            roofed=False,
        )
        for label, dtype in types.items()
        for program in _programs()
    ]
