"""`tessera cache` with compiled code in the cache."""

import os
import subprocess
import sys

import pytest

import tessera as tsr
from formats import code_entries, entries
from tessera import Tensor, fp32


@pytest.fixture
def filled(cache):
    """A cache with two entries, of which one has the code."""

    @tsr.function
    def squared(x):
        return x * x

    squared.compile(Tensor[8, fp32])
    assert len(entries(cache)) == 2 and len(code_entries(cache)) == 1
    return cache


def command(*words, status: int = 0) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tessera", "cache", *map(str, words)], capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def table() -> dict[str, str]:
    return dict(line.split("  ", 1) for line in command()[0].splitlines())


def test_statistics(filled, tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE_SIZE", "1M")
    lines = command("--stat")[0].splitlines()
    size = sum(path.stat().st_size for path in entries(filled))
    assert lines[0] == "entries        2"
    assert lines[1].startswith(f"bytes          {size} (")
    assert lines[2:] == [
        "limit          1048576 (1.0 MiB)",
        f"folder         {filled}",
        "shared folder  none",
    ]
    monkeypatch.setenv("TESSERA_SHARED_CACHE", str(filled))
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "own"))
    found = {name: value.strip() for name, value in table().items()}
    assert (
        found["entries"] == "0"
        and found["shared entries"] == "2"
        and found["shared folder"] == str(filled)
    )


def test_verify(filled):
    assert command("--verify") == ("2 entries would be loaded\n", "")
    (code,) = code_entries(filled)
    (index,) = set(entries(filled)) - {code}
    data = code.read_bytes()
    code.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    index.chmod(0o666)
    (filled / "ab").mkdir(mode=0o700, exist_ok=True)
    (filled / "ab" / "notes").write_text("mine")
    (filled / "tuning-sm_90.txt").symlink_to("/etc/passwd")
    out, log = command("--verify", status=1)
    assert sorted(out.splitlines()) == sorted([
        f"{code}: its checksum does not match",
        f"{index}: others can write it (mode 0666); chmod go-w cures that",
        f"{filled}/ab/notes: its name is not that of an entry",
        f"{filled}/tuning-sm_90.txt: it is a link",
    ])  # fmt: skip
    assert log == "tessera: error: 4 files would not be loaded\n"
    # Renamed, and of another version.
    code.write_bytes(data)
    index.chmod(0o600)
    moved = code.with_name("0" * 62)
    code.rename(moved)
    index.write_bytes(b"TSRC\1\0\0\0" + bytes(50))
    out, _ = command("--verify", status=1)
    assert f"{moved}: it was made for another key" in out
    assert f"{index}: it is of version 1, this release reads version 2" in out


@pytest.mark.skipif(os.geteuid() != 0, reason="unsupported: only root can give files away")
def test_verify_tells_owners(filled):
    (code,) = code_entries(filled)
    os.chown(code, 54321, 0)
    out, _ = command("--verify", status=1)
    assert out == f"{code}: it belongs to user 54321, expected 0\n"
    os.chown(filled, 54321, 0)
    out, _ = command("--verify", status=1)
    assert out == f"{filled}: it belongs to user 54321, expected 0\n"
    assert "is not used: it belongs to user 54321" in command(status=1)[1]


def test_clear(filled):
    (filled / "tuning-sm_90.txt").write_text("tessera tuning 2 sm_90\n")
    size = sum(path.stat().st_size for path in entries(filled))
    assert command("--clear")[0] == f"removed 2 entries, {size / 1024:.1f} KiB\n"
    assert sorted(os.listdir(filled)) == ["tuning-sm_90.txt"]
    assert command("--clear")[0] == "removed 0 entries, 0 bytes\n"


def test_export_tells_what_it_leaves_out(filled, tmp_path):
    (code,) = code_entries(filled)
    code.chmod(0o602)
    out, log = command("export", tmp_path / "cache.tsa")
    assert out.startswith("wrote 1 entry, ")
    assert (
        log
        == f"tessera: warning: {code} is left out: others can write it (mode 0602); chmod go-w cures that\n"
    )


def test_import_joins(filled, tmp_path, monkeypatch):
    table = filled / "tuning-sm_90.txt"
    table.write_text("tessera tuning 2 sm_90\n")
    command("export", tmp_path / "cache.tsa")
    assert command("import", tmp_path / "cache.tsa")[0].endswith("; 2 were there\n")
    table.write_text("tessera tuning 2 sm_90\n# another\n")
    assert (
        "1 table of measurements stay as they are" in command("import", tmp_path / "cache.tsa")[1]
    )
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "other"))
    assert command("import", tmp_path / "cache.tsa")[0].endswith("; 1 table of measurements\n")
    assert (tmp_path / "other/tuning-sm_90.txt").read_text() == "tessera tuning 2 sm_90\n"
    data = (tmp_path / "cache.tsa").read_bytes()
    (tmp_path / "cache.tsa").write_bytes(data[:-1])
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "third"))
    assert "it is truncated" in command("import", tmp_path / "cache.tsa", status=1)[1]
    assert not (tmp_path / "third").exists()


def test_an_archive_that_cannot_be_written(filled, tmp_path):
    _, log = command("export", tmp_path / "missing" / "cache.tsa", status=1)
    assert log == f"tessera: error: {tmp_path}/missing/cache.tsa: No such file or directory\n"
    (tmp_path / "folder").mkdir()
    assert "Is a directory" in command("export", tmp_path / "folder", status=1)[1]
    assert not list(tmp_path.glob("*.part*"))
