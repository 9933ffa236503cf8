"""What the GPU check compiles and runs: a function, and the types of its arguments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    function: str
    arguments: tuple[tuple[str, str, tuple[int, ...]], ...]  # name, element type, sizes
    flops: int = 0  # of what is bound by arithmetic

    @property
    def bundle(self) -> str:
        return f"{self.name}.tsb"

    def flags(self) -> list[str]:
        """The arguments for `tessera compile`."""
        return [
            word
            for name, dtype, sizes in self.arguments
            for word in ("--arg", f"{name}={dtype}[{','.join(map(str, sizes))}]")
        ]


def _rows(function: str, dtype: str, m: int, n: int, *names: str) -> Case:
    """Names in capitals are rows of length n."""
    arguments = tuple((x.lower(), dtype, (n,) if x.isupper() else (m, n)) for x in names)
    return Case(f"{function}_{dtype}_{m}x{n}", function, arguments)


def _product(function: str, dtype: str, m: int, n: int, k: int) -> Case:
    arguments = [("a", dtype, (m, k)), ("b", dtype, (k, n))]
    if function == "linear_gelu":
        arguments.append(("c", dtype, (n,)))
    name = f"{function}_{dtype}_{m}x{n}x{k}"
    return Case(name, function, tuple(arguments), 2 * m * n * k)


def _attention(function: str, dtype: str, b: int, h: int, s: int, d: int) -> Case:
    arguments = tuple((x, dtype, (b, h, s, d)) for x in "qkv")
    flops = 4 * b * h * s * s * d
    name = f"{function}_{dtype}_{b}x{h}x{s}x{d}"
    return Case(name, function, arguments, flops // 2 if "causal" in function else flops)


CASES = [
    _rows("add", "fp32", 16384, 4096, "x", "y"),
    _rows("add", "fp32", 1000, 777, "x", "y"),
    _rows("gelu_chain", "bf16", 16384, 4096, "x", "y"),
    _rows("softmax", "fp32", 16384, 4096, "x"),
    _rows("softmax", "bf16", 32768, 1000, "x"),
    _rows("layer_norm", "bf16", 16384, 4096, "x", "W", "B"),
    _rows("row_sum", "fp32", 16384, 4096, "x"),
    _product("matmul", "bf16", 8192, 8192, 8192),
    _product("matmul", "bf16", 4096, 4096, 4096),
    _product("matmul", "fp16", 4096, 4096, 4096),
    _product("matmul", "bf16", 1000, 1000, 1000),
    _product("matmul", "fp32", 2048, 2048, 2048),
    _product("linear_gelu", "bf16", 8192, 8192, 4096),
    _attention("attention", "bf16", 2, 16, 4096, 128),
    _attention("causal_attention", "bf16", 2, 16, 4096, 128),
    _attention("attention", "bf16", 2, 16, 4096, 64),
]
