"""Operations along one dimension that keep its length: softmax, norms, scans, top-k, sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

LONGEST = {"sort": 10**5, "topk": 10**6, "scan": 10**7, "other": 10**6}
WEIGHTS = {
    "softmax": 4,
    "log_softmax": 2,
    "layer_norm": 3,
    "rms_norm": 3,
    "residual_rms_norm": 1,
    "group_norm": 1,
    "batch_norm": 1,
    "cumsum": 3,
    "cumprod": 1,
    "topk": 2,
    "sort": 2,
}
ALONG_ANY = ("softmax", "log_softmax", "cumsum", "cumprod", "sort")


def draw(sizes: Sizes) -> Program:
    kind = sizes.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    dtype = sizes.float_type()
    alignment = sizes.alignment()
    longest = LONGEST["scan" if kind.startswith("cum") else kind if kind in LONGEST else "other"]
    length = sizes.aligned(1, longest, alignment)
    total = sizes.log_uniform(length, max(length, sizes.limits.elements // 2))
    rows = sizes.aligned(1, max(1, total // length), alignment)
    columns = kind in ALONG_ANY and sizes.chance(0.25)  # along the first dimension
    count = min(sizes.log_uniform(1, 64), length)
    groups = sizes.choice((1, 2, 4, 8, 32))
    return program(kind, dtype, rows, length, columns, count, groups)


def program(
    kind: str,
    dtype: str,
    rows: int,
    length: int,
    columns: bool = False,
    count: int = 1,
    groups: int = 1,
) -> Program:
    dims = ("L", "A") if columns else ("A", "L")
    dim = 0 if columns else 1
    sizes = {"A": rows, "L": length}
    x = Argument("x", dtype, dims, "near_one" if kind == "cumprod" else "normal")
    weight = Argument("w", dtype, ("L",), "scales")
    bias = Argument("b", dtype, ("L",))
    arguments, result, free = [x], dims, ("A",)
    if kind in ("softmax", "log_softmax", "cumsum", "cumprod"):
        line = f"tsr.{kind}(x, dim={dim})"
    elif kind == "sort":
        line = f"tsr.sort(x, dim={dim})[0]"
    elif kind == "topk":
        line = f"tsr.topk(x, {count}, dim=1)[0]"
        sizes["T"], result = count, ("A", "T")
    elif kind == "layer_norm":
        arguments += [weight, bias]
        line = "tsr.layer_norm(x, (L,), w, b)"
    elif kind == "rms_norm":
        arguments.append(weight)
        line = "tsr.rms_norm(x, (L,), w, eps=1e-6)"
    elif kind == "residual_rms_norm":
        arguments += [Argument("r", dtype, dims), weight]
        line = "tsr.rms_norm(x + r, (L,), w, eps=1e-6)"
    elif kind == "group_norm":  # of A samples with C channels in groups, P positions in each
        width = max(1, length // (groups * 4))
        sizes = {"A": rows, "C": groups * 4, "P": width}
        channels = [Argument(n, dtype, ("C",), f) for n, f in (("w", "scales"), ("b", "normal"))]
        arguments = [Argument("x", dtype, ("A", "C", "P")), *channels]
        result = ("A", "C", "P")
        line = f"tsr.group_norm(x, {groups}, w, b)"
    else:
        assert kind == "batch_norm", kind
        fills = (("m", "normal"), ("v", "positive"), ("w", "scales"), ("b", "normal"))
        arguments += [Argument(name, dtype, ("L",), fill) for name, fill in fills]
        line, free = "tsr.batch_norm(x, m, v, w, b)", ("A", "L")
    what = {"topk": f"_{count}", "group_norm": f"_{groups}"}.get(kind, "")
    what += "_columns" if columns else ""
    return Program(
        "rows",
        f"{kind}{what}_{dtype}_{shape(*(sizes[one] for one in arguments[0].dims))}",
        tuple(arguments),
        sizes,
        (line,),
        result,
        dtype,
        free=free,
        regime=(rows, 1, length) if not columns else (1, rows, length),
    )
