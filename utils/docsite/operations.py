"""The pages of operations: the compiler's own entries, each with its types and an executed example.

The entries come from the compiler (tessera_operations), the order and the examples from
docs/operations.toml. To determine the supported types, the example's function is compiled to Graph IR
for every type.
"""

from __future__ import annotations

import contextlib
import ctypes
import html
import io
import json
import linecache
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .render import Heading, Rendered, block, code, slug

TOP = Path(__file__).resolve().parents[2]
TYPES = "fp64 fp32 bf16 fp16 fp8_e4m3 fp8_e5m2 int64 int32 int16 int8 uint8 bool".split()
_GRAPH_TYPES = {
    "f64": "fp64", "f32": "fp32", "bf16": "bf16", "f16": "fp16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "ui8": "uint8", "i1": "bool", "f8E4M3FN": "fp8_e4m3",
    "f8E5M2": "fp8_e5m2",
}  # fmt: skip


def read_entries() -> list[dict[str, Any]]:
    library = ctypes.CDLL(str(TOP / "build" / "lib" / "libtessera.so"))
    library.tessera_operations.restype = ctypes.c_char_p
    return json.loads(library.tessera_operations())


@contextlib.contextmanager
def printed() -> Iterator[io.StringIO]:
    """Captures what the process prints, including the output of the runtime."""
    text = io.StringIO()
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield text
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text.write(file.read())


@dataclass
class Example:
    """A function that returns `code`, optionally after a statement, and its arguments as literals."""

    code: str
    arguments: dict[str, str] = field(default_factory=dict)
    text: str = ""
    before: str = ""
    helper: str = ""  # another function

    @property
    def source(self) -> str:
        parameters = ", ".join(self.arguments)
        before = f"    {self.before}\n" if self.before else ""
        helper = f"@tsr.function\n{self.helper}\n\n" if self.helper else ""
        return (
            f"{helper}@tsr.function\ndef example({parameters}):\n{before}    return {self.code}\n"
        )

    def function(self) -> Any:
        import tessera as tsr

        name = f"<example {self.before} {self.code} {self.arguments}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        scope: dict[str, Any] = {"tsr": tsr}
        exec(compile(self.source, name, "exec"), scope)
        return scope["example"]

    def values(self) -> list[Any]:
        import numpy as np

        names = {"inf": np.inf, "nan": np.nan}
        arrays = [np.array(eval(text, names)) for text in self.arguments.values()]
        return [one.astype(np.float32) if one.dtype == np.float64 else one for one in arrays]

    def shown(self) -> str:
        """The whole program, as a reader would type it."""
        arrays = []
        for (name, text), value in zip(self.arguments.items(), self.values()):
            kind = ", np.float32" if value.dtype == "float32" else ""
            literal = re.sub(r"\b(nan|inf)\b", r"np.\1", text)
            arrays.append(f"{name} = np.array({literal}{kind})\n")
        call = f"example({', '.join(self.arguments)})\n"
        return self.source + "\n" + "".join(arrays) + call

    def result(self) -> str:
        import numpy as np

        with printed() as text:
            found = self.function()(*self.values())
        if text.getvalue():
            return text.getvalue()
        with np.printoptions(precision=4, suppress=True):
            if isinstance(found, tuple):
                return "\n".join(map(repr, found)) + "\n"
            return repr(found) + "\n"

    def types(self) -> dict[str, str]:
        """The type of the (first) result for each type of the arguments. If some arguments are floats,
        only their types vary; the others, such as indices, keep their type."""
        import tessera as tsr

        function, values = self.function(), self.values()
        floats = [one.dtype.kind == "f" for one in values]
        changes = floats if any(floats) else [True] * len(values)
        found = {}
        for name in TYPES:
            arguments = [
                tsr.Tensor[(*value.shape, getattr(tsr, name))] if change else value
                for value, change in zip(values, changes)
            ]
            try:
                text = function.inspect_ir("graph", *arguments)
            except tsr.TesseraError:
                continue
            results = re.search(r"return .*: \(?!gir\.tensor<([^>]*)>", text)
            if results:
                found[name] = _GRAPH_TYPES[results[1].split(",")[-1].strip()]
        return found


def types_text(types: dict[str, str]) -> str:
    """The supported types and the result types, in short form."""

    def named(names: list[str]) -> str:
        words = []
        for group, members in (("floats", TYPES[:6]), ("integers", TYPES[6:11])):
            if set(members) <= set(names):
                words.append(group)
                names = [name for name in names if name not in members]
        return ", ".join(words + [f"<code>{name}</code>" for name in names])

    if len(set(types.values())) == 1 and len(types) > 1:
        return f"{named(list(types))} → <code>{next(iter(types.values()))}</code>"
    groups: dict[str, list[str]] = {}
    for name, result in types.items():
        groups.setdefault("" if name == result else result, []).append(name)
    parts = []
    for result in sorted(groups, key=bool):
        parts.append(named(groups[result]) + (f" → <code>{result}</code>" if result else ""))
    return "; ".join(parts)


