"""The pages, their order, and the frame around each page."""

from __future__ import annotations

import html
import json
import os
import posixpath
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import reference
from .operations import Operations
from .pipelines import Pipelines
from .programs import Programs
from .render import Rendered, Renderer, block, plain
from .stages import Stages

TOP = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).resolve().parent / "assets"

#: Groups of the navigation: the file in docs/ and the title of each page.
GROUPS = {
    "Start": [
        ("index.md", "Overview"),
        ("glossary.md", "Glossary"),
        ("tutorial/1-first.md", "1. A first function"),
        ("tutorial/2-sizes.md", "2. Sizes and types"),
        ("tutorial/3-fusion.md", "3. Fusion"),
        ("tutorial/4-inside.md", "4. Looking inside"),
        ("tutorial/5-ship.md", "5. Shipping it"),
    ],
    "Language": [
        ("language.md", "The language"),
        ("operations.md", "Operations"),
        ("errors.md", "Errors"),
    ],
    "Guides": [
        ("command_line.md", "The command line"),
        ("interoperation.md", "Other libraries"),
        ("tiers.md", "Tiers"),
        ("cache.md", "The cache"),
        ("gpu.md", "GPUs"),
        ("chips.md", "Chips"),
        ("cpp.md", "C++"),
        ("runtime.md", "The runtime"),
        ("examples.md", "Examples"),
    ],
    "Inside": [
        ("architecture.md", "How a program becomes a kernel"),
        ("pipelines.md", "The pipelines"),
        ("layouts.md", "Layouts"),
        ("simulator.md", "The simulator"),
        ("contributing.md", "Working on Tessera"),
        ("benchmarks.md", "Benchmarks"),
    ],
    "Reference": [
        ("gir.md", "Graph IR: gir"),
        ("sched.md", "Schedule IR: sched"),
        ("tile.md", "Tile IR: tile"),
        ("tessera_target.md", "Target IR: tessera_target"),
        ("interfaces.md", "Interfaces"),
        ("elementwise.md", "Elementwise vocabulary"),
        ("cuda_tile.md", "CUDA Tile IR"),
    ],
}
#: Links to files outside docs/ that are pages of the site.
ELSEWHERE = {
    "README.md": "index.html",
    "examples": "examples.html",
    "benchmarks": "benchmarks.html",
    "benchmarks/README.md": "benchmarks.html",
}


@dataclass
class Page:
    path: str
    title: str
    rendered: Rendered


def example_page() -> str:
    """The programs of examples/, whole."""
    parts = ["# Examples\n"]
    files = sorted((TOP / "examples").glob("*.py")) + sorted((TOP / "examples" / "cpp").glob("*.*"))
    for file in files:
        language = {".py": "python", ".cpp": "cpp", ".txt": "cmake"}[file.suffix]
        parts.append(f"## {file.relative_to(TOP)}\n\n```{language}\n{file.read_text()}```\n")
    return "\n".join(parts)


