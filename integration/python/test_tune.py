"""The autotuner: search strategies, the tuning table, `f.tune`, `@tsr.autotune`, `tessera tune`."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, _tessera
from tessera.tune import search, table, tuner
from tessera.tune.autotune import export_table, import_table

PROGRAM = """
import tessera as tsr
from tessera import Tensor

@tsr.function
def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make():
    def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
        return a @ b

    return tsr.function(product)


def arrays(rows=98, depth=100, columns=120):
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (rows, depth)).astype(np.float32)
    return a, rng.integers(-4, 5, (depth, columns)).astype(np.float32)


def table_of(cache: Path) -> Path:
    return cache / f"tuning-{_tessera.host_target().partition(':')[0]}.txt"


# -- search ---------------------------------------------------------------------------------------


def space() -> tuple[list[dict], list[float], list[float]]:
    """Schedules, a prediction with an error that depends on the schedule, and the truth."""
    schedules = [
        {"tile.m": 2**m, "tile.n": 2**n, "num_stages": s}
        for m in range(3, 10)
        for n in range(3, 10)
        for s in (2, 3, 4)
    ]
    truth, predicted = [], []
    for one in schedules:
        m, n = np.log2(one["tile.m"]), np.log2(one["tile.n"])
        time = 1 + 0.1 * (m - 5) ** 2 + 0.05 * (n - 7) ** 2 + 0.02 * one["num_stages"]
        truth.append(time)
        predicted.append(time * (1 + 0.08 * (n - 6)))
    return schedules, predicted, truth


def measured(strategy: str, seed: int, count: int) -> list[int]:
    schedules, predicted, truth = space()
    found: list[int] = []
    looking = search.Search(schedules, predicted, strategy, seed)
    for batch in looking.batches(4):
        for one in batch:
            looking.tell(one, truth[one])
            found.append(one)
        if len(found) >= count:
            break
    return found[:count]


def test_bayesian_search_corrects_the_prediction():
    _, predicted, truth = space()
    best = min(truth)
    assert truth[int(np.argmin(predicted))] > 1.02 * best  # the model alone is not enough
    chosen = min(truth[one] for one in measured("bayesian", 0, 20))
    by_chance = np.median([min(truth[i] for i in measured("random", s, 20)) for s in range(9)])
    assert chosen <= 1.005 * best and chosen < by_chance


def test_searches_are_reproducible():
    for strategy in search.STRATEGIES:
        assert measured(strategy, 3, 40) == measured(strategy, 3, 40)
    assert measured("random", 3, 40) != measured("random", 4, 40)


def test_an_exhaustive_search_measures_everything_once():
    schedules, _, _ = space()
    for strategy in search.STRATEGIES:
        found = measured(strategy, 0, len(schedules))
        assert sorted(found) == list(range(len(schedules)))


def test_failures_are_not_proposed_again():
    schedules, predicted, _ = space()
    looking = search.Search(schedules, predicted, "bayesian", 0)
    seen: set[int] = set()
    for batch in looking.batches(8):
        assert not seen & set(batch)
        seen |= set(batch)
        for one in batch:
            looking.tell(one, None)
    assert len(seen) == len(schedules)


# -- the table ------------------------------------------------------------------------------------


def test_tables_merge(cache, tmp_path):
    one = table.line("0" * 16, "cpu", {"tile.m": 8, "num_warps": 4}, 1.5, 2.0, "f, a chip")
    other = table.line("1" * 16, "ptx", {"tile.m": 8, "tile.n": 16}, 1.5, 2.0, "f, a chip")
    assert table.merge("tuning-x.txt", [one, other]) == 2
    newer = table.line("0" * 16, "cpu", {"tile.m": 32}, 1.0, 2.0, "g, a chip")
    assert table.merge("tuning-x.txt", [newer]) == 2
    assert [line.text for line in table.read("tuning-x.txt")] == [newer.text, other.text]
    assert newer.is_current and not table.Line("0" * 16, "cpu", "0 cpu 1 - 1 1 0.0.0/-").is_current
    # A file carries them to another machine, and is merged there.
    assert export_table(tmp_path / "table", "tuning-x.txt") == 2
    (cache / "tuning-x.txt").unlink()
    assert import_table(tmp_path / "table") == ("x", 2)
    assert [line.text for line in table.read("tuning-x.txt")] == [newer.text, other.text]
    with pytest.raises(tsr.TesseraError, match="is a table of 'x', not of 'y'"):
        export_table(tmp_path / "table", "tuning-y.txt")


