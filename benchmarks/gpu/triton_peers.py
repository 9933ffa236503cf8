"""Memory-bound rows, handwritten in Triton: programs over blocks of rows, autotuned.

A row that fits is read once and kept; a longer one is read twice. The tuned parameters are the rows
or columns per program, and its warps.
"""

from __future__ import annotations

from typing import Callable

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

KEPT = 16384  # elements of the longest row that a program keeps


def _configs(**sizes: tuple[int, ...]) -> list[triton.Config]:
    ((name, values),) = sizes.items()
    return [
        triton.Config({name: value}, num_warps=warps) for value in values for warps in (4, 8, 16)
    ]


def _sensible(configs: list[triton.Config], arguments: dict, **more) -> list[triton.Config]:
    """Configurations with 4 to 64 elements per thread, or all but the extremes if there are
    none."""
    block = {**arguments, **more}.get("BLOCK", 1)

    def each(config: triton.Config) -> float:
        elements = 1
        for name, value in config.kwargs.items():
            elements *= value * (block if name == "ROWS" else 1)
        return elements / (32 * config.num_warps)

    return [one for one in configs if 4 <= each(one) <= 64] or [configs[-1]]


def _tuned(key: list[str], zeroed: tuple[str, ...] = (), **sizes: tuple[int, ...]) -> Callable:
    """`zeroed` is the memory that a kernel adds to."""
    return triton.autotune(
        _configs(**sizes),
        key=key,
        prune_configs_by={"early_config_prune": _sensible},
        reset_to_zero=list(zeroed),
    )


# -- Rows that are kept ---------------------------------------------------------------------------


