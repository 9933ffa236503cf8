"""Random programs of the language: a seed determines the text of a function and its arguments.

Programs have 5 to 40 operations; half of them have at least two reductions or contractions. Sizes
are run-time values, inputs have all kinds of strides, and there are several results. Most sizes are
small (including 1 and primes); one program in five has one or two long sizes, just below and above
a multiple of a tile, and occasionally a size is 0.

    generate(seed) -> Program        Program.source, .arguments(rng, variant), .pairs
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from operations import HEAVY, OPERATIONS, Operation
from values import FLOATS, Interval, Value

SYMBOLS = "ABCDE"
SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 17, 19, 31, 32, 33, 64, 65, 67)
LONG_SIZES = (127, 128, 129, 130, 255, 256, 257, 300, 511, 512, 513, 520, 1023, 1024, 1025, 1030)
LONG_SHARE = 0.2  # of the programs
EMPTY_SHARE = 0.04  # of the calls
MAX_ELEMENTS = {
    False: 20_000,
    True: 100_000,
}  # of any value, short and long: the reference is not fast
MAX_PRODUCTS = 8_000_000  # of one contraction
LAYOUTS = ("dense", "dense", "permuted", "stepped", "reversed", "offset", "repeated")


@dataclass
class Parameter:
    name: str
    dims: tuple[str, ...]
    dtype: str
    layout: str


@dataclass
class Program:
    seed: int
    name: str
    source: str
    parameters: list[Parameter]
    symbols: tuple[str, ...]
    long: frozenset[str]  # the symbols that get long sizes
    nonempty: set[str]  # sizes that are indexed or searched for an extremum: not 0
    domains: list[tuple[tuple[str, ...], int]]  # sizes with the most that their product may be
    operations: list[str]
    pairs: set[tuple[str, str]]
    heavy: int  # reductions and contractions
    results: list[str]  # the types of the results

    @property
    def loss(self) -> str:
        """A scalar function of the program's float results, for its gradients; empty if there is
        none, or no parameter to differentiate."""
        if not self.differentiable or not any(dtype in FLOATS for dtype in self.results):
            return ""
        names = [f"r{i}" for i in range(len(self.results))]
        parts = [
            f"tsr.sin({name}.to({'fp64' if dtype == 'fp64' else 'fp32'})).sum()"
            for name, dtype in zip(names, self.results)
            if dtype in FLOATS
        ]
        arguments = ", ".join(p.name for p in self.parameters)
        return (
            f"@tsr.function\ndef {self.name}_loss({arguments}):\n"
            f"    {', '.join(names)} = {self.name}({arguments})\n"
            f"    return {' + '.join(parts)}\n"
        )

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The parameters that are floats."""
        return tuple(p.name for p in self.parameters if p.dtype in FLOATS)

    def sizes(self, variant: int) -> dict[str, int]:
        """Sizes of the symbols; each variant calls the same function with other ones."""
        rng = random.Random(f"{self.seed}/{variant}")
        long = self.long if variant == 0 or rng.random() < 0.5 else ()
        sizes = {s: rng.choice(LONG_SIZES if s in long else SIZES) for s in self.symbols}
        may_be_empty = [s for s in self.symbols if not any(s in size for size in self.nonempty)]
        if may_be_empty and rng.random() < EMPTY_SHARE:
            sizes[rng.choice(may_be_empty)] = 0
        for dims, most in self.domains:
            while math.prod(evaluate(d, sizes) for d in dims) > most:
                used = [s for s in self.symbols if any(s in d for d in dims)]
                shrunk = rng.choice(
                    [s for s in used if sizes[s] > 2] or [s for s in used if sizes[s] > 1]
                )
                sizes[shrunk] = smaller(sizes[shrunk])
        return sizes

    def arguments(self, variant: int) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, variant])
        sizes = self.sizes(variant)
        return [
            make_array(rng, tuple(int(sizes.get(d, d)) for d in p.dims), p.dtype, p.layout)
            for p in self.parameters
        ]


