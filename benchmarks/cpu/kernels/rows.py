"""Softmax, layer norm and RMS norm over rows, against NumPy and PyTorch."""

from __future__ import annotations

from typing import Callable

import numpy as np
import tessera as tsr
from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import pytorch
from tessera import Tensor

SHAPES = [(2048, 1024), (512, 8192), (4096, 127)]
EPS = 1e-5


@tsr.function
def softmax(x: Tensor["N", "D"]) -> Tensor["N", "D"]:
    return tsr.softmax(x, dim=-1)


@tsr.function
def layer_norm(x: Tensor["N", "D"], w: Tensor["D"], b: Tensor["D"]) -> Tensor["N", "D"]:
    return tsr.layer_norm(x, (x.shape[-1],), w, b, eps=EPS)


@tsr.function
def rms_norm(x: Tensor["N", "D"], w: Tensor["D"]) -> Tensor["N", "D"]:
    return tsr.rms_norm(x, (x.shape[-1],), w, eps=EPS)


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    p = np.exp(x - x.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p


def numpy_layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(EPS)) * w + b


def numpy_rms_norm(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(EPS)) * w


def _softmax_bound(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    spread = (x.max(-1, keepdims=True) - x).max()
    return (gamma(x.shape[-1] + 32) + gamma(4 * spread)) * y


def _layer_norm_bound(y: np.ndarray, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    size = np.abs(x) + np.abs(x).mean(-1, keepdims=True)
    return gamma(3 * x.shape[-1] + 16) * (
        size / np.sqrt(x.var(-1, keepdims=True) + EPS) * np.abs(w)
    ) + gamma(4) * (np.abs(y) + np.abs(b))


def _rms_norm_bound(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return gamma(x.shape[-1] + 16) * np.abs(y)


FLOPS = {
    "softmax": 5.0,
    "layer_norm": 7.0,
    "rms_norm": 4.0,
}  # operations per element, counted by hand

Program = tuple[Callable, Callable, Callable, Callable, int]

PROGRAMS: dict[str, Program] = {  # ours, NumPy, PyTorch, bound, number of vectors
    "softmax": (softmax, numpy_softmax, lambda t, f, x: t.softmax(x, -1), _softmax_bound, 0),
    "layer_norm": (
        layer_norm,
        numpy_layer_norm,
        lambda t, f, x, w, b: f.layer_norm(x, x.shape[-1:], w, b, EPS),
        _layer_norm_bound,
        2,
    ),
    "rms_norm": (
        rms_norm,
        numpy_rms_norm,
        lambda t, f, x, w: f.rms_norm(x, x.shape[-1:], w, EPS),
        _rms_norm_bound,
        1,
    ),
}


def operands(program: str, shape: tuple[int, int], dtype=np.float32) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    shapes = [shape] + [shape[-1:]] * PROGRAMS[program][4]
    return tuple(rng.standard_normal(s).astype(dtype) for s in shapes)


def check(program: str, arrays: tuple[np.ndarray, ...]) -> str | None:
    ours, plain, _, bound, _ = PROGRAMS[program]
    wide = [a.astype(np.float64) for a in arrays]
    value = plain(*wide)
    return compare(ours(*arrays), value, bound(value, *wide))


def _prepare(program: str, shape: tuple[int, int]) -> Prepared:
    arrays = operands(program, shape)
    ours, plain, torch_program, _, _ = PROGRAMS[program]
    calls = {OURS: lambda: ours(*arrays), "numpy": lambda: plain(*arrays)}
    calls |= pytorch.contenders(torch_program, arrays)
    return Prepared(calls, lambda: check(program, arrays))


def cases() -> list[Case]:
    targets = (
        Target("eager", ("numpy", "torch"), 1.2),
        Target("torch.compile", ("torch.compile",), 1.0),
    )
    return [
        Case(
            program,
            "x".join(map(str, shape)),
            lambda c=(program, shape): _prepare(*c),
            targets,
            flops=FLOPS[program] * shape[0] * shape[1],
            bytes=8.0 * shape[0] * shape[1],
            quick=shape == SHAPES[0],
        )
        for program in PROGRAMS
        for shape in SHAPES
    ]
