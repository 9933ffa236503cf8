"""utils/test_all.py: a table of what ran for which commit, and what did not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def runner(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("tessera_test_all", TOP / "utils/test_all.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.tried = tmp_path / "tried"
    some = [
        module.Part("good", f"echo good >> {module.tried}; echo 3 passed", "a part"),
        module.Part("bad", f"echo bad >> {module.tried}; echo oh; exit 3", "another"),
        module.Part("silent", "true", "a third"),
    ]
    monkeypatch.setattr(module, "parts", lambda share: some)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(module, "commit", lambda: "abc")
    module.table = tmp_path / "results" / "all.txt"
    return module


def run(runner, monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["test_all.py", "--table", str(runner.table), *words])
    return runner.main()


def rows(runner) -> list[list[str]]:
    lines = runner.table.read_text().splitlines()
    return [line.split() for line in lines[lines.index(runner.HEAD) + 1 :]]


def test_a_failed_part_fails_and_is_told(runner, monkeypatch, capsys):
    assert run(runner, monkeypatch) == 1
    assert "commit abc" in runner.table.read_text()
    assert [row[:2] for row in rows(runner)] == [
        ["good", "passed"],
        ["bad", "failed"],
        ["silent", "passed"],
    ]
    assert (
        rows(runner)[0][3:] == ["3", "passed"]
        and rows(runner)[1][3:] == ["oh"]
        and rows(runner)[2][3:] == ["exit", "status", "0"]
    )
    assert "2 parts passed, 1 failed, 0 not run" in capsys.readouterr().out
    # Parts that passed are not run again, parts that failed are.
    assert run(runner, monkeypatch) == 1
    assert runner.tried.read_text().split() == ["good", "bad", "bad"]
    assert run(runner, monkeypatch, "--again", "good") == 1
    assert runner.tried.read_text().split() == ["good", "bad", "bad", "good"]


def test_parts_that_did_not_run_are_told(runner, monkeypatch, capsys):
    assert run(runner, monkeypatch, "good") == 1
    assert rows(runner)[1:] == [["bad", "not", "run"], ["silent", "not", "run"]]
    assert "1 parts passed, 0 failed, 2 not run" in capsys.readouterr().out


def test_another_commit_begins_anew(runner, monkeypatch):
    run(runner, monkeypatch, "good")
    monkeypatch.setattr(runner, "commit", lambda: "def")
    run(runner, monkeypatch, "silent")
    assert [row[1] for row in rows(runner)] == ["not", "not", "passed"]


def test_the_parts_exist():
    """Every command is one of the Makefile's, or a script of the tree."""
    spec = importlib.util.spec_from_file_location(
        "tessera_test_all_parts", TOP / "utils/test_all.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    makefile = (TOP / "Makefile").read_text()
    for part in module.parts(1.0):
        words = part.command.removeprefix("CI=true ").split()
        assert words[0] != "make" or f"\n{words[1]}:" in makefile, part
    assert all((TOP / path).exists() for path in module.PEERS.split())
    assert (
        "commit:200 " in module.random(2000, 0.1, "--x")
        and module.random(20, 0.001) == "make fuzz SEEDS=commit:1"
    )
    assert module.commit()