def evaluate(size: str, sizes: dict[str, int]) -> int:
    return eval(size, {}, sizes)


def smaller(size: int) -> int:
    """The next long size below a long one, otherwise about two thirds."""
    return max((s for s in LONG_SIZES if s < size), default=size * 2 // 3)


def spell(dtype: str) -> str:
    """A type as programs write it: `bool` alone is Python's."""
    return "tsr.bool" if dtype == "bool" else dtype


def numpy_dtype(dtype: str) -> np.dtype:
    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"fp64": "f8", "fp32": "f4", "fp16": "f2"}.get(dtype, dtype))


def make_array(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, layout: str
) -> np.ndarray:
    """A random array with the memory layout `layout`."""

    def fill(shape: tuple[int, ...]) -> np.ndarray:
        if dtype == "bool":
            return np.asarray(rng.random(shape) < 0.5)
        if dtype in FLOATS:
            return np.asarray(np.clip(rng.standard_normal(shape), -4, 4), numpy_dtype(dtype))
        low = 0 if dtype == "uint8" else -6
        return np.asarray(rng.integers(low, 7, shape), numpy_dtype(dtype))

    if not shape or layout == "dense":
        return fill(shape)
    if layout == "permuted":
        order = rng.permutation(len(shape))
        return fill(tuple(shape[i] for i in order)).transpose(np.argsort(order))
    if layout == "stepped":
        return fill((*shape[:-1], 2 * shape[-1]))[..., ::2]
    if layout == "reversed":
        return fill(shape)[
            tuple(slice(None, None, -1) if rng.random() < 0.6 else slice(None) for _ in shape)
        ]
    if layout == "offset":
        return fill(tuple(s + 1 for s in shape))[tuple(slice(1, None) for _ in shape)]
    return np.broadcast_to(fill((1, *shape[1:])), shape)  # repeated: stride 0


