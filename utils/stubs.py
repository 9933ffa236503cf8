#!/usr/bin/env python3
"""Writes what Python knows about the operations: python/tessera/entries.py and __init__.pyi.

    utils/stubs.py            writes both
    utils/stubs.py --check    says whether they are up to date; exit status 1 if not

Both follow from the compiler's own entries (name, signature, meaning), so this is run after an
operation was added. The stub's types come from the names of parameters, which mean the same thing
in every operation; a name that is not known here can be anything.
"""

import argparse
import ctypes
import json
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PACKAGE = TOP / "python" / "tessera"

#: Types by the name of a parameter.
PARAMETERS = {
    **dict.fromkeys(("x", "y", "z", "condition", "weight", "bias", "index", "indices", "src"), "Operand"),
    **dict.fromkeys(("running_mean", "running_var", "target", "end", "mask"), "Operand"),
    **dict.fromkeys(("min", "max", "value", "values"), "Operand"),
    **dict.fromkeys(("dim", "axis"), "Dims"),
    **dict.fromkeys(("dims", "shape", "counts", "normalized_shape", "sizes", "shifts", "pad"), "Sizes"),
    **dict.fromkeys(("keepdim", "unbiased", "safe", "largest", "sorted", "descending", "stable"), "_bool"),
    **dict.fromkeys(("dim0", "dim1", "start_dim", "end_dim", "chunks", "diagonal", "k", "n", "m"), "_int"),
    **dict.fromkeys(("num_groups", "num_classes", "seed", "offset", "ignore_index", "decimals"), "_int"),
    **dict.fromkeys(("eps", "alpha", "negative_slope", "p", "beta", "threshold"), "_float"),
    **dict.fromkeys(("momentum", "label_smoothing", "ord"), "_float"),
    **dict.fromkeys(("approximate", "reduction", "equation", "mode"), "str"),
    **dict.fromkeys(("start", "step", "operands"), "Operand"),
    "training": "_bool",
    "rounding_mode": "str",
    "dtype": "DType",
    "tensors": "Sequence[Tensor]",
    "correction": "_float",
}
#: Results that are not one tensor, by the name of the operation.
RESULTS = {
    "print": "None",
    "shape": "tuple[_int, ...]",
    "dtype": "DType",
    **dict.fromkeys(("ndim", "dim", "numel"), "_int"),
    "size": "Any",
    **dict.fromkeys(("split", "chunk"), "tuple[Tensor, ...]"),
    **dict.fromkeys(("max", "min", "sort", "topk"), "Any"),
}
HEAD = '"""{what}\n\nWritten by utils/stubs.py from the compiler\'s entries."""\n\n'

STUB = '''\
# Tensors have methods of these names.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, overload

from .compiled import Compiled as Compiled
from .errors import (
    ArgumentError as ArgumentError,
    CompileError as CompileError,
    DeviceError as DeviceError,
    Diagnostic as Diagnostic,
    FixIt as FixIt,
    OutOfMemoryError as OutOfMemoryError,
    OutOfRangeError as OutOfRangeError,
    TesseraError as TesseraError,
)
from .function import Function as Function
from .options import Numerics
from .options import accum as accum
from .options import numerics as numerics
from .types import DType as DType
from .types import Region as Region
from .types import TensorType as TensorType
from .types import read as read
from .types import reduce_sum as reduce_sum
from .types import write as write

__version__: str
inf: _float
nan: _float
pi: _float
e: _float

Operand: TypeAlias = "Tensor | _float | _bool"
Dims: TypeAlias = _int | Sequence[_int]
Sizes: TypeAlias = _int | Sequence[_int]

# Element types.
{dtypes}

class Tensor:
    """A tensor inside a function, and `Tensor["B", 64, fp16]` in its annotations."""

    def __class_getitem__(cls, items: Any) -> TensorType: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __matmul__(self, other: Tensor) -> Tensor: ...
{operators}
{members}

@overload
def function(target_function: Callable[..., Any], /) -> Function: ...
@overload
def function(
    *,
    target: str | None = None,
    numerics: str | Numerics = ...,
    matmul: str = ...,
    fast_math: _bool = ...,
    deterministic: _bool = ...,
    batch_invariant: _bool = ...,
    accum: DType = ...,
    via: str = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
def load(path: str | PathLike[str]) -> Any: ...
def set_num_threads(count: _int) -> None: ...
def get_num_threads() -> _int: ...
def metrics() -> dict[str, _int]: ...
def metrics_text() -> str: ...
def devices() -> list[dict[str, Any]]: ...

# Operations.
{functions}
'''


