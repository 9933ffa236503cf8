"""The documentation's site: links are valid, operations have examples, pages are self-contained."""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("markdown_it")
TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "utils"))

from docsite.operations import Operations  # noqa: E402


class Document(HTMLParser):
    """The links, anchors and elements of a page."""

    VOID = {"meta", "link", "img", "input", "br", "hr"}

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.anchors.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif values.get("src") or (tag == "link" and values.get("href")):
            self.loaded.append(values.get("src") or values["href"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in ("p", "li", "td", "tr", "th"):  # may be left open
            while self.open and self.open[-1] != tag and tag in self.open:
                self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, TOP / "utils" / "docs.py", folder], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def documents(site) -> dict[str, Document]:
    found = {
        str(path.relative_to(site)): Document(path.read_text()) for path in site.rglob("*.html")
    }
    assert len(found) > 20
    return found


def test_links_and_anchors(site, documents):
    wrong = []
    for name, document in documents.items():
        for link in document.links + document.loaded:
            if link.startswith(("http:", "https:")):
                continue
            path, _, anchor = link.partition("#")
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            )
            if not (site / target).is_file():
                wrong.append(f"{name}: {link}")
            elif anchor and anchor not in documents[target].anchors:
                wrong.append(f"{name}: {link} (no such anchor)")
    assert not wrong, "\n".join(wrong)


def test_anchors_are_unique_and_elements_balanced(documents):
    for name, document in documents.items():
        twice = {one for one in document.anchors if document.anchors.count(one) > 1}
        assert not twice, f"{name}: {twice}"
        assert not document.unbalanced, f"{name}: {document.unbalanced}"


def test_nothing_is_fetched_from_elsewhere(site, documents):
    for name, document in documents.items():
        assert not [one for one in document.loaded if "//" in one], name
    assert "url(" not in (site / "assets" / "style.css").read_text()


def test_every_operation_has_a_place_and_an_example(site, documents):
    operations = Operations()
    for name, place in operations.where().items():
        path, anchor = place.split("#")
        assert name in documents[path].anchors, f"{name} is not on {path}"
        if name not in operations.alias:
            assert operations.example(name), f"docs/operations.toml has no example of '{name}'"
    assert set(operations.alias.values()) <= set(operations.ours)


def test_pages_have_text(site):
    for path in site.rglob("*.html"):
        text = path.read_text()
        body = re.search(r"<main>(.*)</main>", text, re.DOTALL)[1]
        assert len(re.sub(r"<[^>]*>", "", body)) > 200, path
        assert "<h1" in body and "{{" not in re.sub(
            r"<pre.*?</pre>|<code.*?</code>", "", body, flags=re.S
        )


def test_outputs_of_the_tutorial(site):
    steps = sorted((site / "tutorial").glob("*.html"))
    assert len(steps) == 6
    for step in steps:
        assert 'class="output"' in step.read_text(), step


def test_the_search_knows_operations(site):
    index = (site / "assets" / "index.js").read_text()
    assert '"softmax"' in index and "operations/reductions-and-scans.html#softmax" in index
