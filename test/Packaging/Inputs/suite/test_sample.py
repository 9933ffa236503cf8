"""One test per feature that utils/run_suite.py promises; two of them fail on purpose."""

import os
import sys

import pytest


@pytest.fixture
def resource(shared):
    shared.append("open")
    yield len(shared)
    shared.append("closed")


@pytest.mark.parametrize("b", [10, pytest.param(20, id="twenty")])
@pytest.mark.parametrize("a", [1, 2])
def test_product(a, b):
    assert (a, b) != (2, 20)


@pytest.mark.parametrize("a, b", [(1, 2), pytest.param(3, 4, marks=pytest.mark.skip(reason="no"))])
def test_pairs(a, b):
    assert a + 1 == b


def test_fixture(resource, shared):
    assert resource == 1 and shared == ["open"]


def test_fixture_was_closed(shared):
    assert shared == ["open", "closed"]


@pytest.mark.skipif(sys.platform == "linux", reason="not here")
def test_elsewhere():
    assert False


def test_raises():
    with pytest.raises(ValueError, match="invalid literal") as info:
        int("x")
    assert "x" in str(info.value)
    assert 0.1 + 0.2 == pytest.approx(0.3)


def test_builtin_fixtures(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SAMPLE", "1")
    (tmp_path / "file").write_text(os.environ["SAMPLE"])
    os.system(f"cat {tmp_path}/file")
    assert capfd.readouterr().out == "1"


def test_environment_was_restored():
    assert "SAMPLE" not in os.environ


@pytest.mark.parametrize("size", [0, 1])
class TestClass:
    def test_method(self, size):
        assert size in (0, 1)

    @pytest.mark.slow
    def test_other_marks_are_ignored(self, size):
        assert size < 1


def test_needs_a_module():
    pytest.importorskip("no_such_module_anywhere")


@pytest.mark.parametrize("size", [])
def test_of_nothing(size):
    assert size is None
