"""Runs the PTX of one block, or one cluster of blocks, on the CPU, all threads in step: what a kernel computes, without a GPU.

One instruction is done at once by all threads that are there, and a register is an array over all threads. Barriers are nothing here: races are the simulator's business (`tessera simulate`), which runs
the program before it becomes PTX. Instructions that these kernels do not have are an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Callable, NamedTuple

import numpy as np

SHARED_BYTES = 232448
WHOSE = 24  # from this bit on, an address of shared memory says which block of a cluster has it
LANES = 32
PIECE = 16  # bytes that bulk copies move at once
MAPS = 1 << 40  # the address of the first parameter, of which a tensor map is one
GROUP = 128  # threads of four warps
TOGETHER = ("bar", "shfl", "mma", "wgmma", "ldmatrix", "stmatrix", "ret")


def _is_together(operation: str) -> bool:
    return operation.split(".")[0] in TOGETHER or operation.startswith("mbarrier.try_wait")


def _split(text: str) -> list[str]:
    """Operands: registers, `{lists}` and `[addresses]`."""
    return re.findall(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*)", text)


#: Bits of what tensor cores multiply.
WIDTHS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8}


def _elements(words: np.ndarray, kind: str) -> list[np.ndarray]:
    """What registers hold side by side."""
    bits = WIDTHS[kind]
    parts = [(words >> np.uint64(at)).astype(f"u{bits // 8}") for at in range(0, max(32, bits), bits)]
    if kind == "bf16":
        return [(part.astype(np.uint32) << 16).view(np.float32) for part in parts]
    if kind in ("e4m3", "e5m2"):
        import ml_dtypes

        eight = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
        return [part.view(eight).astype(np.float32) for part in parts]
    return [part.view({"f64": "f8", "tf32": "f4", "f16": "f2", "s8": "i1", "u8": "u1"}[kind]) for part in parts]


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def _in_order(array: np.ndarray) -> np.ndarray:
    """The same elements as they follow each other in memory."""
    return array.transpose(np.argsort([-stride for stride in array.strides], kind="stable"))


class TensorMap(NamedTuple):
    """What a launch says of an array that boxes are copied of."""

    array: int  # the number of the array
    span: int  # bytes that swizzles stay within
    spans: int  # of a box: several are one more dimension, the last one
    dims: Sequence[int]  # those with neighbours in memory first
    boxes: Sequence[int]  # elements along these

    @staticmethod
    def of(launch: str) -> list[TensorMap]:
        """Those of a launch in Target IR, whose words are arrays' alone."""
        numbers = lambda text: [int(one) for one in text.split(",")]  # noqa: E731
        words = re.findall(r'word<"(\w+)", (\d+)', launch)
        found = re.findall(r"tensor_map<word (\d+), bytes \d+, span (\d+) by (\d+), dims ?\[([\d, ]+)\], boxes ?\[([\d, ]+)\]>", launch)
        return [TensorMap(int(words[int(word)][1]), int(span), int(spans), numbers(dims), numbers(boxes)) for word, span, spans, dims, boxes in found]


class Kernel:
    """A kernel of a module, ready to run."""

    def __init__(self, module: str, name: str) -> None:
        found = re.search(rf"\.entry {name}\((.*?\.reqntid (\d+).*?)\n\{{\n(.*?)\n\}}", module, re.S)
        assert found, f"no kernel '{name}'"
        self.name = name
        self.threads = int(found[2])
        cluster = re.search(r"\.reqnctapercluster (\d+)", found[1])
        self.blocks = int(cluster[1]) if cluster else 1
        self.code: list[tuple[str, str, list[str]]] = []  # predicate, operation, operands
        self.labels: dict[str, int] = {}
        for line in re.sub(r"//[^\n]*", "", found[3]).splitlines():
            line = line.strip()
            if label := re.fullmatch(r"([$\w]+):", line):
                self.labels[label[1]] = len(self.code)
                continue
            if line.startswith("{ .reg"):  # { .reg .pred p; setp …; @p st …; }
                line = line[1:].removesuffix("}")
            for one in filter(None, map(str.strip, line.split(";"))):
                if one.startswith("."):
                    continue
                if label := re.match(r"(\w+):\s+", one):  # of a loop around one instruction
                    self.labels[label[1]] = len(self.code)
                    one = one[label.end() :]
                predicate, operation, operands = re.fullmatch(r"(?:@(!?%?\w+)\s+)?([\w.:]+)\s*(.*)", one, re.S).groups()
                self.code.append((predicate or "", operation, _split(operands)))

    def run(self, *arguments: np.ndarray | int, maps: Sequence[TensorMap] = (), block: int = 0) -> None:
        """Arrays, dense in any order of their dimensions, are changed in place; the address, sizes and strides of each are words.
        Tensor maps are behind the words. The block is the launch's first one, or another one by its number."""
        _Run(self, arguments, maps, block).go()


