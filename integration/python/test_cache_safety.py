"""The content of a cache or a bundle is untrusted: it is a miss or a TesseraError, and causes no
large allocations."""

import json
import os
import resource
import shutil
import stat
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tessera as tsr
from formats import (
    FUNCTION,
    IMAGE,
    bundle_of,
    code_entries,
    entries,
    index_entries,
    key_of,
    sections_of,
    with_manifest,
)
from tessera import Tensor, _tessera, fp32

PROGRAM = """
    import numpy as np
    import tessera as tsr
    from tessera import _tessera

    OFFSET = 3.0

    @tsr.function
    def shifted(x):
        return x * 2.0 + OFFSET

    x = np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(shifted(x), x * 2 + 3)
    print("compiled" if _tessera.compiler_loaded() else "cached")
"""
STRANGER = 54321
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="unsupported: only root can give files away"
)


@pytest.fixture
def run(tmp_path, cache):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))

    def call(limit=None, command=(), **environment) -> tuple[str, str]:
        done = subprocess.run(
            [*command, sys.executable, str(program)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            preexec_fn=limit,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    return call


def parts(cache) -> dict:
    """The folder, the folder of an entry, and the entry with code."""
    (entry,) = code_entries(cache)
    return {"folder": cache, "shard": entry.parent, "entry": entry}


def test_folders_and_files_are_this_users_own(run, cache):
    assert run(command=["sh", "-c", 'umask 0; exec "$@"', "sh"])[0] == "compiled"
    for path in [cache, *cache.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("part", ["folder", "shard", "entry"])
@pytest.mark.parametrize(
    "how", ["group", "others", "link", pytest.param("owner", marks=needs_root)]
)
def test_what_others_could_have_written_is_compiled_anew(run, cache, tmp_path, part, how):
    run()
    assert run()[0] == "cached"
    path = parts(cache)[part]
    if how == "owner":
        os.chown(path, STRANGER, 0)
    elif how == "link":
        shutil.move(path, tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.chmod(path.stat().st_mode | (0o020 if how == "group" else 0o002))
    out, log = run()
    assert out == "compiled"
    reason = {"owner": "it belongs to user 54321", "link": "it is a link"}.get(
        how, "others can write it"
    )
    assert f"{path}: {reason}" in log
    # An entry is replaced by our own; a folder is not changed.
    assert run()[0] == ("cached" if part == "entry" else "compiled")


@pytest.mark.parametrize(
    "kind", ["pipe", "folder", "truncated", "flipped", "empty", "huge", "renamed"]
)
def test_entries_that_are_none(run, cache, kind):
    run()
    (entry,), (index,) = code_entries(cache), index_entries(cache)
    data = entry.read_bytes()
    entry.unlink()
    if kind == "pipe":
        os.mkfifo(entry, 0o600)
    elif kind == "folder":
        entry.mkdir()
    elif kind == "renamed":
        shutil.copy(index, entry)
    elif kind == "huge":
        entry.touch(0o600)
        os.truncate(entry, 1 << 40)
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
        entry.write_bytes({"truncated": data[:-1], "flipped": flipped, "empty": b""}[kind])
    assert run()[0] == "compiled"
    assert run()[0] == ("compiled" if kind == "folder" else "cached")


def test_entries_of_the_first_version(run, cache):
    """They were in the same folders, with group and others allowed by the umask."""
    payload = b'{"guarded":[],"names":[]}'
    old = cache / "ab" / ("0" * 62)
    old.parent.mkdir(parents=True)
    old.write_bytes(struct.pack("<4sIQQ", b"TSRC", 1, len(payload), 0) + payload)
    assert run()[0] == "compiled"
    assert run()[0] == "cached"
    assert old.exists()


JSON = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "a number": b"7",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "deep in an object": b'{"tuple":' * 50_000,
    "a long number": b"[" + b"9" * 10_000 + b"]",
    "wrong names": b'[[["", 1]], [], []]',
    "wrong guards": b'[[], [["a", 0]], []]',
    "wrong tools": b'[[], [], [["ptxas"]]]',
    "other lists": b'[[], [[9999999999999999999999, -5]], ["hammer"]]',
    "other scopes": b'[[["/nowhere", "x"], ["", "no.such.name"], ["", ""]], [], []]',
    "wrong types": b'{"tuple": 1, "report": 2, "guarded": 3, "sizes": 4}',
    "missing fields": b'{"tuple": true, "report": "{}"}',
    "wrong sizes": b'{"tuple": true, "report": "{}", "guarded": [[0]], "sizes": []}',
}


def make():
    @tsr.function
    def halved(x):
        return x * 0.5

    return halved


def compiled():
    """By a function that knows nothing of other calls."""
    return make().compile(Tensor[8, fp32])


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("which", ["index", "entry"])
def test_malformed_json_is_a_miss(cache, name, which):
    """In complete files of our own, with a bundle after it."""
    compiled()
    (path,) = (index_entries if which == "index" else code_entries)(cache)
    key, data = key_of(path), JSON[name] + (b"\nTSRB" if which == "entry" else b"\n")
    assert _tessera.cache_put(key, data) and _tessera.cache_get(key) == data
    again = compiled()
    assert not again._artifact.cached and again(np.ones(8, np.float32)).tolist() == [0.5] * 8
    assert compiled()._artifact.cached


@pytest.mark.parametrize("report", ["[", "[" * 100_000, "7", '{"kernels": 3}', '{"kernels": [3]}'])
def test_a_malformed_report_is_an_error_of_ours(cache, report):
    compiled()
    (entry,) = code_entries(cache)
    head, _, bundle = _tessera.cache_get(key_of(entry)).partition(b"\n")
    meta = {**json.loads(head), "report": report}
    assert _tessera.cache_put(key_of(entry), json.dumps(meta).encode() + b"\n" + bundle)
    again = compiled()
    assert again._artifact.cached
    with pytest.raises(tsr.TesseraError, match="the report in the cache is malformed"):
        again.report()


# -- bundles ----------------------------------------------------------------------------------------


@pytest.fixture
def bundle(tmp_path) -> bytes:
    @tsr.function
    def tripled(x):
        return x * 3.0

    tripled.compile(Tensor["N", fp32]).save(tmp_path / "good.tsb")
    assert tsr.load(tmp_path / "good.tsb").tripled(np.ones(3, np.float32)).tolist() == [3, 3, 3]
    return (tmp_path / "good.tsb").read_bytes()


def refusal(path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(tsr.TesseraError) as raised:
        tsr.load(path)
    return str(raised.value)


@pytest.mark.parametrize(
    "manifest, reason",
    [
        (b"{", "its manifest is no JSON"),
        (b"\xff", "its manifest is no JSON"),
        (b"[" * 100_000, "its manifest is no JSON"),
        (b"[]", "its manifest is no JSON object"),
        (b"7", "its manifest is no JSON object"),
        (b'{"functions": 3}', "expected a list of names as 'functions' of its manifest"),
        (b'{"tuples": {"f": 1}}', "expected a list of names as 'tuples' of its manifest"),
        (b'{"tuples": null}', "expected a list of names as 'tuples' of its manifest"),
        (b'{"writes": [1]}', "expected a list of names as 'writes' of its manifest"),
        (b'{"writes": ["f"]}', "expected FUNCTION:POSITION in its manifest, found 'f'"),
        (b'{"writes": ["f:-1"]}', "expected FUNCTION:POSITION in its manifest, found 'f:-1'"),
        (
            b'{"writes": ["f:99999999999"]}',
            "expected FUNCTION:POSITION in its manifest, found 'f:99999999999'",
        ),
    ],
)
def test_malformed_manifests(tmp_path, bundle, manifest, reason):
    found = refusal(tmp_path / "bad.tsb", with_manifest(bundle, manifest))
    assert found == f"{tmp_path}/bad.tsb: invalid bundle: {reason}"


def test_manifests_with_odd_text(tmp_path, bundle):
    (tmp_path / "odd.tsb").write_bytes(with_manifest(bundle, b'{"functions": ["\xff"], "more": 3}'))
    assert tsr.load(tmp_path / "odd.tsb").tripled(np.ones(3, np.float32)).tolist() == [3, 3, 3]
    assert bundle_of(sections_of(bundle)) == bundle  # the files of these tests match the compiler's


def test_earlier_bundles_are_rejected(tmp_path, bundle):
    found = refusal(tmp_path / "old.tsb", bundle_of(sections_of(bundle), version=3))
    assert found.endswith(
        "it is of version 3, this runtime reads version 4: build it again with this release"
    )


def test_a_crafted_bundle_costs_no_memory(tmp_path, bundle):
    """A megabyte of code that 5,000 entries of the section table reference would be 5 GB; in a
    process limited to 2."""
    (image,) = [content for kind, content in sections_of(bundle) if kind == IMAGE]
    (target_bytes,) = struct.unpack_from("<I", image)
    head = struct.pack("<I", target_bytes) + image[4 : 4 + target_bytes] + struct.pack("<I", 0)
    large = head + struct.pack("<Q", 1 << 20) + bytes(1 << 20)
    functions = [one for one in sections_of(bundle) if one[0] == FUNCTION]
    crafted = bundle_of([(IMAGE, large)] * 5_000 + functions, overlap=True)
    assert len(crafted) < 2 << 20
    # Counts and lengths that nothing explains: kernels of an image, instructions of an expression.
    many = (
        struct.pack("<I", target_bytes)
        + image[4 : 4 + target_bytes]
        + struct.pack("<I", 0xFFFFFFF0)
    )
    files = {
        "sections": crafted,
        "kernels": bundle_of([(IMAGE, many + bytes(1000))]),
        "code": bundle_of([(IMAGE, head + struct.pack("<Q", 1 << 60) + bytes(1000))]),
        "program": bundle_of(
            [(IMAGE, image), (FUNCTION, _function(struct.pack("<II", 1, 0xFFFFFFFF) + bytes(1000)))]
        ),
    }
    program = tmp_path / "load.py"
    program.write_text(
        "import sys, resource, numpy, tessera as tsr\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "for path in sys.argv[1:]:\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    try:\n"
        "        tsr.load(path)\n"
        "    except tsr.TesseraError as error:\n"
        "        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error)\n"
    )
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, str(program), *(str(tmp_path / name) for name in files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(files)
    assert "section 1 overlaps the section before it" in lines[0]
    assert all("invalid bundle" in line or "invalid host program" in line for line in lines), lines
    assert all(int(line.split()[0]) < 64 << 10 for line in lines), lines  # KiB


def _function(program: bytes) -> bytes:
    return struct.pack("<I1sIIQ", 1, b"f", 0, 0, len(program)) + program


def test_a_device_is_no_bundle():
    with pytest.raises(
        tsr.TesseraError, match="/dev/zero: invalid bundle: it does not start with TSRB"
    ):
        tsr.load("/dev/zero")


# -- a full disk ------------------------------------------------------------------------------------


def test_a_file_that_may_not_grow(run, cache):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for _ in range(2):
        out, log = run(limit)
        assert out == "compiled"
        assert log.count("the cache cannot be written, compiled code is not kept") == 1
    assert not code_entries(cache)
    assert run()[0] == "compiled" and run()[0] == "cached"


def test_a_full_disk(run, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=16k none {disk} && head -c 12k /dev/zero > {disk}/full && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("unsupported: a small tmpfs may not be mounted here")
    out, log = run(command=command, TESSERA_CACHE=str(disk / "cache"))
    assert out == "compiled"
    assert log.count("the cache cannot be written") == 1 and "No space left on device" in log


def test_the_limit_holds(run, cache):
    run()
    size = sum(path.stat().st_size for path in entries(cache))
    for number in range(10):
        (code,) = code_entries(cache)[:1]
        assert _tessera.cache_put(f"other {number}", code.read_bytes())
    before = len(entries(cache))
    assert run(TESSERA_CACHE_SIZE=str(4 * size))[0] == "cached"  # reading evicts nothing
    assert len(entries(cache)) == before
    shutil.rmtree(code_entries(cache)[0].parent)
    assert run(TESSERA_CACHE_SIZE=str(4 * size))[0] == "compiled"
    assert sum(path.stat().st_size for path in entries(cache)) <= 4 * size
    assert run()[0] == "cached"


def test_a_malformed_limit_is_a_warning(run):
    out, log = run(TESSERA_CACHE_SIZE="plenty")
    assert out == "compiled"
    assert log.count("TESSERA_CACHE_SIZE: expected a number of bytes") == 1
