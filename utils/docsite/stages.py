"""The stages of the README's function, for the page that follows it through the compiler.

Excerpts in the page (`<!-- stage: NAME -->`) are compared with the compiler's output and get its value
numbers. `<!-- text: NAME -->` stands for the whole text. The end of the page lists all stages in full.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from .excerpts import Excerpt
from .render import Heading, Rendered, block

TOP = Path(__file__).resolve().parents[2]
PAGES = ("architecture.md",)
#: The stages in order, each with a description.
STAGES = {
    "explain": "the scheduler's decisions in words",
    "graph": "whole tensors, symbolic sizes, one operation per line",
    "sched": "kernels, dimensions and tiles, the streamed loop and the states that it carries",
    "tile": "one grid task, on whole tiles",
    "target": "the host program as data, and the kernel for this CPU",
    "asm": "the beginning of the machine code",
}
_EXCERPT = re.compile(r"(<!-- stage: (\w+) -->\n```mlir\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
_MOST_LINES = 400


def _readme_function(folder: str) -> Any:
    """The function of the README's first program."""
    program = re.search(r"^```python\n(.*?)^```$", (TOP / "README.md").read_text(), re.M | re.S)
    if program is None:
        raise RuntimeError("README.md has no program")
    path = Path(folder) / "attention.py"
    path.write_text(program[1])
    spec = importlib.util.spec_from_file_location("attention", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["attention"] = module
    spec.loader.exec_module(module)
    return module.attention


class Stages:
    def __init__(self) -> None:
        import numpy as np

        arrays = [np.zeros((8, 1024, 64), np.float32)] * 3
        with tempfile.TemporaryDirectory() as folder:
            function = _readme_function(folder)
            self.texts = {name: function.inspect_ir(name, *arrays) for name in STAGES}

    def fill(self, page: str, text: str) -> str:
        """The page with the excerpts of the current output."""

        def replace(match: re.Match[str]) -> str:
            opening, stage, expected, closing = match.groups()
            found = Excerpt(expected, self.texts[stage])
            if found.missing is not None:
                raise RuntimeError(f"{page}: stage {stage} has no line like: {found.missing}")
            return opening + found.text + closing

        text = re.sub(
            r"^<!-- text: (\w+) -->$",
            lambda found: f"```text\n{self.texts[found[1]]}```",
            text,
            flags=re.MULTILINE,
        )
        return _EXCERPT.sub(replace, text)

    def add_listings(self, page: str, rendered: Rendered) -> None:
        """Adds every stage in full, folded."""
        if page not in PAGES:
            return
        rendered.headings.append(Heading(2, "Every stage of the function", "every-stage"))
        parts = ['<h2 id="every-stage">Every stage of the function</h2>\n']
        for name, words in STAGES.items():
            lines = self.texts[name].splitlines()
            shown = "\n".join(lines[:_MOST_LINES]) + "\n"
            if len(lines) > _MOST_LINES:
                shown += f"… {len(lines) - _MOST_LINES} more lines\n"
            language = "text" if name in ("explain", "asm") else "mlir"
            summary = f"<summary><code>{name}</code> {words}</summary>"
            parts.append(f"<details>{summary}\n{block(shown, language)}</details>\n")
        rendered.body += "".join(parts)
