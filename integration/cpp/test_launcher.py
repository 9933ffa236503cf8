"""The C++ launcher compiles with CUDA's own header, and launches as the host program says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_bundles import COMPILER, FUNCTIONS, HERE, TESSERA, TOP, run

CUDA_HEADERS = Path("/usr/local/cuda/include")
needs_cuda = pytest.mark.skipif(
    not (CUDA_HEADERS / "cuda.h").exists(), reason="CUDA's header is not installed"
)


def emit(stage: str, program: str, arguments: list[str], via: str = "tileir") -> str:
    options = [f"--arg={argument}" for argument in arguments]
    return run(
        TESSERA, "compile", program, *options, "--target", "sm_90", "--via", via, "--emit", stage
    )


@needs_cuda
def test_launches(tmp_path):
    arguments = [argument.removeprefix("scaled.") for argument in FUNCTIONS]
    program = f"{HERE}/functions.py::scaled"
    (tmp_path / "launcher.h").write_text(emit("launcher", program, arguments))
    launch = re.search(r"tessera_target.launch .*", emit("target", program, arguments))
    assert launch
    words = launch[0].count("#tessera_target.word<")
    includes = [f"-I{tmp_path}", f"-isystem{CUDA_HEADERS}"]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *includes]
    run(COMPILER, *flags, HERE / "launches.cpp", "-o", tmp_path / "launches")
    text = run(tmp_path / "launches", words)
    assert text.count("refused:") == 2


ATTENTION = [f"{name}=bf16[B,H,{size},64]" for name, size in zip("qkv", "STT")]
AWKWARD = ["code=fp32[M]", "grid=fp32[M]", "mod=3", "result0=0.5", "größe=0.5"]
MLP = ["x=bf16[N,D]", "w1=bf16[D,F]", "b1=bf16[F]", "w2=bf16[F,D]", "b2=bf16[D]"]


@needs_cuda
@pytest.mark.parametrize(
    "program, arguments",
    [
        ("attention.py::windowed_attention", [*ATTENTION, "window=64"]),
        ("mlp.py::mlp", MLP),  # two kernels with a temporary between them
        ("../integration/cpp/functions.py::awkward", AWKWARD),
    ],
    ids=["attention", "mlp", "names"],
)
def test_compiles(program, arguments, tmp_path):
    source = tmp_path / "launcher.cpp"
    source.write_text(emit("launcher", f"{TOP}/examples/{program}", arguments))
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run(COMPILER, *flags, f"-isystem{CUDA_HEADERS}", source)


@needs_cuda
def test_blocks_of_threads(tmp_path):
    """On the PTX backend a kernel has as many threads as its image declares."""
    program = f"{TOP}/examples/mlp.py::mlp"
    text = emit("launcher", program, MLP, via="ptx")
    shapes = re.findall(r"kernel_config<block = \[(\d+)\]", emit("target", program, MLP, via="ptx"))
    assert shapes and shapes == re.findall(r"config\.blockDimX = (\d+);", text)
    source = tmp_path / "launcher.cpp"
    source.write_text(text)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run(COMPILER, *flags, f"-isystem{CUDA_HEADERS}", source)
