"""A program with constant sizes: the baseline for a kernel for many sizes."""

from __future__ import annotations

import re

from rows import Row


def with_sizes(text: str, row: Row) -> str:
    """The text of programs, with the row's function restricted to arguments of the row's sizes."""
    start = text.index(f"def {row.function}(")
    end = text.index(":\n", text.index("->", start))
    head = text[start:end]
    sizes: dict[str, int] = {}
    for argument in row.arguments:
        names = re.search(rf"\b{argument.name}: Tensor\[([^\]]*)\]", head)[1]
        sizes |= zip(re.findall(r'"(\w+)"', names), argument.sizes)
    body_end = text.find("\n\n\n", end)
    body = text[end : body_end if body_end >= 0 else len(text)]
    for name, size in sizes.items():
        head = head.replace(f'"{name}"', str(size))
        body = re.sub(rf"(?<![\w.]){name}\b", str(size), body)  # names of sizes are numbers there
    return text[:start] + head + body + (text[body_end:] if body_end >= 0 else "")