def command_page() -> str:
    """The help texts of `tessera`."""
    program = TOP / "build" / "bin" / "tessera"

    def shown(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
        return f"```text\n{done.stdout.strip()}\n```\n"

    parts = [
        "# The command line\n",
        "`tessera` works without Python. It reads `.py` files, `.tsr` files (programs without imports), "
        "and the IR of any stage (`.mlir`). The exit status is 0 for success, 1 for errors in the "
        "program, and 2 for wrong usage. `-` stands for standard input and output.\n",
        shown("--help"),
    ]
    for name in ("compile", "run", "explain", "build", "simulate", "reduce", "devices", "cache"):
        parts.append(f"## tessera {name}\n\n{shown(name, '--help')}")
    return "\n".join(parts)


class Site:
    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.operations = Operations()
        self.programs = Programs()
        self.stages = Stages()
        self.pipelines = Pipelines()
        self.groups: dict[str, list[tuple[str, str]]] = {}
        self.sources = self._sources()
        self.names = {name.replace(".md", ".html") for name in self.sources}
        for group, entries in GROUPS.items():
            for name, title in entries:
                if name in self.sources:
                    self._add(group, name, title)
                if name == "operations.md":
                    self._add_operations(group)
        listed = {name for entries in GROUPS.values() for name, _ in entries}
        for name in sorted(self.sources.keys() - listed):
            self._add("Guides", name, self.sources[name].partition("\n")[0].lstrip("# "))

    @staticmethod
    def _sources() -> dict[str, str]:
        """Markdown by the name of the page."""
        docs = TOP / "docs"
        found = {str(path.relative_to(docs)): path.read_text() for path in docs.rglob("*.md")}
        found |= reference.pages()
        found["examples.md"] = example_page()
        found["command_line.md"] = command_page()
        found["benchmarks.md"] = (TOP / "benchmarks" / "README.md").read_text()
        return found

    def _link(self, page: str, target: str) -> str | None:
        """The link of the site for a link of the tree; None if the site has no such page."""
        if target.startswith(("http:", "https:", "#", "mailto:")):
            return target
        path, _, anchor = target.partition("#")
        here = posixpath.dirname(page)
        place = posixpath.normpath(posixpath.join("docs", here, path))
        inside = posixpath.relpath(place, "docs")
        name = ELSEWHERE.get(place.rstrip("/"), inside.replace(".md", ".html"))
        if name not in self.names and name not in ELSEWHERE.values():
            return posixpath.relpath(inside, here or ".") if path.endswith(".svg") else None
        return posixpath.relpath(name, here or ".") + (f"#{anchor}" if anchor else "")

    def _fence(self, page: str, language: str, text: str) -> str | None:
        if language == "python":
            shown = self.programs.output(page, text)
            if shown is not None:
                return block(text, language) + (block(shown, "text", "output") if shown else "")
        return None

    def _add(self, group: str, name: str, title: str) -> None:
        path = name.replace(".md", ".html")
        renderer = Renderer(
            lambda target: self._link(name, target),
            lambda language, text: self._fence(name, language, text),
        )
        text = self.pipelines.fill(name, self.stages.fill(name, self.sources[name]))
        if name == "operations.md":
            text += self._operation_list()
        rendered = renderer.render(text)
        self.stages.add_listings(name, rendered)
        self.pages[path] = Page(path, title, rendered)
        self.groups.setdefault(group, []).append((path, title))

    def _operation_list(self) -> str:
        """All operations by section, each a link to its entry."""
        where = self.operations.where()
        parts = []
        for section in self.operations.sections:
            names = [name for name in section["names"] if name in self.operations.ours]
            if names:
                links = " ".join(
                    f'<a href="{where[name]}"><code>{name}</code></a>' for name in names
                )
                parts.append(f'\n## {section["title"]}\n\n<p class="chips">{links}</p>\n')
        return "".join(parts)

    def _add_operations(self, group: str) -> None:
        for path, rendered in self.operations.pages().items():
            self.pages[path] = Page(path, rendered.title, rendered)
            self.groups[group].append((path, rendered.title))

    # -- writing ----------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        shutil.copytree(ASSETS, folder / "assets")
        for image in (TOP / "docs").glob("*.svg"):
            shutil.copy(image, folder)
        for page in self.pages.values():
            target = folder / page.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self._html(page))
        index = json.dumps(self._index(), ensure_ascii=False, separators=(",", ":"))
        (folder / "assets" / "index.js").write_text(f"const SEARCH_INDEX={index};\n")

    def _index(self) -> list[list[str]]:
        """The search index: [address, title, heading, words] for each heading."""
        found = []
        for page in self.pages.values():
            body = page.rendered.body
            for heading in page.rendered.headings:
                address = page.path if heading.level == 1 else f"{page.path}#{heading.anchor}"
                start = max(body.find(f'id="{heading.anchor}"'), 0)
                start = max(body.find(f"</h{heading.level}>", start), 0)
                end = body.find("<h", start + 10)
                words = plain(body[start : end if end > 0 else None])
                found.append([address, page.title, heading.text, words[:300]])
        return found

    def _navigation(self, page: Page) -> str:
        here = posixpath.dirname(page.path) or "."
        parts = []
        for group, entries in self.groups.items():
            parts.append(f"<h2>{group}</h2>\n<ul>\n")
            for path, title in entries:
                current = ' aria-current="page"' if path == page.path else ""
                nested = ' class="nested"' if path.startswith("operations/") else ""
                address = posixpath.relpath(path, here)
                parts.append(
                    f'<li{nested}><a href="{address}"{current}>{html.escape(title)}</a></li>\n'
                )
            parts.append("</ul>\n")
        return "".join(parts)

    def _outline(self, page: Page) -> str:
        deep = page.path.removesuffix(".html") in (*reference.DIALECTS, "pipelines")
        most = 3 if deep else 2
        headings = [one for one in page.rendered.headings if 2 <= one.level <= most]
        if len(headings) < 2:
            return ""
        items = "".join(
            f'<li class="level{one.level}"><a href="#{one.anchor}">{html.escape(one.text)}</a></li>\n'
            for one in headings
        )
        return f'<aside class="outline"><h2>On this page</h2><ul>\n{items}</ul></aside>\n'

    def _neighbours(self, page: Page) -> str:
        order = [path for entries in self.groups.values() for path, _ in entries]
        place = order.index(page.path)
        here = posixpath.dirname(page.path) or "."
        parts = []
        for offset, words, kind in ((-1, "←", "previous"), (1, "→", "next")):
            if 0 <= place + offset < len(order):
                other = self.pages[order[place + offset]]
                title = html.escape(other.title)
                text = f"{words} {title}" if offset < 0 else f"{title} {words}"
                address = posixpath.relpath(other.path, here)
                parts.append(f'<a class="{kind}" rel="{kind[:4]}" href="{address}">{text}</a>')
        return f"<footer>{''.join(parts)}</footer>\n"

    def _html(self, page: Page) -> str:
        root = os.path.relpath(".", posixpath.dirname(page.path) or ".")
        version = (TOP / "VERSION").read_text().strip()
        title = html.escape(page.rendered.title or page.title)
        heading = "Tessera" if title == "Tessera" else f"{title} · Tessera"
        template = (Path(__file__).resolve().parent / "page.html").read_text()
        values = {
            "title": heading,
            "root": root,
            "version": version,
            "navigation": self._navigation(page),
            "body": page.rendered.body,
            "outline": self._outline(page),
            "neighbours": self._neighbours(page),
        }
        for name, value in values.items():
            template = template.replace("{{" + name + "}}", value)
        return template
