"""Bundles from C++: the example project against the archive, calls, errors, other machines."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = TOP / "build"
TESSERA = BUILD / "bin" / "tessera"
MACHINE = platform.machine()
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]
FAKE_CUDA = next((BUILD / "lib").glob("libfake_cuda.so"), None)
COMPILER = shutil.which("clang++-22") or shutil.which("c++")
HAS_TILEIRAS = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ

FUNCTIONS = [
    "scaled.x=fp32[M,8]",
    "scaled.factor=0.5",
    "scaled.shift=1",
    "scaled.negate=true",
]
MORE = [
    "moments.x=fp32[M,8]",
    "register.new=fp32[M,8]",
    "register.stream=fp32[M,8]",
    "awkward.code=fp32[M]",
    "awkward.grid=fp32[M]",
    "awkward.mod=3",
    "awkward.result0=0.5",
    "awkward.größe=0.5",
    "doubled.x=fp16[M,16]",
    "doubled.x=int32[N]",
    "doubled.x=fp64[M,8:2]",  # any strides
]


def run(*command: object, status: int = 0, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(
    folder: Path,
    arch: str,
    arguments: list[str],
    source: Path = HERE / "functions.py",
    via: str = "tileir",
) -> Path:
    options = [word for argument in arguments for word in ("--arg", argument)]
    bundle = folder / f"{source.stem}.tsb"
    header = ["--header", folder / f"{source.stem}.h"]
    run(TESSERA, "build", source, "--arch", arch, "--via", via, *options, "-o", bundle, *header)
    return bundle


def compile_program(source: Path, folder: Path, *options: str) -> Path:
    """A program with the header of the bundle in `folder`, linked with the runtime only."""
    includes = [f"-I{folder}", f"-I{TOP}/include", f"-I{TOP}/runtime/include"]
    libraries = [f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-ltessera_rt"]
    warnings = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
    program = folder / source.stem
    run(COMPILER, *warnings, *includes, *options, source, *libraries, "-o", program)
    return program


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """The archive's tree, unpacked, with the programs of this build."""
    sys.path.insert(0, str(TOP / "utils"))
    import dist

    root = tmp_path_factory.mktemp("archive") / "tessera"
    dist.stage(BUILD, root)
    return root


def build_example(source: Path, prefix: Path, folder: Path) -> Path:
    cache = {"CMAKE_PREFIX_PATH": prefix, "CMAKE_CXX_COMPILER": COMPILER}
    options = [f"-D{name}={value}" for name, value in cache.items()]
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", *options)
    run("cmake", "--build", folder)
    return folder / "layers"


def check_example(program: Path) -> None:
    text = run(program)
    assert "rms_norm 1024 x 256" in text and "gated      37 x 512" in text
    assert "refused: gated: the bundle has no code for these arguments" in text
    needed = run("/usr/lib/llvm-22/bin/llvm-readelf", "-d", program)
    assert "libtessera_rt.so" in needed and "libtessera.so" not in needed


def test_example_with_archive(archive, tmp_path):
    """The example of the archive, built against it."""
    check_example(build_example(archive / "examples" / "cpp", archive, tmp_path / "build"))


def test_example_with_build_tree(tmp_path):
    check_example(build_example(TOP / "examples" / "cpp", BUILD, tmp_path / "build"))


