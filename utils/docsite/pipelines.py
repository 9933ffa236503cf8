"""The page of the pipelines: which passes run for a target, in their order, and a section for each.

The order is what the compiler does: a small program is compiled with TESSERA_DUMP, which writes the
passes that ran. In the page, `<!-- passes from STAGE: TARGET, … -->` stands for the table of the
passes that take the IR of a stage further, and `<!-- passes -->` for the sections of all passes.
Sections come from the definitions of passes (reference.py); the page itself has those of passes
that are not defined there.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import reference

TOP = Path(__file__).resolve().parents[2]
PAGE = "pipelines.md"
_PROGRAM = "@tsr.function\ndef gemm(a, b):\n    return a @ b\n"
_TABLE = re.compile(r"^<!-- passes from (\w+): (.*) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A pass that ran, and the stage of the IR that it was given."""

    stage: str
    name: str


def read_steps(target: str) -> list[Step]:
    """The passes that the compiler runs for a target, up to code generation."""
    last = "target" if not target.startswith("sm_") else target.partition(":")[2]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "gemm.tsr"
        source.write_text(_PROGRAM)
        command = [TOP / "build" / "bin" / "tessera", "compile", source, "--target", target]
        command += ["--arg", "a=bf16[256,256]", "--arg", "b=bf16[256,256]"]
        command += ["--emit", last, "-o", os.devnull]
        environment = dict(os.environ, TESSERA_DUMP=folder)
        subprocess.run(command, env=environment, check=True, capture_output=True)
        [passes] = Path(folder).glob("*.passes.txt")
        return [Step(*line.split(" ")) for line in passes.read_text().splitlines()]


def merge(sequences: list[list[str]]) -> list[str]:
    """One list that has each of the sequences in its order."""
    merged = sequences[0]
    for sequence in sequences[1:]:
        parts: list[str] = []
        matcher = difflib.SequenceMatcher(None, merged, sequence, autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            parts += merged[i:j] + (sequence[k:m] if kind in ("insert", "replace") else [])
        merged = parts
    return merged


class Pipelines:
    def __init__(self) -> None:
        self.steps: dict[str, list[Step]] = {}
        self.definitions = reference.pass_sections()
        self.summaries: dict[str, str] = {}

    def names(self, target: str, stage: str) -> list[str]:
        if target not in self.steps:
            self.steps[target] = read_steps(target)
        return [step.name for step in self.steps[target] if step.stage == stage]

    def fill(self, page: str, text: str) -> str:
        if page != PAGE:
            return text
        order: list[str] = []

        def table(found: re.Match[str]) -> str:
            targets = found[2].split(", ")
            names = merge([self.names(target, found[1]) for target in targets])
            order.extend(name for name in names if name not in order)
            return self._table(found[1], targets, names)

        written = dict(re.findall(r"^### `([\w-]+)`\n\n\*(.*)\*$", text, re.MULTILINE))
        self.summaries = {name: one.summary for name, one in self.definitions.items()} | written
        text = _TABLE.sub(table, text)
        known = [name for name in order if name in self.definitions and name not in written]
        others = [name for name in self.definitions if name not in order]
        parts = [self._section(name) for name in known]
        parts += ["## Other passes\n\nThese run in `tessera-opt` alone.\n"]
        parts += [self._section(name) for name in others]
        return text.replace("<!-- passes -->", "\n".join(parts))

    def _table(self, stage: str, targets: list[str], names: list[str]) -> str:
        """A row for each pass; where targets differ, the last column names those that run it."""
        rest = {target: self.names(target, stage) for target in targets}
        rows = []
        for number, name in enumerate(names, 1):
            users = []
            for target in targets:
                if rest[target][:1] == [name]:
                    rest[target] = rest[target][1:]
                    users.append(target)
            only = "" if users == targets else ", ".join(f"`{target}`" for target in users)
            rows.append(f"| {number} | [`{name}`](#{name}) | {self.summaries[name]} | {only} |")
        left = [target for target in targets if rest[target]]
        if left:
            raise RuntimeError(f"{PAGE}: no common order of the passes from {stage} for {left}")
        head = ["| | pass | what it does | only for |", "| --- | --- | --- | --- |"]
        return "\n".join([*head, *rows])

    def _section(self, name: str) -> str:
        section = self.definitions[name]
        return f"### `{name}`\n\n*{section.summary}*\n\n{section.description}\n"
