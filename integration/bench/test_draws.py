"""The draws of benchmarks/draws: distributions, programs, numerics, bookkeeping, parts that
continue."""

from __future__ import annotations

import collections
import dataclasses
import importlib.util
import json
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tessera as tsr

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "benchmarks"))

from draws import attention, blocks, distributions, elementwise, gemm, movement  # noqa: E402
from draws import numerics, reductions, report, results, rows, values  # noqa: E402
from draws.distributions import LIMITS, SHARES, Draw, Limits, Sizes, draw, draws  # noqa: E402
from draws.program import FUNCTION, Program  # noqa: E402

SEED = 20240607
#: So small that the reference evaluates every element of a whole result.
SMALL = Limits(flops=1e6, bytes=1 << 18, elements=1 << 12, sequence=64)


@pytest.fixture(scope="module")
def many() -> list[Draw]:
    return list(draws(SEED, 2000))


def load(one: Draw, folder: Path, sampled: bool = False) -> tsr.Function:
    path = folder / f"{one.program.digest}{sampled}.py"
    path.write_text(one.program.source(sampled))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, FUNCTION)


def small(count: int, seed: int = SEED) -> list[Draw]:
    """Draws with low limits, all families in turn."""
    found = []
    for number in range(count):
        sizes = Sizes(f"{seed}/{number}", SMALL)
        family = distributions.FAMILIES[distributions.family(seed, number)]
        while not distributions.fits(program := family(sizes), SMALL):
            pass
        found.append(Draw(number, seed, program))
    return found


# -- distributions ---------------------------------------------------------------------------------


def test_a_seed_determines_the_draws(many):
    again = draws(SEED, 50)
    assert [one.name for one in again] == [one.name for one in many[:50]]
    assert [one.program.source() for one in again] == [one.program.source() for one in many[:50]]
    assert [one.name for one in draws(SEED + 1, 50)] != [one.name for one in again]
    assert draw(SEED, 17).name == again[17].name
    assert len({one.name for one in many}) == len(many)


def test_a_commit_is_a_seed(monkeypatch):
    monkeypatch.setattr(distributions, "commit", lambda: "0123456789abcdef")
    assert distributions.seed_of("commit") == 0x0123456789AB
    assert distributions.seed_of("7") == 7


def test_shares_of_families(many):
    count = collections.Counter(one.program.family for one in many)
    assert count == {name: 100 * share for name, share in SHARES.items()}


def test_limits_of_targets(many):
    for target, found in (("cpu", many), ("gpu", draws(SEED, 300, "gpu"))):
        limits = LIMITS[target]
        assert all(distributions.fits(one.program, limits) for one in found)
        assert max(one.program.flops for one in found) > limits.flops / 10


def gemms(count: int) -> list[Program]:
    """Without limits: what is drawn again does not change the fractions."""
    sizes = Sizes("gemms", Limits(math.inf, math.inf, math.inf, 4096))
    return [gemm.draw(sizes) for _ in range(count)]


def test_gemms():
    found = gemms(4000)

    def share(keep) -> float:
        return sum(map(bool, map(keep, found))) / len(found)

    aligned = [share(lambda one: all(one.sizes[dim] % by == 0 for dim in "MNK")) for by in (8, 128)]
    assert aligned[0] == pytest.approx(0.5, abs=0.03)
    assert aligned[1] == pytest.approx(0.25, abs=0.03)
    assert share(lambda one: "B" in one.sizes) == pytest.approx(gemm.BATCHED, abs=0.03)
    assert share(lambda one: len(one.lines) > 2) == pytest.approx(gemm.FUSED, abs=0.06)
    for dim in "MNK":
        logs = sorted(math.log2(one.sizes[dim]) for one in found if one.sizes["M"] % 8)
        assert np.quantile(logs, (0.25, 0.5, 0.75)) == pytest.approx([3.75, 7.5, 11.25], abs=0.6)
        assert max(one.sizes[dim] for one in found) <= gemm.LARGEST
    forms = collections.Counter(one.title.split("_")[1] for one in found)
    assert set(forms) == {"nn", "nt", "tn", "tt"} and min(forms.values()) > 900
    kinds = {one.arguments[0].dtype for one in found}
    assert kinds == {"bf16", "fp16", "fp32", "fp64", "int8"}


