"""Memory-bound rows on the PTX backend, beside PyTorch, Triton and our other backend.

Every operand is read once and the result written once, at least 200 MB, four times the cache. The
goal is 0.93 of the speed of a copy, and 1.05 of the fastest peer or 0.95 of the copy, whichever is
less.
"""

from __future__ import annotations

from rows import Argument, Goal, Row

PEERS = ("eager", "compile", "triton")
GOALS = (Goal(("copy",), 0.93), Goal(PEERS, 1.05, of_copy=0.95), Goal(("other",), 1.0))


def _row(function: str, dtype: str, *arguments: Argument) -> Row:
    shape = "x".join(map(str, arguments[0].sizes))
    return Row(f"{function}_{dtype}_{shape}", "memory", function, arguments, GOALS, backend="ptx")


def matrix(function: str, dtype: str, m: int, n: int, names: str = "x") -> Row:
    """Names in capitals are rows of length n; `t` is a column of classes."""
    arguments = []
    for name in names:
        if name == "t":
            arguments.append(Argument(name, "int64", (m,), f"below:{n}"))
        else:
            arguments.append(Argument(name.lower(), dtype, (n,) if name.isupper() else (m, n)))
    return _row(function, dtype, *arguments)


def rope(dtype: str, b: int, h: int, s: int, d: int) -> Row:
    angles = [Argument(name, dtype, (s, d // 2), "angles") for name in ("cos", "sin")]
    return _row("rope", dtype, Argument("x", dtype, (b, h, s, d)), *angles)


def _embedding(dtype: str, count: int, entries: int, n: int) -> Row:
    ids = Argument("ids", "int64", (count,), f"below:{entries}")
    return _row("embedding", dtype, ids, Argument("table", dtype, (entries, n)))


MEMORY_ROWS = [
    matrix("softmax", "bf16", 2097152, 64),
    matrix("softmax", "bf16", 32768, 4096),
    matrix("softmax", "fp32", 8192, 16384),
    matrix("softmax", "bf16", 32768, 4095),
    matrix("softmax", "bf16", 4096, 50257),
    matrix("softmax", "bf16", 1024, 262144),
    matrix("log_softmax", "bf16", 32768, 4096),
    matrix("log_softmax", "fp32", 16384, 4097),
    matrix("layer_norm", "bf16", 32768, 4096, "xWB"),
    matrix("layer_norm", "fp32", 32768, 4096, "xWB"),
    matrix("layer_norm", "bf16", 131072, 1024, "xWB"),
    matrix("rms_norm", "bf16", 32768, 4096, "xW"),
    matrix("rms_norm", "bf16", 16384, 16384, "xW"),
    matrix("rms_norm", "fp32", 524288, 256, "xW"),
    matrix("residual_rms_silu", "bf16", 32768, 4096, "xrW"),
    matrix("residual_rms_silu", "fp32", 8192, 8192, "xrW"),
    matrix("cross_entropy", "bf16", 4096, 50257, "xt"),
    matrix("cross_entropy", "fp32", 8192, 32768, "xt"),
    rope("bf16", 4, 32, 8192, 128),
    rope("fp32", 2, 32, 8192, 128),
    matrix("chain", "bf16", 16384, 8192, "xy"),
    matrix("chain", "fp32", 8192, 8192, "xy"),
    matrix("row_sum", "bf16", 16384, 16384),
    matrix("row_mean", "fp32", 262144, 512),
    matrix("row_sum", "fp32", 128, 1048576),
    matrix("column_sum", "fp32", 16384, 8192),
    matrix("column_mean", "bf16", 65536, 4096),
    matrix("argmax", "bf16", 32768, 8192),
    matrix("argmax", "fp32", 4096, 50257),
    matrix("transpose", "bf16", 16384, 8192),
    matrix("transpose", "fp32", 8192, 8192),
    _row("swap_heads", "bf16", Argument("x", "bf16", (64, 512, 32, 128))),
    matrix("bias_gelu_dropout", "bf16", 16384, 8192, "xB"),
    matrix("to_bf16", "fp32", 16384, 8192),
    matrix("to_fp32", "bf16", 16384, 8192),
    _embedding("bf16", 65536, 131072, 4096),
    matrix("cumsum", "fp32", 16384, 4096),
    matrix("cumsum", "bf16", 65536, 2048),
]
assert len(MEMORY_ROWS) <= 40 and len({row.name for row in MEMORY_ROWS}) == len(MEMORY_ROWS)