class _Run:
    def __init__(self, kernel: Kernel, arguments: tuple[np.ndarray | int, ...], maps: Sequence[TensorMap], block: int) -> None:
        self.kernel = kernel
        self.maps = maps
        self.count = kernel.threads * kernel.blocks
        threads = np.arange(self.count)
        self.block = threads // kernel.threads
        own = (self.block << WHOSE).astype(np.uint64)
        self.registers: dict[str, np.ndarray] = {"shared_memory": own, "%ctaid.x": (self.block + block).astype(np.uint64), "%nctaid.x": self.all(kernel.blocks)}
        self.registers["%tid.x"] = (threads % kernel.threads).astype(np.uint64)
        self.arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        #: mbarriers: how often they have opened, bytes that are still to come, arrivals that are, and those of each turn
        self.gates: dict[int, list[int]] = {}
        self.shared = np.zeros(SHARED_BYTES * kernel.blocks, np.uint8)
        self.words: list[int] = []
        self.begins: list[int] = []
        size = 0
        for one in arguments:
            if isinstance(one, np.ndarray):
                self.begins.append(size)
                steps = [stride // one.itemsize for stride in one.strides]
                self.words += [size, *one.shape, *steps]
                size = (size + one.nbytes + 255) // 256 * 256
            else:
                self.words.append(one)
        self.memory = np.zeros(size, np.uint8)
        self.is_tensor = np.zeros(size, bool)
        for begin, one in zip(self.begins, self.arrays):
            self.is_tensor[begin : begin + one.nbytes] = True
            self.memory[begin : begin + one.nbytes] = np.frombuffer(_in_order(one).tobytes(), np.uint8)

    def go(self) -> None:
        """Threads that part wait for each other where something is done together."""
        places = np.zeros(self.count, np.int64)
        while True:
            able = (at for at in np.unique(places) if not _is_together(self.kernel.code[at][1]))
            at = places[0] if (places == places[0]).all() else next(able, None)
            if at is None:  # some may wait at a gate by themselves
                at = next((one for one in np.unique(places) if self.is_open(one, places == one)), None)
            assert at is not None, "threads wait for each other at different instructions"
            here = places == at
            predicate, operation, operands = self.kernel.code[at]
            if operation == "ret":
                break
            places[here] += 1
            mask = self.mask(predicate) & here
            if operation.startswith("bra"):
                places[mask] = self.kernel.labels[operands[0]]
            else:
                self.step(operation, operands, mask)
        for begin, one in zip(self.begins, self.arrays):
            inside = _in_order(one)
            inside[...] = self.memory[begin : begin + one.nbytes].view(one.dtype).reshape(inside.shape)

    # Values are words of 64 bits; an operation takes the low bits that its type has.

    def all(self, value: int) -> np.ndarray:
        return np.full(self.count, value & (1 << 64) - 1, np.uint64)

    def mask(self, predicate: str) -> np.ndarray:
        if not predicate:
            return np.ones(self.count, bool)
        return self.registers[predicate.lstrip("!")].astype(bool) ^ predicate.startswith("!")

    def get(self, operand: str) -> np.ndarray:
        if operand in self.registers:
            return self.registers[operand]
        if operand.startswith(f"{self.kernel.name}_param_"):
            return self.all(MAPS + int(operand.rpartition("_")[2]))
        if operand[:2] in ("0f", "0d"):
            return self.all(int(operand[2:], 16))
        return self.all(int(operand.rstrip("U"), 0))

    def typed(self, operand: str, kind: str) -> np.ndarray:
        """As numbers of a type: s32, u64, b16, f32, …"""
        if kind == "pred":
            return self.get(operand).astype(bool)
        bits = int(kind[1:])
        words = self.get(operand).astype(f"u{bits // 8}")
        return words.view({"s": "i", "f": "f"}.get(kind[0], "u") + str(bits // 8))

    def put(self, register: str, value: np.ndarray, mask: np.ndarray) -> None:
        if value.dtype == bool:
            value = value.astype(np.uint64)
        value = value.view(f"u{value.itemsize}").astype(np.uint64)
        self.registers[register] = np.where(mask, value, self.registers.get(register, self.all(0)))

    def address(self, operand: str) -> np.ndarray:
        base, _, more = operand.strip("[]").partition("+")
        return (self.get(base) + self.all(int(more or "0"))).astype(np.int64)

    def within(self, address: np.ndarray) -> np.ndarray:
        """In the shared memories of all blocks, which lie one after the other."""
        address = address & 0xFFFFFFFF
        return (address & (1 << WHOSE) - 1) + (address >> WHOSE) * SHARED_BYTES

    def own(self, operand: str) -> np.ndarray:
        return self.within(self.address(operand))

    def cells(self, space: str, address: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        if space == "shared":
            address = self.within(address)
        memory = self.shared if space == "shared" else self.memory
        assert (address >= 0).all() and (address + size <= len(memory)).all(), "an address out of bounds"
        assert (address % size == 0).all(), "an address that is not aligned"
        return memory, address[:, None] + np.arange(size)

    # Operations.

    def step(self, operation: str, operands: list[str], mask: np.ndarray) -> None:
        name, *parts = operation.split(".")
        if "L2::cache_hint" in parts:
            parts.remove("L2::cache_hint")
            operands = operands[:-1]
        if name in ("bar", "barrier", "fence", "prefetch", "nanosleep", "createpolicy") or operation.startswith(("wgmma.fence", "wgmma.commit", "wgmma.wait")) or name == "cp" and any(part.endswith("_group") and part != "bulk_group" for part in parts):
            return
        special: dict[str, Callable] = {
            "ld": self.load, "st": self.store, "red": self.add, "cp": self.copy, "mbarrier": self.gate, "ldmatrix": self.matrix, "stmatrix": self.matrix,
            "mov": self.move, "cvta": self.move, "elect": self.elect, "shfl": self.shuffle, "selp": self.select, "setp": self.compare, "cvt": self.convert,
            "bfe": self.extract, "lop3": self.look_up, "prmt": self.permute, "mma": self.multiply, "wgmma": self.multiply_together, "mapa": self.map,
        }  # fmt: skip
        if name in special:
            special[name](name, parts, operands, mask)
            return
        values = [self.typed(one, parts[-1]) for one in operands[1:]]
        if name == "mul" and "wide" in parts:
            values = [one.astype(f"{one.dtype.kind}8") for one in values]
        shift = [self.typed(one, "u64") for one in operands[2:]] if name in ("shl", "shr") else []
        functions: dict[str, Callable] = {
            "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide if parts[-1][0] == "f" else np.floor_divide, "and": np.bitwise_and,
            "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "neg": np.negative, "abs": np.abs,
            "max": np.maximum if "NaN" in parts else np.fmax, "min": np.minimum if "NaN" in parts else np.fmin, "ex2": np.exp2, "rcp": np.reciprocal, "mad": lambda a, b, c: a * b + c,
            "fma": lambda a, b, c: (a.astype(np.float64) * b + c).astype(a.dtype),
            "shl": lambda a, _: a << shift[0].astype(a.dtype), "shr": lambda a, _: a >> shift[0].astype(a.dtype),
        }  # fmt: skip
        with np.errstate(all="ignore"):
            self.put(operands[0], functions[name](*values), mask)

    def load(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if parts[0] == "param":
            number = int(operands[1].strip("[]").removeprefix(f"{self.kernel.name}_param_"))
            self.put(operands[0], self.all(self.words[number]), mask)
            return
        size = int(parts[-1][1:]) // 8
        address = np.where(mask, self.address(operands[1]), 0)
        for i, register in enumerate(_names(operands[0])):
            memory, cells = self.cells(parts[0], address + i * size, size)
            assert parts[0] == "shared" or self.is_tensor[cells[mask]].all(), "an address outside of all tensors"
            is_signed = parts[-1][0] == "s"
            value = memory[cells].view(f"{'i' if is_signed else 'u'}{size}")[:, 0]
            self.put(register, value.astype(np.int64) if is_signed else value, mask)

    def map(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """An address of another block's shared memory is one of all blocks' memories."""
        self.put(operands[0], self.get(operands[1]) & self.all((1 << WHOSE) - 1) | self.get(operands[2]) << self.all(WHOSE), mask)

    def push(self, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """st.async: to any block's memory, and counted there."""
        size = int(parts[-1][1:]) // 8
        to, signals = self.own(operands[0]), self.own(operands[2])
        for i, register in enumerate(_names(operands[1])):
            data = self.typed(register, f"u{8 * size}")
            for thread in np.flatnonzero(mask):
                begin = to[thread] + i * size
                self.shared[begin : begin + size] = np.frombuffer(data[thread].tobytes(), np.uint8)
                self.come(int(signals[thread]), size)

    def store(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if parts[0] == "async":
            self.push(parts, operands, mask)
            return
        size = int(parts[-1][1:]) // 8
        address = np.where(mask, self.address(operands[0]), 0)
        for i, register in enumerate(_names(operands[1])):
            memory, cells = self.cells(parts[0], address + i * size, size)
            assert parts[0] == "shared" or self.is_tensor[cells[mask]].all(), "an address outside of all tensors"
            data = np.ascontiguousarray(self.typed(register, f"u{8 * size}")).view(np.uint8).reshape(-1, size)
            memory[cells[mask]] = data[mask]

    def add(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """To what is in global memory, in any order."""
        kind = parts[-1]
        size = int(kind[1:]) // 8
        memory, cells = self.cells("global", np.where(mask, self.address(operands[0]), 0), size)
        data = self.typed(operands[1], kind)
        np.add.at(memory.view(data.dtype), cells[mask, 0] // size, data[mask])

    def gate(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Arrivals, which say what is to come, and these bytes open it."""
        if parts[0] == "try_wait":
            is_open = self.opened(operands, mask)
            assert is_open[mask].all(), "a thread waits for ever"
            self.put(operands[0], is_open, mask)
            return
        address = self.own(operands[0 if parts[0] == "init" else 1])
        for thread in np.flatnonzero(mask):
            place = int(address[thread])
            if parts[0] == "init":
                assert place % 8 == 0
                self.gates[place] = [0, 0, int(operands[1]), int(operands[1])]
            else:
                assert self.gates[place][2] > 0, "a gate that others are to open"
                self.gates[place][2] -= 1
                self.come(place, -int(self.get(operands[2])[thread]) if "expect_tx" in parts else 0)

    def opened(self, operands: list[str], of: np.ndarray) -> np.ndarray:
        """Which of these threads find their gate open."""
        gates, phases = self.own(operands[1]), self.get(operands[2]).astype(np.int64)
        result = np.zeros(self.count, bool)
        for thread in np.arange(self.count)[of]:
            result[thread] = self.gates[int(gates[thread])][0] & 1 != phases[thread] & 1
        return result

    def is_open(self, at: int, here: np.ndarray) -> bool:
        """Whether an instruction waits at a gate that is open for these threads."""
        _, operation, operands = self.kernel.code[at]
        return operation.startswith("mbarrier.try_wait") and bool(self.opened(operands, here)[here].all())

    def come(self, gate: int, count: int) -> None:
        one = self.gates[gate]
        one[1] -= count
        if one[1] == one[2] == 0:
            one[0] += 1
            one[2] = one[3]

    def bulk(self, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Whole pieces of memory, all of them inside of tensors, which begin with a piece."""
        is_fetch = parts[2].startswith("shared")
        near_operand, far_operand = operands[:2] if is_fetch else operands[1::-1]
        nears, begins, sizes = self.own(near_operand), self.address(far_operand), self.get(operands[2])
        for thread in np.flatnonzero(mask):
            size, begin, near = int(sizes[thread]), int(begins[thread]), int(nears[thread])
            assert size > 0 and size % PIECE == begin % PIECE == near % PIECE == 0, "a copy that is not aligned"
            assert begin + size <= len(self.memory) and self.is_tensor[begin : begin + size].all(), "a copy outside of all tensors"
            assert near % SHARED_BYTES + size <= SHARED_BYTES
            if is_fetch:
                self.shared[near : near + size] = self.memory[begin : begin + size]
                self.come(int(self.own(operands[3])[thread]), size)
            else:
                self.memory[begin : begin + size] = self.shared[near : near + size]

    def elect(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """The first lane of a whole warp."""
        self.put(operands[0].partition("|")[2], np.arange(self.count) % LANES == 0, mask)

    def boxes(self, operands: list[str], mask: np.ndarray) -> None:
        """A box of an array, with zeros where that has ended; pieces are swizzled within spans by bits of their address."""
        source, *places = [one.strip(" {}") for one in operands[1].strip("[]").split(",")]
        maps, nears, coordinates = self.get(source), self.own(operands[0]), [self.typed(one, "s32") for one in places]
        for thread in np.flatnonzero(mask):
            number = int(maps[thread]) - MAPS - len(self.words)
            one = self.maps[number]
            array, near = self.arrays[one.array], int(nears[thread])
            width, boxes = array.itemsize, list(one.boxes)
            assert len(one.dims) == array.ndim and boxes[0] * width == one.span and max(boxes) <= 256
            sizes, strides = [array.shape[dim] for dim in one.dims], [array.strides[dim] for dim in one.dims]
            if one.spans > 1:  # of rows that are whole spans
                assert sizes[0] % boxes[0] == 0
                sizes, strides, boxes = [boxes[0], *sizes[1:], sizes[0] // boxes[0]], [*strides, one.span], [*boxes, one.spans]
            rank = len(sizes)
            assert rank == len(places)
            assert near % (8 * one.span) == 0, "a slot that does not begin with a swizzle"
            assert all(stride % PIECE == 0 for stride, size in zip(strides[1:], sizes[1:]) if size > 1) and strides[0] == width
            first = [int(place[thread]) for place in coordinates]
            grid = np.meshgrid(*(np.arange(begin, begin + size) for begin, size in zip(first, boxes)), indexing="ij")
            inside = np.logical_and.reduce([(index >= 0) & (index < size) for index, size in zip(grid, sizes)])
            at = sum(np.where(inside, index, 0) * stride for index, stride in zip(grid, strides)) + self.begins[one.array]
            data = np.where(inside[..., None], self.memory[at[..., None] + np.arange(width)], 0)
            # The first dimension varies fastest.
            data = data.transpose(*range(rank)[::-1], rank).reshape(-1).astype(np.uint8)
            gate, own = int(self.own(operands[2])[thread]), int(self.block[thread])
            targets = int(self.get(operands[3])[thread]) if len(operands) > 3 else 1 << own  # blocks, each at the same place
            for block in (each for each in range(self.kernel.blocks) if targets >> each & 1):
                move = (block - own) * SHARED_BYTES
                place = near + move + np.arange(data.size)
                self.shared[place ^ (place % SHARED_BYTES >> 3 & one.span - 1 & ~15)] = data
                self.come(gate + move, data.size)

    def copy(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if "tensor" in parts:
            self.boxes(operands, mask)
            return
        if "bulk" in parts:
            self.bulk(parts, operands, mask)
            return
        is_full = self.get(operands[3]) > 0 if len(operands) > 3 else mask
        source, cells = self.cells("global", np.where(is_full, self.address(operands[1]), 0), 16)
        target, places = self.cells("shared", self.address(operands[0]), 16)
        target[places] = np.where(is_full[:, None], source[cells], 0)

    def matrix(self, name: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Lane l gives the address of row l % 8 of matrix l / 8."""
        is_load = name == "ldmatrix"
        rows = self.address(operands[1 if is_load else 0])
        lane, first = np.arange(self.count) % LANES, np.arange(self.count) // LANES * LANES
        for number, register in enumerate(_names(operands[0 if is_load else 1])):
            word = self.all(0) if is_load else self.get(register)
            for half in range(2):
                row, column = lane // 4, lane % 4 * 2 + half
                if "trans" in parts:
                    row, column = column, row
                memory, cells = self.cells("shared", rows[first + number * 8 + row] + 2 * column, 2)
                if is_load:
                    word = word | memory[cells].view(np.uint16)[:, 0].astype(np.uint64) << np.uint64(16 * half)
                else:
                    data = (word >> np.uint64(16 * half)).astype(np.uint16).view(np.uint8).reshape(-1, 2)
                    memory[cells[mask]] = data[mask]
            if is_load:
                self.put(register, word, mask)

    def move(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        to, source = _names(operands[0]), _names(operands[1])
        bits = int(parts[-1][1:]) // max(len(to), len(source)) if parts[-1] != "pred" else 64
        if len(source) > 1:
            value = self.all(0)
            for i, one in enumerate(source):
                value = value | (self.get(one) & self.all((1 << bits) - 1)) << np.uint64(bits * i)
            self.put(to[0], value, mask)
            return
        for i, one in enumerate(to):
            if one != "_":
                self.put(one, self.get(source[0]) >> np.uint64(bits * i) & self.all((1 << bits) - 1), mask)

    def shuffle(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        lane, other = np.arange(self.count) % LANES, self.get(operands[2]).astype(np.int64)
        source = lane ^ other if parts[1] == "bfly" else other & LANES - 1
        self.put(operands[0], self.get(operands[1])[np.arange(self.count) - lane + source], mask)

    def select(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        self.put(operands[0], np.where(self.mask(operands[3]), self.get(operands[1]), self.get(operands[2])), mask)

    def compare(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        a, b = (self.typed(one, parts[-1]) for one in operands[1:])
        unordered = (a != a) | (b != b)
        answers = {
            "eq": a == b, "ne": (a != b) & ~unordered, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
            "nan": unordered, "num": ~unordered,
        }  # fmt: skip
        known = parts[0] in answers
        self.put(operands[0], answers[parts[0]] if known else answers[parts[0].removesuffix("u")] | unordered, mask)

    def convert(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if parts[1] in ("bf16x2", "f16x2"):
            high, low = (self.round(self.typed(one, "f32"), parts[1]) for one in operands[1:])
            self.put(operands[0], high << np.uint64(16) | low, mask)
        else:
            kind, value = parts[-2], self.typed(operands[1], parts[-1])
            value = value.astype({"s": "i", "f": "f"}.get(kind[0], "u") + str(int(kind[1:]) // 8))
            self.put(operands[0], value.astype(np.int64) if kind[0] == "s" else value, mask)

    @staticmethod
    def round(value: np.ndarray, kind: str) -> np.ndarray:
        """To the nearest fp16 or bf16."""
        if kind == "f16x2":
            return value.astype(np.float16).view(np.uint16).astype(np.uint64)
        bits = value.view(np.uint32).astype(np.uint64)
        return bits + np.uint64(0x7FFF) + (bits >> np.uint64(16) & np.uint64(1)) >> np.uint64(16)

    def extract(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        count = int(operands[3])
        value = self.typed(operands[1], "u32").astype(np.int64) >> int(operands[2]) & (1 << count) - 1
        if parts[-1][0] == "s":
            value -= (value >> count - 1) << count
        self.put(operands[0], value.astype(np.int32), mask)

    def look_up(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Bit by bit, the answer for each of the eight cases of three operands."""
        a, b, c = (self.typed(one, "u32") for one in operands[1:4])
        value = np.zeros_like(a)
        for case in range(8):
            if int(operands[4], 0) >> case & 1:
                value |= (a if case & 4 else ~a) & (b if case & 2 else ~b) & (c if case & 1 else ~c)
        self.put(operands[0], value, mask)

    def permute(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        both = self.typed(operands[1], "u32").astype(np.uint64) | self.get(operands[2]) << np.uint64(32)
        value = self.all(0)
        for i in range(4):
            which = int(operands[3].rstrip("U"), 0) >> 4 * i & 7
            value = value | (both >> np.uint64(8 * which) & np.uint64(255)) << np.uint64(8 * i)
        self.put(operands[0], value, mask)

    def multiply(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """mma.sync: rows and columns by quads of lanes, or, of m8n8k4 in fp16, by each quarter of the warp."""
        shape = next(part for part in parts if part.startswith("m") and "n" in part)
        m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
        kind, total = parts[-2], parts[-1]
        lane = np.arange(self.count) % LANES
        warp, group, quad = np.arange(self.count) // LANES, lane // 4, lane % 4
        each = max(1, 32 // WIDTHS[kind])
        quarters = (shape, kind) == ("m8n8k4", "f16")
        if quarters:
            m = n = 16

        def left(i: int) -> tuple:  # row and column of element i of a lane
            if quarters:
                return lane % 4 + (lane & 4) * 2 + (lane & 16) // 4, i
            register = i // each
            return group + register % 2 * 8 * (m > 8), quad * each + i % each + register // (1 + (m > 8)) * 4 * each

        def right(i: int) -> tuple:
            if quarters:
                return i, lane % 4 + (lane & 8) + (lane & 16) // 4
            return quad * each + i % each + i // each * 4 * each, group

        def sums(i: int) -> tuple:
            if quarters:
                return (lane & 1) + (i & 2) + (lane & 4) * 2 + (lane & 16) // 4, (i & 4) + (lane & 2) + (i & 1) + (lane & 8)
            return group + i // 2 * 8, quad * 2 + i % 2

        exact = np.int64 if kind in ("s8", "u8") else np.float64
        a, b, c = (np.zeros((self.count // LANES, *size), exact) for size in ((m, k), (k, n), (m, n)))
        for matrix, names, place in ((a, operands[1], left), (b, operands[2], right)):
            for i, register in enumerate(_names(names)):
                for j, number in enumerate(_elements(self.get(register), kind)):
                    row, column = place(i * each + j)
                    matrix[warp, row, column] = number
        for i, register in enumerate(_names(operands[3])):
            row, column = sums(i)
            c[warp, row, column] = self.typed(register, total)
        product = (a @ b + c).astype({"f32": np.float32, "f64": np.float64, "s32": np.int32}[total])
        for i, register in enumerate(_names(operands[0])):
            row, column = sums(i)
            self.put(register, product[warp, row, column], mask)

    def described(self, operand: str, group: int, lines: np.ndarray, over: np.ndarray, across: bool, kind: str) -> np.ndarray:
        """Elements of a matrix in shared memory: `lines` along the dimension that is kept, `over` along the other."""
        words = self.get(operand)[group * GROUP : (group + 1) * GROUP]
        assert (words == words[0]).all(), "a descriptor that threads of a group do not share"
        word, size = int(words[0]), WIDTHS[kind] // 8
        start, leading, stride, mode = (word & 0x3FFF) << 4, (word >> 16 & 0x3FFF) << 4, (word >> 32 & 0x3FFF) << 4, word >> 62
        span = {1: 128, 2: 64, 3: 32}[mode]
        assert word >> 46 & 0xFFFF == 0 and start % (8 * span) < span
        if across:
            at = start + lines * size // span * leading + lines * size % span + over // 8 * stride + over % 8 * span
        else:
            at = start + lines // 8 * stride + lines % 8 * span + over * size
        at ^= at >> 3 & span - 16
        assert (at + size <= SHARED_BYTES).all(), "an address out of bounds"
        cells = self.shared[group * GROUP // self.kernel.threads * SHARED_BYTES + at[..., None] + np.arange(size)]
        return _elements(np.ascontiguousarray(cells).view(f"u{size}")[..., 0].astype(np.uint64), kind)[0]

    def multiply_together(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """wgmma: 64 rows by a group of four warps, which all of its threads ask for."""
        n, k = map(int, re.fullmatch(r"m64n(\d+)k(\d+)", parts[3]).groups())
        kind = parts[-1]
        assert parts[4] == "f32" and parts[5] == kind and mask.all() and operands[3:6] == ["1", "1", "1"]
        in_registers = operands[1].startswith("{")
        turned = [bool(int(one)) for one in operands[6:]]
        thread = np.arange(GROUP)
        row, quad = thread // LANES * 16 + thread % LANES // 4, thread % 4
        for group in range(self.count // GROUP):
            own = np.s_[group * GROUP : (group + 1) * GROUP]
            if in_registers:
                a = np.zeros((64, k))
                for i, register in enumerate(_names(operands[1])):
                    for j, number in enumerate(_elements(self.get(register)[own], kind)):
                        a[row + i % 2 * 8, quad * 2 + j + i // 2 * 8] = number
            else:
                a = self.described(operands[1], group, *np.indices((64, k)), turned[0], kind).astype(np.float64)
            over, columns = np.indices((k, n))
            b = self.described(operands[2], group, columns, over, turned[-1], kind).astype(np.float64)
            product = a @ b
            for i, register in enumerate(_names(operands[0])):
                sums = self.typed(register, "f32").copy()
                sums[own] = sums[own] + product[row + i // 2 % 2 * 8, quad * 2 + i % 2 + i // 4 * 8]
                self.put(register, sums, mask)
