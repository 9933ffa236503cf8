"""Descriptions of compiled shape classes: their arguments, and why each was needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import tiers
from .compiler import Artifact, Unit
from .targets import is_gpu
from .types import DTYPES

if TYPE_CHECKING:
    from .variants import Place, Variant

#: A dimension that was of so many classes is compiled for wide ones from then on, which end here.
_NARROW_CLASSES = 2
_WIDE_BOUNDS = (16, 64, 128, 256, 512, 1024, 16384)
# On a GPU, the number of tiles decides how many CTAs share one.
_WIDE_BOUNDS_OF_GPUS = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class Specialization:
    """One class of arguments: its description, why it was needed, its tier and its figures.

    tier: 1, interpreted; 2, compiled; 3, compiled, and variants are active
    variants: code of tier 3 with its facts, hits and misses
    notes: why a class of calls has no variant of tier 3
    seconds: the time until it could run: of the compilation, or of preparing the interpreter
    calls, hits: calls that it answered, and those among them that ran compiled code
    seconds_saved: what these would have taken longer in tier 1; 0 if it never was there
    """

    def __init__(
        self,
        unit: Unit,
        artifact: Artifact,
        reason: str,
        device: int = 0,
        seen: list[tuple] | None = None,
    ):
        self.unit = unit
        self.seen = unit.description if seen is None else seen  # the call that it was compiled for
        self.keys: set[bytes] = set()  # the classes of calls that it accepts
        self.device = device
        self.artifact = artifact
        self.reason = reason
        self.arguments = arguments_text(unit)
        self.job: Any = None  # its compilation in the background
        self.failure: BaseException | None = None  # of this compilation
        self.places: list[Place] = []  # in tables
        self._before: list[tuple[int, int, int]] = []  # figures of code that was replaced
        tiers.register(self)

    @property
    def tier(self) -> int:
        is_special = any(one.state == "active" for one in self.variants)
        return 3 if is_special else self.artifact.tier

    @property
    def variants(self) -> list[Variant]:
        return [variant for place in self.places for variant in place.variants]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(place.note for place in self.places if place.note))

    def place(self, table: Any, number: int) -> Place:
        return next(one for one in self.places if one.table is table and one.number == number)

    @property
    def seconds(self) -> float:
        return self.artifact.seconds

    @property
    def cached(self) -> bool:
        return self.artifact.cached

    def replace(self, artifact: Artifact) -> None:
        """Calls run this code from now on."""
        module = artifact.module
        for place in self.places:
            figures = place.table.figures(place.number)
            place.table.replace(place.number, module, self.unit.name)
            self._before.append(figures)
        self.artifact = artifact

    def cool(self) -> None:
        """Its compilation was dropped: it may be asked for again."""
        self.job = None
        for place in self.places:
            place.table.cool(place.number)

    def _now(self) -> list[tuple[int, int, int]]:
        return [place.table.figures(place.number) for place in self.places]

    @property
    def special_hits(self) -> int:
        """Calls that ran in tier 3."""
        return sum(variant.hits for variant in self.variants)

    @property
    def calls(self) -> int:
        return sum(one[0] for one in (*self._before, *self._now())) + self.special_hits

    @property
    def hits(self) -> int:
        return sum(one[0] for one in self._now()) + self.special_hits if self.tier != 1 else 0

    @property
    def seconds_saved(self) -> float:
        before, now = _mean(self._before), _mean(self._now())
        if self.tier == 1 or before is None or now is None:
            return 0.0
        return (before - now) * self.hits

    def is_for(self, unit: Unit, device: int) -> bool:
        """Whether compiling the unit would give this code, for the same device."""
        own = self.unit
        return (
            self.device == device
            and (own.target, own.options) == (unit.target, unit.options)
            and own.classes() == unit.classes()
            and own.resolver.material() == unit.resolver.material()
            and all(own.value(*one) == unit.value(*one) for one in self.artifact.meta["guarded"])
        )

    def report(self) -> dict[str, Any]:
        return self.artifact.report(self.unit)

    def __repr__(self) -> str:
        how = "interpreted" if self.tier == 1 else "from the cache" if self.cached else "compiled"
        milliseconds = f"{self.seconds * 1e3:.1f} ms"
        arguments = ", ".join(self.arguments)
        place = "" if self.unit.target == "cpu" else f" for {self.unit.target}"
        return f"<{self.unit.name}({arguments}){place}: {self.reason}, {how} in {milliseconds}>"


def _mean(figures: list[tuple[int, int, int]]) -> float | None:
    """The mean seconds of timed calls."""
    timed = sum(one[1] for one in figures)
    return sum(one[2] for one in figures) / timed * 1e-9 if timed else None


def arguments_text(unit: Unit) -> tuple[str, ...]:
    """Each argument as `x: fp32[16k<=64, n]`: the divisor of a size and its upper bound."""
    return tuple(_argument_text(*pair) for pair in zip(unit.names, unit.description))


def _argument_text(name: str, description: tuple) -> str:
    kind, *rest = description
    if kind == 4:
        return f"{name}={json.loads(rest[0]).get('value')!r}"
    if kind != 0:
        return f"{name}: {('', 'int', 'float', 'bool')[kind]}"
    dtype, unit, contiguous, dims = rest
    sizes = ", ".join(
        str(size) if fixed else _class_text(divisor, hint) for size, divisor, hint, fixed in dims
    )
    layout = "" if contiguous else " strided"
    if not contiguous and unit >= 0:
        layout += f", unit stride in dimension {unit}"
    return f"{name}: {DTYPES[dtype].name}[{sizes}]{layout}"


def _class_text(divisor: int, hint: int) -> str:
    multiple = f"{divisor}k" if divisor > 1 else "n"
    return f"{multiple}<={hint}" if hint else multiple


def widened(unit: Unit, earlier: list[Specialization]) -> Unit:
    """The unit for wide classes of the sizes that keep changing: a loop over many lengths compiles
    a few kernels. On a GPU the divisors of sizes are kept, since they determine how it copies."""
    description = [
        _widened_argument(one, [other.seen[i] for other in earlier if len(other.seen) > i], unit)
        for i, one in enumerate(unit.description)
    ]
    return unit if description == unit.description else unit.with_description(description)


def _widened_argument(argument: tuple, earlier: list[tuple], unit: Unit) -> tuple:
    if argument[0] != 0:
        return argument
    *head, dims = argument
    kind = (*argument[:2], len(dims))
    alike = [other[-1] for other in earlier if (*other[:2], len(other[-1])) == kind]
    wide = []
    for d, (size, divisor, hint, fixed) in enumerate(dims):
        classes = {(one[d][1], one[d][2], one[d][3]) for one in alike if one[d][0] > 1}
        classes.discard((divisor, hint, fixed))
        if size > 1 and len(classes) >= _NARROW_CLASSES:
            on_gpu = is_gpu(unit.target)
            bounds = _WIDE_BOUNDS_OF_GPUS if on_gpu else _WIDE_BOUNDS
            hint = next((bound for bound in bounds if size <= bound), 0)
            divisor, fixed = divisor if on_gpu else 1, 0
        wide.append((size, divisor, hint, fixed))
    return (*head, tuple(wide))


def reason_for(unit: Unit, device: int, earlier: list[Specialization], seen: list[tuple]) -> str:
    """Why no existing specialisation accepts the call."""
    if not earlier:
        return "first call"
    for name, wide, narrow in zip(unit.names, unit.description, seen):
        if wide != narrow:
            dim = next(d for d in range(len(wide[-1])) if wide[-1][d] != narrow[-1][d])
            return f"argument '{name}': dimension {dim} is of many sizes, this is for a wide class"
    classes = unit.classes()
    alike = [other for other in earlier if other.unit.classes() == classes]
    if alike and all(other.device != device for other in alike):
        return "the arrays are on another device"
    if alike and all(other.unit.options != unit.options for other in alike):
        return _reason_of_options(unit)
    if alike:
        return "a size or number that the program needs to know has another value"
    previous = earlier[-1].unit
    for name, old, new in zip(unit.names, previous.classes(), classes):
        if old == new:
            continue
        if len(old) != 4 or len(new) != 4 or old[0] != new[0] or len(old[3]) != len(new[3]):
            return f"argument '{name}' has another type"
        if old[3] == new[3]:
            return f"argument '{name}' has another layout"
        dim = next(d for d in range(len(new[3])) if old[3][d] != new[3][d])
        return f"argument '{name}': dimension {dim} is of another size class"
    return "other arguments are given"


def _reason_of_options(unit: Unit) -> str:
    options = dict(unit.options)
    if options.get("indices") == "64":
        return "a tensor reaches over more than 2^31 elements"
    if options.get("strides") == "any":
        return "a tensor is walked backward"
    if options.get("alignment") == "element":
        return "an address is no multiple of 16 bytes"
    return "other options are given"
