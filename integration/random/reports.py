"""Reports with one line of JSON per result, which a process that is ended at any moment leaves readable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


def lines(path: Path) -> Iterator[dict]:
    """The report's lines in order, none if there is no report; one that was cut off is left out."""
    if not path.exists():
        return
    for text in path.read_text().splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue  # its process was ended while it wrote