def test_lengths_of_reductions(many):
    found = [one.program for one in many if one.program.family == "reduction"]
    lengths = sorted(one.sizes["L"] for one in found)
    assert lengths[0] <= 2 and lengths[-1] > 10**6 and lengths[-1] <= reductions.LONGEST
    assert np.median(np.log10(lengths)) == pytest.approx(3.5, abs=0.6)
    assert max(one.sizes["L"] * one.sizes.get("R", 1) for one in found) <= reductions.LONGEST


def test_only_contractions_have_no_sample():
    for one in draws(SEED, 600, "gpu"):
        counts = {dim: len(indices) for dim, indices in numerics.sample(one).items()}
        affordable = numerics.work(one.program, counts) <= numerics.MOST_WORK
        assert affordable or one.program.family == "block", one.name


def test_every_kind_is_drawn(many):
    titles = " ".join(one.name for one in many)
    kinds = [*reductions.PLACES, *reductions.SEVERAL, *reductions.ONE, *rows.WEIGHTS]
    kinds += [*movement.KINDS, *attention.MASKS, *blocks.KINDS, *gemm.EPILOGUE]
    kinds += [*elementwise.UNARY, *elementwise.BINARY]
    assert [kind for kind in kinds if kind not in titles] == []
    lengths = {int(one.program.title.split("_")[0]) for one in many if "elementwise" in one.name}
    assert lengths == set(range(1, elementwise.LONGEST + 1))
    assert {regime for one in many for regime in one.program.regimes} == set(results.REGIMES)


# -- programs and numerics -------------------------------------------------------------------------


def checked(one: Draw, folder: Path) -> tuple[np.ndarray, object]:
    program = one.program
    function = load(one, folder)
    arrays = [values.whole(program, argument, one.seed) for argument in program.arguments]
    out = numerics.poisoned(program)
    function(*arrays, out=out)
    chosen = numerics.sample(one)
    sampled = load(one, folder, True) if program.index else function
    return numerics.at(program, out, chosen), numerics.expected(one, sampled, chosen)


@pytest.mark.parametrize("one", small(60), ids=lambda one: one.name)
def test_small_draws_are_right(one, tmp_path):
    assert numerics.compare(*checked(one, tmp_path)) is None


@pytest.mark.parametrize("one", small(40, SEED + 1), ids=lambda one: one.name)
def test_small_draws_compile_for_a_gpu(one, tmp_path):
    kinds = [
        tsr.Tensor[(*values.sizes_of(one.program, argument), getattr(tsr, argument.dtype))]
        for argument in one.program.arguments
    ]
    text = load(one, tmp_path).inspect_ir("ptx", *kinds, target="sm_90:ptx,x86_64")
    assert ".visible .entry" in text


def test_a_sample_is_part_of_the_whole(tmp_path):
    """Values at sampled indices are those of the whole arrays, and wrong elements are found."""
    one = Draw(3, SEED, gemm.program(70, 90, 33, "fp32", "tn"))
    for argument in one.program.arguments:
        chosen = {"M": np.array([0, 5, 69]), "N": np.array([1, 89])}
        array = values.whole(one.program, argument, SEED)
        indices = [chosen.get(dim, np.arange(one.program.sizes[dim])) for dim in argument.dims]
        part = values.part(one.program, argument, SEED, chosen)
        assert (part == array[np.ix_(*indices)]).all()
    found, reference = checked(one, tmp_path)
    assert numerics.compare(found, reference) is None
    found[0, 0] += 1e-3
    assert "1 of" in numerics.compare(found, reference)
    found[0, 0] = np.nan
    assert "found nan" in numerics.compare(found, reference)


def test_a_sample_is_bounded():
    one = draw(SEED, 1)
    for program in gemms(30):
        one = dataclasses.replace(one, program=program)
        chosen = numerics.sample(one)
        assert math.prod(map(len, chosen.values())) <= numerics.MOST
        for dim, indices in chosen.items():
            assert len(set(indices)) == len(indices) and indices.max() < program.sizes[dim]


def test_values_repeat():
    program = elementwise.program("bf16", 1500, 1000, [("relu", 0)], [])
    array = values.whole(program, program.arguments[0], 1).ravel()
    assert (array[values.PERIOD :] == array[: array.size - values.PERIOD]).all()


