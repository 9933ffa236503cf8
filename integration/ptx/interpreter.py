"""Interprets PTX on the CPU, many threads in lockstep: the results of kernels, without a GPU.

One instruction is executed at once by all threads at it, and a register is an array over all
threads of some CTAs. Diverged threads continue from the lowest instruction, and reconverge at
collective operations. Races are found by the simulator (`tessera simulate`), which runs the program
before it becomes PTX. This runs LLVM's output, with the roundings of each instruction
(arithmetic.py): a multiplication may be fused with the addition that uses it, as PTX allows if
neither states a rounding, and is fused here wherever that is possible. Instructions that these
kernels do not use are an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Callable

import numpy as np
from arithmetic import (
    APPROXIMATE,
    convert,
    flushed,
    fma,
    high_product,
    quotient,
    remainder,
    shifted,
    to_bf16,
    to_tf32,
)
from ptx_mma import TensorCores
from ptx_values import (
    GROUP,
    LANES,
    Boxes,
    Instruction,
    Memory,
    TensorMap,
    dtype_of,
    in_order,
    register_names,
    split_operands,
)

from tessera.targets import chips

SHARED_BYTES = chips()["sm_90"]["limits"]["shared_bytes_per_cta"]
WHOSE = 18  # from this bit on, an address of shared memory says which block has it
PIECE = 16  # bytes that bulk copies move at once
BOX_ALIGNMENT = 128  # of what a tensor map's copies write
MAPS = 1 << 60  # the address of the first parameter, of which a tensor map is one
TOGETHER = 1 << 14  # threads that run at once
SHARED_TOGETHER = 1 << 26  # bytes of their shared memory


class Kernel:
    """A kernel of a module, ready to run."""

    def __init__(self, module: str, name: str) -> None:
        found = re.search(
            rf"\.entry {name}\((.*?)\n?\)(.*?\.reqntid (\d+).*?)\n\{{\n(.*?)\n\}}", module, re.S
        )
        assert found, f"no kernel '{name}'"
        self.name = name
        self.threads = int(found[3])
        self.parameters = len(re.findall(r"\.param", found[1]))
        self.maps = len(re.findall(r"\.param \.align", found[1]))
        cluster = re.search(r"\.reqnctapercluster (\d+)", found[2])
        self.blocks = int(cluster[1]) if cluster else 1
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for line in re.sub(r"//[^\n]*", "", found[4]).splitlines():
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
                predicate, operation, operands = re.fullmatch(
                    r"(?:@(!?%?\w+)\s+)?([\w.:]+)\s*(.*)", one, re.S
                ).groups()
                together = self._together(operation)
                self.code.append(
                    Instruction(
                        predicate or "",
                        operation,
                        split_operands(operands),
                        operation.split(".")[1:],
                        together,
                    )
                )

    def _together(self, operation: str) -> int:
        name = operation.split(".")[0]
        if operation.startswith("barrier.cluster"):
            return self.threads * self.blocks
        if name == "bar":
            return LANES if "warp" in operation else self.threads
        return (
            GROUP
            if name == "wgmma"
            else LANES
            if name in ("shfl", "mma", "ldmatrix", "stmatrix")
            else 1
        )

    def run(
        self, *arguments: np.ndarray | int, maps: Sequence[TensorMap] = (), block: int = 0
    ) -> None:
        """Runs one CTA, or one cluster of CTAs: the last one of a grid, from number `block` on.
        Arrays, dense in any order of their dimensions, are changed in place; the address, sizes and
        strides of each are words. Tensor maps follow the words."""
        words: list[int] = []
        begins: list[int] = []
        blocks: list[tuple[int, np.ndarray]] = []
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        size = 0
        for one in arguments:
            if isinstance(one, np.ndarray):
                begins.append(size)
                blocks.append((size, np.frombuffer(in_order(one).tobytes(), np.uint8).copy()))
                words += [size, *one.shape, *(stride // one.itemsize for stride in one.strides)]
                size = (size + one.nbytes + 255) // 256 * 256
            else:
                words.append(one)
        memory = Memory(block for block in blocks if block[1].size)
        boxes = [one.on(arrays[one.array], begins[one.array]) for one in maps]
        _Run(
            self,
            memory,
            words,
            boxes,
            (block + self.blocks, 1, 1),
            block,
            self.blocks,
            SHARED_BYTES,
        ).go()
        memory.give_back()
        for (_, data), one in zip(blocks, arrays):
            inside = in_order(one)
            inside[...] = data.view(one.dtype).reshape(inside.shape)

    def launch(
        self, memory: Memory, words: Sequence[int], grid: Sequence[int], shared: int
    ) -> None:
        """All CTAs of a grid. The words are those of a launch: tensor maps are 16 of them each."""
        scalars = self.parameters - self.maps
        maps = [Boxes.decoded(words[at : at + 16]) for at in range(scalars, len(words), 16)]
        assert len(words) == scalars + 16 * self.maps
        total, own = int(np.prod(grid)), (shared + 1023) // 1024 * 1024
        some = (
            max(
                1,
                min(
                    TOGETHER // (self.threads * self.blocks),
                    SHARED_TOGETHER // max(own * self.blocks, 1),
                ),
            )
            * self.blocks
        )
        for first in range(0, total, some):
            _Run(
                self, memory, words[:scalars], maps, grid, first, min(some, total - first), own
            ).go()


class _Run(TensorCores):
    def __init__(
        self,
        kernel: Kernel,
        memory: Memory,
        words: Sequence[int],
        maps: Sequence[Boxes],
        grid: Sequence[int],
        first: int,
        blocks: int,
        shared: int,
    ) -> None:
        """The CTAs of a grid from a first one on; each has this many bytes of shared memory."""
        self.kernel, self.memory, self.words, self.maps, self.reserve = (
            kernel,
            memory,
            words,
            maps,
            shared,
        )
        self.count = kernel.threads * blocks
        threads = np.arange(self.count)
        self.lane, self.warp, self.block = (
            threads % LANES,
            threads // LANES,
            threads // kernel.threads,
        )
        number = self.block + first
        places = {
            "x": number % grid[0],
            "y": number // grid[0] % grid[1],
            "z": number // (grid[0] * grid[1]),
        }
        self.registers: dict[str, np.ndarray] = {
            f"%ctaid.{axis}": place.astype(np.uint64) for axis, place in places.items()
        }
        self.registers |= {f"%nctaid.{axis}": self.all(size) for axis, size in zip("xyz", grid)}
        self.registers["shared_memory"] = (self.block << WHOSE).astype(np.uint64)
        self.registers["%tid.x"] = (threads % kernel.threads).astype(np.uint64)
        self.everyone = np.ones(self.count, bool)
        # : registers that hold products which may be fused with additions: the factors, and the
        # threads that have them
        self.products: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        # : mbarriers: completed phases, pending bytes, pending arrivals, and the arrivals of each
        # phase
        self.gates: dict[int, list[int]] = {}
        self.shared = np.zeros(shared * blocks, np.uint8)

    def go(self) -> None:
        code, end = self.kernel.code, len(self.kernel.code)
        places = np.zeros(self.count, np.int64)
        uniform: int | None = 0  # the instruction that all threads have reached
        while True:
            if uniform is not None and not code[uniform].waits:
                at, here = uniform, self.everyone
            else:
                at, here = self.next(places)
            one = code[at]
            if one.operation == "ret":
                if here is self.everyone:
                    break
                places[here] = end
                if (places == end).all():
                    break
                continue
            mask = here if not one.predicate else here & self.mask(one.predicate)
            if one.operation.startswith("bra"):
                target = self.kernel.labels[one.operands[0]]
                taken = mask is here or bool(mask[here].all())
                if here is self.everyone and (taken or not mask.any()):
                    uniform = target if taken else at + 1
                    places[...] = uniform
                    continue
                places[here] = at + 1
                places[mask] = target
                uniform = int(places[0]) if (places == places[0]).all() else None
                continue
            if mask.any():
                self.step(one, mask)
            if here is self.everyone:
                uniform = at + 1
                places[...] = uniform
            else:
                places[here] = at + 1
                uniform = at + 1 if (places == at + 1).all() else None

    def next(self, places: np.ndarray) -> tuple[int, np.ndarray]:
        """The first instruction that some threads can execute, and these threads."""
        end = len(self.kernel.code)
        ended = places == end
        for at in np.unique(places[~ended]):
            one, here = self.kernel.code[at], places == at
            if one.together > 1:
                size = min(one.together, self.count)
                here &= np.repeat((here | ended).reshape(-1, size).all(1), size)
            elif one.waits:
                here &= self.opened(one.operands, here)
            if here.any():
                return int(at), self.everyone if here.all() else here
        raise AssertionError("threads wait for each other at different instructions, or for ever")

    # Values are 64-bit words; an operation uses the low bits of its type.

    def all(self, value: int) -> np.ndarray:
        return np.full(self.count, value & (1 << 64) - 1, np.uint64)

    def mask(self, predicate: str) -> np.ndarray:
        return self.registers[predicate.lstrip("!")].astype(bool) ^ predicate.startswith("!")

    def get(self, operand: str) -> np.ndarray:
        if operand in self.registers:
            return self.registers[operand]
        if re.fullmatch(r"%[a-z]+\d+", operand):  # no thread has written it yet
            return self.all(0)
        if operand.startswith(f"{self.kernel.name}_param_"):
            return self.all(MAPS + int(operand.rpartition("_")[2]))
        if operand[:2] in ("0f", "0d"):
            return self.all(int(operand[2:], 16))
        return self.all(int(operand.rstrip("U"), 0))

    def typed(self, operand: str, kind: str) -> np.ndarray:
        """As numbers of a type: s32, u64, b16, f32, …"""
        if kind == "pred":
            return self.get(operand).astype(bool)
        dtype = dtype_of(kind)
        if kind == "f16" and operand.startswith("0x"):
            return np.full(self.count, int(operand, 16), np.uint16).view(dtype)
        return self.get(operand).astype(f"u{dtype.itemsize}").view(dtype)

    def put(self, register: str, value: np.ndarray, mask: np.ndarray) -> None:
        if value.dtype == bool:
            value = value.astype(np.uint64)
        value = value.view(f"u{value.itemsize}").astype(np.uint64)
        self.products.pop(register, None)
        if mask is not self.everyone:
            value = np.where(mask, value, self.registers.get(register, self.all(0)))
        self.registers[register] = value

    def address(self, operand: str) -> np.ndarray:
        base, _, more = operand.strip("[]").partition("+")
        return (self.get(base) + self.all(int(more or "0"))).astype(np.int64)

    def within(self, address: np.ndarray) -> np.ndarray:
        """In the shared memories of all CTAs, which are adjacent."""
        address = address & 0xFFFFFFFF
        return (address & (1 << WHOSE) - 1) + (address >> WHOSE) * self.reserve

    def own(self, operand: str) -> np.ndarray:
        return self.within(self.address(operand))

    def cells(
        self, space: str, address: np.ndarray, size: int, count: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Memory as words of a size, and the positions of those at addresses, each of which has
        some of them."""
        assert (address % (size * count) == 0).all(), "an address that is not aligned"
        if space.startswith("shared"):
            inside = address & (1 << WHOSE) - 1
            assert (inside + size * count <= self.reserve).all(), "an address out of bounds"
            return self.shared.view(f"u{size}"), self.within(address) // size
        assert space == "global", space
        return self.memory.bytes.view(f"u{size}"), self.memory.places(address, size * count) // size

    # Operations.

    def step(self, one: Instruction, mask: np.ndarray) -> None:
        name, parts, operands, operation = (
            one.operation.partition(".")[0],
            one.parts,
            one.operands,
            one.operation,
        )
        if "L2::cache_hint" in parts:
            parts, operands = [part for part in parts if part != "L2::cache_hint"], operands[:-1]
        if (
            name in ("bar", "barrier", "fence", "prefetch", "nanosleep", "createpolicy")
            or operation.startswith(("wgmma.fence", "wgmma.commit", "wgmma.wait"))
            or name == "cp"
            and any(part.endswith("_group") and part != "bulk_group" for part in parts)
        ):
            return
        special: dict[str, Callable] = {
            "ld": self.load, "st": self.store, "red": self.add, "cp": self.copy, "mbarrier": self.gate, "ldmatrix": self.matrix, "stmatrix": self.matrix,
            "mov": self.move, "cvta": self.move, "elect": self.elect, "shfl": self.shuffle, "selp": self.select, "setp": self.compare, "cvt": self.convert,
            "bfe": self.extract, "lop3": self.look_up, "prmt": self.permute, "mma": self.multiply, "wgmma": self.multiply_together, "mapa": self.map,
        }  # fmt: skip
        with np.errstate(all="ignore"):
            if name in special:
                special[name](name, parts, operands, mask)
            elif parts[-1][0] == "f":
                self.compute(name, parts, operands, mask)
            else:
                self.count_with(name, parts, operands, mask)

    def compute(self, name: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """On floats."""
        values = [self.typed(one, parts[-1]) for one in operands[1:]]
        if "ftz" in parts:
            values = [flushed(one) for one in values]
        if (exact := f"{name}.{parts[0]}") in APPROXIMATE:
            assert parts[-1] == "f32"
            result = APPROXIMATE[exact](*values)
        else:
            functions: dict[str, Callable] = {
                "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt,
                "max": np.maximum if "NaN" in parts else np.fmax, "min": np.minimum if "NaN" in parts else np.fmin, "rcp": np.reciprocal, "fma": fma,
                "copysign": lambda sign, size: np.copysign(size, sign),
            }  # fmt: skip
            result = functions[name](*values)
        is_free = "rn" not in parts
        if name in ("add", "sub") and is_free:
            result = self.fused(name, operands[1:], values, result)
        self.put(operands[0], flushed(result) if "ftz" in parts else result, mask)
        if name == "mul" and is_free:
            self.products[operands[0]] = (*values, mask)

    def fused(
        self, name: str, operands: list[str], values: list[np.ndarray], result: np.ndarray
    ) -> np.ndarray:
        """An addition that uses a product before it is rounded."""
        sign = -1 if name == "sub" else 1
        for i, one in enumerate(operands):
            if one in self.products:
                a, b, mask = self.products[one]
                other = fma(a, b, sign * values[1]) if i == 0 else fma(sign * a, b, values[0])
                return np.where(mask, other, result)
        return result

    def count_with(
        self, name: str, parts: list[str], operands: list[str], mask: np.ndarray
    ) -> None:
        """On integers, bits and predicates."""
        kind = parts[-1]
        values = [self.typed(one, kind) for one in operands[1:]]
        if name in ("shl", "shr"):
            self.put(operands[0], shifted(name, values[0], self.typed(operands[2], "u32")), mask)
            return
        if name in ("mul", "mad") and "wide" in parts:
            wide = f"{values[0].dtype.kind}{2 * values[0].itemsize}"
            values = [one.astype(wide) for one in values[:2]] + [
                self.typed(one, f"{kind[0]}{2 * int(kind[1:])}") for one in operands[3:]
            ]
        product = high_product if "hi" in parts else np.multiply
        functions: dict[str, Callable] = {
            "add": np.add, "sub": np.subtract, "mul": product, "mad": lambda a, b, c: product(a, b) + c, "div": quotient, "rem": remainder, "and": np.bitwise_and,
            "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "neg": np.negative, "abs": np.abs, "max": np.maximum, "min": np.minimum,
        }  # fmt: skip
        self.put(operands[0], functions[name](*values), mask)

    def load(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if parts[0] == "param":
            number = int(operands[1].strip("[]").removeprefix(f"{self.kernel.name}_param_"))
            self.put(operands[0], self.all(self.words[number]), mask)
            return
        size, registers = int(parts[-1][1:]) // 8, register_names(operands[0])
        memory, cells = self.cells(parts[0], self.address(operands[1])[mask], size, len(registers))
        is_signed = parts[-1][0] == "s"
        for i, register in enumerate(registers):
            value = memory[cells + i]
            all_values = np.zeros(self.count, np.uint64)
            all_values[mask] = (
                value.view(f"i{size}").astype(np.int64).view(np.uint64) if is_signed else value
            )
            self.put(register, all_values, mask)

    def map(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """An address of another CTA's shared memory is one of all CTAs' memories."""
        first = (self.block // self.kernel.blocks * self.kernel.blocks).astype(
            np.uint64
        )  # of the cluster
        self.put(
            operands[0],
            self.get(operands[1]) & self.all((1 << WHOSE) - 1)
            | first + self.get(operands[2]) << self.all(WHOSE),
            mask,
        )

    def push(self, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """st.async: to any CTA's memory, and counted there."""
        size = int(parts[-1][1:]) // 8
        to, signals = self.own(operands[0]), self.own(operands[2])
        for i, register in enumerate(register_names(operands[1])):
            data = self.typed(register, f"u{8 * size}")
            for thread in np.flatnonzero(mask):
                begin = to[thread] + i * size
                self.shared[begin : begin + size] = np.frombuffer(data[thread].tobytes(), np.uint8)
                self.come(int(signals[thread]), size)

    def store(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if parts[0] == "async":
            self.push(parts, operands, mask)
            return
        size, registers = int(parts[-1][1:]) // 8, register_names(operands[1])
        memory, cells = self.cells(parts[0], self.address(operands[0])[mask], size, len(registers))
        for i, register in enumerate(registers):
            memory[cells + i] = self.typed(register, f"u{8 * size}")[mask]

    def add(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Atomics on global memory, in any order."""
        data = self.typed(operands[1], parts[-1])
        memory, cells = self.cells("global", self.address(operands[0])[mask], data.itemsize)
        np.add.at(memory.view(data.dtype), cells, data[mask])

    def gate(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Arrivals, expected transactions, and completed bytes of an mbarrier."""
        if parts[0] == "try_wait":
            self.put(operands[0], self.everyone, mask)  # threads wait for it
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
        """Which of these threads find their mbarrier phase completed."""
        keys = self.own(operands[1]) * 2 + (self.get(operands[2]).astype(np.int64) & 1)
        result = np.zeros(self.count, bool)
        for key in np.unique(keys[of]):
            if self.gates[int(key) >> 1][0] & 1 != key & 1:
                result |= keys == key
        return result & of

    def come(self, gate: int, count: int) -> None:
        one = self.gates[gate]
        one[1] -= count
        if one[1] == one[2] == 0:
            one[0] += 1
            one[2] = one[3]

    def bulk(self, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Bulk copies of whole 16-byte chunks, all inside of aligned tensors."""
        is_fetch = parts[2].startswith("shared")
        near_operand, far_operand = operands[:2] if is_fetch else operands[1::-1]
        nears, begins, sizes = (
            self.own(near_operand),
            self.address(far_operand),
            self.get(operands[2]),
        )
        for thread in np.flatnonzero(mask):
            size, begin, near = int(sizes[thread]), int(begins[thread]), int(nears[thread])
            assert size > 0 and size % PIECE == begin % PIECE == near % PIECE == 0, (
                "a copy that is not aligned"
            )
            place = int(self.memory.places(np.array([begin]), size)[0])
            assert near % self.reserve + size <= self.reserve
            if is_fetch:
                self.shared[near : near + size] = self.memory.bytes[place : place + size]
                self.come(int(self.own(operands[3])[thread]), size)
            else:
                self.memory.bytes[place : place + size] = self.shared[near : near + size]

    def elect(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """The first lane of a whole warp."""
        self.put(operands[0].partition("|")[2], self.lane == 0, mask)

    def boxes(self, operands: list[str], mask: np.ndarray) -> None:
        """A box of an array, with zeros past its end; chunks are swizzled within spans by bits of
        their address."""
        source, *places = [one.strip(" {}") for one in operands[1].strip("[]").split(",")]
        maps, nears, coordinates = (
            self.get(source),
            self.own(operands[0]),
            [self.typed(one, "s32") for one in places],
        )
        for thread in np.flatnonzero(mask):
            one = self.maps[int(maps[thread]) - MAPS - len(self.words)]
            near, width, rank, boxes = int(nears[thread]), one.width, len(one.sizes), one.boxes
            assert boxes[0] * width == one.span and max(boxes) <= 256 and rank == len(places)
            assert near % self.reserve % BOX_ALIGNMENT == 0, (
                "a box that is not aligned"
            )  # swizzles depend on addresses
            assert (
                all(
                    stride % PIECE == 0
                    for stride, size in zip(one.strides[1:], one.sizes[1:])
                    if size > 1
                )
                and one.strides[0] == width
            )
            first = [int(place[thread]) for place in coordinates]
            grid = np.meshgrid(
                *(np.arange(begin, begin + size) for begin, size in zip(first, boxes)),
                indexing="ij",
            )
            inside = np.logical_and.reduce(
                [(index >= 0) & (index < size) for index, size in zip(grid, one.sizes)]
            )
            at = (
                sum(np.where(inside, index, 0) * stride for index, stride in zip(grid, one.strides))
                + one.begin
            )
            data = np.where(
                inside[..., None],
                self.memory.bytes[self.memory.places(at, width)[..., None] + np.arange(width)],
                0,
            )
            # The first dimension varies fastest.
            data = one.copied(data.transpose(*range(rank)[::-1], rank).reshape(-1).astype(np.uint8))
            cluster = self.kernel.blocks
            gate, own = int(self.own(operands[2])[thread]), int(self.block[thread]) % cluster
            targets = (
                int(self.get(operands[3])[thread]) if len(operands) > 3 else 1 << own
            )  # CTAs, each at the same offset
            for block in (each for each in range(cluster) if targets >> each & 1):
                move = (block - own) * self.reserve
                place = near + move + np.arange(data.size)
                self.shared[place ^ (place % self.reserve >> 3 & one.span - 1 & ~15)] = data
                self.come(gate + move, data.size)

    def copy(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        if "tensor" in parts:
            self.boxes(operands, mask)
            return
        if "bulk" in parts:
            self.bulk(parts, operands, mask)
            return
        is_full = (
            (self.get(operands[3]) > 0)[mask]
            if len(operands) > 3
            else np.ones(np.count_nonzero(mask), bool)
        )
        target, places = self.cells("shared", self.address(operands[0])[mask], 8, 2)
        source, cells = self.cells("global", self.address(operands[1])[mask][is_full], 8, 2)
        for half in range(2):
            data = np.zeros(is_full.size, np.uint64)
            data[is_full] = source[cells + half]
            target[places + half] = data

    def matrix(self, name: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        """Lane l provides the address of row l % 8 of matrix l / 8."""
        is_load = name == "ldmatrix"
        rows = self.address(operands[1 if is_load else 0])
        lane, first = self.lane, self.warp * LANES
        for number, register in enumerate(register_names(operands[0 if is_load else 1])):
            word = self.all(0) if is_load else self.get(register)
            for half in range(2):
                row, column = lane // 4, lane % 4 * 2 + half
                if "trans" in parts:
                    row, column = column, row
                memory, cells = self.cells(
                    "shared", (rows[first + number * 8 + row] + 2 * column)[mask], 2
                )
                if is_load:
                    word[mask] |= memory[cells].astype(np.uint64) << np.uint64(16 * half)
                else:
                    memory[cells] = (word >> np.uint64(16 * half)).astype(np.uint16)[mask]
            if is_load:
                self.put(register, word, mask)

    def move(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        to, source = register_names(operands[0]), register_names(operands[1])
        bits = int(parts[-1][1:]) // max(len(to), len(source)) if parts[-1] != "pred" else 64
        if len(source) > 1:
            value = self.all(0)
            for i, one in enumerate(source):
                value = value | (self.get(one) & self.all((1 << bits) - 1)) << np.uint64(bits * i)
            self.put(to[0], value, mask)
            return
        for i, one in enumerate(to):
            if one != "_":
                self.put(
                    one,
                    self.get(source[0]) >> np.uint64(bits * i) & self.all((1 << bits) - 1),
                    mask,
                )

    def shuffle(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        other = self.get(operands[2]).astype(np.int64)
        source = self.lane ^ other if parts[1] == "bfly" else other & LANES - 1
        assert parts[1] in ("bfly", "idx")
        self.put(operands[0], self.get(operands[1])[self.warp * LANES + source], mask)

    def select(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        self.put(
            operands[0],
            np.where(self.mask(operands[3]), self.get(operands[1]), self.get(operands[2])),
            mask,
        )

    def compare(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        a, b = (self.typed(one, parts[-1]) for one in operands[1:])
        unordered = (a != a) | (b != b)
        answers = {
            "eq": a == b, "ne": (a != b) & ~unordered, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
            "nan": unordered, "num": ~unordered,
        }  # fmt: skip
        known = parts[0] in answers
        self.put(
            operands[0],
            answers[parts[0]] if known else answers[parts[0].removesuffix("u")] | unordered,
            mask,
        )

    def convert(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        to = parts[-2]
        values = [self.typed(one, parts[-1]) for one in operands[1:]]
        if to in ("bf16x2", "f16x2"):
            high, low = (
                to_bf16(one) if to == "bf16x2" else one.astype(np.float16).view(np.uint16)
                for one in values
            )
            self.put(
                operands[0], high.astype(np.uint64) << np.uint64(16) | low.astype(np.uint64), mask
            )
        elif to in ("bf16", "tf32"):
            self.put(operands[0], to_bf16(values[0]) if to == "bf16" else to_tf32(values[0]), mask)
        else:
            value = convert(values[0], dtype_of(to), parts)
            self.put(operands[0], value.astype(np.int64) if to[0] == "s" else value, mask)

    def extract(self, _: str, parts: list[str], operands: list[str], mask: np.ndarray) -> None:
        count = int(operands[3])
        value = (
            self.typed(operands[1], "u32").astype(np.int64) >> int(operands[2]) & (1 << count) - 1
        )
        if parts[-1][0] == "s":
            value -= (value >> count - 1) << count
        self.put(operands[0], value.astype(np.int32), mask)

    def look_up(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        """lop3: bit by bit, the result for each of the eight cases of three operands."""
        a, b, c = (self.typed(one, "u32") for one in operands[1:4])
        value = np.zeros_like(a)
        for case in range(8):
            if int(operands[4], 0) >> case & 1:
                value |= (a if case & 4 else ~a) & (b if case & 2 else ~b) & (c if case & 1 else ~c)
        self.put(operands[0], value, mask)

    def permute(self, _: str, __: list[str], operands: list[str], mask: np.ndarray) -> None:
        both = self.typed(operands[1], "u32").astype(np.uint64) | self.get(
            operands[2]
        ) << np.uint64(32)
        value = self.all(0)
        for i in range(4):
            which = int(operands[3].rstrip("U"), 0) >> 4 * i & 7
            value = value | (both >> np.uint64(8 * which) & np.uint64(255)) << np.uint64(8 * i)
        self.put(operands[0], value, mask)
