"""Keys depend on the compiler, its tools and the request, and on no path, time or history: caches
can be copied."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import tessera as tsr
from formats import code_entries, entries, key_of
from tessera import _tessera, compiler, tools

PROGRAM = """
    import sys
    import numpy as np
    import tessera as tsr
    from tessera import _tessera

    FLAG, A, B = True, 2.0, 3.0

    @tsr.function
    def scaled(x):
        return x * A

    @tsr.function
    def twice(x):
        return scaled(x) + scaled(x)

    @tsr.function
    def chosen(x):
        if FLAG:
            return twice(x) + A
        return scaled(x) - B

    for word in sys.argv[1:]:
        FLAG, size = word[0] == "+", int(word[1:])
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(chosen(x), x * 4 + 2 if FLAG else x * 2 - 3)
    print("compiled" if _tessera.compiler_loaded() else "cached")
"""


@pytest.fixture
def run(tmp_path, cache):
    def call(*words: str, folder: Path = tmp_path, **environment) -> str:
        folder.mkdir(exist_ok=True)
        program = folder / "program.py"
        program.write_text(textwrap.dedent(PROGRAM))
        done = subprocess.run(
            [sys.executable, str(program), *(words or ["+64"])],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


def command(*words) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tessera", "cache", *map(str, words)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_copy_of_the_folder_serves_another_program_folder(run, cache, tmp_path):
    assert run() == "compiled"
    shutil.move(cache, tmp_path / "moved")
    for path in (tmp_path / "moved").rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert run(folder=tmp_path / "another", TESSERA_CACHE=str(tmp_path / "moved")) == "cached"


def test_nothing_of_this_machine_is_in_an_entry(run, cache, tmp_path):
    run()
    names = [
        os.fsencode(tmp_path),
        os.fsencode(Path.home()),
        os.fsencode(os.getcwd()),
        os.uname().nodename.encode(),
    ]
    for path in entries(cache):
        data = path.read_bytes()
        assert not [name for name in names if len(name) > 3 and name in data], path


def test_the_compiler_is_known_by_its_content(run, tmp_path):
    assert run() == "compiled"
    copy = tmp_path / "elsewhere" / "compiler.so"
    copy.parent.mkdir()
    shutil.copyfile(compiler.library_path(), copy)
    os.utime(copy, (1e9, 1e9))
    assert run(TESSERA_COMPILER=str(copy)) == "cached"
    # Another build, of whose id one digit differs.
    data = copy.read_bytes()
    own = bytes.fromhex(_tessera.build_id(str(copy)))
    assert len(own) == 20 and data.count(own) == 1
    copy.write_bytes(data.replace(own, own[:-1] + bytes([own[-1] ^ 1])))
    assert run(TESSERA_COMPILER=str(copy)) == "compiled"


def test_history_is_not_in_the_key(run, cache, tmp_path):
    """Independent of what a process, or others before it, compiled first: other branches, other
    sizes, other helpers."""
    histories = [  # words of one process each
        [["+64", "-64", "+63", "-63"]],
        [["-63"], ["+64", "-64"], ["+63"]],
        [["-64"], ["+63"], ["-63"], ["+64"]],
    ]
    found = []
    for number, processes in enumerate(histories):
        folder = tmp_path / f"cache{number}"
        for words in processes:
            assert run(*words, TESSERA_CACHE=str(folder)) == "compiled"
        found.append({path.name for path in code_entries(folder)})
        for word in ("+63", "-64", "-63", "+64"):
            assert run(word, TESSERA_CACHE=str(folder)) == "cached"
        assert run("-63", "+63", "-64", "+64", TESSERA_CACHE=str(folder)) == "cached"
    assert len(found[0]) == 4 and found[0] == found[1] == found[2]


def test_cores_are_in_the_key_of_cpus(monkeypatch):
    """The schedule of a CPU's kernels depends on the number of cores, that of a GPU's does not."""
    monkeypatch.setattr(compiler.os, "sysconf", {"SC_NPROCESSORS_CONF": 48}.__getitem__)
    assert compiler._cores("x86-64-v4") == compiler._cores("aarch64") == 48
    assert compiler._cores("sm_90:ptx") == 0

    @tsr.function
    def double(x):
        return x + x

    def entries_with(cores: int, folder: Path) -> set[str]:
        monkeypatch.setattr(compiler.os, "sysconf", lambda _: cores)
        monkeypatch.setenv("TESSERA_CACHE", str(folder))
        double.compile(np.ones(8, np.float32), target="cpu")
        return {path.name for path in code_entries(folder)}

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        assert entries_with(2, Path(first)) != entries_with(64, Path(second))


def test_export_and_import(run, cache, tmp_path, monkeypatch):
    run("+64", "-64")
    assert command("export", tmp_path / "cache.tsa").startswith("wrote ")
    names = {path.name for path in entries(cache)}
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "other"))
    assert command("import", tmp_path / "cache.tsa").startswith(f"took {len(names)} entries")
    assert {path.name for path in entries(tmp_path / "other")} == names
    assert run("-64", "+64", folder=tmp_path / "another") == "cached"


def test_a_shared_cache(run, cache, tmp_path, monkeypatch):
    run()
    command("export", tmp_path / "cache.tsa")
    monkeypatch.setenv("TESSERA_SHARED_CACHE", str(tmp_path / "shared"))
    command("import", "--shared", tmp_path / "cache.tsa")
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "own"))
    assert run() == "cached" and not (tmp_path / "own").exists()
    # New entries belong to this user; both caches together serve.
    assert run("-64") == "compiled"
    assert run("+64", "-64") == "cached"
    monkeypatch.setenv("TESSERA_CACHE", "off")
    assert run() == "cached" and run("-64") == "compiled"
    (tmp_path / "shared").chmod(0o777)
    assert run() == "compiled"


@pytest.mark.skipif(os.geteuid() != 0, reason="unsupported: only root can become another user")
def test_another_user_reads_what_root_shares(run, cache, tmp_path, monkeypatch):
    """By the runtime alone: another user may not be able to read the package."""
    run()
    command("export", tmp_path / "cache.tsa")
    keys = [key_of(path) for path in entries(cache)]
    child = f"""
        import ctypes, json, os, sys
        runtime = ctypes.CDLL({str(Path(tsr.__file__).parent / "libtessera_rt.so")!r})
        os.setuid(54321)
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        for key in json.load(sys.stdin):
            assert runtime.tessera_rt_cache_get(key.encode(), ctypes.byref(data), ctypes.byref(length)) == 0
    """
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setenv("TESSERA_SHARED_CACHE", f"{folder}/shared")
        command("import", "--shared", tmp_path / "cache.tsa")
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(child)],
            env={**os.environ, "TESSERA_CACHE": "off"},
            input=json.dumps(keys),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


# -- tools ------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path, cache, monkeypatch):
    """A candidate for ptxas, by its number."""
    monkeypatch.setattr(tools, "_hashes", {})

    def make(name: str, content: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{content}\n")
        path.chmod(0o755)
        return path

    return make


def ptxas() -> list[str]:
    return tools.identity("ptxas", compiler.library_path())


def test_a_tool_is_known_by_its_content(program, monkeypatch):
    found = []
    for path in (
        program("a/ptxas", "same"),
        program("b/other", "same"),
        program("c/ptxas", "another"),
    ):
        os.utime(path, (1e9 + len(found), 1e9))
        monkeypatch.setenv("TESSERA_PTXAS", str(path))
        found.append(ptxas())
    assert found[0] == found[1] != found[2]
    assert all(len(one) == 1 and len(one[0]) == 64 for one in found)


def test_tools_on_the_path_count_once_and_in_order(program, tmp_path, monkeypatch):
    one, two, copy = program("a/ptxas", "one"), program("b/ptxas", "two"), program("c/ptxas", "one")
    monkeypatch.delenv("TESSERA_PTXAS", raising=False)
    monkeypatch.setattr(
        tools,
        "_places",
        lambda name, library: [str(one), str(two), str(copy), str(tmp_path / "d/ptxas")],
    )
    found = ptxas()
    assert found == [tools.file_hash(str(one)), tools.file_hash(str(two))]
    monkeypatch.setattr(tools, "_places", lambda name, library: [str(two), str(one)])
    assert ptxas() == found[::-1]


def test_hashes_are_remembered_and_change_nothing(program, cache, monkeypatch):
    path = program("a/ptxas", "first")
    monkeypatch.setenv("TESSERA_PTXAS", str(path))
    first = ptxas()
    remembered = (cache / "tools.txt").read_text()
    assert first[0] in remembered and str(path) not in remembered
    # Another process reads the file's hash, not the file.
    remember = tools._remember
    monkeypatch.setattr(tools, "_hashes", {})
    monkeypatch.setattr(tools, "_remember", lambda *_: pytest.fail("it was hashed again"))
    assert ptxas() == first
    monkeypatch.setattr(tools, "_remember", remember)
    for damaged in (
        "",
        "nothing\n",
        remembered[:-3],
        "\0" * 100,
        remembered.replace(first[0], "x" * 64),
    ):
        (cache / "tools.txt").write_text(damaged)
        monkeypatch.setattr(tools, "_hashes", {})
        assert ptxas() == first
    # A file of the same length and time is another file.
    stamp = path.stat().st_mtime
    time.sleep(0.01)
    path.write_text(path.read_text().replace("first", "other"))
    os.utime(path, (stamp, stamp))
    assert ptxas() != first


def test_a_library_without_a_build_id_is_known_by_its_content(program, tmp_path):
    one, two = tmp_path / "one.so", tmp_path / "two.so"
    one.write_bytes(b"\x7fELF and no more")
    shutil.copyfile(one, two)
    os.utime(two, (1e9, 1e9))
    assert tools.library_identity(str(one)) == tools.library_identity(str(two)) != ""
    two.write_bytes(b"\x7fELF and mere")
    assert tools.library_identity(str(one)) != tools.library_identity(str(two))
    assert tools.library_identity(str(tmp_path / "missing.so")) == ""


def test_tools_that_a_compilation_looked_for():
    assert tools.consulted({}) == []
    assert tools.consulted({"backend": "tileir"}) == ["tileiras"]
    assert tools.consulted({"backend": "ptx", "assembler": "ptxas 13.0.88"}) == ["ptxas"]
    assert tools.consulted({"backend": "ptx", "assembler": "nvJitLink 13.0"}) == [
        "nvjitlink",
        "ptxas",
    ]
    assert tools.consulted({"backend": "ptx"}) == ["nvjitlink", "ptxas"]
    # Where tileiras is missing everything is PTX; once it is installed, that is compiled again.
    assert tools.consulted({"backend": "ptx", "missing": ["tileiras"]}) == [
        "nvjitlink",
        "ptxas",
        "tileiras",
    ]
    assert tools.consulted({"backend": "ptx+tileir", "assembler": "ptxas 13.0.88"}) == [
        "ptxas",
        "tileiras",
    ]


def test_an_assembler_that_a_variable_names_is_the_only_one(program, monkeypatch):
    named, library = program("a/ptxas", "one"), compiler.library_path()
    link = program("a/libnvJitLink.so", "link")
    monkeypatch.setenv("TESSERA_NVJITLINK", str(link))
    assert ptxas() == [] and tools.identity("nvjitlink", library) == [tools.file_hash(str(link))]
    monkeypatch.setenv("TESSERA_PTXAS", str(named))
    assert ptxas() == [tools.file_hash(str(named))] and tools.identity("nvjitlink", library) == []
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    assert ptxas() == [] and tools.identity("nvjitlink", library) == []


def test_the_parts_of_an_assembler_count(program, monkeypatch):
    """tileiras uses the assembler and the library beside it."""
    main = program("cuda/bin/tileiras", "tiles")
    library = main.parents[1] / "nvvm/lib64/libnvvm.so.4"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"nvvm")
    monkeypatch.setenv("TESSERA_TILEIRAS", str(main))
    before = tools.identity("tileiras", compiler.library_path())
    assert before == [tools.file_hash(str(main)), tools.file_hash(str(library))]
    library.write_bytes(b"another")
    assert tools.identity("tileiras", compiler.library_path()) != before
