"""The tables of the external judges, and what they count."""

from __future__ import annotations

from collections import Counter, defaultdict

from exclusions import EXCLUSIONS

#: The columns of results.md.
TYPES = (
    "float64",
    "float32",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "errors",
)
SHORT = ("fp64", "fp32", "bf16", "fp16", "i64", "i32", "i16", "i8", "u8", "bool", "errors")
#: The columns of gradients.md: gradients, and gradients of gradients.
ORDERS = ("first", "second")
COUNTED = ("passed", "failed", "excluded", "refused", "differences")


def name_of(task: str) -> str:
    name, variant, _ = task.split("|")
    return f"{name} ({variant})" if variant else name


def type_of(task: str) -> str:
    """The element type, `errors` or the order of gradients."""
    return task.rsplit("|", 1)[1].partition("/")[0]


def parts(results: dict[str, dict]) -> dict[str, dict[str, dict]]:
    """Results of values and of gradients, as far as there are any."""
    found: dict[str, dict[str, dict]] = {}
    for task, line in results.items():
        part = "gradients" if type_of(task) in ORDERS else "values"
        found.setdefault(part, {})[task] = line
    return found


def total(lines) -> Counter:
    counts: Counter = Counter(dict.fromkeys(COUNTED, 0))
    for line in lines:
        for status in COUNTED:
            counts[status] += line.get(status, 0)
    return counts


def summary(results: dict[str, dict]) -> str:
    counts = total(results.values())
    judged = counts["passed"] + counts["failed"] + counts["excluded"]
    operations = {task.rsplit("|", 1)[0] for task in results}
    share = 100 * counts["excluded"] / max(judged, 1)
    return (
        f"{len(operations)} entries, {judged} samples: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['excluded']} excluded ({share:.2f} %)"
    )


def _exclusions(reasons: Counter) -> list[str]:
    lines = ["", "## Exclusions", "", "| behaviour | samples | reason |", "| --- | ---: | --- |"]
    known = (name for name in EXCLUSIONS if reasons[name])
    return lines + [f"| {name} | {reasons[name]} | {EXCLUSIONS[name]} |" for name in known]


def values(results: dict[str, dict], beside: list[str], version: str, limit: int) -> str:
    """The committed page: a row per entry, a column per type."""
    rows: dict[str, dict[str, dict]] = {}
    reasons: Counter = Counter()
    for task, line in results.items():
        name, dtype = name_of(task), type_of(task)
        rows.setdefault(name, {})[dtype] = line
        reasons.update(line.get("reasons", {}))

    def cell(line: dict | None) -> str:
        if line is None:
            return ""
        passed, failed, excluded = (line.get(key, 0) for key in ("passed", "failed", "excluded"))
        text = f"{passed}" if not failed else f"**{passed}/{passed + failed}**"
        return (text if passed or failed else "") + (f" −{excluded}" if excluded else "")

    lines = [
        "# PyTorch's operator database",
        "",
        f"Written by `make test-external` with PyTorch {version}: {summary(results)}.",
        "",
        "A cell counts the samples that passed; **a/b** says that a of b did, −n that n were excluded. The last column",
        "has the error inputs and wrong calls made of samples. An empty cell: PyTorch has no such samples."
        + (
            f" Of each form and type, at least {limit} samples ran, or all that there are."
            if limit
            else ""
        ),
        "",
        "| entry | " + " | ".join(SHORT) + " |",
        "| --- |" + " ---: |" * len(SHORT),
    ]
    for name in sorted(rows, key=str.lower):
        lines.append(
            f"| {name} | " + " | ".join(cell(rows[name].get(dtype)) for dtype in TYPES) + " |"
        )
    lines += _exclusions(reasons)
    lines += [
        "",
        "## Beside the database",
        "",
        "Special values by PyTorch, signs of zeros included; NumPy's cases and validation sets for what the database lacks.",
        "",
    ]
    lines += [f"- {text}" for text in beside]
    return "\n".join(lines) + "\n"


def gradients(results: dict[str, dict], version: str, limit: int) -> str:
    """The committed page of gradients: a row per entry."""
    rows: dict[str, dict[str, Counter]] = defaultdict(lambda: defaultdict(Counter))
    reasons: Counter = Counter()
    for task, line in results.items():
        rows[name_of(task)][type_of(task)] += Counter(total([line]))
        reasons.update(line.get("reasons", {}))

    def cells(counts: Counter) -> list[str]:
        passed, failed, excluded = (counts[key] for key in ("passed", "failed", "excluded"))
        text = f"{passed}" if not failed else f"**{passed}/{passed + failed}**"
        text = (text if passed or failed else "") + (f" −{excluded}" if excluded else "")
        return [text.strip(), str(counts["differences"] or ""), str(counts["refused"] or "")]

    lines = [
        "# Gradients of PyTorch's operator database",
        "",
        f"Written by `make test-external` with PyTorch {version}: {summary(results)}.",
        "",
        "Samples of every entry with autograd, in float64. *First*: gradients; *second*: gradients of gradients, where the",
        "database asks for them. A cell counts the samples that passed; **a/b** says that a of b did, −n that n were",
        "excluded. *Confirmed* by finite differences, too; the others are at kinks, or their results have another type.",
        "*None*: PyTorch differentiates nothing in the sample."
        + (f" Of each entry, at most {limit} samples ran." if limit else ""),
        "",
        "| entry | first | confirmed | none | second | confirmed | none |",
        "| --- |" + " ---: |" * 6,
    ]
    for name in sorted(rows, key=str.lower):
        row = [text for order in ORDERS for text in cells(rows[name][order])]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines + _exclusions(reasons)) + "\n"
