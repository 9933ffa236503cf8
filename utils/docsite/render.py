"""Markdown to HTML: highlighted code, anchors of headings, links between pages."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text
from pygments.util import ClassNotFound


class MLIRLexer(RegexLexer):
    """MLIR's textual form, as far as highlighting needs it."""

    name = "MLIR"
    tokens = {
        "root": [
            (r"//.*", Comment),
            (r'"[^"\n]*"', String),
            (r"[%^][\w$.-]+(:\d+)?", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"![a-zA-Z_][\w.]*", Keyword.Type),
            (r"#[a-zA-Z_][\w.]*", Name.Attribute),
            (
                r"\b(tensor|vector|memref|index|i1|i8|ui8|i16|i32|i64|bf16|f16|f32|f64)\b",
                Keyword.Type,
            ),
            (r"\b[a-z_]\w*\.[a-z_][\w.]*", Keyword),
            (r"\b(module|func|return|attributes|else|to|step|iter_args)\b", Keyword),
            (r"\b0x[0-9A-Fa-f]+|\b\d+(\.\d+)?([eE][+-]?\d+)?", Number),
            (r"[-+*/<>=:,]", Operator),
            (r"\w+", Text),
            (r"\s+|.", Text),
        ]
    }


class ConsoleLexer(RegexLexer):
    """Commands after `$`, and their output."""

    name = "Console"
    tokens = {
        "root": [
            (
                r"(\$ )(.*\n)",
                lambda lexer, match: [
                    (match.start(1), Comment, match[1]),
                    (match.start(2), Keyword, match[2]),
                ],
            ),
            (r".*\n", Text),
        ]
    }


_FORMATTER = HtmlFormatter(nowrap=True)


def code(text: str, language: str) -> str:
    """Highlighted text, without an enclosing element."""
    if language in ("mlir", "llvm-ir"):
        lexer = MLIRLexer()
    elif language == "console":
        lexer = ConsoleLexer()
    else:
        try:
            lexer = get_lexer_by_name(language or "text")
        except ClassNotFound:
            lexer = get_lexer_by_name("text")
    return highlight(text, lexer, _FORMATTER)


def block(text: str, language: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f"<pre{name}><code>{code(text, language)}</code></pre>\n"


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub computes it."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@dataclass
class Heading:
    level: int
    text: str
    anchor: str


@dataclass
class Rendered:
    title: str
    body: str
    headings: list[Heading] = field(default_factory=list)


class Renderer:
    """`link` maps the target of a link to a link of the site, or to None if the site has no such page.
    `fence` renders a block of code, (language, text) to HTML; None selects the default."""

    def __init__(
        self,
        link: Callable[[str], str | None],
        fence: Callable[[str, str], str | None] = lambda language, text: None,
    ):
        self.link = link
        self.fence = fence
        self.parser = MarkdownIt("commonmark", {"html": True}).enable("table")

    def render(self, text: str) -> Rendered:
        tokens = self.parser.parse(text)
        headings = self._anchors(tokens)
        for token in tokens:
            if token.type == "inline":
                self._links(token)
        body = []
        for token in tokens:
            if token.type == "fence":
                language = token.info.split(" ")[0]
                made = self.fence(language, token.content)
                token.type, token.content = "html_block", made or block(token.content, language)
            elif token.type == "code_block":
                token.type, token.content = "html_block", block(token.content, "mlir")
        body = self.parser.renderer.render(tokens, self.parser.options, {})
        body = body.replace("<table>", '<div class="wide"><table>').replace(
            "</table>", "</table></div>"
        )
        title = next((one.text for one in headings if one.level == 1), "")
        return Rendered(title, body, headings)

    @staticmethod
    def _anchors(tokens: list[Token]) -> list[Heading]:
        headings: list[Heading] = []
        seen: dict[str, int] = {}
        for opening, inline in zip(tokens, tokens[1:]):
            if opening.type != "heading_open":
                continue
            words = "".join(
                child.content
                for child in inline.children or []
                if child.type in ("text", "code_inline")
            )
            anchor = slug(words)
            seen[anchor] = seen.get(anchor, -1) + 1
            if seen[anchor]:
                anchor += f"-{seen[anchor]}"
            opening.attrSet("id", anchor)
            headings.append(Heading(int(opening.tag[1]), words, anchor))
            if opening.tag != "h1":
                mark = Token("html_inline", "", 0)
                mark.content = f'<a class="anchor" href="#{anchor}" aria-label="link">#</a>'
                inline.children = [*(inline.children or []), mark]
        return headings

    def _links(self, inline: Token) -> None:
        """Replaces links to files that the site does not have by their text."""
        kept: list[Token] = []
        dropped = 0
        for child in inline.children or []:
            if child.type == "link_open":
                target = self.link(str(child.attrGet("href")))
                if target is None:
                    dropped += 1
                    continue
                child.attrSet("href", target)
            elif child.type == "link_close" and dropped:
                dropped -= 1
                continue
            elif child.type == "image":
                target = self.link(str(child.attrGet("src")))
                child.attrSet("src", target or "")
            kept.append(child)
        inline.children = kept


def plain(body: str) -> str:
    """The words of an HTML fragment."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())