def read_operations() -> list[dict]:
    library = ctypes.CDLL(str(TOP / "build" / "lib" / "libtessera.so"))
    library.tessera_operations.restype = ctypes.c_char_p
    return [one for one in json.loads(library.tessera_operations()) if one["module"] == "tsr"]


def parameters(signature: str) -> list[str]:
    """The parameters with types, those with defaults as `name: type = ...`."""
    typed = []
    for part in filter(None, (part.strip() for part in signature.split(","))):
        name, _, default = part.partition("=")
        stars = name[: len(name) - len(name.lstrip("*"))]
        kind = PARAMETERS.get(name.lstrip("*"), "Any")
        if part == "*":
            typed.append("*")
        elif stars:
            typed.append(f"{stars}{name.lstrip('*')}: {kind}")
        elif default:
            optional = " | None" if default == "None" and kind != "Any" else ""
            typed.append(f"{name}: {kind}{optional} = ...")
        else:
            typed.append(f"{name}: {kind}")
    return typed


def synonyms(typed: list[str]) -> list[str]:
    """NumPy's words for the same parameters, where there is room for them."""
    names = {one.partition(":")[0] for one in typed}
    if any(one.startswith("*") and one != "*" for one in typed):
        return typed
    extra = []
    if "dim" in names:
        extra.append("axis: Dims | None = ...")
        typed = [one if one != "dim: Dims" else "dim: Dims = ..." for one in typed]
        position = next(i for i, one in enumerate(typed) if one.startswith("dim:"))
        typed = typed[: position + 1] + [
            one if "= ..." in one or one == "*" else f"{one} = ..." for one in typed[position + 1 :]
        ]
    if "keepdim" in names:
        extra.append("keepdims: _bool = ...")
    return [*typed, *([] if "*" in typed else ["*"]), *extra] if extra else typed


def definition(entry: dict, first: str | None, indent: str) -> str:
    typed = synonyms(parameters(entry["signature"]))
    if first is not None:
        typed = [first, *typed[1:]]
    result = RESULTS.get(entry["name"], "Tensor")
    line = f"{indent}def {entry['name']}({', '.join(typed)}) -> {result}:"
    return f'{line}\n{indent}    """{entry["meaning"]}"""\n'


def stub_text(entries: list[dict]) -> str:
    sys.path.insert(0, str(TOP / "build" / "python"))
    from tessera.types import BY_NAME

    binary = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
    operators = [
        f"    def __{prefix}{name}__(self, other: Operand) -> Tensor: ..."
        for name in binary
        for prefix in ("", "r")
    ]
    operators += [f"    def __{n}__(self, other: Operand) -> Tensor: ..." for n in "lt le gt ge".split()]
    members = []
    for entry in entries:
        if entry["property"]:
            members.append("    @property\n" + definition(entry, "self", "    "))
        elif entry["method"]:
            members.append(definition(entry, "self", "    "))
    functions = [definition(entry, None, "") for entry in entries if entry["function"]]
    return HEAD.format(what="Types of the package, its operations among them.") + STUB.format(
        dtypes="\n".join(f"{name}: DType" for name in BY_NAME if name != "bool"),
        operators="\n".join(operators),
        members="\n".join(members).rstrip(),
        functions="\n".join(functions).rstrip(),
    )


def entries_text(entries: list[dict]) -> str:
    lines = [HEAD.format(what="The operations' names, signatures and meanings.") + "ENTRIES = {"]
    for entry in entries:
        if entry["function"]:
            signature, meaning = json.dumps(entry["signature"]), json.dumps(entry["meaning"])
            lines.append(f'    "{entry["name"]}": ({signature}, {meaning}),')
    return "\n".join([*lines, "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    entries = read_operations()
    stale = []
    # The stub is made with the package's help, which needs the entries.
    for name, make in {"entries.py": entries_text, "__init__.pyi": stub_text}.items():
        path, text = PACKAGE / name, make(entries)
        if not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(TOP)))
            if not check:
                path.write_text(text)
    if stale:
        what = "is out of date; run utils/stubs.py" if check else "written"
        print("\n".join(f"{name}: {what}" for name in stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
