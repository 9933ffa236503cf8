"""The captures of a function: source text, constants, other functions.

The compiler asks for the names that it cannot resolve, and gets the answers as data (JSON, see
tessera-c/tessera.h). Each question is recorded: together they are part of the cache key, and each
adds a watch (holder, name, object), by which the extension checks at every call that nothing
changed.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import tokenize
import types
import weakref
from typing import Any, NamedTuple

from . import _tessera
from .arrays import is_array
from .errors import CompileError
from .operations import Operation
from .types import BY_NAME, DType, Region, Tensor


class Source(NamedTuple):
    """The text of a function without its outer indentation, and its location."""

    text: str
    file: str
    line: int
    column: int


_SOURCES: weakref.WeakKeyDictionary[types.FunctionType, Source] = weakref.WeakKeyDictionary()


def source_of(function: types.FunctionType) -> Source:
    if (known := _SOURCES.get(function)) is not None:
        return known
    code = function.__code__
    # inspect.getsourcelines would first search all modules for this one.
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    if not lines:
        raise CompileError(
            f"function '{function.__qualname__}' has no source text "
            "(it was typed at a prompt, or made by exec): write it into a file"
        )
    try:
        lines = inspect.getblock(lines)
    except (SyntaxError, tokenize.TokenError):
        pass  # the file changed since it was imported: the parser has the better message
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = "".join(one[len(indent) :] if one.startswith(indent) else one for one in lines)
    source = Source(text, code.co_filename, code.co_firstlineno, len(indent))
    _SOURCES[function] = source
    return source


class Unbound(Exception):
    """An unbound name; `names` are those that could have been meant."""

    def __init__(self, names: list[str]):
        super().__init__()
        self.names = names


def _number(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy and isinstance(value, numpy.generic) else value


def constant(value: Any) -> dict | None:
    """The answer for a value that can be a constant of a specialisation, otherwise None."""
    value = _number(value)
    if value is None:
        return {"kind": "none"}
    if isinstance(value, bool):
        return {"kind": "bool", "value": value}
    if isinstance(value, int):
        return {"kind": "int", "value": int(value)}
    if isinstance(value, float):
        # repr gives inf and nan, which JSON cannot express as numbers.
        finite = value - value == 0
        return {"kind": "float", "value": float(value) if finite else repr(float(value))}
    if isinstance(value, str):
        return {"kind": "str", "value": str(value)}
    if isinstance(value, DType):
        return {"kind": "dtype", "value": value.name}
    if isinstance(value, (tuple, range)):
        items = [constant(item) for item in value]
        return None if None in items else {"kind": "tuple", "value": items}
    return None


def _foreign_dtype(value: Any) -> DType | None:
    """numpy.float32, numpy.dtype("float32") and torch.float32 as our own."""
    module = getattr(type(value), "__module__", "").partition(".")[0]
    if isinstance(value, type):
        if value.__module__.partition(".")[0] not in ("numpy", "ml_dtypes"):
            return None
        return BY_NAME.get(value.__name__.removesuffix("_"))
    if module == "numpy" and type(value).__name__.endswith("DType"):
        return BY_NAME.get(value.name)
    if module == "torch" and type(value).__name__ == "dtype":
        return BY_NAME.get(str(value).removeprefix("torch."))
    return None


def _without_places(answers: dict[tuple[str, str], dict]) -> list:
    """Answers without the parts that the code does not depend on."""
    places = ("file", "line", "column", "names")
    return [
        [*question, {key: value for key, value in answer.items() if key not in places}]
        for question, answer in answers.items()
    ]


_RULE = "defvjp"  # the path of a function's derivative rule


class Resolver:
    """Answers questions about the captures of one function, and records them."""

    def __init__(self, root: types.FunctionType, objects: dict[str, Any]):
        self.scopes = {"": root}
        self.objects = objects  # parameters that hold objects, such as self
        self.answers: dict[tuple[str, str], dict] = {}
        self.watches: list[tuple[Any, str, Any]] = []

    def resolve(self, scope: str, name: str) -> dict:
        question = (scope, name)
        if question not in self.answers:
            try:
                self.answers[question] = self._answer(self._look_up(scope, name), scope, name)
            except Unbound as unbound:
                self.answers[question] = {"kind": "missing", "names": unbound.names}
        return self.answers[question]

    def names(self) -> list[tuple[str, str]]:
        return list(self.answers)

    def material(self) -> list:
        """The answers that the choice of a table depends on."""
        return _without_places(self.answers)

    def _look_up(self, scope: str, path: str) -> Any:
        function = self.scopes.get(scope)
        if function is None:
            raise Unbound([])
        root, *attributes = path.split(".")
        if root == _RULE:
            return self._look_up_rule(function, attributes[0])
        value = self._look_up_root(function, scope, root)
        for attribute in attributes:
            holder, missing = value, object()
            value = getattr(holder, attribute, missing)
            if value is missing:
                raise Unbound([name for name in dir(holder) if not name.startswith("_")])
            if not isinstance(value, (types.ModuleType, Operation, DType)):
                self.watches.append((holder, attribute, value))
        return value

    def _look_up_rule(self, function: types.FunctionType, part: str) -> Any:
        rule = getattr(function, "__tessera_rule__", None)
        self.watches.append((function, "__tessera_rule__", rule))
        if rule is None:
            raise Unbound([])
        return getattr(rule, part)

    def _look_up_root(self, function: types.FunctionType, scope: str, root: str) -> Any:
        if scope == "" and root in self.objects:
            return self.objects[root]
        free = function.__code__.co_freevars
        if root in free:
            cell = (function.__closure__ or ())[free.index(root)]
            try:
                value = cell.cell_contents
            except ValueError:
                raise Unbound([]) from None
            self.watches.append((cell, "cell_contents", value))
            return value
        variables = function.__globals__
        if root in variables:
            value = variables[root]
            # Modules, operations and types are assumed to keep their names.
            if not isinstance(value, (types.ModuleType, Operation, DType)):
                self.watches.append((variables, root, value))
            return value
        # The compiler knows Python's own functions (range, len, …).
        raise Unbound(sorted({*free, *(name for name in variables if not name.startswith("_"))}))

    def _answer(self, value: Any, scope: str, name: str) -> dict:
        answer = constant(value)
        if answer is not None:
            return answer
        if isinstance(value, types.ModuleType):
            return {"kind": "module", "value": value.__name__}
        if isinstance(value, Operation) or value is Tensor or value is Region:
            return {"kind": "operation", "module": "tessera", "name": value.__name__}
        if isinstance(value, types.BuiltinFunctionType) and value.__module__ in (
            "math",
            "builtins",
        ):
            return {"kind": "operation", "module": value.__module__, "name": value.__name__}
        if isinstance(value, type) and value.__module__ == "builtins":
            return {"kind": "operation", "module": "builtins", "name": value.__name__}
        dtype = _foreign_dtype(value)
        if dtype is not None:
            return {"kind": "dtype", "value": dtype.name}
        if isinstance(value, _tessera.Function) and hasattr(value, "__wrapped__"):
            answer = self._function(value.__wrapped__, scope, name)
            gradients = getattr(value, "_options", {}).get("grad")
            return {**answer, "grad": gradients} if gradients else answer
        if isinstance(value, types.FunctionType) and value.__name__ != "<lambda>":
            return self._function(value, scope, name)
        kind = "array" if is_array(value) else "unknown"
        return {"kind": kind, "value": f"{type(value).__module__}.{type(value).__qualname__}"}

    def _function(self, function: types.FunctionType, scope: str, name: str) -> dict:
        known = [key for key, value in self.scopes.items() if value is function]
        identity = known[0] if known else f"{scope}/{name}"
        self.scopes[identity] = function
        source = source_of(function)
        return {
            "kind": "function",
            "id": identity,
            "name": function.__name__,
            "source": source.text,
            "file": source.file,
            "line": source.line,
            "column": source.column,
        }


class Questions:
    """The questions of one compilation, in its order.

    Functions are named by the path to them, independently of earlier questions, so that the same
    request asks the same questions in every process.
    """

    def __init__(self, resolver: Resolver):
        self.resolver = resolver
        self.answers: dict[tuple[str, str], dict] = {}
        self._scopes = {"": ""}  # the resolver's, by our own

    def __call__(self, scope: str, name: str) -> str:
        import json

        return json.dumps(self.resolve(scope, name))

    def resolve(self, scope: str, name: str) -> dict:
        question = (scope, name)
        if question not in self.answers:
            answer = self.resolver.resolve(self._scopes.get(scope, f"?{scope}"), name)
            if answer["kind"] == "function":
                known = [own for own, other in self._scopes.items() if other == answer["id"]]
                identity = known[0] if known else f"{scope}/{name}"
                self._scopes[identity] = answer["id"]
                answer = {**answer, "id": identity}
            self.answers[question] = answer
        return self.answers[question]

    def material(self) -> list:
        """The answers that the cache key depends on."""
        return _without_places(self.answers)
