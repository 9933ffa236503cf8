"""lists.py finds missing and obsolete lines of a list, and updates it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import simulated  # noqa: E402
import suite  # noqa: E402


def test_a_list_is_updated(tmp_path):
    for name in ("equivalents.txt", "unreached.txt", "spills.txt"):
        shutil.copy(HERE / name, tmp_path)
    text = (HERE / "equivalents.txt").read_text()
    lines = text.splitlines(keepends=True)
    lacking = next(line for line in lines if line.startswith("test_views.py"))
    vain = "test_views.py::test_that_was | f_0 orders | barrier 0 removed\n"
    file = tmp_path / "equivalents.txt"
    file.write_text("".join(line for line in lines if line != lacking) + vain)
    other = "test_views.py::test_that_was | f_0 unreached | barrier 1 removed\n"
    with (tmp_path / "unreached.txt").open("a") as out:
        out.write(other)
    command = [
        sys.executable,
        HERE / "lists.py",
        "equivalents",
        "--files",
        "views",
        "--write",
        "-j",
        "1",
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "TESSERA_LISTS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        f"+ {lacking}" in done.stdout and f"- {vain}" in done.stdout and f"- {other}" in done.stdout
    )
    assert file.read_text() == text
    assert (tmp_path / "unreached.txt").read_text() == (HERE / "unreached.txt").read_text()
    reported = re.search(r"^coverage: reached (\d+) of (\d+) mutants$", done.stdout, re.MULTILINE)
    assert reported and 0 < int(reported[1]) <= int(reported[2])


HEAD = """# Kernels that spill.
#
# wide       why some do
# full       why others do
"""


def listing(tmp_path: Path, *lines: str) -> suite.Listing:
    (tmp_path / "spills.txt").write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return suite.Listing(
        "spills.txt",
        "TESSERA_WRITE_SPILLS",
        lambda known, found: int(found or 0) <= int(known or 0),
        tmp_path,
        reasoned=True,
    )


def session(**options) -> SimpleNamespace:
    items = [SimpleNamespace(path=Path("test_a.py"))]
    return SimpleNamespace(
        config=SimpleNamespace(option=SimpleNamespace(keyword="", **options)),
        shouldstop=False,
        items=items,
    )


def test_every_spill_has_a_reason(tmp_path, capsys):
    good = listing(
        tmp_path,
        "test_a.py::t[x | y] | sm_80 f_0 | 8 | wide",
        "test_b.py::t | sm_90 f_0 | 16 | full",
    )
    assert good.read()[1] == {
        "test_a.py::t[x | y] | sm_80 f_0": "8",
        "test_b.py::t | sm_90 f_0": "16",
    }
    assert good.explained() == {"wide", "full"} and not good.unexplained()
    assert good.holds(session(), {"test_a.py::t[x | y] | sm_80 f_0": "8"})
    assert not good.holds(session(), {"test_a.py::t[x | y] | sm_80 f_0": "9"})
    for word in ("unexplained", "because", ""):
        bad = listing(tmp_path, f"test_a.py::t | sm_80 f_0 | 8 | {word}")
        assert not bad.holds(session(), {"test_a.py::t | sm_80 f_0": "8"})
        assert "expected a reason that the head explains" in capsys.readouterr().out


def test_new_lines_take_the_reason_of_another_chip_or_none(tmp_path):
    known = listing(tmp_path, "test_a.py::t | sm_80 f_0 | 8 | wide")
    known.write(
        {
            "test_a.py::t | sm_80 f_0": "8",
            "test_a.py::t | sm_90 f_0": "24",
            "test_a.py::t | sm_90 f_1": "4",
        }
    )
    assert known.reasons() == {
        "test_a.py::t | sm_80 f_0": "wide",
        "test_a.py::t | sm_90 f_0": "wide",
        "test_a.py::t | sm_90 f_1": "unexplained",
    }
    assert known.read()[0] == HEAD and known.unexplained() == ["test_a.py::t | sm_90 f_1"]


def test_the_committed_spills_have_reasons():
    committed = suite.Listing("spills.txt", "", folder=HERE, reasoned=True)
    assert committed.read()[1] and not committed.unexplained()


def test_lists_keep_proofs_and_what_is_unreached_apart():
    def fates(name: str) -> set[str]:
        lines = [
            line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")
        ]
        return {line.rsplit(" | ", 2)[1].split()[-1] for line in lines}

    assert fates("equivalents.txt") == {"orders", "analysis"} and fates("unreached.txt") == {
        "unreached"
    }
    mutants = simulated.Mutants()
    mutants.fates["a"] = {
        ("f_0", str(number)): fate
        for number, fate in enumerate(["killed", "orders", "unreached", "unreached"])
    }
    assert mutants.found("unreached") == {"a | f_0 unreached": "2, 3"} and mutants.found(
        "orders"
    ) == {"a | f_0 orders": "1"}
    assert mutants.lines()[1] == "coverage: reached 2 of 4 mutants"
