"""The MMA instructions of interpreted PTX (interpreter.py)."""

from __future__ import annotations

import re

import numpy as np
from ptx_values import GROUP, LANES, WIDTHS, elements, register_names


class TensorCores:
    """The part of a run that multiplies tiles: mma.sync and wgmma."""

    def multiply(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """mma.sync: rows and columns by quads of lanes, or, of m8n8k4 in fp16, by each quarter of the warp."""
        shape = next(part for part in parts if part.startswith("m") and "n" in part)
        m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
        kind, total = parts[-2], parts[-1]
        lane, warp = self.lane, self.warp
        group, quad = lane // 4, lane % 4
        each = max(1, 32 // WIDTHS[kind])
        quarters = (shape, kind) == ("m8n8k4", "f16")
        if quarters:
            m = n = 16

        def left(i: int) -> tuple:  # row and column of element i of a lane
            if quarters:
                return lane % 4 + (lane & 4) * 2 + (lane & 16) // 4, i
            register = i // each
            return group + register % 2 * 8 * (m > 8), quad * each + i % each + register // (
                1 + (m > 8)
            ) * 4 * each

        def right(i: int) -> tuple:
            if quarters:
                return i, lane % 4 + (lane & 8) + (lane & 16) // 4
            return quad * each + i % each + i // each * 4 * each, group

        def sums(i: int) -> tuple:
            if quarters:
                return (lane & 1) + (i & 2) + (lane & 4) * 2 + (lane & 16) // 4, (i & 4) + (
                    lane & 2
                ) + (i & 1) + (lane & 8)
            return group + i // 2 * 8, quad * 2 + i % 2

        exact = np.int64 if kind in ("s8", "u8") else np.float64
        a, b, c = (
            np.zeros((self.count // LANES, *size), exact) for size in ((m, k), (k, n), (m, n))
        )
        for matrix, names, place in ((a, operands[1], left), (b, operands[2], right)):
            for i, register in enumerate(register_names(names)):
                for j, number in enumerate(elements(self.get(register), kind)):
                    row, column = place(i * each + j)
                    matrix[warp, row, column] = number
        for i, register in enumerate(register_names(operands[3])):
            row, column = sums(i)
            c[warp, row, column] = self.typed(register, total)
        product = (a @ b + c).astype({"f32": np.float32, "f64": np.float64, "s32": np.int32}[total])
        for i, register in enumerate(register_names(operands[0])):
            row, column = sums(i)
            self.put(register, product[warp, row, column], mask)

    def described(
        self, operand: str, group: int, lines: np.ndarray, over: np.ndarray, across: bool, kind: str
    ) -> np.ndarray:
        """Elements of a matrix in shared memory: `lines` along the dimension that is kept, `over` along the other."""
        words = self.get(operand)[group * GROUP : (group + 1) * GROUP]
        assert (words == words[0]).all(), "a descriptor that threads of a group do not share"
        word, size = int(words[0]), WIDTHS[kind] // 8
        start, leading, stride, mode = (
            (word & 0x3FFF) << 4,
            (word >> 16 & 0x3FFF) << 4,
            (word >> 32 & 0x3FFF) << 4,
            word >> 62,
        )
        span = {1: 128, 2: 64, 3: 32}[mode]
        assert word >> 46 & 0xFFFF == 0 and start % (8 * span) < span
        if across:
            at = (
                start
                + lines * size // span * leading
                + lines * size % span
                + over // 8 * stride
                + over % 8 * span
            )
        else:
            at = start + lines // 8 * stride + lines % 8 * span + over * size
        at ^= at >> 3 & span - 16
        assert (at + size <= self.reserve).all(), "an address out of bounds"
        cells = self.shared[
            group * GROUP // self.kernel.threads * self.reserve + at[..., None] + np.arange(size)
        ]
        return elements(
            np.ascontiguousarray(cells).view(f"u{size}")[..., 0].astype(np.uint64), kind
        )[0]

    def multiply_together(
        self, _: str, parts: list[str], operands: list[str], mask: np.ndarray
    ) -> None:
        """wgmma: 64 rows by a warpgroup, which all of its threads ask for."""
        n, k = map(int, re.fullmatch(r"m64n(\d+)k(\d+)", parts[3]).groups())
        kind = parts[-1]
        assert parts[4] == "f32" and parts[5] == kind and operands[3:6] == ["1", "1", "1"]
        in_registers = operands[1].startswith("{")
        turned = [bool(int(one)) for one in operands[6:]] or [False]  # of 16-bit operands only
        thread = np.arange(GROUP)
        row, quad = thread // LANES * 16 + thread % LANES // 4, thread % 4
        for group in np.flatnonzero(mask.reshape(-1, GROUP).all(1)):
            own = np.s_[group * GROUP : (group + 1) * GROUP]
            if in_registers:
                a = np.zeros((64, k))
                for i, register in enumerate(register_names(operands[1])):
                    for j, number in enumerate(elements(self.get(register)[own], kind)):
                        a[row + i % 2 * 8, quad * 2 + j + i // 2 * 8] = number
            else:
                a = self.described(
                    operands[1], group, *np.indices((64, k)), turned[0], kind
                ).astype(np.float64)
            over, columns = np.indices((k, n))
            b = self.described(operands[2], group, columns, over, turned[-1], kind).astype(
                np.float64
            )
            product = a @ b
            for i, register in enumerate(register_names(operands[0])):
                sums = self.typed(register, "f32").copy()
                sums[own] = sums[own] + product[row + i // 2 % 2 * 8, quad * 2 + i % 2 + i // 4 * 8]
                self.put(register, sums, mask)