class Builder:
    """Grows one program; operations (operations.py) call back to emit statements."""

    def __init__(self, seed: int):
        self.seed = seed
        self.rng = random.Random(seed)
        self.parameters: list[Parameter] = []
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.operations: list[str] = []
        self.pairs: set[tuple[str, str]] = set()
        self.nonempty: set[str] = set()
        self.contractions: list[tuple[str, ...]] = []  # the sizes that each goes over
        self.symbols = SYMBOLS[: self.rng.randint(2, 4)]
        many = self.rng.choice((1, 1, 2)) if self.rng.random() < LONG_SHARE else 0
        self.long = frozenset(self.rng.sample(self.symbols, min(many, len(self.symbols) - 1)))
        # One floating point type dominates a program, as in practice.
        self.dtype = self.rng.choice(("fp32", "fp32", "fp32", "fp64", "bf16", "fp16"))

    # What operations use.

    def parameter(self, dims: tuple[str, ...], dtype: str | None = None) -> Value:
        """A new argument of the function; its sizes are symbols and numbers."""
        dtype = dtype or (self.dtype if self.rng.random() < 0.8 else self.rng.choice(FLOATS))
        name = f"x{len(self.parameters)}"
        self.parameters.append(Parameter(name, dims, dtype, self.rng.choice(LAYOUTS)))
        interval = Interval(-4, 4) if dtype in FLOATS else Interval(-6, 6)
        if dtype in ("bool", "uint8"):
            interval = Interval(0, 6 if dtype == "uint8" else 1)
        value = Value(name, dims, dtype, interval, "input")
        self.values.append(value)
        return value

    def emit(
        self,
        op: str,
        text: str,
        inputs: list[Value],
        dims: tuple[str, ...],
        dtype: str,
        interval: Interval,
    ) -> Value:
        """One statement `vN = text`; the pairs (producer, op) are covered by it."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        for value in inputs:
            value.uses += 1
            if value.op != "input":
                self.pairs.add((value.op, op))
        self.operations.append(op)
        value = Value(name, dims, dtype, interval, op)
        self.values.append(value)
        return value

    def random_dims(self, least: int = 0, most: int = 4) -> tuple[str, ...]:
        dims: tuple[str, ...] = ()
        for _ in range(self.rng.randint(least, most)):
            dims += (self.symbol(beside=dims),)
        return dims

    def symbol(self, beside: tuple[str, ...]) -> str:
        """A size for a shape with these; no shape of an argument has the same long size twice."""
        return self.rng.choice([s for s in self.symbols if s not in self.long or s not in beside])

    def most(self, *sizes: str) -> int:
        """The largest possible product of these sizes."""
        largest = {s: LONG_SIZES[-1] if s in self.long else SIZES[-1] for s in self.symbols}
        return math.prod(evaluate(size, largest) for size in sizes)

    def pick(self, accept=lambda v: True) -> Value | None:
        """A value that fits, more often a recent one or one without a use."""
        fitting = [v for v in self.values if accept(v)]
        if not fitting:
            return None
        weights = [(4 if v.uses == 0 else 1) * (2 if v in self.values[-4:] else 1) for v in fitting]
        return self.rng.choices(fitting, weights)[0]

    # The program.

    def build(self) -> Program:
        length = self.rng.randint(5, 40)
        want_heavy = 2 if self.rng.random() < 0.5 else 0
        for _ in range(self.rng.randint(1, 2)):
            self.parameter(self.random_dims(1, 4))
        heavy = 0
        while len(self.operations) < length:
            remaining = length - len(self.operations)
            force = want_heavy - heavy >= remaining
            before = len(self.operations)
            operation = self._choose(force)
            operation.apply(self)
            if len(self.operations) > before:
                heavy += operation.name in HEAVY
        return self._finish(heavy)

    def _choose(self, force_heavy: bool) -> Operation:
        pool = [o for o in OPERATIONS if o.name in HEAVY] if force_heavy else OPERATIONS
        return self.rng.choices(pool, [o.weight for o in pool])[0]

    def _finish(self, heavy: int) -> Program:
        unused = [v for v in self.values if v.uses == 0 and v.op != "input"]
        results = unused[-4:] or [self.values[-1]]
        name = f"program_{self.seed}"
        signature = ", ".join(
            f"{p.name}: Tensor[{', '.join([*(repr(d) if not d.isdigit() else d for d in p.dims), spell(p.dtype)])}]"
            for p in self.parameters
        )
        bound = {d for p in self.parameters for d in p.dims}
        source = f"@tsr.function\ndef {name}({signature}):\n"
        source += "".join(f"    {line}\n" for line in self.lines)
        source += f"    return {', '.join(v.name for v in results)}\n"
        domains = [(dims, MAX_PRODUCTS) for dims in self.contractions]
        domains += [(v.dims, MAX_ELEMENTS[bool(self.long)]) for v in self.values]
        return Program(
            self.seed,
            name,
            source,
            self.parameters,
            tuple(s for s in self.symbols if s in bound),
            self.long,
            self.nonempty,
            domains,
            self.operations,
            self.pairs,
            heavy,
            [v.dtype for v in results],
        )


HEADER = """import math
import tessera as tsr
from tessera import Tensor, bf16, fp16, fp32, fp64, int8, int16, int32, int64, uint8
"""


def generate(seed: int) -> Program:
    return Builder(seed).build()


def module_source(programs: list[Program], with_losses: bool = False) -> str:
    losses = [p.loss for p in programs] if with_losses else []
    return "\n\n".join([HEADER, *(p.source for p in programs), *losses])


if __name__ == "__main__":
    import sys

    for argument in sys.argv[1:]:
        program = generate(int(argument))
        print(program.source)
        print("#", program.sizes(0), [(p.name, p.layout) for p in program.parameters])
