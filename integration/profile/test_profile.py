"""`f.profile` and `tessera profile`: times, counters, pages, and what is refused."""

from __future__ import annotations

import html.parser
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, bf16
from tessera.profile import counters, measure, simulated
from tessera.profile.model import Cause, Kernel

TOP = Path(__file__).resolve().parents[2]
TESSERA = TOP / "build" / "bin" / "tessera"
PROGRAM = """
import tessera as tsr

@tsr.function
def scaled(x, w):
    y = tsr.relu(x @ w)
    return y * 2.0

def plain(x):
    return x
"""


def make():
    def scaled(x, w):
        y = tsr.relu(x @ w)
        return y * 2.0

    return tsr.function(scaled)


def arrays(rows=192, depth=128, columns=160):
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((rows, depth), np.float32),
        rng.standard_normal((depth, columns), np.float32),
    )


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*words, cwd=None, **environment):
    command = [str(TESSERA), "profile", *map(str, words)]
    surroundings = dict(os.environ, TESSERA_PYTHON=sys.executable, **environment)
    return subprocess.run(command, cwd=cwd, env=surroundings, capture_output=True, text=True)


# -- times ----------------------------------------------------------------------------------------


def test_kernels_are_measured_where_they_run():
    found = make().profile(*arrays())
    assert [one.source for one in found.kernels] == ["measured"]
    assert found.measured and found.us > 0
    assert sum(one.us for one in found.lines) == pytest.approx(found.us)
    assert "measured" in str(found)


def test_types_are_predicted():
    found = make().profile(Tensor[192, 128, tsr.fp32], Tensor[128, 160, tsr.fp32])
    assert [one.source for one in found.kernels] == ["predicted"]
    assert any("predicted" in one for one in found.notes)


def test_a_change_is_verified_by_measurement():
    slow = "tile.x=4,tile.w=16"
    found = make().profile(*arrays(384, 512, 320), schedule=slow, verify=True)
    (advice,) = found.advice
    assert advice.cause == "schedule" and advice.verified.endswith("us, measured")
    assert 0 < advice.gain_us < found.us
    before, after = (float(one) for one in advice.verified.split(" us")[0].split(" -> "))
    assert after < before


def test_profiling_is_off_afterwards():
    function = make()
    function.profile(*arrays())
    before = measure._totals()
    function(*arrays())
    assert measure._totals() == before


def kernel(predicted: float, roofline: float, **causes: float) -> Kernel:
    return Kernel(
        "k", 1, "", predicted, roofline, "memory", 0, 0, roofline,
        [Cause(name, us) for name, us in causes.items()], [], [], "", 0, 0, 1, 1, us=predicted,
    )  # fmt: skip


def test_what_the_model_does_not_explain_is_a_cause():
    one = kernel(10, 6, launch=1, tail=3)
    one.measure(15, "measured")
    assert {c.name: c.us for c in one.causes} == {"launch": 1, "tail": 3, "unexplained": 5}


def test_a_time_below_the_prediction_shrinks_the_causes():
    one = kernel(10, 6, launch=1, tail=3)
    one.measure(8, "measured")
    assert {c.name: c.us for c in one.causes} == {"launch": 0.5, "tail": 1.5}


def test_a_time_below_the_roofline_has_no_gap():
    one = kernel(10, 6, launch=1, tail=3)
    one.measure(5, "measured")
    assert one.causes == [] and one.gap_us == 0 and one.roofline_us == 5


# -- figures of GPUs ------------------------------------------------------------------------------


def test_the_assembler_says_registers():
    found = make().profile(
        Tensor[4096, 1024, bf16], Tensor[1024, 1024, bf16], target="sm_90", via="ptx"
    )
    (one,) = found.kernels
    if not one.figures:
        pytest.skip("ptxas is not installed")
    assert one.figures["registers"] > 0 and one.figures["spill_bytes"] == 0
    assert one.tensor_cores == "warpgroups" and one.waves == pytest.approx(one.ctas / 132)


def test_a_chip_without_warpgroups_is_no_fallback():
    found = make().profile(Tensor[4096, 1024, bf16], Tensor[1024, 1024, bf16], target="sm_80")
    assert "fallback" not in found.causes and found.kernels[0].tensor_cores == "warps"


def test_products_without_tensor_cores_are_a_fallback():
    arguments = Tensor[4096, 1024, bf16], Tensor[1024, 1024, bf16]
    found = make().profile(*arguments, target="sm_90", via="ptx", tensor_cores=False)
    assert next(iter(found.causes)) == "fallback"
    assert [one.cause for one in found.advice] == ["no tensor cores"]


def test_operands_that_are_read_again_are_named():
    arguments = Tensor[4096, 4096, bf16], Tensor[4096, 4096, bf16]
    found = make().profile(*arguments, target="sm_90", via="ptx", schedule="tile.x=64,tile.w=64")
    (cause,) = (one for one in found.kernels[0].causes if one.name == "reread")
    assert cause.of in ("x", "w") and cause.us > 0


# -- counters -------------------------------------------------------------------------------------

HEAD = '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","launch__registers_per_thread"\n"","","ns","byte","register/thread"\n'


def counted(path: Path, name: str, nanoseconds: str = "50,000") -> Path:
    path.write_text(f'==PROF== connected\n{HEAD}"0","{name}","{nanoseconds}","1,000,000","168"\n')
    return path


