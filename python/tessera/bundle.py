"""`tessera.load`: functions that were compiled ahead of time, from a bundle file."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

from . import _tessera
from .arrays import is_array
from .calls import Call
from .capture import constant
from .errors import ArgumentError, TesseraError
from .parameters import Bound
from .weights import read

_MOST_ARGUMENTS = 64  # of a call


class BundleFunction(_tessera.Function):
    """One function of a bundle; a call uses the first specialisation that accepts it."""

    def __init__(self, name: str, module: Any, is_tuple: bool, written: list[int]):
        self.__name__ = name
        self._module = module
        self._is_tuple = is_tuple
        self._written = written  # positions of arguments
        self._table = _tessera.Table()
        self._devices: set[int] = set()  # devices that its specialisations are loaded for

    def _load(self, device: int) -> None:
        """Adds the specialisations for a device, at the first call there."""
        try:
            for index in itertools.count():
                self._table.add(self._module, self.__name__, index, None, self._is_tuple, device)
        except KeyError:
            pass
        self._devices.add(device)
        # From now on the extension tries them itself with any arguments, unless the function writes
        # arguments.
        self._configure("a" * _MOST_ARGUMENTS, _MOST_ARGUMENTS + 1 if self._written else 1)
        self._activate(self._table, [])

    def _slow(self, args: tuple, kwargs: dict) -> Any:
        out, stream = kwargs.pop("out", None), kwargs.pop("stream", None)
        if kwargs:
            raise ArgumentError(
                f"function '{self.__name__}': expected arguments by position, and out= or stream=, "
                f"found '{next(iter(kwargs))}'"
            )
        bound = Bound()
        for position, value in enumerate(args):
            name = str(position)
            if is_array(value):
                bound.add_array(name, value)
            elif isinstance(value, (bool, int, float)) and constant(value):
                bound.specifications.append(value)
            else:
                raise ArgumentError(
                    f"argument '{name}': expected an array or a number, found {type(value).__name__}"
                )
        bound.written = [(str(i), args[i]) for i in self._written if i < len(args)]
        call = Call(bound, out, stream)
        call.destination.returns_tuple = self._is_tuple
        if bound.device not in self._devices:
            self._load(bound.device)
        result = call.run(self._table)
        if result is None:
            reason = _tessera.last_error()
            raise ArgumentError(
                f"function '{self.__name__}': the bundle has no code for these arguments"
                + (f" ({reason})" if reason else "")
            )
        return result[0]

    def __repr__(self) -> str:
        return f"<function {self.__name__} of a tessera bundle>"


def _read_manifest(text: str) -> dict[str, Any]:
    """The bundle's description of its functions; it is untrusted."""
    try:
        manifest = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise TesseraError("invalid bundle: its manifest is no JSON") from None
    if not isinstance(manifest, dict):
        raise TesseraError("invalid bundle: its manifest is no JSON object")
    for name in ("functions", "tuples", "writes"):
        value = manifest.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise TesseraError(
                f"invalid bundle: expected a list of names as '{name}' of its manifest"
            )
    return manifest


def _read_written(manifest: dict[str, Any]) -> dict[str, list[int]]:
    """By function, the positions of arguments that it writes."""
    written: dict[str, list[int]] = {}
    for one in manifest.get("writes", []):
        function, _, position = one.rpartition(":")
        if not position.isascii() or not position.isdigit() or len(position) > 4:
            raise TesseraError(
                f"invalid bundle: expected FUNCTION:POSITION in its manifest, found {one[:80]!r}"
            )
        written.setdefault(function, []).append(int(position))
    return written


class Bundle:
    """A loaded bundle: its functions are its attributes."""

    def __init__(self, module: Any):
        names, text = _tessera.functions(module)
        self.manifest = _read_manifest(text)
        tuples, listed = self.manifest.get("tuples", []), self.manifest.get("functions", [])
        written = _read_written(self.manifest)
        self._functions: dict[str, Any] = {
            name: BundleFunction(name, module, name in tuples, written.get(name, []))
            for name in dict.fromkeys([*names, *listed])
        }

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})
        if name not in functions:
            raise AttributeError(
                f"the bundle has no function '{name}'; it has {', '.join(functions) or 'none'}"
            )
        return functions[name]

    def __dir__(self) -> list[str]:
        return [*self._functions, "manifest"]


class WithWeights:
    """A function of a bundle whose first arguments are the weights of a file."""

    def __init__(self, function: BundleFunction, weights: list):
        self.__name__ = function.__name__
        self._function, self._weights = function, weights

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*self._weights, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of a tessera bundle, with {len(self._weights)} weights>"


def _give_weights(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """The function that the file names gets its weights."""
    arrays, metadata = read(path)
    name = metadata.get("function", "")
    try:
        order = json.loads(metadata.get("parameters", ""))
        chosen = [arrays[one] for one in order]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise TesseraError(
            f"{os.fspath(path)}: the file does not say which weights a function needs"
        ) from None
    function = bundle._functions.get(name)
    if not isinstance(function, BundleFunction):
        raise TesseraError(f"{os.fspath(path)}: the bundle has no function {name[:80]!r}")
    bundle._functions[name] = WithWeights(function, chosen)


def load(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> Bundle:
    """Loads a bundle that `tessera build` or `f.compile(...).save(path)` wrote, and the weights that
    were written beside it."""
    module = _tessera.load_file(path)
    try:
        bundle = Bundle(module)
    except TesseraError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None
    if weights is not None:
        _give_weights(bundle, weights)
    return bundle
