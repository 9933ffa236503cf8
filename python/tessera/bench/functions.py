"""A user's own function as a benchmark: random arguments, numerics first, then PyTorch and other
peers.

    tessera bench FILE::FUNCTION --arg q=fp16[2,16,1024,64] … [--peer [NAME=]FILE::FUNCTION]

PyTorch runs the same text (peers/translated.py), eagerly and compiled. A named peer gets the same
arrays: as PyTorch tensors if its name starts with "torch", otherwise as NumPy arrays.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tessera as tsr
from tessera.types import BY_NAME, EXTENSION_NAMES, DType

from .harness import OURS, Case, Prepared, Target
from .peers import pytorch

_HEAD = "import math\nimport tessera as tsr\nfrom tessera import Tensor, {types}\n"
_CHECKED = 1 << 27  # operations up to which results are compared with float64


class Wrong(ValueError):
    """The command line requests something that is not possible."""


def is_program(text: str) -> bool:
    return "::" in text or text.endswith((".py", ".tsr"))


def _module(path: Path) -> Any:
    """The imported file; a file without imports knows the language's names."""
    if not path.exists():
        raise Wrong(f"{path}: no such file")
    if path.suffix == ".tsr":
        types = ", ".join(name for name in BY_NAME if name.isidentifier() and hasattr(tsr, name))
        folder = Path(tempfile.mkdtemp(prefix="tessera-bench-"))
        text = path.read_text()
        path = folder / f"{path.stem}.py"
        path.write_text(_HEAD.format(types=types) + text)
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def load(program: str) -> Any:
    """FILE::FUNCTION, or a FILE that has one function."""
    file, _, name = program.partition("::")
    module = _module(Path(file))
    if name:
        if not hasattr(module, name):
            raise Wrong(f"{file} has no function '{name}'")
        return getattr(module, name)
    found = [one for one in vars(module).values() if isinstance(one, tsr.Function)]
    own = [one for one in found if one.__module__ == module.__name__]
    if len(own) != 1:
        raise Wrong(f"{file} has {len(own)} functions: name one, as in {file}::NAME")
    return own[0]


def _dtype(name: str, text: str) -> DType:
    dtype = BY_NAME.get(name)
    if dtype is None or dtype.code is None:
        raise Wrong(f"--arg {text}: there is no type '{name}' of arrays")
    return dtype


