"""Compiles one specialisation, through the disk cache.

The key of an entry contains everything that its code depends on, and is known without the compiler:
a warm process never loads it. It contains no paths and no times: the same compiler, tools and
request give the same key on every machine. The captured names, the sizes that the program needs and
the tools that were searched for are known only after a compilation. An index entry, under a key
without these, has a line for each set of answers that compilations gave.

Cache contents may be corrupt or untrusted: they are a miss, or a TesseraError, and no other
exception.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _tessera, tools
from .capture import Questions, Resolver, Source
from .errors import TesseraError, compile_error, warn

_FORMAT = 4
_STATUS_OK = 0
_STATUS_UNSUPPORTED = 2
_FIGURES = (
    "flops",
    "bytes",
    "programs",
    "predicted_us",
    "remainder_us",
    "bound",
)  # fields of a kernel that depend on the concrete sizes


def library_path() -> str:
    """libtessera: $TESSERA_COMPILER, otherwise beside this package."""
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
    """One specialisation to compile."""

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
        """The same for other shape classes of arguments."""
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
            "resolve": Questions(self.resolver),
            "stages": stages or [],
            "no_code": no_code,
        }

    def compile(
        self, stages: list[str] | None = None, no_code: bool = False, quiet: bool = False
    ) -> dict:
        """The compiler's result, with the questions that it asked; CompileError if it has
        errors. If it is quiet, warnings are not told."""
        load()
        request = self.request(stages, no_code)
        result = {"questions": request["resolve"], **_tessera.compile(request)}
        if result["status"] != _STATUS_OK:
            raise compile_error(result["text"], result["diagnostics"], self.name)
        if not quiet:
            warn(result["diagnostics"])
        return result

    def interpret(self) -> dict:
        """The function as a program over ready code; NotInterpretable if its results must be those
        of compiled code, or there is no such program."""
        load()
        request = self.request()
        result = {"questions": request["resolve"], **_tessera.interpret(request)}
        if result["status"] == _STATUS_UNSUPPORTED:
            raise NotInterpretable(result["diagnostics"][0][-2])
        if result["status"] != _STATUS_OK:
            raise compile_error(result["text"], result["diagnostics"], self.name)
        warn(result["diagnostics"])
        return result

    def classes(self) -> list:
        """The description without the parts that the code does not depend on."""
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
        """The concrete sizes of each tensor."""
        return [[dim[0] for dim in one[-1]] for one in self.description if one[0] == 0]

    def value(self, argument: int, dim: int) -> Any:
        """A size (or, with dim -1, a number) that the program needs to know."""
        if not 0 <= argument < len(self.description):
            return None
        kind, *rest = self.description[argument]
        if kind != 0:
            return rest[0]
        return rest[3][dim][0] if 0 <= dim < len(rest[3]) else None


class NotInterpretable(Exception):
    """Tier 1 does not run a specialisation; the text says why."""


class Artifact:
    """A compiled specialisation: the bundle, and its report."""

    tier = 2

    def __init__(self, bundle: bytes, meta: dict, cached: bool, seconds: float):
        self.bundle = bundle
        self.meta = meta
        self.cached = cached
        self.seconds = seconds

    @functools.cached_property
    def module(self) -> Any:
        """The loaded bundle; DeviceError if it is for another machine."""
        return _tessera.load(self.bundle)

    def report(self, unit: Unit) -> dict[str, Any]:
        """The compiler's report on the code, at the unit's sizes: the code may have been compiled
        at others of its class."""
        reported = _parsed(self.meta["report"] or "{}")
        kernels = reported.get("kernels", []) if isinstance(reported, dict) else None
        if not isinstance(kernels, list) or not all(isinstance(one, dict) for one in kernels):
            raise TesseraError(
                f"function '{unit.name}': the report in the cache is malformed; `tessera cache --clear` removes it"
            )
        if self.meta["sizes"] != unit.sizes():
            at_hand = json.loads(unit.compile(["sched"], no_code=True)["report"])
            reported["class"] = at_hand["class"]
            for kernel, figures in zip(kernels, at_hand.get("kernels", ())):
                kernel.update({name: figures[name] for name in _FIGURES})
        return reported


class Interpreted(Artifact):
    """A specialisation in tier 1: a program over ready code."""

    tier = 1

    def __init__(self, name: str, program: bytes, meta: dict, seconds: float):
        super().__init__(b"", meta, cached=False, seconds=seconds)
        self._name = name
        self._program = program

    @functools.cached_property
    def module(self) -> Any:
        return _tessera.load_program(self._name, self._program)

    def report(self, unit: Unit) -> dict[str, Any]:
        raise TesseraError(
            f"function '{unit.name}' is interpreted so far; f.warm(*arguments) compiles it"
        )


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _parsed(data: bytes | str) -> Any:
    """Untrusted JSON; None if it is malformed."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _are_pairs(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and all(type(item) is kind for item in one)
        for one in value
    )


