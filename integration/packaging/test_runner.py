"""utils/test.py, which decides about a change: reports that cannot be read and tests that did not
run never count as passed."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

UTILS = Path(__file__).resolve().parents[2] / "utils"


@pytest.fixture(scope="module")
def runner():
    sys.path.insert(0, str(UTILS))
    spec = importlib.util.spec_from_file_location("tessera_test_runner", UTILS / "test.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


JUNIT = '<testsuites><testsuite name="pytest">{}</testsuite></testsuites>'
GTEST = '<testsuites><testsuite name="A">{}</testsuite></testsuites>'
PASSED = '<testcase classname="a" name="b" status="run" result="completed"/>'


def run(
    runner,
    tmp_path,
    text: str | None,
    status: int = 0,
    reader: str = "read_junit",
    may_be_empty: bool = False,
):
    """The counts of a program that leaves this report and ends with this status."""
    report = tmp_path / "report"
    report.unlink(missing_ok=True)
    (tmp_path / "text").write_text(text or "")
    words = f"cp {tmp_path}/text {report}; exit {status}" if text is not None else f"exit {status}"
    program = runner.Program(
        "python", "sample", ["sh", "-c", words], report, getattr(runner, reader), may_be_empty
    )
    return program.run({})


@pytest.mark.parametrize("reader", ["read_junit", "read_gtest", "read_lit", "read_fuzz"])
@pytest.mark.parametrize("text", [None, "", "{", "<testsuites>", "[]", "{}"])
@pytest.mark.parametrize("status", [0, 5, 1, 139])
def test_a_report_that_cannot_be_read_is_a_failure(runner, tmp_path, text, status, reader):
    for may_be_empty in (False, True):
        result = run(runner, tmp_path, text, status, reader, may_be_empty)
        assert (result.passed, result.failed) == (0, 1)
        assert "the report cannot be read" in result.failures[0]


def test_exit_statuses(runner, tmp_path):
    assert str(run(runner, tmp_path, JUNIT.format(PASSED))) == "1 passed, 0 failed"
    crashed = run(runner, tmp_path, JUNIT.format(PASSED), status=139)
    assert str(crashed) == "1 passed, 1 failed" and crashed.failures == ["sample: exit status 139"]


@pytest.mark.parametrize(
    "reader, text",
    [
        ("read_junit", JUNIT.format("")),
        ("read_gtest", GTEST.format("")),
        ("read_lit", '{"tests": []}'),
    ],
)
def test_no_test_at_all_is_a_failure_unless_a_pattern_chose_none(runner, tmp_path, reader, text):
    for status in (0, 5):
        none = run(runner, tmp_path, text, status, reader)
        assert str(none) == "0 passed, 1 failed" and none.failures == ["sample: no test ran"]
        assert not run(runner, tmp_path, text, status, reader, may_be_empty=True).count


def test_reports_of_gtest(runner, tmp_path):
    cases = [
        PASSED,
        '<testcase classname="A" name="Wrong" status="run" result="completed"><failure message="m"/></testcase>',
        '<testcase classname="A" name="Skips" status="run" result="skipped"><skipped message="no GPU&#10;"/></testcase>',
        '<testcase classname="A" name="DISABLED_Other" status="notrun" result="suppressed"/>',
        '<testcase classname="A" name="LeftOut" status="notrun" result="suppressed"/>',
    ]
    result = run(runner, tmp_path, GTEST.format("".join(cases)), 1, "read_gtest")
    assert str(result) == "1 passed, 1 failed, 2 skipped"
    assert result.failures == ["A.Wrong"] and result.reasons == {"no GPU": 1, "disabled": 1}


def test_reports_of_lit(runner, tmp_path):
    codes = ["PASS", "XFAIL", "XPASS", "UNRESOLVED", "TIMEOUT", "UNSUPPORTED", "EXCLUDED"]
    tests = [{"name": code, "code": code, "output": "unavailable features: sve"} for code in codes]
    result = run(runner, tmp_path, json.dumps({"tests": tests}), 1, "read_lit")
    assert str(result) == "2 passed, 3 failed, 1 skipped"
    assert result.failures == ["XPASS", "UNRESOLVED", "TIMEOUT"]


def test_reports_of_fuzzers(runner, tmp_path):
    for runs, finding, passed in ((10, "", 1), (0, "", 0), (9, "", 0), (10, "wrong answer", 0)):
        text = json.dumps({"runs": runs, "wanted": 10, "finding": finding})
        result = run(runner, tmp_path, text, 0, "read_fuzz")
        assert (result.passed, result.failed) == (passed, 1 - passed)


SKIPS = {
    "unsupported: ptxas is not installed": ("ptxas", False),
    "unsupported: ptxas of CUDA 12 is not installed": ("ptxas of CUDA 12", False),
    "unsupported: tileiras is not installed: TESSERA_TILEIRAS is 'none'": ("tileiras", False),
    "unsupported: tessera-opt is not built": ("tessera-opt", True),
    "could not import 'torch': No module named 'torch'": ("torch", False),
    "Test requires the following unavailable features: ptxas": ("ptxas", False),
    "Test requires the following unavailable features: avx512f": None,
    "unsupported: no GPU": None,
}


def test_what_is_missing(runner):
    assert {reason: runner.missing(reason) for reason in SKIPS} == SKIPS


def test_reasons_of_whole_files_and_single_tests(runner, tmp_path):
    whole = "(&#x27;/a/test_b.py&#x27;, 7, &quot;Skipped: could not import &#x27;torch&#x27;: No module&quot;)"
    cases = [
        f'<testcase classname="a" name="{i}"><skipped message="{text}">/a/test_b.py:8: {text}</skipped></testcase>'
        for i, text in enumerate(["unsupported: ptxas is not installed", "unsupported: no GPU"])
    ]
    cases.append(
        f'<testcase classname="" name="a"><skipped message="collection skipped">{whole}</skipped></testcase>'
    )
    result = run(runner, tmp_path, JUNIT.format("".join(cases)))
    assert str(result) == "0 passed, 0 failed, 3 skipped"
    assert runner.tell_skipped(result, strict=False) == [
        "skipped for want of ptxas: 1",
        "skipped for want of torch: 1",
        "skipped: 1: unsupported: no GPU",
    ]
    assert not result.failed


@pytest.mark.parametrize("strict", [False, True])
def test_missing_tools_fail_in_ci_and_what_is_not_built_always(runner, strict):
    result = runner.Result(passed=1)
    for reason in SKIPS:
        result.skip(reason)
    assert len(runner.tell_skipped(result, strict)) == 7
    reported = " ".join(result.failures)
    assert (
        "want of tessera-opt" in reported and "torch" not in reported and "avx512f" not in reported
    )
    assert result.failed == len(result.failures) == (4 if strict else 1)
    assert ("2 skipped for want of ptxas, which" in reported) == strict