def test_what_is_too_large_for_the_reference(tmp_path):
    pytest.importorskip("torch")
    from draws import peers

    sizes = {"M": 3, "D": 160, "F": 96, "V": 1, "R": 1, "B": 1, "S": 1, "E": 1}
    one = Draw(0, SEED, blocks.program("mlp", "bf16", sizes))
    arrays = [values.whole(one.program, argument, SEED) for argument in one.program.arguments]
    out = peers.tensor(load(one, tmp_path)(*arrays))
    tensors = [peers.tensor(array) for array in arrays]
    allowed = numerics.allowance(one.program, None)
    assert numerics.rough(one.program, tensors, out, allowed) is None
    out[2, 100] += 0.5
    assert "1 of 480" in numerics.rough(one.program, tensors, out, allowed)
    ties = types.SimpleNamespace(
        value=np.ones(2), bound=np.zeros(2), excluded=np.ones(2, bool)
    )  # the reference excludes all
    assert numerics.allowance(one.program, ties) == allowed
    large = dataclasses.replace(one.program, sizes=one.program.sizes | {"D": 16384, "F": 32768})
    one = dataclasses.replace(one, program=large)
    assert numerics.expected(one, None, numerics.sample(one)) is None


def test_pieces_of_attention():
    """Scores that do not fit into memory are compared with float64 head by head."""
    program = attention.program("causal", "fp32", 3, 4, 2, 8, 8, 16, 1)
    assert list(numerics.pieces(program, 3 * 4 * 2 * 64)) == [{}]
    assert list(numerics.pieces(program, 4 * 2 * 64)) == [{"B": at} for at in range(3)]
    assert len(list(numerics.pieces(program, 64))) == 12


@pytest.mark.parametrize("one", small(60), ids=lambda one: one.name)
def test_pytorch_runs_the_same_text(one, tmp_path):
    pytest.importorskip("torch")
    from draws import peers

    arrays = [values.whole(one.program, argument, one.seed) for argument in one.program.arguments]
    tensors = [peers.tensor(array) for array in arrays]
    ours = peers.tensor(np.ascontiguousarray(load(one, tmp_path)(*arrays)))
    _, reference = checked(one, tmp_path)
    assert (
        numerics.rough(one.program, tensors, ours, numerics.allowance(one.program, reference))
        is None
    )
    if one.program.dtype != "int32":  # PyTorch has none of int8 on every target
        forms = peers.contenders(one.program, tensors, "cpu")
        for name, form in forms.items():
            if "int_mm" not in name:  # of some sizes only
                assert form(*tensors).shape == ours.shape, name


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("kind", attention.MASKS)
def test_forms_of_attention_agree(kind, group, monkeypatch):
    torch = pytest.importorskip("torch")
    from draws import peers
    from torch.nn.attention import flex_attention as flex

    def uncompiled(device: str) -> dict:
        mask = lambda f, s, t: flex.create_block_mask(f, None, None, s, t, device=device)  # noqa: E731
        return {"flex": flex.flex_attention, "flex_mask": mask}

    monkeypatch.setattr(peers, "_flex", uncompiled)
    program = attention.program(kind, "fp32", 2, 3, group, 128, 128, 32, 40)
    tensors = [peers.tensor(values.whole(program, one, 1)) for one in program.arguments]
    plain = peers.define(program, program.lines, tensors, "cpu")(*tensors)
    assert program.forms
    for name, lines in program.forms.items():
        found = peers.define(program, lines, tensors, "cpu", name)(*tensors)
        assert torch.allclose(found, plain, atol=1e-5), name


# -- bookkeeping -----------------------------------------------------------------------------------


def result(ratio: float | None) -> dict:
    if ratio is None:
        return {"good": False, "wrong": "3 elements are wrong"}
    return {"good": True, "ratio": ratio, "against": "eager", "medians": {"tessera": 1, "eager": ratio}}  # fmt: skip


def test_ratios():
    found = results.figures(result(one) for one in (1.0, 4.0, None, 2.0))
    assert found.draws == 4 and found.failed == 1 and found.worst == results.FAILED == 0.1
    assert found.mean == pytest.approx((1.0 * 4.0 * 0.1 * 2.0) ** 0.25)
    ratios = [(number + 1) / 10 for number in range(11)]
    tenth = results.figures(map(result, ratios)).tenth
    assert tenth == pytest.approx(0.2)
    assert results.figures([]) is None
    assert results.figures([{"good": True}]) is None  # no peer runs it