@pytest.mark.parametrize(
    "text", ["", "tessera tuning 1 sm_90\n", "rubbish", "tessera tuning 2 sm_90\n123 cpu 1\n"]
)
def test_other_files_are_no_tables(tmp_path, text):
    (tmp_path / "table").write_text(text)
    with pytest.raises(tsr.TesseraError, match="expected a table|is no measured choice"):
        import_table(tmp_path / "table")
    with pytest.raises(tsr.TesseraError, match="No such file"):
        import_table(tmp_path / "none")


# -- f.tune ---------------------------------------------------------------------------------------


def test_tune(cache):
    product, (a, b) = make(), arrays()
    before = product(a, b)
    result = product.tune(a, b, budget=3, progress=False)
    (kernel,) = result.kernels
    assert kernel.candidates > 20 and kernel.trials and not result.interrupted
    assert all(trial.seconds is not None for trial in kernel.trials)
    assert kernel.speedup >= 1 and "times as fast" in str(result)
    assert (product(a, b) == before).all() and (before == a @ b).all()
    # The table has the choice, later compilations use it, and a schedule of the user's wins.
    assert kernel.signature in table_of(cache).read_text()
    (reported,) = make().compile(a, b).report()["kernels"]
    assert "cost model's choice" in reported["tuned"]
    chosen = {f"tile.{dim['name']}": dim["tile"] for dim in reported["dims"]}
    assert chosen.items() <= tuner.parse_schedule(kernel.schedule).items()
    (plain,) = make().compile(a, b, tuning=False).report()["kernels"]
    assert "tuned" not in plain
    assert "tile 7" in make().compile(a, b, schedule="tile.m=7").inspect_ir("sched")


def test_other_compilers_measurements_do_not_count(cache):
    product, (a, b) = make(), arrays()
    product.tune(a, b, budget=1, progress=False)
    path = table_of(cache)
    path.write_text(path.read_text().replace(f"{_tessera.version}/-", "0.0.0/-"))
    (kernel,) = make().compile(a, b).report()["kernels"]
    assert "tuned" not in kernel


def test_interrupts_keep_what_was_found(cache, monkeypatch):
    product, (a, b) = make(), arrays()
    calls = 0
    plain = tuner.CpuClock.times

    def times(self, given, rounds):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return plain(self, given, rounds)

    monkeypatch.setattr(tuner.CpuClock, "times", times)
    result = product.tune(a, b, budget=60, progress=False)
    assert result.interrupted and "(interrupted)" in str(result)
    assert (product(a, b) == a @ b).all()


def test_wrong_candidates_are_left_out(monkeypatch):
    product, (a, b) = make(), arrays()
    monkeypatch.setattr(tuner, "_is_close", lambda found, expected: False)
    (kernel,) = product.tune(a, b, budget=2, progress=False).kernels
    assert kernel.schedule == kernel.first and kernel.trials
    assert all("differs from that of the first" in trial.failure for trial in kernel.trials)


def test_spaces_and_constraints():
    product, (a, b) = make(), arrays()
    settings = {"strategy": "exhaustive", "budget": 5, "progress": False}
    result = tuner.tune(
        product, (a, b), {}, space={"tile.m": [8, 16, 32], "tile.n": [24, 48]},
        constraints=[lambda one: one["tile.m"] * one["tile.n"] <= 800], **settings,
    )  # fmt: skip
    tried = [tuner.parse_schedule(trial.schedule) for trial in result.kernels[0].trials]
    assert {(one["tile.m"], one["tile.n"]) for one in tried} >= {(8, 24), (8, 48), (16, 48)}
    assert (32, 48) not in {(one["tile.m"], one["tile.n"]) for one in tried}
    for wrong, message in [
        ({"space": {"tile.x": [8]}}, "space: there is no 'tile.x'"),
        ({"constraints": [lambda one: False]}, "no candidate meets the constraints"),
        ({"strategy": "greedy"}, "strategy: expected one of bayesian, random, exhaustive"),
        ({"objective": "energy"}, "objective: expected 'time'"),
        ({"budget": "soon"}, "budget: expected seconds, '30s' or '2m', found 'soon'"),
        ({"budget": -1}, "budget: expected seconds"),
    ]:
        with pytest.raises(tsr.ArgumentError, match=message):
            tuner.tune(product, (a, b), {}, **{**settings, **wrong})
    assert tuner.seconds_of("2m") == 120 and tuner.seconds_of("30s") == 30


