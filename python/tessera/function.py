"""`@tsr.function`: a function whose calls are compiled.

The extension runs calls whose class it has seen. Everything else comes to `Function._slow`: it
binds the arguments, finds or makes the specialisation, and tries again.
"""

from __future__ import annotations

import json
import threading
import types
from collections.abc import Callable
from typing import Any

from . import _tessera
from .arrays import NumPyLibrary
from .capture import Resolver, source_of
from .compiler import Artifact, Unit, specialise
from .errors import ArgumentError, CompileError, DeviceError, TesseraError
from .options import merge
from .parameters import Bound, Parameters
from .results import Destination
from .specialization import Specialization, arguments_text, reason_for

STAGES = ("graph", "sched", "tile", "target", "llvm", "asm", "explain", "ptx", "sass")


class Function(_tessera.Function):
    """A decorated function: call it with arrays."""

    def __init__(self, function: types.FunctionType, options: dict[str, str], target: str | None):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self._options = options
        self._target = target
        self._self: Any = None
        self._reset()

    def _reset(self) -> None:
        self._parameters = Parameters(self.__wrapped__)
        self._lock = threading.RLock()
        self._names: list[tuple[str, str]] = []
        self._tables: dict[str, tuple[Any, list[Specialization]]] = {}
        self._active: tuple[Any, list[Specialization]] = (None, [])
        required = self._parameters.required
        # A bound method's first argument is no array: such calls are bound here.
        self._configure(
            self._parameters.kinds,
            required if self._self is None else len(self._parameters.names) + 1,
        )

    def __repr__(self) -> str:
        return f"<tessera function {self.__qualname__}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # by name, as Python's own functions

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        """A method: one bound function per object, kept by the object where that is possible."""
        if instance is None:
            return self
        kept = getattr(instance, "__dict__", None)
        key = f"__tessera_{self.__qualname__}"
        bound = kept.get(key) if kept is not None else None
        if bound is None or bound.__wrapped__ is not self.__wrapped__:
            bound = Function(self.__wrapped__, self._options, self._target)
            bound._self = instance
            bound._reset()
            if kept is not None:
                kept[key] = bound
        return bound

    # -- calls ------------------------------------------------------------------------------------

    def _slow(self, args: tuple, kwargs: dict) -> Any:
        if self._self is not None:
            args = (self._self, *args)
        names = self._parameters.names
        out = kwargs.pop("out", None) if "out" not in names else None
        if "stream" not in names and kwargs.pop("stream", None) is not None:
            raise DeviceError("stream= is for CUDA arrays; the arguments are on the cpu")
        given = self._parameters.assign(args, kwargs)
        bound = self._parameters.bind(given)
        if bound.library is None:
            bound.library = NumPyLibrary()
        if self._target not in (None, "cpu"):
            raise DeviceError(
                f"target '{self._target}' cannot run here; arrays on the cpu run on target 'cpu'"
            )
        destination = Destination(bound, out)

        def attempt() -> Any:
            return self._table(bound).run(bound.specifications, bound.missing, destination.allocate)

        result = attempt()
        if result is None:
            with self._lock:
                result = attempt()  # another thread may have compiled it by now
                if result is None:
                    self._parameters.check(bound)
                    self._specialise(bound)
            result = result or attempt()
        if result is None:
            # Code from the cache whose guards another call made: this call gets its own.
            with self._lock:
                self._specialise(bound, fresh=True)
            result = attempt()
        if result is None:
            raise TesseraError(
                f"function '{self.__name__}': the compiled code does not accept its own call"
            )
        return destination.finish(*result)

    def _table(self, bound: Bound) -> Any:
        """The table for the captured constants' present values, which becomes the active one."""
        with self._lock:
            # Objects come with the call: their attributes are looked at each time.
            if self._active[0] is None or bound.objects or not self._current():
                resolver = self._resolver(bound.objects)
                for scope, name in self._names:
                    resolver.resolve(scope, name)
                tables = self._tables.setdefault(_fingerprint(resolver), (_tessera.Table(), []))
                self._activate_for(resolver, tables)
            return self._active[0]

    def _activate_for(self, resolver: Resolver, active: tuple[Any, list[Specialization]]) -> None:
        self._active = active
        self._activate(active[0], resolver.watches)

    def _resolver(self, objects: dict[str, Any]) -> Resolver:
        if self._self is not None:
            objects = {self._parameters.names[0]: self._self, **objects}
        return Resolver(self.__wrapped__, objects)

    def _unit(
        self, bound: Bound, target: str | None = None, options: dict[str, str] | None = None
    ) -> tuple[bytes, Unit]:
        key, description = _tessera.describe(bound.specifications, bound.missing)
        names = list(bound.names)
        for name, text in self._parameters.default_constants(bound.missing):
            names.append(name)
            description.append((4, text))
        merged = self._options if options is None else {**self._options, **options}
        resolver = self._resolver(bound.objects)
        for scope, name in self._names:
            resolver.resolve(scope, name)
        source = source_of(self.__wrapped__)
        chosen = target or self._target or "cpu"
        return key, Unit(
            self.__name__, source, names, description, chosen, sorted(merged.items()), resolver
        )

    def _specialise(self, bound: Bound, fresh: bool = False) -> None:
        table, records = self._active
        key, unit = self._unit(bound)
        artifact = specialise(unit, fresh)
        record = Specialization(unit, artifact, reason_for(unit, [one.unit for one in records]))
        table.add(artifact.module, self.__name__, 0, key, artifact.meta["tuple"])
        records.append(record)
        names = unit.resolver.names()
        if names != self._names:
            # More names are known now: older tables were told apart by fewer.
            self._names = names
            self._tables = {}
        self._tables[_fingerprint(unit.resolver)] = self._active
        self._activate_for(unit.resolver, self._active)

    # -- looking inside ---------------------------------------------------------------------------

    def specializations(self) -> list[Specialization]:
        """What was compiled, why, and how long it took."""
        seen = {id(records): records for _, records in [*self._tables.values(), self._active]}
        return [record for records in seen.values() for record in records]

    def inspect_ir(self, stage: str, *args: Any, target: str | None = None, **kwargs: Any) -> str:
        """The text of a stage: of the last call, or for these arguments without running."""
        if stage not in STAGES:
            raise ArgumentError(f"expected a stage of {' '.join(STAGES)}, found {stage!r}")
        if args or kwargs:
            unit = self._unit(self._bind_types(args, kwargs), target)[1]
        else:
            unit = self._last_unit()
            if target is not None:
                unit = Unit(
                    unit.name,
                    unit.source,
                    unit.names,
                    unit.description,
                    target,
                    unit.options,
                    unit.resolver,
                )
        return _stage_text(unit, stage)

    def _last_unit(self) -> Unit:
        table, records = self._active
        if table is None or table.last < 0:
            raise TesseraError(
                f"function '{self.__name__}' was not called yet: give arguments to inspect_ir"
            )
        return records[table.last].unit

    def _bind_types(self, args: tuple, kwargs: dict) -> Bound:
        if self._self is not None:
            args = (self._self, *args)
        bound = self._parameters.bind(self._parameters.assign(args, kwargs), types_allowed=True)
        self._parameters.check(bound)
        return bound

    def compile(self, *args: Any, target: str | None = None, **keywords: Any) -> Compiled:
        """Compiles for arrays or types such as Tensor[2, 16, bf16], without running."""
        given = {name: value for name, value in keywords.items() if name in self._parameters.names}
        options = {name: value for name, value in keywords.items() if name not in given}
        bound = self._bind_types(args, given)
        unit = self._unit(bound, target, merge({}, options))[1]
        return Compiled(self, unit, specialise(unit))

    def reference(self, *args: Any, bounds: bool = False, **kwargs: Any) -> Any:
        """The function evaluated in float64; with `bounds`, as Reference objects."""
        from .reference import evaluate

        if self._self is not None:
            args = (self._self, *args)
        bound = self._parameters.bind(self._parameters.assign(args, kwargs))
        self._parameters.check(bound)
        return evaluate(self._unit(bound)[1], bound, bounds)