def _array(dtype: DType, sizes: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype.name == "bool":
        return rng.integers(0, 2, sizes).astype(bool)
    if dtype.name.startswith(("int", "uint")):
        return rng.integers(0, 16, sizes).astype(dtype.numpy_name)
    values = rng.standard_normal(sizes, np.float32)
    if dtype.numpy_name:
        return values.astype(dtype.numpy_name)
    import ml_dtypes

    return values.astype(getattr(ml_dtypes, EXTENSION_NAMES[dtype]))


def argument(text: str, rng: np.random.Generator) -> tuple[str, Any]:
    """`x=fp32[64,128]`, `n=3`, `scale=0.5`, `on=true`: a name and a value."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Wrong(f"--arg {text}: expected NAME=TYPE[SIZES] or NAME=NUMBER")
    if found := re.fullmatch(r"(\w+)\[([\d,\s]*)\]", value):
        sizes = tuple(int(size) for size in found[2].split(",") if size.strip())
        return name, _array(_dtype(found[1], text), sizes, rng)
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    raise Wrong(f"--arg {text}: expected TYPE[SIZES], a number, true or false, found '{value}'")


def arguments_of(function: tsr.Function, texts: list[str]) -> list:
    rng = np.random.default_rng(0)
    given = dict(argument(text, rng) for text in texts)
    names, defaults = function._parameters.names, function._parameters.defaults
    if unknown := given.keys() - set(names):
        raise Wrong(f"function '{function.__name__}' has no argument '{sorted(unknown)[0]}'")
    if missing := [name for name in names if name not in given and name not in defaults]:
        raise Wrong(f"--arg {missing[0]}=… is missing: the arguments are {', '.join(names)}")
    return [given.get(name, defaults.get(name)) for name in names]


def _results(value: Any) -> list:
    return list(value) if type(value) is tuple else [value]


def _check(function: tsr.Function, arguments: list) -> str | None:
    """Against float64 and its bound."""
    found = _results(function(*arguments))
    expected_results = _results(function.reference(*arguments, bounds=True))
    for one, reference in zip(found, expected_results, strict=True):
        value, expected = (np.asarray(a).astype(np.float64) for a in (one, reference.value))
        same = (value == expected) | (np.isnan(value) & np.isnan(expected)) | reference.excluded
        with np.errstate(invalid="ignore"):
            wrong = ~same & ~(np.abs(value - expected) <= reference.bound)
        if wrong.any():
            return f"{wrong.sum()} of {wrong.size} elements are outside the reference's bound"
        if reference.excluded.all() and wrong.size:
            return f"none of {wrong.size} elements can be compared with the reference"
    return None


def _peer(text: str, arguments: list) -> dict[str, Callable[[], object]]:
    """`[NAME=]FILE::FUNCTION`; the name is that of the function unless it is given."""
    name, equals, program = text.partition("=")
    program = program if equals else text
    function = load(program)
    name = name if equals else function.__name__
    if not name.startswith("torch"):
        return {name: lambda: function(*arguments)}
    calls = pytorch.contenders(lambda torch, f, *tensors: function(*tensors), tuple(arguments))
    return {key.replace("torch", name, 1): call for key, call in calls.items()}


def _alike(ours: np.ndarray, theirs: Any) -> bool:
    """Whether both results agree, at the precision of the narrowest type."""
    a, b = np.asarray(ours).astype(np.float64), theirs.double().numpy()
    if a.shape != b.shape:
        return False
    with np.errstate(invalid="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return bool(off.max(initial=0.0) <= 0.03 * scale)


def _translated(function: tsr.Function, arguments: list) -> dict[str, Callable[[], object]]:
    """PyTorch on the same text; none if that does not run, and a line says why."""
    if not pytorch.available():
        return {}
    from .peers.translated import translate

    try:
        made = translate(function)
        calls = pytorch.contenders(lambda torch, f, *tensors: made(*tensors), tuple(arguments))
        pairs = zip(_results(function(*arguments)), _results(calls["torch"]()), strict=True)
        if all(_alike(one, other) for one, other in pairs):
            return calls
        print("PyTorch computes something else from the same text: it is left out", flush=True)
        return {}
    except Exception as error:  # anything in the text that PyTorch lacks
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        print(f"PyTorch does not run this function's text: {why}", flush=True)
        return {}


def case(program: str, texts: list[str], peers: list[str]) -> Case:
    function = load(program)
    if not isinstance(function, tsr.Function):
        raise Wrong(f"{program} is not decorated with @tsr.function")
    arguments = arguments_of(function, texts)
    compiled = function.compile(*arguments)
    flops = float(sum(kernel["flops"] for kernel in compiled.report().get("kernels", ())))
    result = _results(compiled(*arguments))
    moved = sum(one.nbytes for one in [*arguments, *result] if hasattr(one, "nbytes"))

    def prepare() -> Prepared:
        calls: dict[str, Callable[[], object]] = {OURS: lambda: function(*arguments)}
        calls |= _translated(function, arguments)
        for text in peers:
            calls |= _peer(text, arguments)
        small = flops <= _CHECKED
        return Prepared(calls, lambda: _check(function, arguments) if small else None)

    names = ["torch", "torch.compile"]
    for text in peers:
        name = text.partition("=")[0] if "=" in text else text.rpartition("::")[2]
        names += [name, f"{name}.compile"]
    wide = all(
        str(one.dtype) not in ("float16", "bfloat16") for one in arguments if hasattr(one, "dtype")
    )
    targets = tuple(Target(name, (name,), 0.0) for name in dict.fromkeys(names))
    sizes = " ".join("x".join(map(str, one.shape)) for one in arguments if hasattr(one, "shape"))
    return Case(function.__name__, sizes[:60], prepare, targets, flops, float(moved), roofed=wide)