class Operations:
    def __init__(self) -> None:
        self.entries = read_entries()
        self.ours = {one["name"]: one for one in self.entries if one["module"] == "tsr"}
        notes = tomllib.loads((TOP / "docs" / "operations.toml").read_text())
        self.alias: dict[str, str] = notes["alias"]
        self.default: dict[str, str] = notes["default"]
        self.examples: dict[str, dict[str, str]] = notes["example"]
        self.sections = [dict(one) for one in notes["section"]]
        listed = {name for section in self.sections for name in section["names"]}
        rest = [name for name in self.ours if name not in listed and name not in self.alias]
        if rest:
            self.sections.append({"title": "More operations", "names": rest})

    def example(self, name: str) -> Example | None:
        if name in self.examples:
            given = dict(self.examples[name])
            text, source, before = given.pop("text", ""), given.pop("code"), given.pop("before", "")
            helper = given.pop("helper", "")
            arguments = given or (dict(self.default) if re.search(r"\bx\b", source) else {})
            return Example(source, arguments, text, before, helper)
        if self.ours[name]["signature"] == "x" and not self.ours[name]["property"]:
            call = f"tsr.{name}(x)" if self.ours[name]["function"] else f"x.{name}()"
            return Example(call, dict(self.default))
        return None

    def pages(self) -> dict[str, Rendered]:
        """The pages of the sections, by the names of their files."""
        made = {}
        for section in self.sections:
            names = [name for name in section["names"] if name in self.ours]
            if names:
                made[f"operations/{slug(section['title'])}.html"] = self._page(section, names)
        made["operations/python-and-math.html"] = self._python_page()
        return made

    def where(self) -> dict[str, str]:
        """The page and the anchor of each operation."""
        places = {}
        for section in self.sections:
            for name in section["names"]:
                places[name] = f"operations/{slug(section['title'])}.html#{name}"
        for name, other in self.alias.items():
            places[name] = places[other]
        return {name: places[name] for name in self.ours}

    def _page(self, section: dict[str, Any], names: list[str]) -> Rendered:
        headings = [Heading(1, section["title"], slug(section["title"]))]
        parts = [f"<h1>{section['title']}</h1>\n"]
        if section.get("text"):
            words = re.sub(r"`([^`]*)`", r"<code>\1</code>", section["text"])
            parts.append(f"<p>{words}</p>\n")
        chips = " ".join(f'<a href="#{name}"><code>{name}</code></a>' for name in names)
        parts.append(f'<p class="chips">{chips}</p>\n')
        for name in names:
            headings.append(Heading(2, name, name))
            parts.append(self._operation(name))
        return Rendered(section["title"], "".join(parts), headings)

    def _operation(self, name: str) -> str:
        entry = self.ours[name]
        signatures = []
        parameters = entry["signature"]
        rest = ", ".join(part.strip() for part in parameters.split(",")[1:])
        if entry["function"]:
            signatures.append(f"tsr.{name}({parameters})")
        if entry["method"]:
            signatures.append(f"x.{name}({rest})")
        if entry["property"]:
            signatures.append(f"x.{name}")
        parts = [f'<section class="operation">\n<h2 id="{name}">{name}']
        parts.append(f'<a class="anchor" href="#{name}" aria-label="link">#</a></h2>\n')
        parts.append(block("\n".join(signatures) + "\n", "python", "signature"))
        meaning = html.escape(entry["meaning"])
        parts.append(f"<p>{meaning[:1].upper()}{meaning[1:]}.")
        also = [other for other, same in self.alias.items() if same == name and other in self.ours]
        if also:
            parts.append(
                " Also " + ", ".join(f'<code id="{one}">{one}</code>' for one in also) + "."
            )
        example = self.example(name)
        if example and example.text:
            words = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(example.text))
            parts.append(f" {words}")
        parts.append("</p>\n")
        if example:
            types = types_text(example.types()) if example.arguments else ""
            if types:
                parts.append(f'<p class="types"><b>Types</b> {types}</p>\n')
            parts.append(block(example.shown(), "python"))
            parts.append(
                f'<pre class="output"><code>{code(example.result(), "text")}</code></pre>\n'
            )
        return "".join([*parts, "</section>\n"])

    def _python_page(self) -> Rendered:
        """The functions of Python and of `math` that programs may call on numbers."""
        headings = [Heading(1, "Python and math", "python-and-math")]
        parts = [
            "<h1>Python and math</h1>\n<p>These accept numbers that are known at compile time and, where it makes sense, tensors.</p>\n"
        ]
        for module, title in (("", "Python"), ("math", "math")):
            headings.append(Heading(2, title, slug(title)))
            parts.append(f'<h2 id="{slug(title)}">{title}</h2>\n<div class="wide"><table><tbody>\n')
            for one in self.entries:
                if one["module"] == module:
                    prefix = f"{module}." if module else ""
                    call = html.escape(f"{prefix}{one['name']}({one['signature']})")
                    meaning = html.escape(one["meaning"])
                    parts.append(f"<tr><td><code>{call}</code></td><td>{meaning}</td></tr>\n")
            parts.append("</tbody></table></div>\n")
        return Rendered("Python and math", "".join(parts), headings)
