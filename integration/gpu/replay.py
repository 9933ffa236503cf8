"""Runs recorded calls (record.py) on the machine with the GPU, and compares results with the allowed
values: every element, or a sample of a large result (ranges.py).

Arguments have the same layout in memory as when they were recorded, including gaps, negative
strides and repetitions; their first element is 16-byte aligned. Results are written to memory
filled with a pattern that no kernel writes.
"""

from __future__ import annotations

import functools
import json
import math
import sys
import zipfile
import zlib
from pathlib import Path

import driver
import numpy as np
import ranges

HERE = Path(__file__).resolve().parent
CPU, GPU = 0, 0x10000  # the runtime's numbers of devices


class Archive:
    def __init__(self, path: Path):
        self.file = zipfile.ZipFile(path)
        self.cases = {case["name"]: case for case in json.loads(self.file.read("cases.json"))}
        self.loaded: tuple | None = None

    def table(self, case: dict, device: int):
        """The case's code; the last one stays loaded, as cases in a row often share it."""
        from tessera import _tessera

        key = (case["bundle"], case["function"], device)
        if not self.loaded or self.loaded[0] != key:
            self.loaded = None
            module = _tessera.load(self.file.read(case["bundle"]))
            table = _tessera.Table()
            table.add(module, case["function"], 0, None, True, device)
            self.loaded = (key, table)
        return self.loaded[1]


class HostMemory:
    """The same on the CPU; it is 16-byte aligned, as on a GPU."""

    def __init__(self, data: np.ndarray):
        whole = np.empty(data.size + 16, np.uint8)
        start = -whole.__array_interface__["data"][0] % 16
        self.data = whole[start : start + data.size]
        self.data[...] = data
        self.address = self.data.__array_interface__["data"][0]

    def read(self) -> np.ndarray:
        return self.data


def memory_on(device: int, data: np.ndarray) -> HostMemory | driver.Memory:
    return driver.Memory(data) if device else HostMemory(data)


@functools.cache
def codes() -> list[str]:
    """Names of element types by the runtime's numbers."""
    from tessera.types import DTYPES

    return [dtype.name for dtype in DTYPES]


def size_of(dtype: str) -> int:
    return ranges.storage(dtype).itemsize


@functools.lru_cache(8)
def _program(seed: int):
    from generate import generate

    return generate(seed)


def draw(source: list) -> np.ndarray:
    """The array from a seeded generator of the suites."""
    if source[0] == "seed":
        _, seed, variant, index = source
        return _program(seed).arguments(variant)[index]
    from harness import random

    return random(*source)


def elements(archive: Archive, argument: dict) -> np.ndarray:
    """The argument's elements as bytes, dense."""
    if "data" in argument:
        return np.frombuffer(archive.file.read(argument["data"]), np.uint8)
    data = np.ascontiguousarray(draw(argument["source"])).reshape(-1).view(np.uint8)
    if zlib.crc32(data.tobytes()) != argument["crc"]:
        raise RuntimeError("NumPy draws other numbers here than where the case was recorded")
    return data


def place(device: int, argument: dict, data: np.ndarray) -> tuple[tuple, object]:
    """An argument in memory with its strides; the gaps hold a pattern that no kernel may use."""
    shape, strides, size = argument["shape"], argument["strides"], size_of(argument["dtype"])
    spans = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    empty = 0 in shape
    before = 0 if empty else -sum(min(0, span) for span in spans)
    count = 0 if empty else before + sum(max(0, span) for span in spans) + 1
    lead = -before * size % 16  # bytes, so that the first element is aligned
    buffer = np.full(lead + max(count, 1) * size, 0xFF, np.uint8)
    if not empty:
        body = buffer[lead:].view(f"V{size}")[before:]
        steps = tuple(stride * size for stride in strides)
        view = np.lib.stride_tricks.as_strided(body, shape, steps)
        view[...] = data.view(f"V{size}").reshape(shape)
    memory = memory_on(device, buffer)
    first = memory.address + lead + before * size
    specification = (first, codes().index(argument["dtype"]), tuple(shape), tuple(strides))
    return specification + ((device,) if device else ()), memory


