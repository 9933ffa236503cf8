"""GEMMs: sizes, transpositions, batches, types, epilogues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

LARGEST = 32768
TYPES = {"bf16": 6, "fp16": 6, "fp32": 4, "fp64": 2, "int8": 2}
BATCHED = 0.2  # of the GEMMs
FUSED = 0.5  # of the GEMMs: those with an epilogue
#: Statements on `c`; those with an operand name it.
EPILOGUE = {
    "bias": ("c = c + {name}", ("N",)),
    "column": ("c = c + {name}.unsqueeze(-1)", ("M",)),
    "residual": ("c = c + {name}", ("M", "N")),
    "gate": ("c = c * {name}", ("M", "N")),
    "scale": ("c = c * 0.125", None),
    "relu": ("c = tsr.relu(c)", None),
    "gelu": ("c = tsr.gelu(c)", None),
    "gelu_tanh": ("c = tsr.gelu(c, approximate='tanh')", None),
    "silu": ("c = tsr.silu(c)", None),
    "tanh": ("c = tsr.tanh(c)", None),
    "sigmoid": ("c = tsr.sigmoid(c)", None),
    "softcap": ("c = 20.0 * tsr.tanh(c / 20.0)", None),
    "clamp": ("c = tsr.clamp(c, min=-2.0, max=2.0)", None),
    "abs": ("c = tsr.abs(c)", None),
}


def draw(sizes: Sizes) -> Program:
    dtype = sizes.choices(list(TYPES), list(TYPES.values()))[0]
    alignment = sizes.alignment()
    m, n, k = (sizes.multiple(1, LARGEST, alignment) for _ in range(3))
    batch = sizes.log_uniform(2, 128) if sizes.chance(BATCHED) else 0
    shared = bool(batch) and sizes.chance(0.25)  # one second operand for the whole batch
    form = sizes.choice(("nn", "nt", "tn", "tt"))
    epilogue = sizes.choices(list(EPILOGUE), k=sizes.randint(1, 5)) if sizes.chance(FUSED) else []
    return program(m, n, k, dtype, form, batch, shared, epilogue)


def program(
    m: int,
    n: int,
    k: int,
    dtype: str,
    form: str = "nn",
    batch: int = 0,
    shared: bool = False,
    epilogue: list[str] | None = None,
) -> Program:
    lead = ("B",) if batch else ()
    a = Argument("a", dtype, lead + (("M", "K") if form[0] == "n" else ("K", "M")))
    b_dims = ("K", "N") if form[1] == "n" else ("N", "K")
    b = Argument("b", dtype, b_dims if shared else lead + b_dims, "weights:K")
    operands = [f"{name}{'.mT' if one == 't' else ''}" for name, one in zip("ab", form)]
    arguments, result = [a, b], dtype
    if dtype == "int8":  # a GEMM of quantized values: sums in int32
        lines = [f"c = tsr.matmul({', '.join(f'{x}.to(int32)' for x in operands)})"]
        result = "int32"
        if epilogue:
            lines.append("c = c.to(fp32) * 0.0001")
            result = "fp32"
    else:
        lines = [f"c = tsr.matmul({', '.join(operands)})"]
    product = len(lines)
    for name in epilogue or ():
        text, dims = EPILOGUE[name]
        operand = f"e{len(arguments) - 2}"
        if dims is not None:
            dims = lead + dims if "M" in dims else dims
            arguments.append(Argument(operand, result, dims))
        lines.append(text.format(name=operand))
    sizes = {"M": m, "N": n, "K": k} | ({"B": batch} if batch else {})
    space = lead + ("M", "N", "K")
    title = f"{dtype}_{form}_{f'{batch}x' if batch else ''}{shape(m, n, k)}"
    title += "_shared" if shared else ""
    title += f"_{'_'.join(epilogue)}" if epilogue else ""
    rest = tuple(lines[product:])
    forms = {}
    if dtype == "int8" and not batch:
        # PyTorch's GEMM of int8 with sums in int32, padded to what it takes; in floating point,
        # where sums are exact.
        left, right = operands
        forms["int_mm"] = (f"c = torch._int_mm({left}, {right})", *lines[1:], "c")
        if m < 17 or n % 8 or k % 8:
            rows, columns, depth = max(0, 17 - m), -n % 8, -k % 8
            left_padded = f"functional.pad({left}, (0, {depth}, 0, {rows}))"
            right_padded = f"functional.pad({right}, (0, {columns}, 0, {depth}))"
            padded = f"c = torch._int_mm({left_padded}, {right_padded})[:{m}, :{n}]"
            forms["int_mm_padded"] = (padded, *lines[1:], "c")
        wide = "fp32" if k * 127 * 127 < 1 << 24 else "fp64"
        exact = f"c = torch.matmul({left}.to({wide}), {right}.to({wide})).to(int32)"
        forms["float"] = (exact, *lines[1:], "c")
    elif epilogue and epilogue[0] == "bias" and not batch:
        forms["addmm"] = (f"c = torch.addmm(e0, {', '.join(operands)})", *rest[1:], "c")
    return Program(
        "gemm",
        title,
        tuple(arguments),
        sizes,
        (*lines, "c"),
        lead + ("M", "N"),
        result,
        free=("M", "N") + lead,
        spaces=(space,),
        regime=(m, n, k),
        forms=forms,
    )
