"""Compiling one specialisation, through the cache on disk.

The key of an entry is made of everything that its code depends on, and is known without the
compiler: a warm process never loads it. Which names a function captures, and which sizes its
program needs to know, is only seen while compiling; a small index entry beside the code keeps both,
under a key that leaves them out.
"""

from __future__ import annotations

import functools
import json
import os
import time
from typing import Any

from . import _tessera
from .capture import Resolver, Source
from .errors import TesseraError, compile_error
from .tools import ptxas_identity

_FORMAT = 2
_STATUS_OK = 0
_FIGURES = ("flops", "bytes", "programs", "predicted_us", "bound")  # of a kernel, which depend on the sizes at hand


def library_path() -> str:
    """libtessera: $TESSERA_COMPILER, else beside this package."""
    return os.environ.get("TESSERA_COMPILER") or os.path.join(
        os.path.dirname(__file__), "libtessera.so"
    )


def load() -> None:
    if not _tessera.compiler_loaded():
        path = library_path()
        if not os.path.exists(path):
            raise TesseraError(f"the compiler library is not installed: there is no {path}")
        _tessera.load_compiler(path)


class Unit:
    """One specialisation to be compiled."""

    def __init__(
        self,
        name: str,
        source: Source,
        names: list[str],
        description: list[tuple],
        target: str,
        options: list[tuple[str, str]],
        resolver: Resolver,
    ):
        self.name = name
        self.source = source
        self.names = names
        self.description = description
        self.target = target
        self.options = options
        self.resolver = resolver

    def for_target(self, target: str) -> Unit:
        """The same for another target."""
        return Unit(
            self.name,
            self.source,
            self.names,
            self.description,
            target,
            self.options,
            self.resolver,
        )

    def with_description(self, description: list[tuple]) -> Unit:
        """The same for other classes of arguments."""
        made = self.for_target(self.target)
        made.description = description
        return made

    def request(self, stages: list[str] | None = None, no_code: bool = False) -> dict:
        return {
            "source": self.source.text.encode("utf-8", "surrogateescape"),
            "file": self.source.file,
            "line": self.source.line,
            "column": self.source.column,
            "function": self.name,
            "names": self.names,
            "arguments": self.description,
            "target": self.target,
            "options": self.options,
            "resolve": self.resolver,
            "stages": stages or [],
            "no_code": no_code,
        }

    def compile(self, stages: list[str] | None = None, no_code: bool = False) -> dict:
        """The compiler's result; CompileError when it has errors."""
        load()
        result = _tessera.compile(self.request(stages, no_code))
        if result["status"] != _STATUS_OK:
            raise compile_error(result["text"], result["diagnostics"], self.name)
        return result

    def classes(self) -> list:
        """The description without what the code does not depend on."""
        reduced: list = []
        for kind, *rest in self.description:
            if kind == 0:
                dtype, unit, contiguous, dims = rest
                sizes = [
                    [divisor, hint, size if fixed else -1] for size, divisor, hint, fixed in dims
                ]
                reduced.append([dtype, unit, contiguous, sizes])
            else:
                reduced.append([kind, rest[0]] if kind == 4 else [kind])
        return reduced

    def sizes(self) -> list[list[int]]:
        """The sizes at hand, of each tensor."""
        return [[dim[0] for dim in one[-1]] for one in self.description if one[0] == 0]

    def value(self, argument: int, dim: int) -> Any:
        """A size (or, with dim -1, a number) that the program needs to know."""
        if not 0 <= argument < len(self.description):
            return None
        kind, *rest = self.description[argument]
        if kind != 0:
            return rest[0]
        return rest[3][dim][0] if 0 <= dim < len(rest[3]) else None


