"""The parameters of a function: binding a call's arguments, and checking their annotations."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

from .arrays import adapt, device_text, is_array
from .capture import constant
from .errors import ArgumentError, did_you_mean, kind_of
from .types import DTYPES, RegionType, Tensor, TensorType

_SCALARS = {int: "i", float: "f", bool: "b", "int": "i", "float": "f", "bool": "b"}
_KIND_NAMES = {"i": "an int", "f": "a float", "b": "a bool"}


def _kind(annotation: Any) -> str:
    """A letter per parameter: i, f, b for numbers, t for tensors, a for anything."""
    if isinstance(annotation, (type, str)) and annotation in _SCALARS:
        return _SCALARS[annotation]
    if annotation is Tensor or isinstance(annotation, (TensorType, RegionType)):
        return "t"
    head = annotation.partition("[")[0].split(".")[-1] if isinstance(annotation, str) else ""
    if head in ("Tensor", "Region"):
        return "t"
    return "a"


class Bound:
    """The arguments of one call in the order of the parameters, converted for the runtime."""

    def __init__(self) -> None:
        self.specifications: list[Any] = []
        self.names: list[str] = []
        self.missing = 0  # parameters at the end that take their defaults
        self.keep: list[Any] = []
        self.library: Any = None
        self.first = ""  # the name of the first array, whose library and device count
        self.objects: dict[str, Any] = {}
        self.regions: dict[str, RegionType] = {}
        self.written: list[tuple[str, Any]] = []  # names and arrays, as the first results

    def add_array(self, name: str, value: Any) -> None:
        specification, owner, library = adapt(name, value)
        if self.library is None:
            self.library, self.first = library, name
        elif library.device != self.library.device:
            raise ArgumentError(
                f"argument '{name}': expected an array on {device_text(self.library.device)} as "
                f"argument '{self.first}', found one on {device_text(library.device)}"
            )
        self.specifications.append(specification)
        self.keep.append(owner)

    @property
    def device(self) -> int:
        return self.library.device if self.library is not None else 0


class Parameters:
    def __init__(self, function: types.FunctionType):
        code = function.__code__
        if code.co_flags & 0x0C:  # *args, **kwargs
            raise ArgumentError(
                f"function '{function.__name__}': *args and **kwargs are not part of the language"
            )
        count = code.co_argcount + code.co_kwonlyargcount
        self.function = function.__name__
        self.names = list(code.co_varnames[:count])
        self.positional = code.co_argcount
        self.defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
        values = function.__defaults__ or ()
        self.defaults.update(
            zip(self.names[code.co_argcount - len(values) : code.co_argcount], values)
        )
        annotations = function.__annotations__
        self.annotations = {name: _evaluate(annotations.get(name), function) for name in self.names}
        self.kinds = "".join(_kind(self.annotations[name]) for name in self.names)
        self.regions = {
            name: annotation
            for name, annotation in self.annotations.items()
            if isinstance(annotation, RegionType)
        }
        self.writes = any(region.is_written for region in self.regions.values())

    def append(self, names: list[str]) -> None:
        """Adds parameters that must be given by position; those before them must be given, too."""
        self.names = [*self.names, *names]
        self.positional = len(self.names)
        self.defaults = {}
        self.annotations.update(dict.fromkeys(names))
        self.kinds += "a" * len(names)

    @property
    def required(self) -> int:
        """The number of positional arguments that the fast path needs; larger than their number:
        never fast."""
        if self.positional < len(self.names) or self.writes:
            return len(self.names) + 1
        return sum(name not in self.defaults for name in self.names)

    def assign(self, args: tuple, kwargs: dict) -> dict[str, Any]:
        """Python's rules for calls; the result has only the given arguments."""
        if len(args) > self.positional:
            arguments = "argument" if self.positional == 1 else "arguments"
            raise ArgumentError(
                f"{self.function}: expected {self.positional} positional {arguments}, "
                f"found {len(args)}"
            )
        given = dict(zip(self.names, args))
        for name, value in kwargs.items():
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise ArgumentError(f"{self.function}: there is no argument '{name}'{hint}")
            if name in given:
                raise ArgumentError(f"{self.function}: argument '{name}' is given twice")
            given[name] = value
        absent = [name for name in self.names if name not in given and name not in self.defaults]
        if absent:
            names = ", ".join(f"'{name}'" for name in absent)
            raise ArgumentError(
                f"{self.function}: missing argument{'s' if len(absent) > 1 else ''} {names}"
            )
        return given

    def bind(self, given: dict[str, Any], types_allowed: bool = False) -> Bound:
        bound = Bound()
        last = max((self.names.index(name) for name in given), default=-1)
        for position, name in enumerate(self.names):
            if position > last:
                bound.missing += 1
                continue
            bound.names.append(name)
            if name in given:
                self._bind_one(bound, name, given[name], types_allowed)
                if name in self.regions:
                    bound.regions[name] = self.regions[name]
                    if self.regions[name].is_written:
                        bound.written.append((name, given[name]))
            else:
                bound.specifications.append(_constant_text(self.defaults[name]))
        return bound

    def default_constants(self, missing: int) -> list[tuple[str, str]]:
        """Name and JSON of the trailing parameters that were not given."""
        names = self.names[len(self.names) - missing :] if missing else []
        return [(name, _constant_text(self.defaults[name])) for name in names]

    def _bind_one(self, bound: Bound, name: str, value: Any, types_allowed: bool) -> None:
        kind = self.kinds[self.names.index(name)]
        numpy = sys.modules.get("numpy")
        if numpy and isinstance(value, numpy.generic):
            value = value.item()
        if isinstance(value, TensorType) and types_allowed:
            bound.specifications.append(_type_specification(name, value))
            return
        if is_array(value):
            if kind in _KIND_NAMES:
                raise ArgumentError(
                    f"argument '{name}': expected {_KIND_NAMES[kind]}, found an array"
                )
            bound.add_array(name, value)
            return
        if kind == "t":
            raise ArgumentError(
                f"argument '{name}': expected an array, found {kind_of(value)}"
                + (
                    "; wrap it with numpy.asarray"
                    if isinstance(value, (list, tuple, int, float))
                    else ""
                )
            )
        bound.specifications.append(_scalar(bound, name, kind, value))

    def check(self, bound: Bound) -> None:
        """The constraints of annotations: element types, ranks, sizes, and names of equal sizes."""
        symbols: dict[str, tuple[int, str]] = {}
        for name, specification in zip(bound.names, bound.specifications):
            annotation = self.annotations[name]
            if isinstance(annotation, RegionType):
                annotation = annotation.tensor
            if not isinstance(specification, tuple) or not isinstance(annotation, TensorType):
                continue
            _, code, sizes, *_ = specification
            if annotation.dtype is not None and annotation.dtype.code != code:
                expected, found = annotation.dtype.name, DTYPES[code].name
                raise ArgumentError(f"argument '{name}': expected {expected}, found {found}")
            _check_sizes(name, annotation, sizes, symbols)


