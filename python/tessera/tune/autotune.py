"""`@tsr.autotune(...)`: functions that are tuned when they are first called with new sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _tessera
from ..compiler import table_name
from ..errors import ArgumentError, TesseraError
from . import table

if TYPE_CHECKING:
    from ..function import Function
    from ..parameters import Bound


@dataclass
class Settings:
    """What a decorator says about tuning."""

    options: dict[str, Any]
    key: tuple[str, ...] | None
    cache: bool | Path
    tuned: set[Any] = field(default_factory=set)

    def key_of(self, bound: Bound) -> Any:
        """The sizes by which tunings are distinguished."""
        return tuple(
            tuple(spec[2]) if isinstance(spec, tuple) and len(spec) >= 4 else None
            for name, spec in zip(bound.names, bound.specifications)
            if self.key is None or name in self.key
        )

    def before_compiling(self, function: Function, bound: Bound, args: tuple, kwargs: dict) -> None:
        """Tunes, if no call with these sizes was tuned before."""
        from .tuner import is_tuned, tune

        key = self.key_of(bound)
        if key in self.tuned:
            return
        self.tuned.add(key)
        if isinstance(self.cache, Path) and self.cache.exists():
            import_table(self.cache)
        if self.cache is not False and is_tuned(function, args, kwargs):
            return
        tune(function, args, kwargs, **self.options)
        if isinstance(self.cache, Path):
            export_table(self.cache, table_name(_tessera.host_target()))


def export_table(path: Path, name: str) -> int:
    """Writes a table of the cache to a file, beside what the file has; returns its kernels."""
    lines = table.read(name)
    if path.exists():
        device, known = table.parse(path.read_text(errors="replace"), str(path))
        if device != table.device_of(name):
            raise TesseraError(f"{path} is a table of '{device}', not of '{table.device_of(name)}'")
        lines = [*known, *lines]
    part = path.with_name(path.name + ".part")
    part.write_text(table.text_of(table.device_of(name), lines))
    os.replace(part, path)
    return len({one.key for one in lines})


def import_table(path: Path) -> tuple[str, int]:
    """Adds a file's lines to the cache's table of its device; returns the device and the lines."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise TesseraError(f"{path}: {error.strerror}") from None
    device, lines = table.parse(text, str(path))
    table.merge(f"tuning-{device}.txt", lines)
    return device, len(lines)


def autotune(
    *,
    space: dict[str, Sequence[int | None]] | None = None,
    constraints: Sequence[Callable[[dict], bool]] = (),
    objective: str = "time",
    key: Sequence[str] | None = None,
    budget: float | str = "30s",
    cache: bool | str | os.PathLike[str] = True,
    strategy: str = "bayesian",
    seed: int = 0,
) -> Callable[[Any], Any]:
    """Decorator above `@tsr.function`: tunes when the function is first called with new sizes.

    space: values by name, {"tile.m": [64, 128], "num_stages": [2, 3, 4]}; by default all candidates
        of the compiler.
    constraints: functions of a schedule, as a dict, that say whether it is measured.
    key: the arguments whose sizes distinguish tunings; by default all.
    budget: seconds, "30s" or "2m" for each tuning.
    cache: a file that also keeps the results, for another machine of the same kind; False: results
        of earlier processes are measured again.
    """
    from .tuner import seconds_of

    seconds_of(budget)

    def decorate(target: Any) -> Any:
        from ..function import Function

        if not isinstance(target, Function):
            raise ArgumentError("@autotune: expected a @tsr.function below it")
        unknown = [name for name in key or () if name not in target._parameters.names]
        if unknown:
            raise ArgumentError(
                f"@autotune: function '{target.__name__}' has no argument '{unknown[0]}'"
            )
        options = {
            "space": space,
            "constraints": tuple(constraints),
            "objective": objective,
            "budget": budget,
            "strategy": strategy,
            "seed": seed,
        }
        target._autotune = Settings(
            options,
            tuple(key) if key is not None else None,
            cache if isinstance(cache, bool) else Path(cache),
        )
        return target

    return decorate
