"""docs/cpp.md runs: its programs are compiled and their output is compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from test_bundles import BUILD, COMPILER, MACHINE, TOP, run

PAGE = (TOP / "docs" / "cpp.md").read_text()
_PROGRAM = re.compile(r"<!-- program: (\w+) -->\n```cpp\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)
PROGRAMS = {name: (source, output) for name, source, output in _PROGRAM.findall(PAGE)}
LIBRARIES = {"norms": ["-ltessera_rt"], "compile": ["-ltessera", "-ltessera_rt"]}


def run_program(name: str, folder: Path) -> None:
    source, expected = PROGRAMS[name]
    (folder / f"{name}.cpp").write_text(source)
    includes = [f"-I{folder}", f"-I{TOP}/include", f"-I{TOP}/runtime/include"]
    libraries = [f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", *LIBRARIES[name]]
    program = folder / name
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *includes]
    run(COMPILER, *flags, folder / f"{name}.cpp", *libraries, "-o", program)
    output = run(program, cwd=folder)
    pattern = re.escape(expected.strip()).replace("…", ".*")
    assert re.fullmatch(pattern, output.strip(), re.DOTALL), output


def test_calls(tmp_path):
    """The command that builds the bundle, and the program that calls it."""
    command = re.search(r"```sh\n(tessera build .*?)\n```", PAGE)
    assert command
    words = shlex.split(command[1].replace("x86_64,aarch64", MACHINE))
    (tmp_path / "norms.py").write_text((TOP / "examples" / "norms.py").read_text())
    run(BUILD / "bin" / "tessera", *words[1:], cwd=tmp_path)
    run_program("norms", tmp_path)


def test_compiles(tmp_path):
    run_program("compile", tmp_path)


@pytest.mark.parametrize("name", ["Runtime.h", "Compiler.h", "CompileModule.h"])
def test_headers_stand_alone(name, tmp_path):
    source = tmp_path / "one.cpp"
    source.write_text(f"#include <tessera/{name}>\n")
    includes = [f"-I{TOP}/include", f"-I{TOP}/runtime/include", "-isystem/usr/lib/llvm-22/include"]
    run(COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, source)
