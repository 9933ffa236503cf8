"""`tessera bench --compare ptx,tileir`: both backends are compiled, called and reported side by
side."""

import fake
import pytest
from fake import gpu

import tessera as tsr
from tessera.bench import command, cubin, backends

pytestmark = pytest.mark.assembles

PROGRAM = """
import tessera as tsr
from tessera import Tensor

@tsr.function
def rows(x: Tensor["N", "D"]) -> Tensor["N", "D"]:
    return tsr.softmax(x, dim=-1)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return f"{path}::rows"


def test_both_backends(program, monkeypatch, capsys):
    """The fake libcuda computes nothing: the times are invented, everything around them is real."""
    seen = []

    def timed(subject, made):
        x = gpu(512, 1024, dtype="fp16")
        for one in made:
            before = fake.launches()
            one.compiled(x)
            seen.append((one.backend, fake.launches() - before))
        return {"ptx": {"burst_ms": 1.0}, "tileir": {"burst_ms": 1.25}}, "", 2 << 20

    monkeypatch.setattr(backends, "missing", lambda: None)
    monkeypatch.setattr(backends, "_time", timed)
    words = ["--compare", "ptx,tileir", program, "--arg", "x=fp16[512,1024]"]
    assert command.main(words) == 0
    assert seen == [("ptx", 1), ("tileir", 1)]
    out = capsys.readouterr().out
    lines = {line.split()[1]: line for line in out.splitlines() if line.startswith("rows ")}
    assert set(lines) == {"ptx", "tileir"}
    assert "1.0000" in lines["ptx"] and "1.2500" in lines["tileir"] and "n=" in lines["ptx"]
    assert "rows: ptx is 1.25 times as fast: " in out


def test_without_a_gpu(program, monkeypatch, capsys):
    monkeypatch.setattr(backends, "missing", lambda: "there is no NVIDIA GPU here")
    words = ["--compare", "ptx,tileir", program, "--arg", "x=fp16[512,1024]"]
    assert command.main(words) == 0
    assert capsys.readouterr().out.startswith("unsupported: --compare ptx,tileir")
    assert command.main([*words, "--target", "sm_90"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("unsupported:") and "registers" in out and "rows      tileir" in out
    assert command.main(["--target", "cuda"]) == 0
    assert capsys.readouterr().out == "unsupported: --target cuda: there is no NVIDIA GPU here\n"


@tsr.function
def scaled(x):
    return tsr.sum(x * 2.0, dim=-1)


@pytest.mark.parametrize("backend", ["ptx", "tileir"])
def test_resources_are_read_from_the_code(backend):
    compiled = scaled.compile(tsr.Tensor[512, 1024, tsr.fp32], target="sm_90", via=backend)
    (found,) = cubin.kernels(compiled._artifact.bundle).values()
    (reported,) = compiled.report()["kernels"]
    assert (
        16 <= found.registers <= 255 and found.threads >= 32 and 0 < found.occupancy("sm_90") <= 1
    )
    for name in ("registers", "threads"):
        assert reported.get(name, getattr(found, name)) == getattr(found, name)


def kind(registers: int, stack: int = 0, tile: int = 1, backend: str = "ptx") -> backends.Made:
    kernels = [{"dims": [{"name": "n", "tile": tile}]}]
    resources = [cubin.Resources(registers, stack, 1024, 256)]
    return backends.Made(backend, None, 0.1, {"kernels": kernels}, resources)


def test_reasons():
    fast = kind(64, backend="tileir")
    assert (
        backends.reasons(fast, kind(64), "sm_90")
        == "the counters are alike: the instructions differ"
    )
    assert "ptx spills 32 B" in backends.reasons(fast, kind(64, stack=32), "sm_90")
    assert "ptx fills 25 % of the threads, tileir 50 %: registers" in backends.reasons(
        fast, kind(128), "sm_90"
    )
    assert "tiles differ: tileir n=1, ptx n=2" in backends.reasons(fast, kind(64, tile=2), "sm_90")
