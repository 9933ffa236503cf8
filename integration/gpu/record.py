"""Records calls of the CPU's suites for a GPU: code, arguments, and the allowed results.

    python -m pytest -p record integration/cpu       with TESSERA_RECORD='{"out": …, "target": …, …}'
    record.py                                        likewise: random programs, for the seeds it names

As a plugin it replaces the suite's `check`: each call is compiled for the target and evaluated by
the reference on this machine; replay.py runs it on the machine with the GPU. Arguments from the
suite's seeded generators are generated again there, others are stored. An archive is a zip file:
cases.json, and the data that cases share by the hash of its content.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import ranges

TOP = Path(__file__).resolve().parents[2]


def base(array: np.ndarray) -> np.ndarray:
    """The elements of an array as bytes, dense."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def layout(array: np.ndarray) -> dict:
    short = {kind: name for name, kind in ranges.KINDS.items()}
    name = short.get(array.dtype.name, array.dtype.name)
    strides = [stride // array.itemsize for stride in array.strides]
    return {"dtype": name, "shape": list(array.shape), "strides": strides}


def relays_in_bulk(compiled) -> bool:
    """Whether bulk copies write memory that a later kernel may read."""
    import tessera as tsr

    try:
        text = compiled.inspect_ir("placed")
    except tsr.TesseraError:  # no kernel uses the PTX backend
        return False
    return text.count("tile.launch ") > 1 and "tile.bulk_store " in text


class Archive:
    """Cases and their data; a case that the compiler rejects is recorded too, with its reason."""

    def __init__(self, path: Path, target: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.target = target
        self.cases: list[dict] = []
        self.stored: set[str] = set()

    def store(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()[:20]
        if key not in self.stored:
            self.stored.add(key)
            self.file.writestr(key, data)
        return key

    def add(self, name: str, function, arguments: list, sources: list) -> tuple:
        """Records a call; `sources` describes how arguments are generated again, None: they are
        stored."""
        import tessera as tsr

        expected = function.reference(*arguments, bounds=True)
        expected = expected if type(expected) is tuple else (expected,)
        case: dict = {"name": name, "function": function.__name__}
        try:
            compiled = function.compile(*arguments, target=self.target)
        except tsr.TesseraError as error:
            case["refused"] = str(error)
        else:
            case["bundle"] = self.store(compiled._artifact.bundle)
            case["bulk"] = relays_in_bulk(compiled)
            case["arguments"] = [self._argument(*one) for one in zip(arguments, sources)]
            case["results"] = [self._result(one) for one in expected]
        self.cases.append(case)
        return expected

    def _argument(self, argument, source) -> dict:
        if not isinstance(argument, np.ndarray):
            return {"number": argument}
        data = base(argument).tobytes()
        described = layout(argument)
        if source is not None:
            return {**described, "source": source, "crc": zlib.crc32(data)}
        return {**described, "data": self.store(data)}

    def _result(self, one) -> dict:
        dtype = one.dtype.name
        indices = ranges.compared(one.value.size)
        sampled = (np.ravel(part)[indices] for part in (one.value, one.bound, one.excluded))
        first, count = ranges.allowed(*sampled, dtype)
        return {
            "dtype": dtype,
            "shape": list(one.value.shape),
            "first": self.store(first.tobytes()),
            "count": self.store(count.tobytes()),
        }

    def close(self) -> None:
        self.file.writestr("cases.json", json.dumps(self.cases))
        self.file.close()


def module_of(text: str):
    """The module that a program text makes; functions look into its file for their source."""
    path = TOP / f"build/recorded/program_{zlib.crc32(text.encode()):08x}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def options() -> dict:
    return json.loads(os.environ["TESSERA_RECORD"])


# -- the CPU's suite ------------------------------------------------------------------------------


class Suite:
    """Replaces the suite's harness while pytest runs it."""

    def __init__(self) -> None:
        sys.path.insert(0, str(TOP / "integration/cpu"))
        import harness

        self.archive = Archive(Path(options()["out"]), options()["target"])
        self.header = harness._HEADER
        self.random = harness.random
        self.numpy_dtype = harness.numpy_dtype
        self.made: dict[int, tuple[np.ndarray, list]] = {}
        self.counts: dict[str, int] = {}
        harness.define, harness.random, harness.check = self.define, self.draw, self.check

    def define(self, text: str, name: str = "f"):
        """Like the harness, in a file whose name depends on the text alone: names of files are part
        of bytecode, and equal bytecode is assembled once (assemble.sh)."""
        return getattr(module_of(self.header + "\n@tsr.function\n" + text), name)

    def draw(self, shape, dtype="fp32", layout="dense", low=None, high=None, seed=0) -> np.ndarray:
        source = [list(shape), dtype, layout, low, high, seed]
        array = self.random(*source)
        self.made[id(array)] = (array, source)
        return array

    def source(self, argument) -> list | None:
        """The draw that made an argument, if it is still what was drawn."""
        array, source = self.made.get(id(argument), (None, None))
        if array is None:
            return None
        again = self.random(*source)
        same = again.strides == array.strides and np.array_equal(base(again), base(array))
        return source if same else None

    def check(self, function, *arguments, least: float = 0.5, nan: bool = False) -> tuple:
        test = (
            os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0].removeprefix("integration/cpu/")
        )
        number = self.counts[test] = self.counts.get(test, -1) + 1
        sources = [self.source(one) for one in arguments]
        expected = self.archive.add(f"{test}#{number}", function, list(arguments), sources)
        return tuple(one.value.astype(self.numpy_dtype(one.dtype.name)) for one in expected)


def pytest_configure(config) -> None:
    config.suite = Suite()


def pytest_collection_modifyitems(items: list) -> None:
    """One of several processes runs its share of the tests."""
    part, parts = options()["part"], options()["parts"]
    wanted = options()["names"]
    items[:] = [
        item
        for number, item in enumerate(items)
        if number % parts == part and (not wanted or any(text in item.nodeid for text in wanted))
    ]


def pytest_runtest_setup(item) -> None:
    item.config.suite.made.clear()


def pytest_unconfigure(config) -> None:
    config.suite.archive.close()


# -- random programs ------------------------------------------------------------------------------


def record_random() -> None:
    """Every seed is one program, called with the given number of sets of sizes."""
    sys.path.insert(0, str(TOP / "integration/random"))
    from generate import generate, module_source

    archive = Archive(Path(options()["out"]), options()["target"])
    for seed in range(*options()["seeds"])[options()["part"] :: options()["parts"]]:
        program = generate(seed)
        function = getattr(module_of(module_source([program])), program.name)
        for variant in range(options()["calls"]):
            arguments = program.arguments(variant)
            sources = [["seed", seed, variant, i] for i in range(len(arguments))]
            archive.add(f"seed_{seed}#{variant}", function, arguments, sources)
    archive.close()


if __name__ == "__main__":
    record_random()