class Artifact:
    """A compiled specialisation: the bundle, and what is known about it."""

    def __init__(self, bundle: bytes, meta: dict, cached: bool, seconds: float):
        self.bundle = bundle
        self.meta = meta
        self.cached = cached
        self.seconds = seconds

    @functools.cached_property
    def module(self) -> Any:
        """The loaded bundle; DeviceError where it is for another machine."""
        return _tessera.load(self.bundle)

    def report(self, unit: Unit) -> dict[str, Any]:
        """What the compiler says of the code, at the unit's sizes: the code may have been compiled at others of its class."""
        told = json.loads(self.meta["report"] or "{}")
        if self.meta["sizes"] != unit.sizes():
            at_hand = json.loads(unit.compile(["sched"], no_code=True)["report"])
            told["class"] = at_hand["class"]
            for kernel, figures in zip(told.get("kernels", ()), at_hand.get("kernels", ())):
                kernel.update({name: figures[name] for name in _FIGURES})
        return told


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _measured(target: str, name: str) -> str:
    """A table of measurements that code for a GPU is made with: "tuning", "roads"; see docs/gpu.md."""
    folder = _tessera.cache_folder()
    if not folder or not target.startswith("sm_"):
        return ""
    path = os.path.join(folder, f"{name}-{target.partition(':')[0]}.txt")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _assembler(unit: Unit) -> list:
    """What PTX is assembled by, where some code may be made by way of it: a cubin, or the PTX itself, depends on it."""
    chip, _, needs = unit.target.partition(":")
    by_tiles = "tileir" in (dict(unit.options).get("via"), *needs.split(","))
    return ptxas_identity(library_path()) if chip.startswith("sm_") and not by_tiles else []


class Keys:
    """The cache keys of a unit."""

    def __init__(self, unit: Unit):
        self.unit = unit
        target = _tessera.host_target() if unit.target == "cpu" else unit.target
        self.base = [
            _FORMAT,
            _tessera.version,
            _tessera.build_id(library_path()),
            target,
            _measured(target, "tuning"),
            _measured(target, "roads"),
            _assembler(unit),
            sorted(unit.options),
            unit.name,
            unit.source.text,
            unit.names,
            unit.classes(),
        ]

    def index(self) -> str:
        return _tessera.cache_key(_text(["index", *self.base]))

    def entry(self, guarded: list) -> str:
        values = [[*guard, self.unit.value(*guard)] for guard in guarded]
        return _tessera.cache_key(
            _text(["entry", *self.base, self.unit.resolver.material(), values])
        )


def _read_index(key: str) -> dict:
    data = _tessera.cache_get(key)
    if data:
        try:
            return json.loads(data)
        except ValueError:
            pass
    return {"names": [], "guarded": []}


def _read_entry(key: str) -> tuple[bytes, dict] | None:
    data = _tessera.cache_get(key)
    if data is None:
        return None
    head, _, bundle = data.partition(b"\n")
    try:
        return bundle, json.loads(head)
    except ValueError:
        return None


def specialise(unit: Unit, fresh: bool = False) -> Artifact:
    """The code of a unit, from the cache (unless it must be fresh) or from the compiler.

    The compiler alone writes the stages that TESSERA_DUMP asks for: then nothing comes from the cache.
    """
    start = time.perf_counter()
    if ("profiling", "true") in unit.options:
        _tessera.set_profiling(True)
    fresh = fresh or bool(os.environ.get("TESSERA_DUMP"))
    keys = Keys(unit)
    index_key = keys.index()
    index = _read_index(index_key)
    for scope, name in index["names"]:
        unit.resolver.resolve(scope, name)
    if not fresh and (found := _read_entry(keys.entry(index["guarded"]))):
        artifact = Artifact(*found, cached=True, seconds=time.perf_counter() - start)
        try:
            if unit.target == "cpu":
                artifact.module  # noqa: B018 (an entry that does not load is a miss)
            _tessera.log(1, f"'{unit.name}' for {unit.target} comes from the cache")
            return artifact
        except TesseraError as error:
            _tessera.log(1, f"cache: an entry could not be used: {error}")

    result = unit.compile()
    meta = {"tuple": result["tuple"], "report": result["report"], "guarded": result["guarded"], "sizes": unit.sizes()}
    guarded = index["guarded"] + [
        list(one) for one in result["guarded"] if list(one) not in index["guarded"]
    ]
    seconds = time.perf_counter() - start
    artifact = Artifact(result["bundle"], meta, cached=False, seconds=seconds)
    entry = _text(meta).encode() + b"\n" + result["bundle"]
    if _tessera.cache_put(keys.entry(guarded), entry):
        names = [list(question) for question in unit.resolver.names()]
        updated = {"names": names, "guarded": guarded}
        if updated != index:
            _tessera.cache_put(index_key, _text(updated).encode())
    _tessera.log(1, f"compiled '{unit.name}' for {unit.target} in {seconds * 1e3:.0f} ms")
    return artifact