def test_functions_that_write_are_refused():
    @tsr.function
    def update(x: tsr.Region[tsr.read | tsr.write], y):
        x[...] = x + y

    x = np.ones(64, np.float32)
    with pytest.raises(tsr.ArgumentError, match="writes its argument 'x'"):
        update.tune(x, x.copy(), budget=1)


def test_several_kernels():
    """Each kernel has its own candidates, and the others keep their best."""

    @tsr.function
    def both(a: Tensor["M", "K"], b: Tensor["K", "N"], c: Tensor["N", "N"]):
        return (a @ b).sort(dim=-1)[0] @ c

    a, b = arrays()
    c = np.eye(120, dtype=np.float32)
    result = both.tune(a, b, c, budget=3, progress=False)
    assert len(result.kernels) > 1
    assert (both(a, b, c) == np.sort(a @ b, axis=-1)).all()


# -- @tsr.autotune --------------------------------------------------------------------------------


def test_autotuned_functions_tune_once(cache, tmp_path, monkeypatch):
    tuned = []
    plain = tuner.tune
    monkeypatch.setattr(tuner, "tune", lambda *a, **k: tuned.append(1) or plain(*a, **k))
    (a, b), (c, d) = arrays(), arrays(1000, 100, 120)
    settings = dict(budget="1s", key=["a"], cache=tmp_path / "kept.txt")
    product = tsr.autotune(**settings)(make())
    for _ in range(3):
        assert (product(a, b) == a @ b).all()
    assert len(tuned) == 1
    assert (product(c, d) == c @ d).all() and len(tuned) == 2
    assert len(table.parse((tmp_path / "kept.txt").read_text(), "kept")[1]) == 2
    # The next process finds the table; another machine finds the file.
    again = tsr.autotune(**settings)(make())
    assert (again(a, b) == a @ b).all() and len(tuned) == 2
    table_of(cache).unlink()
    carried = tsr.autotune(**settings)(make())
    assert (carried(a, b) == a @ b).all() and len(tuned) == 2
    always = tsr.autotune(budget="1s", cache=False)(make())
    assert (always(a, b) == a @ b).all() and len(tuned) == 3


def test_autotune_says_what_is_wrong():
    with pytest.raises(tsr.ArgumentError, match="expected a @tsr.function below it"):
        tsr.autotune()(lambda x: x)
    with pytest.raises(tsr.ArgumentError, match="has no argument 'x'"):
        tsr.autotune(key=["x"])(make())
    with pytest.raises(tsr.ArgumentError, match="budget: expected seconds"):
        tsr.autotune(budget="later")


# -- tessera tune ---------------------------------------------------------------------------------


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tessera", "tune", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_command(tmp_path, cache):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "shapes").write_text("a=fp32[98,100] b=fp32[100,120]  # one call\n")
    done = run(
        "program.py::product", "--shapes", "shapes", "--budget", "1s", "--threads", "1",
        "--export", "kept.txt", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "product for cpu:" in done.stdout and "kept.txt: 1 kernels" in done.stdout
    table_of(cache).unlink()
    done = run("--import", "kept.txt", cwd=tmp_path)
    assert done.returncode == 0 and table_of(cache).exists()
    for words, status, message in [
        ((), 2, "expected FILE::FUNCTION, --import or --export"),
        (("program.py::other",), 2, "program.py has no function 'other'"),
        (("program.py", "--arg", "a=fp32[8,8]"), 2, "--arg b=… is missing"),
        (("program.py", "-a", "a=fp32[8,8]", "-a", "b=fp32[8,8]", "--budget", "x"), 1, "budget:"),
        (("--import", "program.py"), 1, "expected a table that begins with"),
    ]:
        done = run(*words, cwd=tmp_path)
        assert done.returncode == status and message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_candidates_are_in_the_report():
    """Other tools read them as JSON: the chosen one has the smallest predicted time or is a rule's."""
    product, (a, b) = make(), arrays()
    unit = product._unit(product._bind_types((a, b), {}), "sm_90")[1]
    (kernel,) = json.loads(unit.compile(["candidates"], no_code=True)["report"])["candidates"]
    assert sum(one["chosen"] for one in kernel["candidates"]) == 1
    times = [one["predicted_us"] for one in kernel["candidates"]]
    assert times == sorted(times) and all(one["terms"] for one in kernel["candidates"])