def table_name(target: str, name: str = "tuning") -> str:
    """A table of measurements on the target's device: the chip, or the architecture of a CPU."""
    device = target.partition(":")[0]
    if device.startswith("sm_"):
        device = device.rstrip("af")  # sm_90a reads the tables of sm_90
    return f"{name}-{device}.txt"


def _measured(target: str, name: str) -> str:
    """The hash of a measurement table that affects code, "tuning" or "backends":
    docs/schedules.md."""
    table = _tessera.cache_get_table(table_name(target, name))
    return (
        _tessera.cache_key(table.decode("utf-8", "backslashreplace")) if table is not None else ""
    )


class Needs(NamedTuple):
    """The dependencies of code besides its request."""

    names: list[tuple[str, str]]  # names that the compiler asked for, in its order: scope and name
    guarded: list[
        tuple[int, int]
    ]  # sizes and numbers that it needed to know: argument and dimension
    tools: list[str]

    @classmethod
    def of(cls, result: dict) -> Needs:
        """After a compilation."""
        report = json.loads(result["report"] or "{}")
        return cls(
            list(result["questions"].answers),
            sorted(set(result["guarded"])),
            tools.consulted(report),
        )

    @classmethod
    def parse(cls, line: bytes) -> Needs | None:
        found = _parsed(line)
        if not isinstance(found, list) or len(found) != 3:
            return None
        names, guarded, used = found
        are_words = isinstance(used, list) and all(isinstance(one, str) for one in used)
        if not _are_pairs(names, str) or not _are_pairs(guarded, int) or not are_words:
            return None
        return cls(
            [(scope, name) for scope, name in names],
            [(argument, dim) for argument, dim in guarded],
            used,
        )


def _cores(target: str) -> int:
    """The cores that the schedule of a CPU's kernels is for: those that $TESSERA_CORES says, else
    those of this machine, used or not."""
    if target.startswith("sm_"):
        return 0
    named = os.environ.get("TESSERA_CORES", "")
    return int(named) if named.isdecimal() and int(named) else os.sysconf("SC_NPROCESSORS_CONF")


class Keys:
    """The cache keys of a unit."""

    def __init__(self, unit: Unit):
        self.unit = unit
        self.library = library_path()
        target = _tessera.host_target() if unit.target == "cpu" else unit.target
        self.base = _text([
            _FORMAT,
            _tessera.version,
            tools.library_identity(self.library),
            target,
            _cores(target),
            _measured(target, "tuning"),
            _measured(target, "backends"),
            sorted(unit.options),
            unit.name,
            unit.source.text,
            unit.names,
            unit.classes(),
        ])  # fmt: skip

    def index(self) -> str:
        return f'["index",{self.base}]'

    def entry(self, needs: Needs) -> str:
        questions = Questions(self.unit.resolver)
        for scope, name in needs.names:
            questions.resolve(scope, name)
        values = [[*guard, self.unit.value(*guard)] for guard in needs.guarded]
        used = [[tool, tools.identity(tool, self.library)] for tool in needs.tools]
        return f'["entry",{self.base},{_text([questions.material(), values, used])}]'

    def known(self) -> Iterator[str]:
        """Keys of possible entries, the latest first."""
        for line in reversed((_tessera.cache_get(self.index()) or b"").splitlines()):
            if (needs := Needs.parse(line)) is not None:
                yield self.entry(needs)

    def put(self, artifact: Artifact, needs: Needs) -> None:
        entry = _text(artifact.meta).encode() + b"\n" + artifact.bundle
        if _tessera.cache_put(self.entry(needs), entry):
            _tessera.cache_add_line(self.index(), _text(list(needs)))


