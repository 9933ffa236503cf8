"""Facts and decisions about calls that the next process starts with."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tessera as tsr
from programs import data, power, wait_for
from tessera import _tessera, traces
from tessera.background import pending
from tessera.facts import fact_from
from tessera.traces.__main__ import kept


pytestmark = pytest.mark.usefixtures("trusted")


X = np.abs(data(100, 100))


def settle(function, p, calls=80):
    for _ in range(calls):
        function(X, p)
    assert wait_for(lambda: pending() == 0)


def unit_of(function):
    return function.specializations()[0].unit


def command(*words, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "tessera", "traces", *map(str, words)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("tier", ["auto", 3])
def test_the_next_process_starts_where_the_last_was(tier):
    settle(power(tier=3), 2.0)
    before = tsr.metrics()["compilations"]
    again = power(tier=tier)  # as a new process would: no code, the same cache
    np.testing.assert_allclose(again(X, 2.0), X * X, rtol=1e-6)
    np.testing.assert_allclose(again(X, 3.0), X**3, rtol=1e-6)
    (record,) = again.specializations()
    assert record.cached and record.tier == 3
    before_hits = record.special_hits
    again(X, 2.0)
    assert record.special_hits == before_hits + 1 and record.variants[0].cached
    assert tsr.metrics()["compilations"] == before


def test_facts_that_failed_are_known():
    f = power(tier=3)
    settle(f, 2.0)
    for i in range(20):
        f(X, 3.0 + i)
    assert [one.state for one in traces.read(unit_of(f))] == ["missed"]
    again = power(tier=3)
    again(X, 2.0)
    assert again.specializations()[0].variants == []
    for _ in range(3):
        traces.add(unit_of(f), "slower", traces.read(unit_of(f))[0].facts)
    again = power(tier=3)
    settle(again, 2.0, calls=2000)
    settle(again, 2.0)
    (place,) = again.specializations()[0].places
    assert place.failures[("number", 1, -1)] == 2


def test_a_function_without_gain_is_not_looked_at_as_often():
    @tsr.function(tier=3, hot=0)
    def add(x, y):
        return x + y

    x = data(33, 33)
    for _ in range(80):
        add(x, x)
    assert wait_for(lambda: pending() == 0)
    assert [one.state for one in traces.read(unit_of(add))] == ["none"]


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[]",
        '{"v":9,"state":"active","facts":[],"gain":0,"saved_us":0}',
        '{"v":1,"state":"fast","facts":[],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["number",9,2,{}]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["number",1,2,{"kind":"float","value":"x"}]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["size",0,0,-4]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["size",0,7,30]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["content",0,1,{"shape":[1e9]}]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[["content",0,1,null]],"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":null,"gain":0,"saved_us":0}',
        '{"v":1,"state":"active","facts":[],"gain":"much","saved_us":0}',
    ],
)
def test_malformed_lines_are_not_there(line):
    f = power(tier=3)
    f(X, 2.0)
    digest = traces._digest(unit_of(f))
    assert _tessera.cache_add_line(traces.entry(digest), line)
    assert traces.read(unit_of(f)) == []
    again = power(tier=3)
    np.testing.assert_allclose(again(X, 2.0), X * X, rtol=1e-6)
    settle(again, 2.0)
    assert [one.state for one in traces.read(unit_of(f))] == ["active"]


def test_facts_survive_their_text():
    f = power(tier=3)
    settle(f, 2.0)
    (trace,) = traces.read(unit_of(f))
    (fact,) = trace.facts
    assert str(fact) == "p == 2.0" and trace.gain > 0.05 and trace.saved_us > 0
    assert fact_from(unit_of(f), ["number", 1, 2, {"kind": "float", "value": "-inf"}]).guard == (
        1, 1, 2, float("-inf"),
    )  # fmt: skip
    mask = {"kind": "tensor", "dtype": "fp32", "shape": [3, 3], "steps": [-1, 1], "high": 0}
    mask["value"] = [{"kind": "float", "value": 0.0}, {"kind": "float", "value": "-inf"}]
    fact = fact_from(unit_of(f), ["content", 0, 1, mask])
    expected = np.where(np.tril(np.ones((3, 3), bool)), np.float32(0), np.float32(-np.inf))
    assert fact.guard[4] == expected.tobytes()


def test_the_command(tmp_path, monkeypatch):
    assert command() == ""
    settle(power(tier=3), 2.0)
    assert command("list") == "power(x: fp32[n<=128, n<=128], p: float): 1 decision\n"
    shown = command("show", "power")
    assert "power(x: fp32" in shown and "active:" in shown and "predicted gain" in shown
    assert "no traces of a function 'other'" in command("show", "other", status=1)
    file = tmp_path / "traffic"
    assert command("export", file) == f"wrote 1 class of calls to {file}\n"

    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "other"))
    assert command("import", file) == f"took 1 class of calls from {file}\n"
    settle(power(tier=3), 3.0)
    assert len(kept()[0].lines) == 2  # merged
    assert command("import", file) and len(kept()[0].lines) == 2
    assert command("clear") == "removed 1 class of calls\n"
    assert command() == "" and traces.read(unit_of(only_called())) == []


def only_called():
    f = power(tier=2)
    f(X, 2.0)
    return f


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is no file of traces"),
        ("[1]", "is no file of traces"),
        ('{"tessera-traces":7}', "expected traces of version 1, found 7"),
        ('{"tessera-traces":1}\n{}', "line 2 is malformed; nothing was taken"),
        ('{"tessera-traces":1}\n{"v":1,"key":"../x"}', "line 2 is malformed"),
    ],
)
def test_malformed_files(tmp_path, text, message):
    file = tmp_path / "file"
    file.write_text(text)
    assert message in command("import", file, status=1)
    assert command() == ""
    assert "tessera: error" in command("import", tmp_path / "absent", status=1)


def test_half_a_file_is_not_taken(tmp_path):
    settle(power(tier=3), 2.0)
    file = tmp_path / "file"
    command("export", file)
    file.write_text(file.read_text()[:-20])
    command("clear")
    command("import", file, status=1)
    assert command() == ""


def test_without_a_cache(monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", "off")
    f = power(tier=3)
    settle(f, 2.0)
    assert len(f.specializations()[0].variants) == 1
    assert "there is no cache" in command(status=1)


def test_processes_at_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time, numpy as np, tessera as tsr
            from tessera import variants
            from tessera.background import pending
            variants.is_measurable = lambda unit, observed: False

            @tsr.function(tier=3, hot=0)
            def power(x, p: float):
                return x**p

            x = np.full((100, 100), 1.5, np.float32)
            p = float(sys.argv[1])
            for _ in range(300):
                result = power(x, p)
                assert np.allclose(result, 1.5**p)
            while pending():
                time.sleep(0.01)
            print(power(x, p)[0, 0])
            """
        )
    )
    processes = [
        subprocess.Popen([sys.executable, script, str(2 + i % 2)], stdout=subprocess.PIPE)
        for i in range(6)
    ]
    results = [float(one.communicate(timeout=120)[0]) for one in processes]
    assert results == [1.5 ** (2 + i % 2) for i in range(6)]
    (one,) = kept()
    states = {json.loads(line)["state"] for line in one.lines}
    assert "active" in states
    assert states <= {"active", "missed"}  # of another process, for the other exponent
