"""The programs whose gradients are measured: fixed rows of attention and of work that is bound by
memory, and attention drawn at random.

A row is a `draws.program.Program`, whose lines are PyTorch's as well. Arguments that a line
detaches have no gradient.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from draws import attention
from draws.program import Argument, Program

TOKENS = 16384
DRAWS_FLOPS = 1.5e12  # of the forward pass of a drawn attention, at most
DRAWS_BYTES = 2e9


@dataclass(frozen=True)
class Row:
    name: str
    program: Program
    work: str  # attention or memory
    group: str  # of the table

    @property
    def flops(self) -> float:
        """Of the gradients of an attention without recomputation: five contractions for two of the
        forward pass, of the scores that the mask leaves."""
        return self.program.flops * 2.5 * self._live()

    def _live(self) -> float:
        """The share of the scores that the mask leaves, from a part of the queries."""
        text = next((line for line in self.program.lines if "tsr.where(" in line), "")
        if not text or not self.program.index:
            return 1.0
        mask = text.split("tsr.where(")[1].rsplit(", s, -tsr.inf", 1)[0]
        queries, keys = self.program.sizes["S"], self.program.sizes["T"]
        i = np.arange(0, queries, max(1, queries // 512))[:, None]
        j = np.arange(keys)[None, :]
        return float(np.mean(eval(mask, {"i": i, "j": j})))

    @property
    def bytes(self) -> int:
        """What forward and backward have to move: arguments and cotangent once, the result and the
        gradients once."""
        program = self.program
        item = {"bf16": 2, "fp16": 2, "fp32": 4}
        floats = [one for one in program.arguments if one.dtype in item]
        return (
            program.bytes
            + program.count(program.result) * item[program.dtype]
            + sum(program.count(one.dims) * item[one.dtype] for one in floats)
        )


def _attention(
    kind: str, width: int, keys: int, kv_heads: int, group: int = 1, span: int = 0
) -> Program:
    batch = max(1, TOKENS // keys)
    made = attention.program(kind, "bf16", batch, kv_heads, group, keys, keys, width, span)
    return _detached(made)


def _detached(program: Program) -> Program:
    """Without a gradient with respect to the slopes."""
    lines = tuple(
        line.replace("slopes.unsqueeze", "slopes.detach().unsqueeze") for line in program.lines
    )
    return replace(program, lines=lines)


def _bias(width: int, keys: int, heads: int) -> Program:
    made = attention.program("full", "bf16", 4, heads, 1, keys, keys, width, 0)
    bias = Argument("b", "bf16", ("H", "S", "T"))
    lines = (made.lines[0], "s = s + b", *made.lines[1:])
    forms = {"sdpa": (made.forms["sdpa"][0].replace("scale=", "attn_mask=b[None], scale="),)}
    return replace(made, arguments=(*made.arguments, bias), lines=lines, forms=forms)


def fixed_attention() -> Iterator[tuple[str, Program]]:
    for width in (64, 128):
        for kind in ("full", "causal"):
            yield f"{kind}_{width}_8k", _attention(kind, width, 8192, 2048 // width)
    yield "gqa_128_8k", _attention("causal", 128, 8192, 4, 4)
    yield "gqa_64_8k", _attention("causal", 64, 8192, 8, 4)
    for width in (96, 192, 256):
        for kind in ("full", "causal"):
            yield f"{kind}_{width}_4k", _attention(kind, width, 4096, 1536 // width)
    for width in (64, 128):
        heads = 2048 // width
        yield f"window_{width}_8k", _attention("window", width, 8192, heads, span=1024)
        yield f"documents_{width}_8k", _attention("documents", width, 8192, heads, span=1500)
        yield f"alibi_{width}_8k", _attention("alibi", width, 8192, heads)
        yield f"softcap_{width}_8k", _attention("softcap", width, 8192, heads)
    yield "bias_64_2k", _bias(64, 2048, 16)


def drawn_attention(seed: int, count: int) -> Iterator[tuple[str, Program]]:
    """Masks, head sizes, groups and lengths at random, in bf16 and fp16."""
    rng = random.Random(f"{seed} gradients")
    number = 0
    while number < count:
        kind = rng.choice(list(attention.MASKS))
        dtype = rng.choice(("bf16", "bf16", "fp16"))
        alignment = rng.choice((1, 8, 64, 128))
        keys = max(alignment, round(2 ** rng.uniform(7, 14)) // alignment * alignment)
        width = rng.choice((32, 64, 64, 80, 96, 128, 128, 192, 256))
        group = rng.choice((1, 1, 1, 2, 4, 8))
        batch, heads = round(2 ** rng.uniform(0, 4)), round(2 ** rng.uniform(0, 4))
        span = round(2 ** rng.uniform(4, 13))
        queries = keys if rng.random() < 0.8 else rng.randint(keys // 2, keys)
        made = attention.program(
            kind, dtype, batch, heads, group, queries, keys, width, min(span, keys)
        )
        if made.flops > DRAWS_FLOPS or made.bytes > DRAWS_BYTES or made.flops < 1e9:
            continue
        yield f"draw{number:02}_{made.title}", _detached(made)
        number += 1


def _memory(
    title: str, dims: dict[str, int], arguments: str, result: str, lines: tuple[str, ...]
) -> tuple[str, Program]:
    """`arguments`: NAME/DIMS, NAME/DIMS/FILL or NAME/DIMS/FILL/TYPE, separated by blanks."""
    made = []
    for text in arguments.split():
        name, axes, fill, dtype = (*text.split("/"), "normal", "bf16")[:4]
        if text.count("/") == 2:
            dtype = "bf16"
        made.append(Argument(name, dtype, tuple(axes), fill))
    program = Program(
        "rows",
        title,
        tuple(made),
        dims,
        lines,
        tuple(result),
        "bf16" if result else "fp32",
        free=(),
    )
    return title, program


def memory() -> Iterator[tuple[str, Program]]:
    for length in (1024, 4096, 8192):
        dims = {"A": TOKENS, "L": length}
        yield _memory(
            f"layer_norm_{length}",
            dims,
            "x/AL w/L/scales b/L",
            "AL",
            ("tsr.layer_norm(x, (L,), w, b)",),
        )
        yield _memory(
            f"rms_norm_{length}",
            dims,
            "x/AL w/L/scales",
            "AL",
            ("tsr.rms_norm(x, (L,), w, eps=1e-6)",),
        )
    for length in (2048, 8192, 32768):
        dims = {"A": (1 << 27) // length, "L": length}
        yield _memory(f"softmax_{length}", dims, "x/AL", "AL", ("tsr.softmax(x, dim=1)",))
    for length in (32000, 50257, 128256):
        dims = {"A": 8192 if length < 100000 else 4096, "L": length}
        lines = ("tsr.cross_entropy(x.to(fp32), t)",)
        yield _memory(f"cross_entropy_{length}", dims, "x/AL t/A/below:L/int64", "", lines)
    dims = {"A": 4, "H": 32, "S": 4096, "D": 128, "E": 64}
    lines = (
        "a, b = x[..., :64], x[..., 64:]",
        "u, v = c.detach(), s.detach()",
        "tsr.cat([a * u - b * v, b * u + a * v], dim=-1)",
    )
    yield _memory("rope_128", dims, "x/AHSD c/SE s/SE", "AHSD", lines)
    dims = {"A": TOKENS, "L": 11008}
    yield _memory("swiglu_11008", dims, "x/AL y/AL", "AL", ("x * tsr.sigmoid(x) * y",))
    dims = {"A": TOKENS, "L": 8192}
    lines = ("tsr.where(m > 25, x, 0.0).to(bf16) * 1.25 + r",)
    yield _memory("dropout_residual_8192", dims, "x/AL r/AL m/AL/normal/int8", "AL", lines)


def rows(seed: int, count: int) -> list[Row]:
    found = [Row(name, made, "attention", "attention") for name, made in fixed_attention()]
    found += [Row(name, made, "attention", "drawn") for name, made in drawn_attention(seed, count)]
    return found + [Row(name, made, "memory", "memory") for name, made in memory()]