def test_report():
    drawn = draws(SEED, 8)
    names = [one.name for one in drawn]
    found = {name: result(ratio) for name, ratio in zip(names, (1, 2, 0.5, None, 3, 4, 5))}
    found["overhead"] = {"good": True, "overhead_us": {"tessera": 1.0}}
    run = {
        "target": "cpu", "device": "a processor", "commit": "abc", "seed": SEED, "time": "",
        "draws": [report.describe(one) for one in drawn],
        "results": {"1 thread": found},
        "explained": {names[2]: "  predicted 3 us, bound by memory"},
    }  # fmt: skip
    text = report.whole(run)
    assert "7 of 8 draws" in text and "1 failed, each counts 0.1" in text
    assert f"0.50  {names[2]}" in text and "bound by memory" in text
    assert text.index(names[2], text.index("the worst")) < text.index(f"1.00  {names[0]}")
    assert "overhead of a call: tessera 1.00 us" in text
    from tessera.bench import plots

    assert plots.ratios(run).count("<circle") >= 7


def test_reasons():
    text = "function draw: 1 kernel\n\nkernel draw_0\n  reads x\n  grid a in tiles of 8\n"
    text += "  predicted 3 us, bound by memory\n\nPasses that do not apply:\n  draw_0\n"
    text += "    tile-fast-math: silu is not approximated [ExactMath]\n      at draw.py:7\n"
    kept = report.reasons(text)
    assert [line.split()[0] for line in kept] == ["kernel", "grid", "predicted", "tile-fast-math:"]


# -- parts -----------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch):
    """run.py with a measurement that takes no time."""
    spec = importlib.util.spec_from_file_location("draws_run", TOP / "benchmarks/draws/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ran: list[tuple[str, str]] = []

    def run(words, names, deadline, add):
        threads = words[words.index("--threads") + 1]
        assert {f"TESSERA_NUM_THREADS={threads}", f"OMP_NUM_THREADS={threads}"} <= set(words)
        kind = "prepared" if "--prepare" in words else words[words.index("--threads") + 1]
        for name in names:
            ran.append((kind, name))
            add(name, result(1.5))
        return []

    monkeypatch.setattr(module, "isolate", types.SimpleNamespace(run=run))
    monkeypatch.setattr(module.report, "explain", lambda *_: "  predicted 1 us")
    module.ran = ran
    return module


def run_part(command, path: Path, *words: str) -> list[tuple[str, str]]:
    command.ran.clear()
    options = command.parse(["--seed", "3", "--count", "12", "--json", str(path), *words])
    run = command.Run(options)
    command.measure(run, options, command.selected(options))
    run.finish(command.selected(options))
    return [one for one in command.ran if one[0] != "prepared" and one[1] != "overhead"]


def test_parts_continue(command, tmp_path):
    path = tmp_path / "draws.json"
    first = run_part(command, path, "--part", "1/3", "--threads", "1,2")
    assert len(first) == 8  # four draws with each number of threads
    second = run_part(command, path, "--part", "2/3", "--threads", "1,2")
    assert len(second) == 8 and not set(first) & set(second)
    rest = run_part(command, path, "--threads", "1,2")
    assert len(rest) == 8
    assert run_part(command, path) == []
    stored = json.loads(path.read_text())
    assert len(stored["results"]["2 threads"]) == 13  # with the overhead of a call
    assert "12 of 12 draws" in path.with_suffix(".txt").read_text()
    assert path.with_suffix(".svg").read_text().startswith("<svg ")


def test_another_seed_starts_anew(command, tmp_path, capsys):
    path = tmp_path / "draws.json"
    run_part(command, path, "--threads", "1")
    assert len(run_part(command, path, "--threads", "1", "--seed", "4")) == 12
    assert "replaced" in capsys.readouterr().out


def test_no_time(command, tmp_path):
    assert run_part(command, tmp_path / "draws.json", "--minutes", "0") == []


def test_only_and_wrong_parts(command, tmp_path):
    found = run_part(command, tmp_path / "draws.json", "--only", "gemm", "--threads", "1")
    assert found and all("gemm" in name for _, name in found)
    with pytest.raises(SystemExit):
        command.parse(["--part", "3/2"])