@triton.jit
def _block(m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The elements of a program's rows, their mask, and columns."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    at = rows.to(tl.int64)[:, None] * n + columns[None, :]
    return at, (rows < m)[:, None] & (columns < n)[None, :], columns


@_tuned(["m", "n"], ROWS=(1, 2, 4, 16, 64))
@triton.jit
def _softmax(x, y, m, n, LOG: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    at, is_there, _ = _block(m, n, ROWS, BLOCK)
    v = tl.load(x + at, mask=is_there, other=-float("inf")).to(tl.float32)
    v -= tl.max(v, 1)[:, None]
    e = tl.exp(v)
    total = tl.sum(e, 1)[:, None]
    tl.store(y + at, v - tl.log(total) if LOG else e / total, mask=is_there)


@_tuned(["m", "n"], ROWS=(1, 2, 4, 16, 64))
@triton.jit
def _norm(
    x, r, w, b, y, m, n, epsilon,
    CENTRED: tl.constexpr, ADDED: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    at, is_there, columns = _block(m, n, ROWS, BLOCK)
    v = tl.load(x + at, mask=is_there, other=0.0).to(tl.float32)
    if ADDED:
        v += tl.load(r + at, mask=is_there, other=0.0).to(tl.float32)
    if CENTRED:
        v = tl.where(is_there, v - (tl.sum(v, 1) / n)[:, None], 0.0)
    v *= tl.rsqrt(tl.sum(v * v, 1) / n + epsilon)[:, None]
    v *= tl.load(w + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    if CENTRED:
        v += tl.load(b + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    if ADDED:
        v *= tl.sigmoid(v)
    tl.store(y + at, v, mask=is_there)


@_tuned(["m", "n"], ROWS=(1, 2, 4, 16))
@triton.jit
def _cumsum(x, y, m, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    at, is_there, _ = _block(m, n, ROWS, BLOCK)
    v = tl.load(x + at, mask=is_there, other=0.0).to(tl.float32)
    tl.store(y + at, tl.cumsum(v, 1), mask=is_there)


@_tuned(["m", "n"], ROWS=(1, 2, 4, 16))
@triton.jit
def _rows_of(ids, table, y, m, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at, is_there, columns = _block(m, n, ROWS, BLOCK)
    start = tl.load(ids + rows, mask=rows < m, other=0).to(tl.int64) * n
    tl.store(
        y + at, tl.load(table + start[:, None] + columns[None, :], mask=is_there), mask=is_there
    )


@_tuned(["m", "n"], ROWS=(4, 16, 32, 64))
@triton.jit
def _rope(x, cos, sin, y, m, n, length, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Rows of two halves, n elements each."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    is_there = (rows < m)[:, None] & (columns < n)[None, :]
    at = rows.to(tl.int64)[:, None] * (2 * n) + columns[None, :]
    angle = (rows % length)[:, None] * n + columns[None, :]
    c = tl.load(cos + angle, mask=is_there, other=0.0).to(tl.float32)
    s = tl.load(sin + angle, mask=is_there, other=0.0).to(tl.float32)
    low = tl.load(x + at, mask=is_there, other=0.0).to(tl.float32)
    high = tl.load(x + at + n, mask=is_there, other=0.0).to(tl.float32)
    tl.store(y + at, low * c - high * s, mask=is_there)
    tl.store(y + at + n, high * c + low * s, mask=is_there)


# -- Rows that are walked -------------------------------------------------------------------------


@triton.jit
def _statistics(row, n, BLOCK: tl.constexpr):
    """The largest element of a row, and the sum of all exponentials relative to it."""
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        v = tl.load(row + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, v)
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.exp(v - safe)
        top = higher
    most = tl.max(top, 0)
    return most, tl.sum(total * tl.exp(top - most), 0)


@_tuned(["m", "n"], BLOCK=(1024, 2048, 4096, 8192))
@triton.jit
def _long_softmax(x, y, m, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    most, total = _statistics(x + start, n, BLOCK)
    scale = 1 / total
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        v = tl.load(x + start + columns, mask=columns < n, other=0.0).to(tl.float32)
        tl.store(y + start + columns, tl.exp(v - most) * scale, mask=columns < n)


@_tuned(["m", "n"], BLOCK=(1024, 2048, 4096, 8192))
@triton.jit
def _cross_entropy(x, t, y, m, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = row.to(tl.int64) * n
    most, total = _statistics(x + start, n, BLOCK)
    picked = tl.load(x + start + tl.load(t + row)).to(tl.float32)
    tl.store(y + row, most + tl.log(total) - picked)


@_tuned(["m", "n"], zeroed=("y",), BLOCK=(512, 1024, 2048, 4096, 8192))
@triton.jit
def _row_sum(x, y, m, n, part, scale, BLOCK: tl.constexpr):
    """A program has a part of a row; there is one part unless rows are few."""
    row, begin = tl.program_id(0), tl.program_id(1) * part
    end = tl.minimum(begin + part, n)
    start = row.to(tl.int64) * n
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(begin, end, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        total += tl.load(x + start + columns, mask=columns < end, other=0.0).to(tl.float32)
    if part < n:
        tl.atomic_add(y + row, tl.sum(total, 0) * scale)
    else:
        tl.store(y + row, tl.sum(total, 0) * scale)


@_tuned(["m", "n"], BLOCK=(1024, 2048, 4096, 8192))
@triton.jit
def _argmax(x, y, m, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = row.to(tl.int64) * n
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    place = tl.zeros([BLOCK], tl.int32)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        v = tl.load(x + start + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
        place = tl.where(v > top, columns, place)
        top = tl.maximum(v, top)
    most = tl.max(top, 0)
    tl.store(y + row, tl.min(tl.where(top == most, place, n), 0).to(tl.int64))


@_tuned(["m", "n"], zeroed=("y",), ROWS=(16, 32, 64))
@triton.jit
def _column_sum(x, y, m, n, part, scale, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    begin = tl.program_id(1) * part
    end = tl.minimum(begin + part, m)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for first in range(begin, end, ROWS):
        rows = first + tl.arange(0, ROWS)
        is_there = (rows < end)[:, None] & (columns < n)[None, :]
        at = rows.to(tl.int64)[:, None] * n + columns[None, :]
        total += tl.load(x + at, mask=is_there, other=0.0).to(tl.float32)
    tl.atomic_add(y + columns, tl.sum(total, 0) * scale, mask=columns < n)


# -- Element by element ---------------------------------------------------------------------------


@triton.jit
def _gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@_tuned(["count"], BLOCK=(1024, 2048, 4096, 8192))
@triton.jit
def _elementwise(x, y, out, count, n, seed, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < count, other=0.0)
    if KIND == "chain":
        v = v.to(tl.float32)
        w = tl.load(y + i, mask=i < count, other=0.0).to(tl.float32)
        v = tl.maximum(tl.sqrt_rn(tl.abs(libdevice.tanh(v * 0.5 + w) * v - w) + 1.0), v) * 0.25
    if KIND == "gelu_chain":
        v = v.to(tl.float32)
        w = tl.load(y + i, mask=i < count, other=0.0).to(tl.float32)
        v = _gelu(v) * w + v
    if KIND == "bias_gelu_dropout":
        v = v.to(tl.float32) + tl.load(y + i % n, mask=i < count, other=0.0).to(tl.float32)
        v = tl.where(tl.rand(seed, i) > 0.1, _gelu(v) / 0.9, 0.0)
    tl.store(out + i, v, mask=i < count)


@_tuned(["m", "n"], ROWS=(32, 64, 128))
@triton.jit
def _transpose(x, y, m, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_there = (rows < m)[:, None] & (columns < n)[None, :]
    v = tl.load(x + rows.to(tl.int64)[:, None] * n + columns[None, :], mask=is_there)
    at = columns.to(tl.int64)[:, None] * m + rows[None, :]
    tl.store(y + at, tl.trans(v), mask=tl.trans(is_there))


@_tuned(["s", "h"], ROWS=(16, 32, 64, 128))
@triton.jit
def _swap_heads(x, y, s, h, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    head, batch = tl.program_id(1), tl.program_id(2)
    columns = tl.arange(0, BLOCK)
    is_there = (rows < s)[:, None] & (columns < n)[None, :]
    base = batch.to(tl.int64) * s * h * n
    v = tl.load(x + base + (rows * h + head)[:, None] * n + columns[None, :], mask=is_there)
    tl.store(y + base + (head * s + rows)[:, None] * n + columns[None, :], v, mask=is_there)


# -- What the benchmark calls ---------------------------------------------------------------------


def contender(function: str, arguments: list, result) -> Callable[[], object] | None:
    """A call that writes into its own memory; None for rows that have no Triton peer."""
    x = arguments[0]
    y = torch.empty_like(result)
    m, n = (x.numel() // x.shape[-1], x.shape[-1])
    block = triton.next_power_of_2(n)

    def rows(config: dict) -> tuple[int]:
        return (triton.cdiv(m, config["ROWS"]),)

    if function in ("softmax", "log_softmax"):
        if n > KEPT and function == "softmax":
            return lambda: _long_softmax[(m,)](x, y, m, n)
        return lambda: _softmax[rows](x, y, m, n, function == "log_softmax", block)
    if function in ("layer_norm", "rms_norm", "residual_rms_silu"):
        is_centred, is_added = function == "layer_norm", function == "residual_rms_silu"
        added = arguments[1] if is_added else x
        weight = arguments[2] if is_added else arguments[1]
        bias = arguments[2] if is_centred else weight
        epsilon = 1e-5 if is_centred else 1e-6
        return lambda: _norm[rows](
            x, added, weight, bias, y, m, n, epsilon, is_centred, is_added, block
        )
    if function == "cross_entropy":
        return lambda: _cross_entropy[(m,)](x, arguments[1], y, m, n)
    if function == "cumsum":
        return lambda: _cumsum[rows](x, y, m, n, block)
    if function == "argmax":
        return lambda: _argmax[(m,)](x, y, m, n)
    if function in ("row_sum", "row_mean"):
        scale = 1 / n if function == "row_mean" else 1.0
        if m >= 1024:
            return lambda: _row_sum[(m, 1)](x, y, m, n, n, scale)
        sums = torch.zeros(m, dtype=torch.float32, device=x.device)
        part = triton.cdiv(n, 32)
        return lambda: _row_sum[(m, 32)](x, sums.zero_(), m, n, part, scale)
    if function in ("column_sum", "column_mean"):
        scale = 1 / m if function == "column_mean" else 1.0
        sums = torch.zeros(n, dtype=torch.float32, device=x.device)
        parts = max(1, min(64, m // 64))
        grid = (triton.cdiv(n, 128), parts)
        return lambda: _column_sum[grid](x, sums.zero_(), m, n, triton.cdiv(m, parts), scale, 128)
    if function == "rope":
        half, count = n // 2, x.numel() // n
        cos, sin = arguments[1:]
        grid = lambda config: (triton.cdiv(count, config["ROWS"]),)  # noqa: E731
        width = triton.next_power_of_2(half)
        return lambda: _rope[grid](x, cos, sin, y, count, half, x.shape[-2], width)
    if function in ("chain", "gelu_chain", "bias_gelu_dropout", "to_bf16", "to_fp32"):
        count = x.numel()
        grid = lambda config: (triton.cdiv(count, config["BLOCK"]),)  # noqa: E731
        return lambda: _elementwise[grid](x, arguments[-1], y, count, n, 1, function)
    if function == "transpose":
        grid = lambda config: (triton.cdiv(m, config["ROWS"]), triton.cdiv(n, 64))  # noqa: E731
        return lambda: _transpose[grid](x, y, m, n, 64)
    if function == "swap_heads":
        batch, length, heads, width = x.shape
        grid = lambda config: (triton.cdiv(length, config["ROWS"]), heads, batch)  # noqa: E731
        return lambda: _swap_heads[grid](x, y, length, heads, width, triton.next_power_of_2(width))
    if function == "embedding":
        table = arguments[1]
        count, width = x.numel(), table.shape[1]
        grid = lambda config: (triton.cdiv(count, config["ROWS"]),)  # noqa: E731
        return lambda: _rows_of[grid](x, table, y, count, width, triton.next_power_of_2(width))
    return None
