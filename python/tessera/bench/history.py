"""Results on disk: a file for each run, with the machine, the commit and every round's times;
comparison of two of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from . import judge
from .harness import OURS
from .judge import Shift

VERSION = 2  # of the files; 1 had no samples


def folder() -> Path:
    """The default folder of this user's runs."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tessera" / "bench"


# -- what a file says of the machine and of the code ----------------------------------------------


def _processor() -> str:
    try:
        fields = dict(
            line.split(":", 1)
            for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
            if ":" in line
        )
    except OSError:
        return platform.processor()
    named = {key.strip(): value.strip() for key, value in fields.items()}
    text = named.get("model name", platform.machine())
    if "cpu family" in named:
        text += f", family {named['cpu family']} model {named['model']}"
    return text


def machine() -> dict:
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
    }


def commit(of: Path | None = None) -> str:
    """The commit of the tree that contains the user's file, or of ours; the version if git knows
    none."""
    import tessera

    here = Path(__file__).resolve()
    place = of.resolve().parent if of else here.parent
    ours = of or (here.parents[3] / "VERSION").exists()  # an installed package may lie in any tree
    try:
        command = ["git", "-C", str(place), "describe", "--always", "--dirty", "--abbrev=12"]
        done = subprocess.run(command, capture_output=True, text=True)
        found = done.stdout.strip() if ours else ""
    except OSError:
        found = ""
    return found or f"v{tessera.__version__}"


def start(clock: str, of: Path | None = None) -> dict:
    """A run without results."""
    return {
        "format": VERSION,
        "commit": commit(of),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "clock": clock,
        "roofline": [],
        "rows": [],
    }


# -- files ----------------------------------------------------------------------------------------


def _rounded(value):
    """Times to five digits: the resolution of the clock."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


def save(run: dict, path: Path | None) -> Path:
    """Writes a run, a line for each row, into a file or under a new name into a folder."""
    place = path or folder()
    if place.suffix != ".json":
        place = place / f"{run['time'].replace(':', '')}-{run['commit']}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    about = {key: value for key, value in run.items() if key != "rows"}
    lines = ",\n  ".join(json.dumps(_rounded(row)) for row in run["rows"])
    text = json.dumps(about, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n'
    part = place.with_suffix(".part")
    part.write_text(text)
    part.replace(place)
    return place


def read(path: Path) -> dict:
    """A run; the newest one of a folder. Raises ValueError if there is none."""
    if path.is_dir():
        files = [one for file in sorted(path.glob("*.json")) if "rows" in (one := _parse(file))]
        runs = sorted((one for one in files if "machine" in one), key=lambda one: one["time"])
        if not runs:
            raise ValueError(f"{path}: expected results of a run, found none")
        return runs[-1]
    run = _parse(path)
    if "rows" not in run or "machine" not in run:
        raise ValueError(f"{path}: expected the results of a run on a CPU")
    return run


def _parse(path: Path) -> dict:
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise ValueError(f"{path}: expected JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected an object of JSON")
    return found


# -- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The change of a row; `shift` is None if one of the runs has too few samples."""

    title: str
    threads: int
    old: float
    new: float
    shift: Shift | None
    p: float  # corrected for the number of rows
    verdict: str  # slower, faster, same, or unknown
    against: str  # the peer that normalizes the machine's own changes, or ""


@dataclass(frozen=True)
class Comparison:
    changes: list[Change]
    floor: float  # as a logarithm
    only_old: list[str]
    only_new: list[str]
    same_machine: bool

    @property
    def slower(self) -> list[Change]:
        return [one for one in self.changes if one.verdict == "slower"]


def _cases(run: dict) -> dict[tuple[str, int], dict]:
    return {(row["title"], row["threads"]): row for row in run["rows"] if row["kind"] == "case"}


def _peers(old: dict, new: dict, same: set[str]) -> list[str]:
    """Contenders of both rows that have not changed, the fastest first."""
    both = old.get("samples", {}).keys() & new.get("samples", {}).keys() & same
    return sorted(both, key=lambda name: old["medians"][name])


def _relative(row: dict, peer: str | None) -> list[float]:
    """Our times relative to a peer's in the same round."""
    ours = row["samples"][OURS]
    if peer is None:
        return ours
    return [one / other for one, other in zip(ours, row["samples"][peer])]


def compare(old: dict, new: dict, least: float = judge.LEAST) -> Comparison:
    """The changes from one run to another, row by row.

    Our times are relative to the fastest peer that has not changed, in the same round: other load
    on the machine in the two runs affects both. Without such a peer they are compared directly.
    """
    before, after = _cases(old), _cases(new)
    versions = (old.get("versions", {}), new.get("versions", {}))
    contenders = {
        "numpy": "numpy",
        "openblas": "openblas",
        "torch": "torch",
        "torch.compile": "torch",
    }
    same = {
        name
        for name, library in contenders.items()
        if versions[0].get(library) and versions[0].get(library) == versions[1].get(library)
    }
    rows, moved = [], []
    for key in (key for key in before if key in after):
        pair = before[key], after[key]
        peers = _peers(*pair, same)
        shift = None
        if all(OURS in row.get("samples", {}) for row in pair):
            shift = judge.shift(*(_relative(row, peers[0] if peers else None) for row in pair))
        for one, other in zip(peers, peers[1:]):
            # Two unchanged peers: a change of their ratio is noise.
            series = ([a / b for a, b in zip(r["samples"][one], r["samples"][other])] for r in pair)
            moved += [found for found in [judge.shift(*series)] if found]
        rows.append((key, *pair, shift, peers[0] if peers else ""))
    floor = judge.floor(moved, least)
    corrected = iter(judge.holm([row[3].p for row in rows if row[3]]))
    changes = []
    for (title, threads), one, other, shift, peer in rows:
        p = next(corrected) if shift else 1.0
        reported = judge.verdict(shift, p, floor) if shift else "unknown"
        changes.append(
            Change(title, threads, one["seconds"], other["seconds"], shift, p, reported, peer)
        )
    names = [
        sorted({key[0] for key in a.keys() - b.keys()})
        for a, b in ((before, after), (after, before))
    ]
    machines = [run["machine"]["processor"] for run in (old, new)]
    return Comparison(changes, floor, *names, machines[0] == machines[1])
