"""`python -m tessera.traces …` is the command `tessera traces …`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from .. import _tessera
from ..compiler import _parsed, _text
from ..errors import TesseraError
from . import FORMAT, INDEX, MOST_LINES, entry, has_cache, is_whole, lines_of


class Kept(NamedTuple):
    """All traces of one class of calls."""

    head: dict
    lines: list[str]

    @property
    def title(self) -> str:
        return f"{self.head['function']}({', '.join(self.head['arguments'])})"


def _is_head(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and found.get("v") == FORMAT
        and all(isinstance(found.get(name), str) for name in ("key", "function", "target"))
        and len(found["key"]) == 64
        and set(found["key"]) <= set("0123456789abcdef")
        and isinstance(found.get("arguments"), list)
        and all(isinstance(one, str) for one in found["arguments"])
    )


def kept() -> list[Kept]:
    """All traces of the cache."""
    heads = [head for line in lines_of(INDEX) if _is_head(head := _parsed(line))]
    all_kept = [Kept(head, lines_of(entry(head["key"]))) for head in heads]
    return [one for one in all_kept if any(is_whole(_parsed(line)) for line in one.lines)]


def _shown(line: str) -> str | None:
    found = _parsed(line)
    if not is_whole(found):
        return None
    facts = ", ".join(_text(one) for one in found["facts"]) or "no facts"
    gain = f", predicted gain {found['gain']:.0%}" if found["gain"] else ""
    return f"  {found['state']}: {facts}{gain}"


def show_list() -> None:
    for one in kept():
        count = len(one.lines)
        print(f"{one.title}: {count} {'decision' if count == 1 else 'decisions'}")


def show(function: str) -> None:
    found = [one for one in kept() if one.head["function"] == function]
    if not found:
        raise TesseraError(f"the cache has no traces of a function '{function}'")
    for one in found:
        print(f"{one.title} for {one.head['target']}")
        print(*filter(None, map(_shown, one.lines)), sep="\n")


def export(path: Path) -> int:
    """Writes all traces to a file, a JSON object in each line."""
    found = kept()
    lines = [_text({"tessera-traces": FORMAT})]
    lines += [_text({**one.head, "lines": one.lines}) for one in found]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(found)


def take(path: Path) -> int:
    """Adds the traces of a file, after checking all of it."""
    head, *rest = path.read_text(encoding="utf-8").splitlines() or [""]
    version = (_parsed(head) or {}).get("tessera-traces") if head.startswith("{") else None
    if version is None:
        raise TesseraError(f"{path} is no file of traces")
    if version != FORMAT:
        raise TesseraError(f"{path}: expected traces of version {FORMAT}, found {version}")
    entries = []
    for number, line in enumerate(rest, 2):
        found = _parsed(line)
        lines = found.get("lines") if isinstance(found, dict) else None
        is_good = _is_head(found) and isinstance(lines, list) and len(lines) <= MOST_LINES
        if not is_good or not all(
            isinstance(one, str) and "\n" not in one and is_whole(_parsed(one)) for one in lines
        ):
            raise TesseraError(f"{path}: line {number} is malformed; nothing was taken")
        entries.append((found, lines))
    for found, lines in entries:
        for one in lines:
            _tessera.cache_add_line(entry(found["key"]), one)
        _tessera.cache_add_line(INDEX, _text({k: v for k, v in found.items() if k != "lines"}))
    return len(entries)


def clear() -> int:
    found = kept()
    for one in found:
        _tessera.cache_put(entry(one.head["key"]), b"")
    _tessera.cache_put(INDEX, b"")
    return len(found)


def _count(count: int) -> str:
    return f"{count} {'class' if count == 1 else 'classes'} of calls"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tessera traces",
        description="What was found out about calls, which the next process starts with.",
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="the functions that have traces; the default")
    commands.add_parser("show", help="the decisions about a function").add_argument("function")
    for name, text in (("export", "write all traces to a file"), ("import", "add those of a file")):
        commands.add_parser(name, help=text).add_argument("file", type=Path)
    commands.add_parser("clear", help="remove all traces")
    options = parser.parse_args()
    try:
        if not has_cache():
            raise TesseraError("there is no cache: TESSERA_CACHE is off, or no home is named")
        if options.command == "show":
            show(options.function)
        elif options.command == "export":
            print(f"wrote {_count(export(options.file))} to {options.file}")
        elif options.command == "import":
            print(f"took {_count(take(options.file))} from {options.file}")
        elif options.command == "clear":
            print(f"removed {_count(clear())}")
        else:
            show_list()
    except (TesseraError, OSError, UnicodeDecodeError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
