"""The rows of the GPU benchmark: a function, the types of its arguments, its peers.

A compute-bound row states its operations; any other is memory bound, and its speed is that of every
argument read once and the result written once. Those rows take at least 200 MB, four times the
cache. Goals name contenders (peers.py): the ratio is to the fastest of those named.
"""

from __future__ import annotations

from dataclasses import dataclass

TORCH = ("eager", "compile", "joined", "cublaslt")  # the forms of one computation in PyTorch


@dataclass(frozen=True)
class Argument:
    name: str
    dtype: str
    sizes: tuple[int, ...]
    fill: str = (
        "normal"  # or "slopes", "documents", "angles", "weights", "words", "scales", "below:N"
    )

    def __str__(self) -> str:
        return f"{self.name}={self.dtype}[{','.join(map(str, self.sizes))}]"


@dataclass(frozen=True)
class Goal:
    """A ratio to the fastest of some contenders; this fraction of a copy's speed is enough, too."""

    against: tuple[str, ...]
    ratio: float
    of_copy: float | None = None


@dataclass(frozen=True)
class Row:
    name: str
    group: str
    function: str
    arguments: tuple[Argument, ...]
    goals: tuple[Goal, ...]
    flops: int = 0
    backend: str = ""  # of the compiler to the GPU; none: the one that is asked for

    @property
    def bundle(self) -> str:
        return f"{self.name}.tsb"

    @property
    def fixed_bundle(self) -> str:
        """For the same function with constant sizes (fixed.py)."""
        return f"{self.name}@fixed.tsb"

    @property
    def other_bundle(self) -> str:
        """For the other backend, if a row names one."""
        return f"{self.name}@other.tsb"

    def flags(self) -> list[str]:
        """The arguments for `tessera compile`."""
        return [word for one in self.arguments for word in ("--arg", str(one))]


def _shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def product(m: int, n: int, k: int, goal: float, dtype: str = "bf16", form: str = "nn") -> Row:
    function = "matmul" if form == "nn" else f"matmul_{form}"
    a = Argument("a", dtype, (m, k) if form[0] == "n" else (k, m))
    b = Argument("b", dtype, (k, n) if form[1] == "n" else (n, k))
    name = f"{function}_{dtype}_{_shape(m, n, k)}"
    return Row(name, "product", function, (a, b), (Goal(("cublas",), goal),), 2 * m * n * k)


def _batch(count: int, size: int, goal: float, dtype: str = "bf16") -> Row:
    arguments = tuple(Argument(x, dtype, (count, size, size)) for x in "ab")
    name = f"batched_matmul_{dtype}_{count}x{_shape(size, size, size)}"
    flops = 2 * count * size**3
    return Row(name, "product", "batched_matmul", arguments, (Goal(("cublas",), goal),), flops)


def _fused(function: str, m: int, n: int, k: int, dtype: str = "bf16") -> Row:
    sizes = {"x": (m, k), "w": (k, n), "g": (k, n), "u": (k, n), "b": (n,)}
    names = "xwb" if function == "linear_gelu" else "xgu"
    arguments = tuple(Argument(x, dtype, sizes[x]) for x in names)
    name = f"{function}_{dtype}_{_shape(m, n, k)}"
    flops = 2 * m * n * k * (1 if function == "linear_gelu" else 2)
    return Row(name, "product", function, arguments, (Goal(TORCH, 1.05),), flops)


def _visible(function: str, s: int) -> float:
    """Pairs of positions that are not masked, out of s²."""
    if function == "window_attention":
        return s * 1024
    return s * s if function == "attention" else s * s / 2


