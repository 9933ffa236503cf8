"""The disk cache, from separate processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import tessera as tsr
from tessera import _tessera

FACTOR = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0

@tsr.function
def inner(x):
    return x * FACTOR

@tsr.function
def outer(x):
    total = inner(x)
    for i in range(x.shape[0]):
        total = total + 1.0
    return total

n = int(sys.argv[2]) if len(sys.argv) > 2 else 5
x = np.arange(n, dtype=np.float32)
np.testing.assert_array_equal(outer(x), x * np.float32(FACTOR) + np.float32(n))
print("compiled" if _tessera.compiler_loaded() else "cached")
"""


@pytest.fixture
def run(tmp_path, cache):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def call(*args, prefix=(), **environment):
        done = subprocess.run(
            [*prefix, sys.executable, str(program), *map(str, args)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    call.program = program
    return call


def entries(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_a_warm_process_loads_no_compiler(run):
    assert run()[0] == "compiled"
    assert run()[0] == "cached"


def test_dumps_are_written_also_when_the_code_is_in_the_cache(run, tmp_path):
    run()
    assert run(TESSERA_DUMP=str(tmp_path / "dump"))[0] == "compiled"
    assert {path.name.split(".")[1] for path in (tmp_path / "dump").iterdir()} >= {"graph", "tile"}
    out, log = run(TESSERA_LOG="info")
    assert out == "cached" and "'outer' for cpu comes from the cache" in log


def test_captured_values_and_known_sizes_are_in_the_key(run):
    assert run(2.0, 5)[0] == "compiled"
    assert run(3.0, 5)[0] == "compiled"
    assert run(2.0, 6)[0] == "compiled"
    for factor, n in [(2.0, 5), (3.0, 5), (2.0, 6)]:
        assert run(factor, n)[0] == "cached"


def test_the_text_is_in_the_key_and_its_place_is_not(run):
    run()
    run.program.write_text("\n\n" + PROGRAM)
    assert run()[0] == "cached"
    run.program.write_text(PROGRAM.replace("total + 1.0", "1.0 + total"))
    assert run()[0] == "compiled"


def test_damaged_entries_are_rebuilt(run, cache):
    run()
    for path in entries(cache):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    assert run()[0] == "compiled"
    assert run()[0] == "cached"
    for path in entries(cache):
        path.write_bytes(b"")
    assert run()[0] == "compiled"


def test_a_folder_that_cannot_be_used(run, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file stands where the folder should be")
    for _ in range(2):
        out, err = run(TESSERA_CACHE=str(blocked))
        assert out == "compiled"
        assert err.count("the cache cannot be written") == 1


def full_disk(folder: Path) -> list[str]:
    """The command prefix that simulates a full disk at the folder; no other process sees it."""
    mount = f"mount -t tmpfs -o size=4k,mode=700 none '{folder}' && head -c 4096 /dev/zero > '{folder}/rest' && exec \"$@\""
    reasons = []
    for namespaces in (["--mount"], ["--mount", "--user", "--map-root-user"]):
        words = ["unshare", *namespaces, "sh", "-c", mount, "sh"]
        try:
            done = subprocess.run([*words, "true"], capture_output=True, text=True)
        except OSError as error:
            pytest.skip(f"unshare cannot be run: {error}")
        if done.returncode == 0:
            return words
        reasons.append(done.stderr.strip())
    pytest.skip(f"a small file system cannot be mounted: {'; '.join(reasons)}")


def test_a_full_disk(run, cache):
    cache.mkdir()
    for _ in range(2):
        out, err = run(prefix=full_disk(cache))
        assert out == "compiled"
        assert err.count("the cache cannot be written") == 1
        assert "No space left on device" in err
    left = [path for path in entries(cache) if path.stat().st_size]
    assert not left, "the disk was not the full one"


def test_without_a_home(run):
    environment = {"TESSERA_CACHE": "", "XDG_CACHE_HOME": "", "HOME": ""}
    assert run(**environment)[0] == "compiled"


def test_switched_off(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run(TESSERA_CACHE="off")[0] == "compiled"
    assert not (tmp_path / "off").exists()
