#!/usr/bin/env python3
"""Runs pytest-style tests without pytest, so that an unpacked archive can be tested.

    run_suite.py [PATH…] [-k TEXT] [-j N]      default: the folder of this file

It supports the features that the tests of integration/ use: test functions and Test classes,
`parametrize` (also stacked, on classes, with `param` and ids), `skip`, `skipif`, `raises(match=)`,
`approx`, `importorskip`, fixtures of the module and of conftest.py (function, module and session
scope, with `yield`), and the built-in fixtures tmp_path, monkeypatch, capsys and capfd. Other marks
are ignored. Every file runs in a separate process; one that ends before its last test, or has none,
is a failure. The last line is 'N passed, N failed[, N skipped]'.
"""

import argparse
import contextlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator

END = ["", "end", ""]  # the last line of a file's report

# --- the part of pytest's interface that tests see -------------------------------------------


class Skipped(Exception):
    pass


class Failed(AssertionError):
    pass


class Param:
    def __init__(self, *values: Any, id: str | None = None, marks: Any = ()):
        self.values, self.id = values, id
        self.marks = list(marks) if isinstance(marks, (list, tuple)) else [marks]


class Mark:
    """`pytest.mark.name`, `pytest.mark.name(...)` and the decorator it is."""

    def __init__(self, name: str, args: tuple = (), kwargs: dict | None = None):
        self.name, self.args, self.kwargs = name, args, kwargs or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bare = len(args) == 1 and not kwargs and callable(args[0])
        if not (self.args or self.kwargs or bare):
            return Mark(self.name, args, kwargs)
        args[0].pytestmark = [*vars(args[0]).get("pytestmark", []), self]
        return args[0]


class Marks:
    def __getattr__(self, name: str) -> Mark:
        return Mark(name)


class Raises:
    """`with raises(E, match=…) as info`: info.value is the exception."""

    def __init__(self, expected: Any, match: str | None = None):
        self.expected, self.match, self.value = expected, match, None

    def __enter__(self) -> "Raises":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        if kind is None:
            raise Failed(f"did not raise {self.expected}")
        if not issubclass(kind, self.expected):
            return False
        if self.match is not None and not re.search(self.match, str(value)):
            raise Failed(f"pattern {self.match!r} is not in {str(value)!r}")
        self.value, self.type = value, kind
        return True


class Approx:
    def __init__(self, expected: Any, rel: float = 1e-6, abs: float = 1e-12):
        self.expected, self.rel, self.abs = expected, rel, abs

    def __eq__(self, actual: Any) -> bool:
        if isinstance(self.expected, (list, tuple)):
            return len(actual) == len(self.expected) and all(
                Approx(e, self.rel, self.abs) == a for e, a in zip(self.expected, actual)
            )
        return math.isclose(actual, self.expected, rel_tol=self.rel, abs_tol=self.abs)

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"


def skip(reason: str = "", allow_module_level: bool = False) -> None:
    raise Skipped(reason)


def fail(reason: str = "") -> None:
    raise Failed(reason)


def importorskip(name: str, *_: Any, **__: Any) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(str(error)) from None


def fixture(
    function: Callable | None = None,
    *,
    scope: str = "function",
    autouse: bool = False,
    name: str | None = None,
) -> Any:
    def mark(function: Callable) -> Callable:
        function._fixture = (scope, autouse, name or function.__name__)
        return function

    return mark(function) if function else mark


def install_pytest() -> None:
    """Makes `import pytest` return the functions above."""
    module = types.ModuleType("pytest")
    module.mark, module.param, module.fixture = Marks(), Param, fixture
    module.skip, module.fail, module.importorskip = skip, fail, importorskip
    module.raises, module.approx = Raises, Approx
    sys.modules["pytest"] = module


# --- built-in fixtures ------------------------------------------------------------------------


class MonkeyPatch:
    def __init__(self) -> None:
        self.undo: list[Callable] = []

    def _restore(
        self, container: Any, get: Callable, put: Callable, drop: Callable, key: str
    ) -> None:
        missing = object()
        old = get(container, key, missing)
        self.undo.append(
            lambda: drop(container, key) if old is missing else put(container, key, old)
        )

    def setattr(self, target: Any, name: str, value: Any) -> None:
        self._restore(target, getattr, setattr, delattr, name)
        setattr(target, name, value)

    def setitem(self, target: dict, key: Any, value: Any) -> None:
        self._restore(target, dict.get, dict.__setitem__, dict.__delitem__, key)
        target[key] = value

    def setenv(self, name: str, value: str) -> None:
        old = os.environ.get(name)
        self.undo.append(
            lambda: (
                os.environ.__setitem__(name, old) if old is not None else os.environ.pop(name, None)
            )
        )
        os.environ[name] = str(value)

    def delenv(self, name: str, raising: bool = True) -> None:
        self.setenv(name, "")
        del os.environ[name]

    def chdir(self, path: Any) -> None:
        old = os.getcwd()
        self.undo.append(lambda: os.chdir(old))
        os.chdir(path)

    def syspath_prepend(self, path: Any) -> None:
        sys.path.insert(0, str(path))
        self.undo.append(lambda: sys.path.remove(str(path)))


