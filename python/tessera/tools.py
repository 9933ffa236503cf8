"""CUDA tools that code depends on: the ones that the compiler would use, known without the
compiler.

A cache key contains the content of a tool's files, whatever their names, locations and times are:
the same release gives the same key on every machine. All candidates count, in the order in which
the compiler tries them, since releases differ in the chips that they support.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator

from . import _tessera

_MEMORY = (
    "tools.txt"  # in the cache's folder: hashes of files by their state, so that each is read once
)
_MOST_REMEMBERED = 64
_HASH_CHARS = 64
_hashes: dict[str, str] = {}  # by state, of this process


def _places(name: str, library: str) -> Iterator[str]:
    """The compiler's search path, in its order: lib/CodeGen/CudaTools/Tools.cpp."""
    environments = []
    folder = os.path.dirname(os.path.realpath(library))
    for _ in range(3):
        folder = os.path.dirname(folder)
        environments.append(os.path.join(folder, ".venv"))
    environments.append(os.environ.get("VIRTUAL_ENV", ""))
    for environment in filter(os.path.isdir, environments):
        yield os.path.join(environment, "bin", name)
        for wheel in ("cu13", "cuda_nvcc"):
            packages = os.path.join(glob.escape(environment), "lib/*/site-packages/nvidia")
            yield from glob.glob(os.path.join(packages, wheel, "bin", name))
    for folder in os.environ.get("PATH", "").split(":"):
        if folder:
            yield os.path.join(folder, name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if variable in os.environ:
            yield os.path.join(os.environ[variable], "bin", name)
    yield os.path.join("/usr/local/cuda/bin", name)


# -- hashes of files --------------------------------------------------------------------------------


def _state(path: str) -> str:
    """The state that changes when a file's content does. It is the key of a memoized hash, and not
    part of a cache key."""
    status = os.stat(path)
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _remembered() -> dict[str, str]:
    known = {}
    for line in (_tessera.cache_get_table(_MEMORY) or b"").decode("ascii", "replace").splitlines():
        state, _, digest = line.rpartition(" ")
        if len(digest) == _HASH_CHARS and not digest.strip("0123456789abcdef"):
            known[state] = digest
    return known


def _remember(state: str, digest: str) -> None:
    known = {**_remembered(), state: digest}
    latest = list(known.items())[-_MOST_REMEMBERED:]
    lines = "".join(f"{one} {digest}\n" for one, digest in latest)
    _tessera.cache_put_table(_MEMORY, lines.encode())


def file_hash(path: str) -> str:
    """The SHA-256 of a file; None if it cannot be read."""
    try:
        state = _state(path)
        if state not in _hashes:
            _hashes.update(_remembered())
        if state not in _hashes:
            import hashlib

            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if _state(path) != state:
                return digest  # it changed meanwhile
            _hashes[state] = digest
            _remember(state, digest)
    except OSError:
        return ""
    return _hashes[state]


def library_identity(path: str) -> str:
    """The identity of a library: the linker's hash of its content, otherwise one of ours."""
    return _tessera.build_id(path) or file_hash(path)


def _distinct(hashes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, hashes)))


# -- tools ------------------------------------------------------------------------------------------


def _programs(name: str, variable: str, library: str) -> list[str]:
    """Candidates for a program: the one that a variable names, or all that are found."""
    named = os.environ.get(variable)
    if named == "none":
        return []
    places = [named] if named is not None else _places(name, library)
    found = (
        os.path.realpath(one) for one in places if os.path.isfile(one) and os.access(one, os.X_OK)
    )
    return list(dict.fromkeys(found))


def _ptxas(library: str) -> list[str]:
    if os.environ.get("TESSERA_PTXAS") is None and os.environ.get("TESSERA_NVJITLINK") is not None:
        return []  # not asked
    return _distinct(map(file_hash, _programs("ptxas", "TESSERA_PTXAS", library)))


def _nvjitlink(library: str) -> list[str]:
    named = os.environ.get("TESSERA_NVJITLINK")
    if os.environ.get("TESSERA_PTXAS") is not None or named == "none":
        return []
    if named is not None:
        return _distinct([file_hash(named)])
    names = ("libnvJitLink.so.13", "libnvJitLink.so.12")
    roots = [os.path.dirname(os.path.dirname(place)) for place in _places("ptxas", library)]
    files = [
        os.path.join(root, folder, name)
        for root in roots
        for folder in ("lib", "lib64")
        for name in names
    ]
    found = [one for one in dict.fromkeys(files) if os.path.exists(one)]
    return _distinct(map(file_hash, [*found, *filter(None, map(_tessera.library_file, names))]))


def _tileiras(library: str) -> list[str]:
    """With the assembler and the library that it loads from beside it."""
    files: list[str] = []
    for program in _programs("tileiras", "TESSERA_TILEIRAS", library):
        beside = os.path.join(glob.escape(os.path.dirname(program)), "")
        patterns = (
            "ptxas",
            "../nvvm/lib*/libnvvm.so*",
            "../lib*/libnvvm.so*",
            "../nvvm/libdevice/*.bc",
        )
        files += [
            program,
            *(one for pattern in patterns for one in sorted(glob.glob(beside + pattern))),
        ]
    return _distinct(map(file_hash, files))


_TOOLS = {"nvjitlink": _nvjitlink, "ptxas": _ptxas, "tileiras": _tileiras}


def consulted(report: dict) -> list[str]:
    """The tools that a compilation searched for, from its report."""
    backend, assembler = str(report.get("backend", "")), str(report.get("assembler", ""))
    tools = {"tileiras"} if "tileir" in backend else set()
    tools.update(report.get("missing", []))
    if "ptx" in backend:
        tools.update(["ptxas"] if assembler.startswith("ptxas ") else ["nvjitlink", "ptxas"])
    return sorted(tools)


def identity(tool: str, library: str) -> list[str]:
    """Hashes of the candidates for a tool, for a compiler library at `library`."""
    return _TOOLS[tool](library) if tool in _TOOLS else []