class Compiled:
    """What f.compile returns: one specialisation, for one target."""

    def __init__(self, function: Function, unit: Unit, artifact: Artifact):
        self._function = function
        self._unit = unit
        self._artifact = artifact
        self._table: Any = None  # loaded when it is called: it may be for another machine

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        parameters = self._function._parameters
        if self._function._self is not None:
            args = (self._function._self, *args)
        bound = parameters.bind(parameters.assign(args, kwargs))
        if bound.library is None:
            bound.library = NumPyLibrary()
        parameters.check(bound)
        if self._table is None:
            self._table = _tessera.Table()
            meta = self._artifact.meta
            self._table.add(self._artifact.module, self._unit.name, 0, None, meta["tuple"])
        destination = Destination(bound, out)
        result = self._table.run(bound.specifications, bound.missing, destination.allocate)
        if result is None:
            arguments = ", ".join(arguments_text(self._unit))
            raise ArgumentError(
                "these arguments are not of the class that was compiled: "
                f"{self._unit.name}({arguments})"
            )
        return destination.finish(*result)

    def inspect_ir(self, stage: str) -> str:
        if stage not in STAGES:
            raise ArgumentError(f"expected a stage of {' '.join(STAGES)}, found {stage!r}")
        return _stage_text(self._unit, stage)

    def report(self) -> dict:
        return json.loads(self._artifact.meta["report"] or "{}")

    def save(self, path: Any) -> None:
        """Writes the bundle; tessera.load reads it."""
        with open(path, "wb") as file:
            file.write(self._artifact.bundle)


def _fingerprint(resolver: Resolver) -> str:
    return json.dumps(resolver.material(), sort_keys=True)


def _stage_text(unit: Unit, stage: str) -> str:
    result = unit.compile([stage], no_code=True)
    if stage not in result["ir"]:
        raise CompileError(f"target '{unit.target}' has no stage '{stage}'")
    return result["ir"][stage]


def function(
    target_function: Callable | None = None, /, *, target: str | None = None, **options: Any
) -> Any:
    """Decorator: `@tsr.function`, or `@tsr.function(numerics=…, target=…)`."""

    def decorate(python_function: Callable) -> Function:
        if isinstance(python_function, Function):
            raise TesseraError(f"function '{python_function.__name__}' is decorated twice")
        if not isinstance(python_function, types.FunctionType):
            raise TesseraError(
                f"@tsr.function: expected a function, found {type(python_function).__name__}"
            )
        inherited = getattr(python_function, "__tessera_options__", {})
        return Function(python_function, merge(inherited, options), target)

    return decorate if target_function is None else decorate(target_function)