class Capture:
    """capfd and capsys: everything written to the two file descriptors."""

    def __init__(self) -> None:
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]

    def __enter__(self) -> "Capture":
        self.flush()
        self.saved = [os.dup(1), os.dup(2)]
        for fd, file in zip((1, 2), self.files):
            os.dup2(file.fileno(), fd)
        return self

    def __exit__(self, *_: Any) -> None:
        self.flush()
        for fd, saved in zip((1, 2), self.saved):
            os.dup2(saved, fd)
            os.close(saved)

    def flush(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()

    def readouterr(self) -> Any:
        self.flush()
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.seek(0)
            file.truncate()
        return types.SimpleNamespace(out=texts[0], err=texts[1])


def builtin_fixture(name: str, stack: contextlib.ExitStack) -> Any:
    if name == "tmp_path":
        return Path(stack.enter_context(tempfile.TemporaryDirectory()))
    if name == "monkeypatch":
        patch = MonkeyPatch()
        stack.callback(lambda: [undo() for undo in reversed(patch.undo)])
        return patch
    if name in ("capsys", "capfd"):
        return stack.enter_context(Capture())
    raise Failed(f"no fixture is called '{name}'")


# --- collecting and running one file ----------------------------------------------------------


def marks_of(thing: Any) -> list[Mark]:
    marks = getattr(thing, "pytestmark", [])
    return marks if isinstance(marks, list) else [marks]


def cases(marks: list[Mark]) -> Iterator[tuple[str, dict, list[Mark]]]:
    """Every combination of the parametrize marks: its id, the arguments, the params' marks."""
    axes = []
    for mark in marks:
        if mark.name != "parametrize":
            continue
        names, values = mark.args[0], list(mark.args[1])
        ids = mark.kwargs.get("ids")
        if isinstance(names, str):
            names = [n.strip() for n in names.split(",")]
        axis = []
        for i, value in enumerate(values):
            param = (
                value
                if isinstance(value, Param)
                else Param(*(value if len(names) > 1 else [value]))
            )
            label = param.id or (ids(value) if callable(ids) else ids[i] if ids else None)
            text = (
                str(label)
                if label is not None
                else "-".join(
                    (
                        str(v)
                        if isinstance(v, (str, int, float, bool))
                        else getattr(v, "__name__", f"{names[0]}{i}")
                    )
                    for v in param.values
                )
            )
            axis.append((text, dict(zip(names, param.values)), param.marks))
        if not axis:  # as in pytest: a test without parameters is reported
            axis.append(
                ("NOTSET", {}, [Mark("skip", kwargs={"reason": "got an empty parameter set"})])
            )
        axes.append(axis)
    for combination in itertools.product(*axes):
        arguments = {k: v for _, values, _ in combination for k, v in values.items()}
        yield (
            "-".join(t for t, _, _ in combination),
            arguments,
            [m for *_, ms in combination for m in ms],
        )


class File:
    """One test file: its fixtures, and its tests in order."""

    def __init__(self, path: Path, pattern: str):
        self.path, self.pattern = path, pattern
        self.fixtures: dict[str, Callable] = {}
        self.values: dict[str, Any] = {}  # of module and session scope
        self.stack = contextlib.ExitStack()

    def load(self, path: Path) -> Any:
        # The name that `import` would give it, so that helpers beside it can import each other.
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        for thing in vars(module).values():
            if hasattr(thing, "_fixture"):
                self.fixtures[thing._fixture[2]] = thing
        return module

    def value(self, name: str, stack: contextlib.ExitStack, local: dict) -> Any:
        if name in local:
            return local[name]
        if name in self.values:
            return self.values[name]
        if name not in self.fixtures:
            local[name] = builtin_fixture(name, stack)
            return local[name]
        function = self.fixtures[name]
        shared = function._fixture[0] != "function"
        if shared:
            stack = self.stack
        arguments = {p: self.value(p, stack, local) for p in inspect.signature(function).parameters}
        made = function(**arguments)
        if inspect.isgenerator(made):
            generator, made = made, next(made)
            stack.callback(lambda: next(generator, None))
        (self.values if shared else local)[name] = made
        return made

    def call(self, function: Callable, arguments: dict, marks: list[Mark]) -> None:
        for mark in marks:
            if mark.name == "skip" or mark.name == "skipif" and mark.args[0]:
                raise Skipped(mark.kwargs.get("reason", ""))
        with contextlib.ExitStack() as stack:
            local = dict(arguments)
            automatic = [n for n, f in self.fixtures.items() if f._fixture[1]]
            names = list(inspect.signature(function).parameters)
            for name in [*automatic, *names]:
                self.value(name, stack, local)
            function(**{n: local.get(n, self.values.get(n)) for n in names})

    def functions(self, module: Any) -> Iterator[tuple[str, Callable, list[Mark]]]:
        for name, thing in list(vars(module).items()):
            if name.startswith("test") and inspect.isfunction(thing):
                yield name, thing, [*marks_of(module), *marks_of(thing)]
            elif name.startswith("Test") and inspect.isclass(thing):
                for member, function in inspect.getmembers(thing, inspect.isfunction):
                    if member.startswith("test"):
                        marks = [*marks_of(module), *marks_of(thing), *marks_of(function)]
                        yield f"{name}::{member}", getattr(thing(), member), marks

    def run(self) -> Iterator[tuple[str, str, str]]:
        """Yields (test, 'passed' | 'failed' | 'skipped', text)."""
        sys.path.insert(0, str(self.path.parent))
        try:
            for folder in reversed([self.path.parent, *self.path.parent.parents]):
                if (folder / "conftest.py").exists():
                    self.load(folder / "conftest.py")
            module = self.load(self.path)
        except Skipped as reason:
            yield self.path.stem, "skipped", str(reason)
            return
        except Exception:
            yield self.path.stem, "failed", traceback.format_exc()
            return
        for name, function, marks in self.functions(module):
            for label, arguments, extra in cases(marks):
                test = f"{name}[{label}]" if label else name
                if self.pattern not in test:
                    continue
                try:
                    self.call(function, arguments, [*marks, *extra])
                    yield test, "passed", ""
                except Skipped as reason:
                    yield test, "skipped", str(reason)
                except Exception:
                    yield test, "failed", traceback.format_exc()
        self.stack.close()


def run_file(path: Path, pattern: str) -> int:
    """In a separate process: one JSON line per test, on the original standard output."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    install_pytest()
    for test, outcome, text in File(path.resolve(), pattern).run():
        print(json.dumps([test, outcome, text]), file=report, flush=True)
    print(json.dumps(END), file=report, flush=True)
    return 0


# --- all files --------------------------------------------------------------------------------


def start(path: Path, pattern: str) -> tuple[list, str, float]:
    begin = time.monotonic()
    command = [sys.executable, __file__, "--one", str(path), "-k", pattern]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    tests = [json.loads(line) for line in done.stdout.splitlines()]
    ended = tests[-1:] == [END]
    tests = [test for test in tests if test != END]
    if done.returncode or not ended:
        how = "" if ended else " before its last test"
        tests.append(
            [path.stem, "failed", f"exit status {done.returncode}{how}\n{done.stderr[-4000:]}"]
        )
    elif not tests and not pattern:
        tests.append([path.stem, "failed", "no test ran"])
    return tests, done.stderr, time.monotonic() - begin


def main() -> int:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[here])
    parser.add_argument(
        "-k", dest="pattern", default="", help="only tests whose name contains this"
    )
    parser.add_argument("-j", dest="jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return run_file(arguments.one, arguments.pattern)

    # The archive's own package, wherever the archive was unpacked.
    package = here.parent / "python"
    if (package / "tessera").is_dir():
        path = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(path)
    files = [
        f for p in arguments.paths for f in ([p] if p.is_file() else sorted(p.rglob("test_*.py")))
    ]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(arguments.jobs) as pool:
        os.environ["TESSERA_CACHE"] = cache  # no test sees what an earlier run compiled
        for file, (tests, _, seconds) in zip(
            files, pool.map(lambda f: start(f, arguments.pattern), files)
        ):
            passed, failed = (sum(t[1] == o for t in tests) for o in ("passed", "failed"))
            print(f"{file.stem:36} {seconds:7.1f} s  {passed} passed, {failed} failed", flush=True)
            for test, outcome, text in tests:
                counts[outcome] += 1
                if outcome == "failed":
                    print(f"FAILED {file.name}::{test}\n{text}", flush=True)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