def _attention(
    function: str, b: int, h: int, s: int, d: int, goals: tuple[Goal, ...], groups: int = 0
) -> Row:
    arguments = [
        Argument(x, "bf16", (b, groups or h, s, d) if x != "q" else (b, h, s, d)) for x in "qkv"
    ]
    if function == "alibi_attention":
        arguments.append(Argument("slopes", "bf16", (h,), "slopes"))
    if function == "document_attention":
        arguments.append(Argument("document", "int32", (s,), "documents"))
    flops = int(4 * b * h * d * _visible(function, s))
    name = f"{function}_bf16_{_shape(b, h, s, d)}"
    return Row(name, "attention", function, tuple(arguments), goals, flops)


def _rows(function: str, dtype: str, m: int, n: int, *names: str) -> Row:
    """Names in capitals are rows of length n."""
    arguments = tuple(Argument(x.lower(), dtype, (n,) if x.isupper() else (m, n)) for x in names)
    return Row(f"{function}_{dtype}_{m}x{n}", "memory", function, arguments, MEMORY)


def rope(b: int, h: int, s: int, d: int) -> Row:
    angles = tuple(Argument(x, "bf16", (s, d // 2), "angles") for x in ("cos", "sin"))
    x = Argument("x", "bf16", (b, h, s, d))
    return Row(f"rope_bf16_{_shape(b, h, s, d)}", "memory", "rope", (x, *angles), MEMORY)


def _mlp(function: str, m: int, d: int, h: int) -> Row:
    """Contractions from d to h and back; the gated form has two in between."""
    x = Argument("x", "bf16", (m, d))
    down = Argument("wd" if function == "gated_mlp" else "w2", "bf16", (h, d), "weights")
    if function == "gated_mlp":
        arguments = (x, *(Argument(n, "bf16", (d, h), "weights") for n in ("wg", "wu")), down)
    else:
        up = Argument("w1", "bf16", (d, h), "weights")
        arguments = (x, up, Argument("b1", "bf16", (h,)), down, Argument("b2", "bf16", (d,)))
    flops = 2 * m * d * h * (3 if function == "gated_mlp" else 2)
    return Row(f"{function}_bf16_{_shape(m, d, h)}", "model", function, arguments, MODEL, flops)


def _block(b: int, s: int, d: int, h: int, width: int, goals: tuple[Goal, ...] = ()) -> Row:
    """A layer of a transformer with heads of a width."""
    sizes = {"n1": (d,), "wq": (d, d), "wk": (d, d), "wv": (d, d), "wo": (d, d), "n2": (d,)}
    sizes |= {"wg": (d, h), "wu": (d, h), "wd": (h, d)}
    kinds = {1: "scales", 2: "weights"}
    arguments = [Argument("x", "bf16", (b, s, d))]
    arguments += [Argument(name, "bf16", shape, kinds[len(shape)]) for name, shape in sizes.items()]
    arguments += [Argument(x, "bf16", (s, width // 2), "angles") for x in ("cos", "sin")]
    flops = 2 * b * s * (4 * d * d + 3 * d * h + d * s)
    name = f"transformer_block_bf16_{_shape(b, s, d, h)}"
    return Row(name, "model", "transformer_block", tuple(arguments), goals or MODEL, flops)


def _loss(n: int, d: int, v: int) -> Row:
    """Over a vocabulary; the logits would take n * v elements."""
    words = Argument("w", "bf16", (v, d), "words")
    arguments = (Argument("h", "bf16", (n, d)), words, Argument("y", "int64", (n,), f"below:{v}"))
    name = f"vocabulary_loss_bf16_{_shape(n, d, v)}"
    return Row(name, "model", "vocabulary_loss", arguments, MODEL, 2 * n * d * v)


CUDNN = (Goal(("cudnn",), 0.92),)
BESIDE = (Goal(("cudnn",), 0.0),)  # shown beside it, without a goal
FLEX = (Goal(("flex",), 1.2),)
MEMORY = (Goal(("copy",), 0.9), Goal(("compile",), 1.0))
MODEL = (Goal(("eager",), 1.2), Goal(("compile",), 1.0))

ROWS = [
    product(8192, 8192, 8192, 0.97),
    product(8192, 8192, 8192, 0.97, form="nt"),
    product(8192, 8192, 8192, 0.97, "fp16", "tn"),
    product(8192, 8192, 8192, 0.97, "fp16", "tt"),
    product(4096, 4096, 4096, 0.97),
    product(2048, 2048, 2048, 0.97),
    product(8192, 28672, 4096, 0.97),
    product(1000, 1000, 1000, 0.9),
    product(4097, 4095, 4099, 0.9),
    product(1, 8192, 8192, 0.9),
    product(16, 8192, 8192, 0.9),
    product(64, 8192, 8192, 0.9),
    product(128, 8192, 8192, 0.9),
    _batch(64, 512, 0.9),
    _fused("linear_gelu", 8192, 8192, 4096),
    _fused("swiglu", 8192, 8192, 4096),
    _attention("attention", 8, 16, 2048, 128, CUDNN),
    _attention("causal_attention", 8, 16, 2048, 128, CUDNN),
    _attention("attention", 2, 16, 8192, 128, CUDNN),
    _attention("causal_attention", 2, 16, 8192, 128, CUDNN),
    _attention("attention", 1, 16, 16384, 128, CUDNN),
    _attention("causal_attention", 1, 16, 16384, 128, CUDNN),
    _attention("causal_attention", 2, 32, 8192, 64, BESIDE),
    _attention("causal_attention", 2, 8, 8192, 256, BESIDE),
    _attention("attention", 32, 16, 512, 128, BESIDE),
    _attention("window_attention", 2, 16, 8192, 128, FLEX),
    _attention("grouped_attention", 2, 32, 8192, 128, FLEX, groups=8),
    _attention("softcap_attention", 2, 16, 8192, 128, FLEX),
    _attention("alibi_attention", 2, 16, 8192, 128, FLEX),
    _attention("document_attention", 2, 16, 8192, 128, FLEX),
    _rows("softmax", "bf16", 2097152, 64, "x"),
    _rows("softmax", "bf16", 32768, 4096, "x"),
    _rows("layer_norm", "bf16", 32768, 4096, "x", "W", "B"),
    _rows("layer_norm", "bf16", 65535, 1001, "x", "W", "B"),
    _rows("rms_norm", "bf16", 16384, 16384, "x", "W"),
    _rows("gelu_chain", "bf16", 16384, 8192, "x", "y"),
    _rows("column_sum", "fp32", 16384, 8192, "x"),
    _rows("transpose", "bf16", 16384, 8192, "x"),
    rope(4, 32, 8192, 128),
    _rows("softmax", "fp32", 8191, 16384, "x"),
]
# Parts of language models, with consecutive contractions, attention and row operations. For wide
# contractions PyTorch spends nearly all of its time in cuBLAS, so the goal of such a block is
# parity.
MODELS = [
    _mlp("mlp", 16384, 768, 3072),
    _mlp("gated_mlp", 16384, 1024, 2816),
    _block(16, 1024, 768, 2048, 64),
    _block(2, 4096, 4096, 14336, 128, (Goal(("eager",), 0.0), Goal(("compile",), 0.0))),
    _loss(16384, 768, 50257),
]
# Rows that are also compiled for their sizes alone: code for many sizes must keep this fraction of
# the speed.
FIXED_GOAL = Goal(("fixed",), 0.93)
FIXED = [ROWS[i] for i in (0, 4, 11, 14, 16, 19, 31, 32, 33, 37)]

# Not a row: the host time of a call with five tensors and a given result.
EXTRA = [
    Row(
        "launch_five_tensors",
        "launch",
        "five",
        tuple(Argument(x, "fp32", (64, 64)) for x in "abcd"),
        (),
    )
]
MEASURED = [*ROWS, *MODELS]  # beside peers
assert len(ROWS) <= 40 and len({row.name for row in MEASURED}) == len(MEASURED)