def run(archive: Archive, name: str, device: int = GPU) -> dict:
    """Runs a case; the result has the number of compared elements, and the first wrong one."""
    case = archive.cases[name]
    if "refused" in case:
        return {"good": False, "refused": case["refused"].splitlines()[0]}
    return compare(archive, case, results(archive, case, device))


def results(archive: Archive, case: dict, device: int = GPU) -> list[tuple]:
    """Runs a case; types, shapes and memory of its results."""
    table = archive.table(case, device)
    keep, specifications, outs = [], [], []
    for argument in case["arguments"]:
        if "number" in argument:
            specifications.append(argument["number"])
            continue
        specification, memory = place(device, argument, elements(archive, argument))
        specifications.append(specification)
        keep.append(memory)

    def allocate(index: int, code: int, shape: tuple) -> tuple[int, object]:
        count = max(math.prod(shape), 1) * size_of(codes()[code])
        memory = memory_on(device, np.full(count, 0xFF, np.uint8))
        outs.append((codes()[code], shape, memory))
        return memory.address, memory

    done = table.run(specifications, 0, allocate)  # on the default stream
    if done is None:
        raise RuntimeError("the code does not accept the call that it was compiled for")
    if device:
        driver.synchronize()
    return outs


def compare(archive: Archive, case: dict, outs: list) -> dict:
    compared = size = 0
    for number, (expected, (dtype, shape, memory)) in enumerate(
        zip(case["results"], outs, strict=True)
    ):
        if [dtype, list(shape)] != [expected["dtype"], expected["shape"]]:
            found = f"result {number} is {dtype}{list(shape)}"
            return {"good": False, "wrong": f"{found}, not {expected['dtype']}{expected['shape']}"}
        first = np.frombuffer(archive.file.read(expected["first"]), ranges.storage(dtype))
        count = np.frombuffer(archive.file.read(expected["count"]), np.uint64)
        whole = memory.read()[: math.prod(shape) * size_of(dtype)]
        numbers = not np.isin(count, (ranges.ANY, ranges.NAN)).any()  # no NaN is expected
        if missing := numbers and ranges.unwritten(whole, dtype):
            return {"good": False, "wrong": f"result {number}: {missing} elements are not written"}
        indices = ranges.compared(math.prod(shape))
        raw = whole.view(f"V{size_of(dtype)}")[indices].view(np.uint8)
        bad = ranges.wrong(raw, dtype, first, count)
        if len(bad):
            found = describe(number, raw, dtype, shape, indices, first, count, bad)
            return {"good": False, "wrong": found}
        size += first.size
        compared += first.size - int((count == ranges.ANY).sum())
    if size and not compared:
        return {
            "good": True,
            "unsupported": f"the reference knows no bound of any of {size} elements",
            "compared": 0,
        }
    return {"good": True, "compared": compared}


def describe(number: int, raw, dtype: str, shape, indices, first, count, bad) -> str:
    at = int(bad[0])
    where = tuple(int(i) for i in np.unravel_index(indices[at], shape)) if shape else ()
    found = int(ranges.positions(raw, dtype)[at])
    nearest = int(first[at]) if found < first[at] else int(first[at]) + int(count[at])
    return (
        f"result {number}: {len(bad)} of {first.size} elements are wrong; at {where} {dtype} is "
        f"{abs(found - nearest)} steps of the type beyond what is allowed"
    )


def main() -> int:
    """replay.py ARCHIVE [NAME…]: runs cases on this machine's CPU, for code that was recorded for
    it."""
    archive = Archive(Path(sys.argv[1]))
    chosen = [n for n in archive.cases if not sys.argv[2:] or any(x in n for x in sys.argv[2:])]
    bad = 0
    for name in chosen:
        result = run(archive, name, CPU)
        if not result["good"]:
            bad += 1
            print(name, result)
    print(f"{len(chosen) - bad} of {len(chosen)} right")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
