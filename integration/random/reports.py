"""Reports with one line of JSON per result, which stay readable if the process is killed at any
moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


def lines(path: Path) -> Iterator[dict]:
    """The report's lines in order, none if there is no report; a truncated one is dropped."""
    if not path.exists():
        return
    for text in path.read_text().splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue  # its process was killed while it wrote