def _read_entry(key: str) -> tuple[bytes, dict] | None:
    data = _tessera.cache_get(key)
    if data is None:
        return None
    head, _, bundle = data.partition(b"\n")
    meta = _parsed(head)
    is_whole = (
        isinstance(meta, dict)
        and isinstance(meta.get("tuple"), bool)
        and isinstance(meta.get("report"), str)
        and _are_pairs(meta.get("guarded"), int)
        and isinstance(meta.get("sizes"), list)
    )
    return (bundle, meta) if is_whole else None


def _find(unit: Unit, keys: Keys, start: float) -> Artifact | None:
    """The cached code of a unit."""
    for key in keys.known():
        if (found := _read_entry(key)) is None:
            continue
        artifact = Artifact(*found, cached=True, seconds=time.perf_counter() - start)
        try:
            if unit.target == "cpu":
                artifact.module  # noqa: B018 (an entry that does not load is a miss)
            return artifact
        except TesseraError as error:
            _tessera.log(1, f"cache: an entry could not be used: {error}")
    return None


def _meta(unit: Unit, result: dict) -> dict:
    return {
        "tuple": result["tuple"],
        "report": result["report"],
        "guarded": sorted({tuple(one) for one in result["guarded"]}),
        "sizes": unit.sizes(),
    }


def compile_unit(unit: Unit, quiet: bool = False) -> tuple[Artifact, dict]:
    """The code of a unit from the compiler, and the compiler's result."""
    start = time.perf_counter()
    result = unit.compile(quiet=quiet)
    meta = _meta(unit, result)
    seconds = time.perf_counter() - start
    return Artifact(result["bundle"], meta, cached=False, seconds=seconds), result


def interpret(unit: Unit) -> Interpreted:
    """A unit in tier 1."""
    start = time.perf_counter()
    result = unit.interpret()
    meta = _meta(unit, result)
    artifact = Interpreted(unit.name, result["program"], meta, time.perf_counter() - start)
    milliseconds = artifact.seconds * 1e3
    _tessera.log(1, f"interprets '{unit.name}' after {milliseconds:.1f} ms")
    return artifact


def _keys(unit: Unit) -> Keys | None:
    """Without a cache no key is needed."""
    return Keys(unit) if _tessera.cache_folder() or _tessera.cache_shared_folder() else None


def find(unit: Unit) -> Artifact | None:
    """The code of a unit from the cache, if it is there."""
    start = time.perf_counter()
    if os.environ.get("TESSERA_DUMP") or (keys := _keys(unit)) is None:
        return None
    return _find(unit, keys, start)


def specialise(unit: Unit, fresh: bool = False, quiet: bool = False) -> Artifact:
    """The code of a unit, from the cache (unless it must be fresh) or from the compiler.

    Only the compiler writes the stages of TESSERA_DUMP: then the cache is not used.
    """
    start = time.perf_counter()
    if ("profiling", "true") in unit.options:
        _tessera.set_profiling(True)
    fresh = fresh or bool(os.environ.get("TESSERA_DUMP"))
    keys = _keys(unit)
    if keys is not None and not fresh and (artifact := _find(unit, keys, start)):
        _tessera.log(1, f"'{unit.name}' for {unit.target} comes from the cache")
        return artifact

    artifact, result = compile_unit(unit, quiet)
    if keys is not None:
        keys.put(artifact, Needs.of(result))
    milliseconds = artifact.seconds * 1e3
    _tessera.log(1, f"compiled '{unit.name}' for {unit.target} in {milliseconds:.0f} ms")
    return artifact
