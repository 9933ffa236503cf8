"""`tessera.load`: functions that were compiled ahead, from a bundle file."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

from . import _tessera
from .arrays import NumPyLibrary, adapt, is_array
from .capture import constant
from .errors import ArgumentError, TesseraError
from .parameters import Bound
from .results import Destination


class BundleFunction:
    """One function of a bundle; a call takes the first specialisation that accepts it."""

    def __init__(self, name: str, module: Any, is_tuple: bool):
        self.__name__ = name
        self._module = module
        self._is_tuple = is_tuple
        self._tables: dict[int, Any] = {}

    def _table(self, device: int) -> Any:
        """The specialisations for a device, loaded at the first call there."""
        table = self._tables.get(device)
        if table is not None:
            return table
        table = _tessera.Table()
        try:
            for index in itertools.count():
                table.add(self._module, self.__name__, index, None, self._is_tuple, device)
        except KeyError:
            pass
        self._tables[device] = table
        return table

    def __call__(self, *args: Any, out: Any = None, stream: Any = None) -> Any:
        bound = Bound()
        for position, value in enumerate(args):
            name = str(position)
            if is_array(value):
                specification, owner, library = adapt(name, value)
                bound.specifications.append(specification)
                bound.keep.append(owner)
                bound.library = bound.library or library
            elif isinstance(value, (bool, int, float)) and constant(value):
                bound.specifications.append(value)
            else:
                raise ArgumentError(
                    f"argument {name}: expected an array or a number, found {type(value).__name__}"
                )
        library = bound.library = bound.library or NumPyLibrary()
        destination = Destination(bound, out)
        table = self._table(library.device)
        if library.device:
            if stream is None:
                stream = library.current_stream()
            handle = int(getattr(stream, "cuda_stream", stream))
            result = table.run(bound.specifications, 0, destination.allocate, handle)
        else:
            result = table.run(bound.specifications, 0, destination.allocate)
        if result is None:
            reason = _tessera.last_error()
            raise ArgumentError(
                f"function '{self.__name__}': the bundle has no code for these arguments"
                + (f" ({reason})" if reason else "")
            )
        return destination.finish(*result)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of a tessera bundle>"


class Bundle:
    """A loaded bundle: its functions are its attributes."""

    def __init__(self, data: bytes):
        module = _tessera.load(data)
        names, manifest = _tessera.functions(module)
        try:
            self.manifest = json.loads(manifest or "{}")
        except ValueError:
            self.manifest = {}
        tuples = self.manifest.get("tuples", []) if isinstance(self.manifest, dict) else []
        listed = self.manifest.get("functions", []) if isinstance(self.manifest, dict) else []
        self._functions = {
            name: BundleFunction(name, module, name in tuples)
            for name in dict.fromkeys([*names, *listed])
        }

    def __getattr__(self, name: str) -> BundleFunction:
        functions = self.__dict__.get("_functions", {})
        if name not in functions:
            raise AttributeError(
                f"the bundle has no function '{name}'; it has {', '.join(functions) or 'none'}"
            )
        return functions[name]

    def __dir__(self) -> list[str]:
        return [*self._functions, "manifest"]


def load(path: str | os.PathLike[str]) -> Bundle:
    """Loads a bundle that `tessera build` or `f.compile(...).save(path)` wrote."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise TesseraError(f"{os.fspath(path)}: {error.strerror}") from error
    try:
        return Bundle(data)
    except TesseraError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None
