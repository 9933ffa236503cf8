"""Operands, memory and tensor maps of interpreted PTX (interpreter.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

GROUP = 128  # threads of four warps
LANES = 32


def split_operands(text: str) -> list[str]:
    """Operands: registers, `{lists}` and `[addresses]`."""
    return re.findall(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*)", text)


#: Bits of what tensor cores multiply.
WIDTHS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8}


def elements(words: np.ndarray, kind: str) -> list[np.ndarray]:
    """What registers hold side by side."""
    bits = WIDTHS[kind]
    if kind == "tf32":
        words = words & np.uint64(0xFFFFE000)
    parts = [
        (words >> np.uint64(at)).astype(f"u{bits // 8}") for at in range(0, max(32, bits), bits)
    ]
    if kind == "bf16":
        return [(part.astype(np.uint32) << 16).view(np.float32) for part in parts]
    if kind in ("e4m3", "e5m2"):
        import ml_dtypes

        eight = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
        return [part.view(eight).astype(np.float32) for part in parts]
    return [
        part.view({"f64": "f8", "tf32": "f4", "f16": "f2", "s8": "i1", "u8": "u1"}[kind])
        for part in parts
    ]


def register_names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def in_order(array: np.ndarray) -> np.ndarray:
    """The same elements as they follow each other in memory."""
    return array.transpose(np.argsort([-stride for stride in array.strides], kind="stable"))


def dtype_of(kind: str) -> np.dtype:
    """NumPy's type for s32, u64, b16, f32, …"""
    return np.dtype({"s": "i", "f": "f"}.get(kind[0], "u") + str(int(kind[1:]) // 8))


class Boxes(NamedTuple):
    """What a tensor map says: an array's first element, and dimensions, those with neighbours in memory first."""

    begin: int
    width: int  # bytes of an element
    span: int  # bytes that swizzles stay within
    sizes: Sequence[int]
    strides: Sequence[int]  # bytes
    boxes: Sequence[int]  # elements along these
    rounded: bool  # fp32 to tf32

    @staticmethod
    def decoded(words: Sequence[int]) -> Boxes:
        """As the stand-in for the driver writes it (runtime/cts/fake/FakeCode.cpp)."""
        rank, kind, swizzle = words[12] & 0xFF, words[12] >> 8 & 0xFF, words[12] >> 16
        width = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4)[kind]
        boxes = [words[11] >> 12 * i & 0xFFF for i in range(rank)]
        return Boxes(
            words[0],
            width,
            16 << swizzle,
            words[1 : 1 + rank],
            [width, *words[7 : 6 + rank]],
            boxes,
            kind == 11,
        )

    def copied(self, data: np.ndarray) -> np.ndarray:
        """The bytes of elements as they arrive."""
        if not self.rounded:
            return data
        words = np.ascontiguousarray(data).view(np.uint32)
        is_finite = words & 0x7F800000 != 0x7F800000
        return (
            np.where(is_finite, words + 0x1000 & 0xFFFFE000, words).astype(np.uint32).view(np.uint8)
        )


class TensorMap(NamedTuple):
    """What a launch says of an array that boxes are copied of."""

    array: int  # the number of the array
    span: int  # bytes that swizzles stay within
    spans: int  # of a box: several are one more dimension, the last one
    dims: Sequence[int]  # those with neighbours in memory first
    boxes: Sequence[int]  # elements along these
    rounded: bool  # fp32 to tf32

    @staticmethod
    def of(launch: str) -> list[TensorMap]:
        """Those of a launch in Target IR, whose words are arrays' alone."""
        numbers = lambda text: [int(one) for one in text.split(",")]  # noqa: E731
        words = re.findall(r'word<"(\w+)", (\d+)', launch)
        found = re.findall(
            r"tensor_map<word (\d+), bytes \d+, span (\d+) by (\d+), dims ?\[([\d, ]+)\], boxes ?\[([\d, ]+)\](, rounded to tf32)?>",
            launch,
        )
        return [
            TensorMap(
                int(words[int(word)][1]),
                int(span),
                int(spans),
                numbers(dims),
                numbers(boxes),
                bool(rounded),
            )
            for word, span, spans, dims, boxes, rounded in found
        ]

    def on(self, array: np.ndarray, begin: int) -> Boxes:
        sizes, strides = (
            [array.shape[dim] for dim in self.dims],
            [array.strides[dim] for dim in self.dims],
        )
        boxes = list(self.boxes)
        assert len(self.dims) == array.ndim and boxes[0] * array.itemsize == self.span
        if self.spans > 1:  # of rows that are whole spans
            assert sizes[0] % boxes[0] == 0
            sizes, strides, boxes = (
                [boxes[0], *sizes[1:], sizes[0] // boxes[0]],
                [*strides, self.span],
                [*boxes, self.spans],
            )
        return Boxes(begin, array.itemsize, self.span, sizes, strides, boxes, self.rounded)


class Memory:
    """Blocks of bytes at addresses that are multiples of 16, one after the other in one array."""

    def __init__(self, blocks: Iterable[tuple[int, np.ndarray]]) -> None:
        self.blocks = sorted(blocks, key=lambda block: block[0])
        self.starts = np.array([start for start, _ in self.blocks], np.int64)
        self.ends = self.starts + np.array([data.size for _, data in self.blocks], np.int64)
        sizes = [(data.size + 255) // 256 * 256 for _, data in self.blocks]
        self.moves = np.cumsum([0, *sizes[:-1]]) - self.starts
        self.bytes = np.zeros(sum(sizes), np.uint8)
        for move, (start, data) in zip(self.moves, self.blocks):
            self.bytes[start + move : start + move + data.size] = data

    def places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Where these many bytes at each address are."""
        block = np.searchsorted(self.starts, addresses, "right") - 1
        assert (block >= 0).all() and (addresses + size <= self.ends[block]).all(), (
            "an address outside of all tensors"
        )
        return addresses + self.moves[block]

    def give_back(self) -> None:
        for move, (start, data) in zip(self.moves, self.blocks):
            data[...] = self.bytes[start + move : start + move + data.size]


class Instruction(NamedTuple):
    predicate: str
    operation: str
    operands: list[str]
    parts: list[str]  # of the operation, behind its name
    together: int  # threads that must stand before it: 1, a warp, a warpgroup, a block, a cluster

    @property
    def waits(self) -> bool:
        return self.operation.startswith("mbarrier.try_wait")