def test_counters_give_times(tmp_path):
    file = counted(tmp_path / "ncu.csv", "scaled_0")
    arguments = Tensor[4096, 1024, bf16], Tensor[1024, 1024, bf16]
    found = make().profile(*arguments, target="sm_90", via="ptx", counters=file)
    (one,) = found.kernels
    assert one.us == 50 and one.source == "counted" and one.counters["registers"] == 168
    assert sum(line.us for line in found.lines) == pytest.approx(50)
    assert "unexplained" in found.causes and "counted" in str(found)


@pytest.mark.parametrize("text", ["", "no table\n", '"a","b"\n"1","2"\n"3","4"\n', HEAD])
def test_unreadable_counters(tmp_path, text):
    (tmp_path / "ncu.csv").write_text(text)
    with pytest.raises(tsr.ArgumentError, match="expected the output of 'ncu --csv"):
        counters.read(tmp_path / "ncu.csv")


def test_counters_in_other_units(tmp_path):
    with pytest.raises(tsr.ArgumentError, match="base units"):
        counters.read(counted(tmp_path / "ncu.csv", "k", "50 us"))


def test_counters_of_other_kernels(tmp_path):
    file = counted(tmp_path / "ncu.csv", "other")
    with pytest.raises(tsr.ArgumentError, match="the counters are of other, and of none"):
        make().profile(Tensor[64, 64, bf16], Tensor[64, 64, bf16], target="sm_90", counters=file)


def test_metrics_are_those_that_benchmarks_count():
    folder = TOP / "benchmarks" / "gpu"
    text = (folder / "counters.py").read_text()
    assert all(f'"{name}": "{metric}"' in text for name, metric in counters.METRICS.items())


# -- the simulator --------------------------------------------------------------------------------


def test_sizes_shrink_together():
    assert [simulated.small(n) for n in (1, 64, 128, 129, 4095, 4096, 4160)] == [
        1, 64, 128, 65, 127, 64, 64,
    ]  # fmt: skip


def test_simulated_accesses_have_lines():
    arguments = Tensor[256, 256, bf16], Tensor[256, 256, bf16]
    found = make().profile(*arguments, target="sm_80", simulate=True)
    assert found.accesses and all(one.ratio >= 1 for one in found.accesses)
    assert all(one.line for one in found.accesses)
    assert {"shared", "global"} == {one.memory for one in found.accesses}


# -- pages ----------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Checks that tags are closed, and collects what a page refers to."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_one_file(tmp_path):
    found = make().profile(
        Tensor[4096, 1024, bf16], Tensor[1024, 1024, bf16], target="sm_90", via="ptx"
    )
    text = found.html()
    page = Page(text)
    assert page.open == [] and not {"script", "img", "link"} & page.tags
    assert all(link.startswith("#line-") for link in page.links)
    assert "return y * 2.0" in text and "Tile IR" in text and "PTX" in text
    assert "@import" not in text and "url(" not in text


def test_figures_are_json(program, tmp_path):
    out = tmp_path / "figures.json"
    done = run(f"{program}::scaled", "--arg", "x=bf16[512,512]", "--arg", "w=bf16[512,512]",
               "--target", "sm_90", "--json", out, "--html", tmp_path / "page.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())
    (one,) = figures["kernels"]
    gap = sum(cause["us"] for cause in one["gap"])
    assert one["roofline"]["us"] + gap == pytest.approx(one["us"])
    assert one["source"] == "predicted" and one["traffic"]["source"] == "predicted"
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


# -- the command line -----------------------------------------------------------------------------

ARGUMENTS = ["--arg", "x=fp32[64,64]", "--arg", "w=fp32[64,64]"]


def test_the_command_measures(program):
    done = run(f"{program}::scaled", *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert "(measured)" in done.stdout and "y = tsr.relu(x @ w)" in done.stdout


def test_help():
    done = run("--help")
    assert done.returncode == 0 and "--counters" in done.stdout and "--verify" in done.stdout


@pytest.mark.parametrize(
    "words, status, message",
    [
        (["missing.py::f"], 2, "missing.py: no such file"),
        (["program.py::absent"], 2, "has no function 'absent'"),
        (["program.py::plain"], 2, "not decorated"),
        (["program.py::scaled", "--arg", "x=fp32[64,64]"], 2, "--arg w=… is missing"),
        (["program.py::scaled", *ARGUMENTS, "--arg", "z=fp32[2]"], 2, "no argument 'z'"),
        (["program.py::scaled", "--arg", "x=fp33[64,64]"], 2, "there is no type 'fp33'"),
        (["program.py::scaled", *ARGUMENTS, "--target", "sm_12"], 1, "sm_12"),
        (["program.py::scaled", *ARGUMENTS, "--option", "fast"], 2, "expected KEY=VALUE"),
        (["program.py::scaled", *ARGUMENTS, "--option", "fast=1"], 2, "there is no option 'fast'"),
        (["program.py::scaled", *ARGUMENTS, "--counters", "none.csv"], 2, "cannot read counters"),
        (["program.py::scaled", *ARGUMENTS, "--html", "no/such/folder.html"], 2, "cannot write"),
    ],
)
def test_errors(program, words, status, message):
    done = run(*words, cwd=program.parent)
    assert (done.returncode, message in done.stderr) == (status, True), done.stdout + done.stderr
    assert done.stderr.startswith("tessera: error: ") or "error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_no_gpu(program):
    if importlib.util.find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            pytest.skip("this machine has a GPU")
    done = run(f"{program}::scaled", *ARGUMENTS, "--target", "cuda")
    assert done.returncode == 1
    assert "--target sm_90" in done.stderr and "Traceback" not in done.stderr
