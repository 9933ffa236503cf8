"""Edits every parameter of a schedule, one at a time: the kernel changes, its results stay right.

    edit_schedule.py TESSERA FILE::FUNCTION FOLDER ARG…

Parameters are the tile of each dimension, the order of the grid, and of each stream its lag and the
ranges that it visits and visits without masks, and how it finds blocks that depend on data. Prints one line per edit; exit status 1 if one of
them changed nothing or gave a wrong result.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator


def edits(text: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the edited text)"""
    for match in re.finditer(r"(parallel|stream|inner) (\w+) = (?:\S+|\"[^\"]*\") tile (\d+)", text):
        role, name, tile = match.group(1), match.group(2), int(match.group(3))
        for new in {max(1, tile // 2), tile * 2} - {tile}:
            start, end = match.span(3)
            yield f"tile of {role} {name}: {tile} -> {new}", text[:start] + str(new) + text[end:]
    for match in re.finditer(r"order \[([^\]]+)\]", text):
        names = match.group(1).split(", ")
        if len(names) > 1:
            start, end = match.span(1)
            yield f"order: {names[::-1]}", text[:start] + ", ".join(names[::-1]) + text[end:]
    for match in re.finditer(r"lag (\d\S*)", text if "sched.gauge" in text else ""):
        start, end = match.span(1)
        yield "lag: 8", text[:start] + "8.0" + text[end:]
    for match in re.finditer(r'live \["0", "min\((\w+), [^"]*\)"\]', text):
        yield "live: everything", text.replace(match.group(0), f'live ["0", "{match.group(1)}"]')
    for match in re.finditer(r'full \["0", "(min\(\w+, [^"]*\))"\]', text):
        yield "full: nothing", text.replace(match.group(0), 'full ["0", "0"]')
    for match in re.finditer(r"sched\.visit \S+ full \S+", text):
        yield "visit: as a range", text.replace(match.group(0), match.group(0) + " as_range")


def main() -> int:
    tessera, program, folder, *arguments = sys.argv[1:]
    options = [word for argument in arguments for word in ("--arg", argument)]

    def run(command: str, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([tessera, command, *words, *options], capture_output=True, text=True)

    schedule = run("compile", program, "--emit", "sched").stdout
    original = run("compile", program, "--emit", "tile").stdout
    failures = count = 0
    Path(folder).mkdir(parents=True, exist_ok=True)
    for what, text in edits(schedule):
        path = Path(folder) / "edited.mlir"
        path.write_text(text)
        changed = run("compile", str(path), "--emit", "tile")
        checked = run("run", str(path), "--reference", program)
        good = changed.returncode == 0 and changed.stdout != original and checked.returncode == 0
        print(f"{'ok' if good else 'FAILED'}: {what}")
        if not good:
            print("the kernel is the same" if changed.stdout == original else changed.stderr + checked.stderr + checked.stdout)
        failures += not good
        count += 1
    print(f"{count} edits, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