def test_package_names_what_is_missing(archive, tmp_path):
    """An archive of the runtime alone has no compiler."""
    runtime = tmp_path / "runtime"
    shutil.copytree(archive / "lib" / "cmake", runtime / "lib" / "cmake")
    shutil.copytree(archive / "include", runtime / "include")
    shutil.copy2(archive / "lib" / "libtessera_rt.so", runtime / "lib")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES CXX)\n"
        "find_package(Tessera REQUIRED COMPONENTS runtime compiler)\n"
    )
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja"]
    options = [f"-DCMAKE_PREFIX_PATH={runtime}", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    text = run(*configure, *options, status=1)
    assert "this package has no 'compiler'" in text


def test_calls(tmp_path):
    bundle = build(tmp_path, f"{MACHINE},{OTHER}", FUNCTIONS + MORE)
    assert "loaded in" in run(compile_program(HERE / "calls.cpp", tmp_path), bundle)


LOADS = """#include "functions.h"
int main(int, char **argv) {
#if defined(__cpp_exceptions)
  try {
    functions::Module module(argv[1]);
  } catch (const tessera::Error &error) {
    std::puts(error.what());
    return error.status() == TESSERA_RT_UNSUPPORTED ? 3 : 1;
  }
#else
  functions::Module module(argv[1]);
#endif
}
"""


def test_without_exceptions(tmp_path):
    """A program without exceptions ends with the message."""
    build(tmp_path, MACHINE, FUNCTIONS)
    (tmp_path / "loads.cpp").write_text(LOADS)
    program = compile_program(tmp_path / "loads.cpp", tmp_path, "-fno-exceptions")
    assert "tessera: error: nowhere.tsb" in run(program, "nowhere.tsb", status=-6)


def test_wrong_machine(tmp_path):
    bundle = build(tmp_path, MACHINE, FUNCTIONS)
    (tmp_path / "loads.cpp").write_text(LOADS)
    program = compile_program(tmp_path / "loads.cpp", tmp_path)
    run(program, bundle)
    (tmp_path / "other").mkdir()
    text = run(program, build(tmp_path / "other", OTHER, FUNCTIONS), status=3)
    assert f"no code for this machine: the code is for {OTHER}, this machine is {MACHINE}" in text


@pytest.mark.skipif(not HAS_TILEIRAS, reason="tileiras is not installed")
@pytest.mark.skipif(not FAKE_CUDA, reason="the fake libcuda is not built")
def test_cuda_and_cpu_in_one_file(tmp_path):
    """The same program on a GPU: any number of rows, code for both machines in one bundle."""
    bundle = build(tmp_path, f"sm_80,sm_90,{MACHINE}", FUNCTIONS + MORE)
    program = compile_program(HERE / "calls.cpp", tmp_path)
    run(program, bundle)
    run(program, bundle, "cuda", TESSERA_CUDA_LIBRARY=str(FAKE_CUDA))
    run(program, bundle, "cuda", TESSERA_CUDA_LIBRARY=str(FAKE_CUDA), TESSERA_PROFILE="1")
    program = compile_program(HERE / "calls.cpp", tmp_path, "-O2", "-DNDEBUG")
    print(run(program, bundle, "overhead", TESSERA_CUDA_LIBRARY=str(FAKE_CUDA)))


@pytest.mark.skipif(not HAS_TILEIRAS, reason="tileiras is not installed")
@pytest.mark.skipif(not FAKE_CUDA, reason="the fake libcuda is not built")
def test_both_backends_in_one_file(tmp_path, monkeypatch):
    """Kernels of one function by both backends on one chip, by PTX on a chip without the other, and
    on a CPU: one function in C++."""
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    types = ["weights.x=fp32[M,64]", "weights.w=fp32[64,512]"]
    bundle = build(
        tmp_path, f"sm_75,sm_90,{MACHINE}", types, TOP / "test/Tools/Inputs/weights.py", "auto"
    )
    code = bundle.read_bytes()
    for target in (
        b"sm_75:ptx",
        b"sm_90:ptx+tileir",
        b"sm_90a:ptx",
        b"sm_90:tileir",
        f"{MACHINE}:".encode(),
    ):
        assert target in code
    header = (tmp_path / "weights.h").read_text()
    assert "weights_0_" in header and "weights_1_" not in header
    program = compile_program(HERE / "backends.cpp", tmp_path)
    run(program, bundle)
    for capability in ("75", "90"):
        run(
            program,
            bundle,
            "cuda",
            TESSERA_CUDA_LIBRARY=str(FAKE_CUDA),
            FAKE_CUDA_CAPABILITY=capability,
        )
