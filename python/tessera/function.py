"""`@tsr.function`: a function whose calls are compiled.

The extension runs calls whose shape class is compiled. All other calls go to `Function._slow`: it
binds the arguments, finds or compiles the specialisation, and tries again.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _tessera, background, tiers
from .calls import Call
from .capture import Resolver, source_of
from .compiled import STAGES, Compiled, check_stage, stage_text
from .compiler import Artifact, NotInterpretable, Unit, find, interpret, specialise
from .errors import ArgumentError, TesseraError, placed
from .options import merge
from .parameters import Bound, Parameters
from .specialization import Specialization, arguments_text, reason_for, widened
from .targets import call_options, is_gpu, target_for, target_of_call
from .tiers import Choice, Event
from .variants import Budget, Place

if TYPE_CHECKING:
    from .profile import Profile
    from .simulation import Simulation
    from .tune import Settings, Tuning

__all__ = ["STAGES", "Compiled", "Function", "function", "jit", "warm"]

#: Options that ask for compiled code, or for more of a result than its bound.
_COMPILED_ONLY = {
    "numerics": ("strict",),
    "deterministic": ("true",),
    "batch_invariant": ("true",),
    "profiling": ("true",),
    "accum": (),
    "schedule": (),
    "optimization_level": (),
    "tensor_cores": (),
    "tuning": (),
}


class Function(_tessera.Function):
    """A decorated function: call it with arrays."""

    _is_recordable = True  # whether calls take part in PyTorch's gradients

    def __init__(
        self,
        function: types.FunctionType,
        options: dict[str, str],
        target: str | None,
        choice: Choice = Choice(),  # noqa: B008 (immutable)
    ):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__annotations__ = function.__annotations__
        self._options = options
        self._target = target
        self._choice = choice
        self._self: Any = None
        self._autotune: Settings | None = None
        self._is_traceable = False  # by torch.compile
        self._reset()

    def _reset(self) -> None:
        self._parameters = self._make_parameters()
        self._lock = threading.RLock()
        self._budget = Budget()
        self._names: list[tuple[str, str]] = []
        self._tables: dict[str, tuple[Any, list[Specialization]]] = {}
        self._active: tuple[Any, list[Specialization]] = (None, [])
        names = self._parameters.names
        # A bound method's first argument is not an array: such calls are bound here, and so are
        # those of functions whose arguments have the names of call keywords.
        quick = self._self is None and "out" not in names and "stream" not in names
        self._configure(
            self._parameters.kinds,
            self._parameters.required if quick else len(names) + 1,
            self._is_recordable,
        )

    def _make_parameters(self) -> Parameters:
        return Parameters(self.__wrapped__)

    def __repr__(self) -> str:
        return f"<tessera function {self.__qualname__}>"

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature for help() and inspect.signature(); a method's omits the object."""
        signature = inspect.signature(self.__wrapped__)
        if self._self is None:
            return signature
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __reduce__(self) -> str | tuple:
        """Pickled by name, like Python's own functions."""
        if self._self is not None:
            return getattr, (self._self, self.__name__)
        found: Any = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not self:
            raise pickle.PicklingError(
                f"function '{self.__qualname__}' cannot be pickled: pickle stores its name, and "
                f"module '{self.__module__}' has no such function; define it at the top level"
            )
        return self.__qualname__

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        """A method: one bound function per object, stored in the object if that is possible."""
        if instance is None:
            return self
        kept = getattr(instance, "__dict__", None)
        key = f"__tessera_{self.__qualname__}"
        bound = kept.get(key) if kept is not None else None
        if bound is None or bound.__wrapped__ is not self.__wrapped__:
            bound = Function(self.__wrapped__, self._options, self._target, self._choice)
            bound._self = instance
            bound._autotune = self._autotune
            bound._reset()
            if kept is not None:
                kept[key] = bound
        return bound

    # -- calls ------------------------------------------------------------------------------------

    @placed
    def _slow(self, args: tuple, kwargs: dict) -> Any:
        if "torch" in sys.modules and self._is_pytorchs(args, kwargs):
            from .torch import call

            return call(self, args, kwargs)
        if "jax" in sys.modules and self._is_jaxs(args, kwargs):
            from .jax import call as traced_call

            return traced_call(self, args, kwargs)
        given = args
        if self._self is not None:
            args = (self._self, *args)
        names = self._parameters.names
        out = kwargs.pop("out", None) if "out" not in names else None
        stream = kwargs.pop("stream", None) if "stream" not in names else None
        bound = self._parameters.bind(self._parameters.assign(args, kwargs))
        call = Call(bound, out, stream)
        target = target_of_call(self._target, bound)

        def run() -> tuple | None:
            table = self._table(bound)
            if self._active[1]:
                call.destination.returns_tuple = self._active[1][-1].artifact.meta["tuple"]
            return call.run(table)

        result = run()
        self._heat()
        for options, fresh in self._attempts(bound, target):
            if result is not None:
                return result[0]
            with self._lock:
                result = run()  # another thread may have compiled it by now
                if result is None:
                    self._parameters.check(bound)
                    if self._autotune is not None:
                        self._autotune.before_compiling(self, bound, given, kwargs)
                        self._table(bound)
                    self._specialise(bound, target, options, fresh)
            result = result or run()
        self._heat()
        if result is None:
            reason = _tessera.last_error()
            raise TesseraError(
                f"function '{self.__name__}': the compiled code does not accept its own call"
                + (f" ({reason})" if reason else "")
            )
        return result[0]

    def _is_pytorchs(self, args: tuple, kwargs: dict) -> bool:
        """Whether PyTorch records or traces the call: docs/gradients.md."""
        if not self._is_recordable or kwargs.get("out") is not None or self._parameters.writes:
            return False
        tensor = getattr(sys.modules["torch"], "Tensor", ())
        if not any(isinstance(one, tensor) for one in (*args, *kwargs.values())):
            return False
        from .torch import takes_part, traceable

        if "torch._dynamo" in sys.modules and not self._is_traceable:
            self._is_traceable = True
            traceable(self)
        return takes_part((*args, *kwargs.values()))

    @staticmethod
    def _is_jaxs(args: tuple, kwargs: dict) -> bool:
        """Whether JAX traces the call."""
        modules = {type(one).__module__.partition(".")[0] for one in (*args, *kwargs.values())}
        if "jax" not in modules:
            return False
        from .jax import takes_part

        return takes_part((*args, *kwargs.values()))

    @staticmethod
    def _attempts(bound: Bound, target: str) -> list[tuple[dict[str, str], bool]]:
        """The options to compile with, and whether to bypass the cache, until a call is accepted:
        results may be larger than the arguments suggest, and cached code may have guards from
        another call."""
        if not is_gpu(target):
            return [({}, False), ({}, True)]
        usual, wide = call_options(bound), call_options(bound, is_wide=True)
        return [(usual, False), *([(wide, False)] if wide != usual else []), (wide, True)]

    def _table(self, bound: Bound) -> Any:
        """The table for the current values of captured constants, which becomes the active one."""
        with self._lock:
            # Objects are arguments of the call: their attributes are checked each time.
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
        self, bound: Bound, target: str, options: dict[str, str] | None = None
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
        return key, Unit(
            self.__name__, source, names, description, target, sorted(merged.items()), resolver
        )

    def _specialise(self, bound: Bound, target: str, options: dict[str, str], fresh: bool) -> None:
        table, records = self._active
        key, unit = self._unit(bound, target, options)
        seen = unit.description
        unit = widened(unit, records)
        record = next((one for one in reversed(records) if one.is_for(unit, bound.device)), None)
        if record is not None and key in record.keys and not fresh:
            return  # the same code would reject it again
        if record is None or fresh:
            reason = reason_for(unit, bound.device, records, seen)
            artifact = self._first_code(unit, fresh)
            record = Specialization(unit, artifact, reason, bound.device, seen)
        self._add(record, key)

    def _add(self, record: Specialization, key: bytes) -> None:
        """Calls of a class run the code of this record."""
        table, records = self._active
        unit = record.unit
        record.keys.add(key)
        module, is_tuple = record.artifact.module, record.artifact.meta["tuple"]
        number = table.add(
            module, self.__name__, 0, key, is_tuple, record.device, self._hot_after(record)
        )
        record.places.append(Place(self, record, table, number, key))
        records.append(record)  # once for each class of calls, as in the table
        names = unit.resolver.names()
        if names != self._names:
            # More names are known now: older tables were distinguished by fewer.
            self._names = names
            self._tables = {}
        self._tables[_fingerprint(unit.resolver)] = self._active
        self._activate_for(unit.resolver, self._active)
        self._observe(record, record.places[-1:])

    # -- tiers ------------------------------------------------------------------------------------

    def _first_code(self, unit: Unit, fresh: bool) -> Artifact:
        """The code that runs the first call of a class."""
        tier = tiers.effective(self._choice)
        if fresh or tier in ("2", "3") or self._needs_compiler(unit):
            return self._compiled(unit, fresh)
        if tier != "1" and (artifact := find(unit)) is not None:
            return artifact
        try:
            return interpret(unit)
        except NotInterpretable as why:
            artifact = self._compiled(unit, fresh)
            reason = str(why)
        tiers.emit(Event("fallback", self.__name__, arguments_text(unit), artifact.seconds, reason))
        return artifact

    def _needs_compiler(self, unit: Unit) -> bool:
        """Whether tier 1 does not exist for a call."""
        if unit.target != "cpu" or self._autotune is not None or os.environ.get("TESSERA_DUMP"):
            return True
        return _is_only_compiled(unit)

    def _compiled(self, unit: Unit, fresh: bool = False, quiet: bool = False) -> Artifact:
        artifact = specialise(unit, fresh, quiet)
        if not artifact.cached:
            tiers.count_compilation(artifact.seconds)
        return artifact

    def _hot_after(self, record: Specialization) -> int:
        """The nanoseconds of calls after which compiling pays; -1 if the calls are not timed."""
        if record.tier != 1 or tiers.effective(self._choice) == "1":
            return -1
        return int(self._choice.hot * tiers.expected_compile_seconds() * 1e9)

    def _heat(self) -> None:
        table = self._active[0]
        if table is not None and (table.hot or table.ripe):
            self._heated()

    def _heated(self) -> None:
        """Starts to compile what has become hot, or has facts in common."""
        with self._lock:
            table, records = self._active
            if table is None:
                return
            for number in table.hot:
                self._promote(records[number])
            for number in table.ripe:
                records[number].place(table, number).ripen()

    def _observe(self, record: Specialization, places: list[Place]) -> None:
        """Observes calls of compiled code, for tier 3. Results that must not change from call to
        call are those of tier 2."""
        tier = tiers.effective(self._choice)
        if record.tier == 1 or tier not in ("auto", "3") or self._autotune is not None:
            return
        if not _is_only_compiled(record.unit):
            for place in places:
                place.start()

    def _may_compile_variant(self) -> bool:
        with self._lock:
            return self._budget.take()

    def _promote(self, record: Specialization, is_urgent: bool = False) -> background.Job | None:
        """Compiles a specialisation of tier 1 in the background; None if it was compiled, or could
        not be."""
        if record.tier != 1 or record.failure is not None:
            return None
        if record.job is None:
            background.check_environment()  # before anything is changed, if it is wrong
            record.job = background.Job(
                lambda: self._swap(record), record.cool, lambda why: self._fail(record, why)
            )
            background.submit(record.job, is_urgent)
        return record.job

    def _swap(self, record: Specialization) -> None:
        """Compiles a specialisation; its calls run the code from then on."""
        try:
            artifact = self._compiled(record.unit, quiet=True)
            with self._lock:
                if record.failure is not None:
                    return  # it came too late
                record.replace(artifact)
                self._observe(record, record.places)
        except BaseException as error:  # noqa: BLE001 (a fault of the compiler is told, once)
            if record.failure is None:
                self._fail(record, str(error).partition("\n")[0] or type(error).__name__, error)
            return
        finally:
            record.job = None
        tiers.emit(Event("swap", self.__name__, record.arguments, artifact.seconds, ""))

    def _fail(self, record: Specialization, why: str, error: BaseException | None = None) -> None:
        """The compilation of a specialisation failed, which is told once."""
        record.failure = error or TesseraError(
            f"function '{self.__name__}': the compilation failed: {why}"
        )
        tiers.emit(Event("failure", self.__name__, record.arguments, 0.0, why))

    @placed
    def warm(self, *args: Any, **kwargs: Any) -> Specialization:
        """Compiles for these arguments, without running, and waits for the code. Types such as
        Tensor[2, 16, fp32] will do."""
        bound = self._bind_types(args, kwargs)
        target = target_of_call(self._target, bound)
        with self._lock:
            self._table(bound)
            options = call_options(bound) if is_gpu(target) else {}
            key, unit = self._unit(bound, target, options)
            seen = unit.description
            records = self._active[1]
            unit = widened(unit, records)
            record = next(
                (one for one in reversed(records) if one.is_for(unit, bound.device)), None
            )
            if record is None:
                reason = reason_for(unit, bound.device, records, seen)
                artifact = self._compiled(unit)
                record = Specialization(unit, artifact, reason, bound.device, seen)
            if key not in record.keys:
                self._add(record, key)
            job = self._promote(record, is_urgent=True)
        if job is not None:
            job.done.wait()
        if record.failure is not None:
            raise record.failure
        return record

    def _forget(self) -> None:
        """Drops compiled code, so that the next call finds what tuning has changed."""
        with self._lock:
            self._tables = {}
            self._active = (None, [])
            self._activate(_tessera.Table(), [])

    @placed
    def tune(
        self,
        *args: Any,
        budget: float | str | None = None,
        strategy: str | None = None,
        seed: int | None = None,
        progress: bool | None = None,
        **kwargs: Any,
    ) -> Tuning:
        """Measures schedules of the kernels for these arguments, and keeps the fastest for later
        calls and processes. `budget` is in seconds, "30s" or "2m"."""
        from .tune import tune

        given = {"budget": budget, "strategy": strategy, "seed": seed, "progress": progress}
        settings = dict(self._autotune.options) if self._autotune else {}
        settings |= {name: value for name, value in given.items() if value is not None}
        return tune(self, args, kwargs, **settings)

    # -- looking inside ---------------------------------------------------------------------------

    def specializations(self) -> list[Specialization]:
        """The compiled specialisations, why each was needed, and its compile time."""
        tables = [*self._tables.values(), self._active]
        return list({id(record): record for _, records in tables for record in records}.values())

    @placed
    def inspect_ir(self, stage: str, *args: Any, target: str | None = None, **kwargs: Any) -> str:
        """The text of a stage: of the last call, or for these arguments without running."""
        check_stage(stage)
        if args or kwargs:
            bound = self._bind_types(args, kwargs)
            unit = self._unit(bound, target_for(target or self._target, bound))[1]
        else:
            unit = self._last_unit()
            if target is not None:
                unit = unit.for_target(target_for(target, Bound()))
        return stage_text(unit, stage)

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

    @placed
    def compile(self, *args: Any, target: str | None = None, **keywords: Any) -> Compiled:
        """Compiles for arrays or types such as Tensor[2, 16, bf16], without running."""
        given = {name: value for name, value in keywords.items() if name in self._parameters.names}
        options = {name: value for name, value in keywords.items() if name not in given}
        bound = self._bind_types(args, given)
        chosen = target_for(target or self._target, bound)
        more = call_options(bound) if is_gpu(chosen) else {}
        unit = self._unit(bound, chosen, {**more, **merge({}, options)})[1]
        return Compiled(self._parameters, self._self, unit, specialise(unit))

    @placed
    def simulate(
        self,
        *args: Any,
        target: str = "sm_90",
        seeds: int = 4,
        exhaustive: bool = False,
        most_runs: int = 10000,
        mutants: bool = False,
        **kwargs: Any,
    ) -> Simulation:
        """Simulates the GPU kernels on the CPU with adversarial schedules of warps and asynchronous
        copies."""
        from .simulation import simulate

        if self._self is not None:
            args = (self._self, *args)
        bound = self._parameters.bind(self._parameters.assign(args, kwargs))
        self._parameters.check(bound)
        unit = self._unit(bound, target, {**call_options(bound), "via": "ptx"})[1]
        return simulate(unit, bound, seeds, exhaustive, most_runs, mutants)

    @placed
    def profile(
        self,
        *args: Any,
        target: str | None = None,
        counters: str | os.PathLike[str] | None = None,
        simulate: bool = False,
        verify: bool = False,
        **keywords: Any,
    ) -> Profile:
        """Says why calls with these arrays or types are not faster: time and gap by kernel, cause
        and line, and advice. Arrays on a device that runs the target's code are measured, other
        times are predicted."""
        from .profile import profile

        given = {name: value for name, value in keywords.items() if name in self._parameters.names}
        options = {name: value for name, value in keywords.items() if name not in given}
        return profile(self, args, given, target, options, counters, simulate, verify)

    @placed
    def reference(self, *args: Any, bounds: bool = False, **kwargs: Any) -> Any:
        """The function evaluated in float64; with `bounds`, as Reference objects."""
        from .reference import evaluate

        if self._self is not None:
            args = (self._self, *args)
        bound = self._parameters.bind(self._parameters.assign(args, kwargs))
        self._parameters.check(bound)
        return evaluate(self._unit(bound, "cpu")[1], bound, bounds)


