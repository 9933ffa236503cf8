"""The table of conventions: gradients where a derivative does not exist, as in PyTorch 2.15.

Each row is a scalar expression of x, the values of x, and its gradient. test_conventions.py checks
them; docs/gradients.md shows them.
"""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple


class Row(NamedTuple):
    case: str
    expression: str
    x: list[float]
    gradient: list[float]


ROWS = [
    Row("abs at 0", "x.abs().sum()", [0.0, -2.0], [0, -1]),
    Row("sqrt at 0", "x.sqrt().sum()", [0.0, 4.0], [inf, 0.25]),
    Row("norm of zeros", "tsr.norm(x)", [0.0, 0.0], [0, 0]),
    Row("std of equal elements", "x.std()", [3.0, 3.0], [0, 0]),
    Row("std of one element", "x.std()", [3.0], [nan]),
    Row("amax, equal elements", "x.amax()", [1.0, 5.0, 5.0], [0, 0.5, 0.5]),
    Row("amin, equal elements", "x.amin()", [1.0, 1.0, 5.0], [0.5, 0.5, 0]),
    Row("max of all, equal elements", "x.max()", [5.0, 5.0, 1.0], [0.5, 0.5, 0]),
    Row("max along a dimension, equal elements", "x.max(dim=0)[0]", [1.0, 5.0, 5.0], [0, 1, 0]),
    Row("min along a dimension, equal elements", "x.min(dim=0)[0]", [2.0, 1.0, 1.0], [0, 1, 0]),
    Row("amax with nan", "x.amax()", [1.0, nan, 2.0], [nan, nan, nan]),
    Row("max along a dimension with nan", "x.max(dim=0)[0]", [1.0, nan, 2.0], [0, 1, 0]),
    Row("maximum, equal operands", "tsr.maximum(x[0], x[1])", [2.0, 2.0], [0.5, 0.5]),
    Row("minimum, equal operands", "tsr.minimum(x[0], x[1])", [2.0, 2.0], [0.5, 0.5]),
    Row("clamp at a number", "x.clamp(0.0, 1.0).sum()", [0.0, 0.5, 1.0, 2.0], [0, 1, 0, 0]),
    Row("clamp at a tensor", "tsr.clamp(x[0], min=x[1])", [2.0, 2.0], [0.5, 0.5]),
    Row("relu at 0", "tsr.relu(x).sum()", [0.0, 1.0], [0, 1]),
    Row("leaky_relu at 0", "tsr.leaky_relu(x, 0.1).sum()", [0.0, 1.0], [0.1, 1]),
    Row("hardsigmoid at its bounds", "tsr.hardsigmoid(x).sum()", [-3.0, 0.0, 3.0], [0, 1 / 6, 0]),
    Row("softplus at 0", "tsr.softplus(x).sum()", [0.0], [0.5]),
    Row("pow, 0 to the power of 0", "x[0] ** x[1]", [0.0, 0.0], [0, 0]),
    Row("pow, 0 to the power of 1/2", "tsr.pow(x[0], x[1])", [0.0, 0.5], [inf, 0]),
    Row("where, nan in the branch not taken", "tsr.where(x > 0, x.sqrt(), 0.0).sum()", [-1.0, 4.0], [nan, 0.25]),
    Row("logsumexp of -inf only", "x.logsumexp(dim=0)", [-inf, -inf], [nan, nan]),
    Row("softmax of -inf only", "(x.softmax(dim=0) * tsr.arange(2)).sum()", [-inf, -inf], [nan, nan]),
    Row("safe softmax of -inf only", "(x.softmax(dim=0, safe=True) * tsr.arange(2)).sum()", [-inf, -inf], [0, 0]),
    Row("prod with one zero", "x.prod()", [0.0, 2.0, 3.0], [6, 0, 0]),
    Row("prod with two zeros", "x.prod()", [0.0, 2.0, 0.0], [0, 0, 0]),
    Row("cumprod with one zero", "x.cumprod(dim=0).sum()", [2.0, 0.0, 3.0], [1, 8, 0]),
    Row("cumprod with two zeros", "x.cumprod(dim=0).sum()", [2.0, 0.0, 0.0], [1, 2, 0]),
    Row("gather, an index twice", "x[tsr.zeros((2,), dtype=tsr.int64)].sum()", [4.0, 5.0], [2, 0]),
    Row("sort, equal elements", "(x.sort()[0] * tsr.arange(3)).sum()", [7.0, 1.0, 7.0], [1, 0, 2]),
    Row("topk, equal elements", "x.topk(1)[0].sum()", [7.0, 1.0, 7.0], [1, 0, 0]),
    Row("floor, round, sign", "(x.floor() + x.round() + x.sign()).sum()", [0.4, 1.0], [0, 0]),
    Row("remainder", "(x % 2.0).sum()", [3.0, -0.5], [1, 1]),
    Row("silu at infinities", "tsr.silu(x).sum()", [inf, -inf], [nan, nan]),
    Row("gelu at infinities", "tsr.gelu(x).sum()", [inf, -inf], [nan, nan]),
]  # fmt: skip