def _check_sizes(
    name: str, annotation: TensorType, sizes: tuple, symbols: dict[str, tuple[int, str]]
) -> None:
    dims = annotation.dims
    if not dims:
        return
    leading = bool(dims) and isinstance(dims[0], str) and dims[0].startswith("*")
    fixed = dims[1:] if leading else dims
    if len(sizes) < len(fixed) or (not leading and len(sizes) > len(fixed)):
        least = "at least " if leading else ""
        raise ArgumentError(
            f"argument '{name}': expected {least}{len(fixed)} dimensions {annotation}, "
            f"found {len(sizes)} with the shape {tuple(sizes)}"
        )
    for dim, size in zip(fixed, sizes[len(sizes) - len(fixed) :]):
        if isinstance(dim, int):
            if size not in (dim, -1):
                raise ArgumentError(
                    f"argument '{name}': expected size {dim} in {annotation}, found {size}"
                )
        elif size >= 0 and dim in symbols and symbols[dim][0] != size:
            expected, where = symbols[dim]
            raise ArgumentError(
                f"argument '{name}': expected size {expected} for '{dim}' "
                f"as in argument '{where}', found {size}"
            )
        elif size >= 0:
            symbols.setdefault(dim, (size, name))


def _evaluate(annotation: Any, function: types.FunctionType) -> Any:
    """An annotation that `from __future__ import annotations` may have left as text."""
    if isinstance(annotation, str) and annotation not in _SCALARS:
        try:
            annotation = eval(annotation, function.__globals__)  # noqa: S307 (the function's own text)
        except Exception:  # noqa: BLE001 (whatever it raises, the compiler reads the text itself)
            return annotation
    if getattr(annotation, "__origin__", None) is Tensor:  # Annotated[Tensor, "B", 64]
        return Tensor.__class_getitem__(annotation.__metadata__)
    return annotation


def _scalar(bound: Bound, name: str, kind: str, value: Any) -> Any:
    """A number in the runtime's form, or the JSON text of another constant."""
    if isinstance(value, (bool, int, float)):
        accepted: Any = {"i": int, "f": (int, float), "b": bool}.get(kind, object)
        if not isinstance(value, accepted) or (kind in "if" and isinstance(value, bool)):
            raise ArgumentError(f"argument '{name}': expected {_KIND_NAMES[kind]}, found {value!r}")
        if kind == "f":
            return float(value)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ArgumentError(f"argument '{name}': {value} does not fit into 64 bits")
        return value
    if kind in _KIND_NAMES:
        raise ArgumentError(
            f"argument '{name}': expected {_KIND_NAMES[kind]}, found {kind_of(value)}"
        )
    if isinstance(value, list):
        raise ArgumentError(
            f"argument '{name}': expected an array or a number, found a list; "
            "wrap it with numpy.asarray"
        )
    if constant(value) is None:
        bound.objects[name] = value
    return _constant_text(value)


def _constant_text(value: Any) -> str:
    known = constant(value) or {"kind": "unknown", "value": type(value).__name__}
    return json.dumps(known, sort_keys=True)


def _type_specification(name: str, annotation: TensorType) -> tuple:
    """A tensor that is only a type: dense, without an address; names are unknown sizes."""
    if annotation.dtype is None or annotation.dtype.code is None:
        raise ArgumentError(
            f"argument '{name}': expected an element type at the end of {annotation}"
        )
    if any(isinstance(dim, str) and dim.startswith("*") for dim in annotation.dims):
        raise ArgumentError(f"argument '{name}': expected every dimension in {annotation}")
    sizes = tuple(dim if isinstance(dim, int) else -1 for dim in annotation.dims)
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1) if size >= 0 else 2
    return 0, annotation.dtype.code, sizes, tuple(reversed(strides))