def _is_only_compiled(unit: Unit) -> bool:
    return any(
        name in _COMPILED_ONLY and (value in _COMPILED_ONLY[name] or not _COMPILED_ONLY[name])
        for name, value in unit.options
    )


def _fingerprint(resolver: Resolver) -> str:
    return json.dumps(resolver.material(), sort_keys=True)


def function(
    target_function: Callable | None = None,
    /,
    *,
    target: str | None = None,
    tier: str | int = "auto",
    hot: float | None = None,
    **options: Any,
) -> Any:
    """Decorator: `@tsr.function`, or `@tsr.function(numerics=…, target=…, tier=…)`.

    tier: 1, calls are interpreted; 2, the first call waits for compiled code; 3, the same, and code
        for what calls have in common follows; "auto", calls are interpreted until compiled code is
        there, and so on.
    hot: with "auto", the share of a compilation's expected time that calls take before it starts.
    """
    choice = tiers.read_choice(tier, hot)

    def decorate(python_function: Callable) -> Function:
        if isinstance(python_function, Function):
            raise TesseraError(f"function '{python_function.__name__}' is decorated twice")
        if not isinstance(python_function, types.FunctionType):
            raise TesseraError(
                f"@tsr.function: expected a function, found {type(python_function).__name__}"
            )
        inherited = getattr(python_function, "__tessera_options__", {})
        return Function(python_function, merge(inherited, options), target, choice)

    return decorate if target_function is None else decorate(target_function)


def jit(*, tier: str | int = "auto", hot: float | None = None, **options: Any) -> Any:
    """Decorator `@tsr.jit(tier=…, hot=…)`: `@tsr.function` with its tiers spelled out."""
    return function(tier=tier, hot=hot, **options)


def warm(calls: Iterable[tuple]) -> list[Specialization]:
    """Compiles for several calls in parallel, and waits: `tsr.warm([(f, x), (g, x, y)])`."""
    from concurrent.futures import ThreadPoolExecutor

    wanted = []
    for call in calls:
        if not isinstance(call, tuple) or not call or not isinstance(call[0], Function):
            raise ArgumentError(
                "warm: expected tuples of a @tsr.function and its arguments, found "
                f"{type(call).__name__}"
            )
        wanted.append(call)
    if not wanted:
        return []
    with ThreadPoolExecutor(min(len(wanted), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda call: call[0].warm(*call[1:]), wanted))
