"""What a profile says: kernels, the causes of their gaps, the lines of the source, advice.

Every figure has a source: "measured" on this machine, "counted" by hardware counters, "assembled"
code's, "simulated", or "predicted" by the cost model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: What each cause means, in the order in which they are shown.
CAUSES = {
    "clock": "tensor cores at the clock of a long kernel, below their peak",
    "overlap": "elementwise work that does not run beside the products or the memory",
    "instructions": "instructions beside those that the roofline counts",
    "loops": "starts of inner loops and of blocks of a stream",
    "fallback": "products on slower units than the fastest of the chip",
    "padding": "tiles that are larger than what they cover",
    "waves": "fewer CTAs (grid tasks) than SMs (cores)",
    "tail": "a last wave that does not fill the device",
    "uncoalesced": "sectors or cache lines of which only a part is used",
    "latency": "too few bytes in flight to hide the latency of memory",
    "reread": "operands that several CTAs (grid tasks) read again",
    "packing": "operands that are copied into panels",
    "fill": "from the launch of a CTA (grid task) until its first operands arrive",
    "epilogue": "results that are stored after the last product",
    "launch": "launches of kernels",
    "unexplained": "measured time that the cost model does not predict",
}


@dataclass
class Op:
    """An operation of a kernel; `us` is its time at the peak rates."""

    name: str
    unit: str  # products, elementwise, or memory
    us: float
    line: int | None = None
    flops: float = 0
    bytes: float = 0
    sector_bytes: float = 0
    l2_bytes: float = 0
    tensor: str = ""
    argument: int = -1
    stride: float = 1
    division: str = ""  # float or integer
    invariant: bool = False  # whether the divisor has fewer dimensions than the quotient


@dataclass
class Cause:
    """A part of the gap; `of` is the operand that it is most about."""

    name: str
    us: float
    of: str = ""


@dataclass
class Mask:
    """A mask of a stream: the part of the blocks that is visited, and the part that has to be."""

    line: int | None
    sentinel: bool
    visited: float
    needed: float


@dataclass
class Kernel:
    """Times are in microseconds. `figures` is what the assembler says: registers, …; `counters`
    what hardware counters say; `accesses` the simulator's costs of accesses."""

    name: str
    line: int | None
    schedule: str
    predicted_us: float
    roofline_us: float
    bound: str
    tensor_us: float
    vector_us: float
    memory_us: float
    causes: list[Cause]
    ops: list[Op]
    masks: list[Mask]
    tensor_cores: str
    bytes: float
    l2_bytes: float
    ctas: float
    waves: float
    overridden: list[str] = field(default_factory=list)
    us: float = 0
    source: str = "predicted"
    figures: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)

    @property
    def gap_us(self) -> float:
        return self.us - self.roofline_us

    def measure(self, us: float, source: str) -> None:
        """Takes a time that was not predicted. What the model does not explain is a cause of its
        own; a time below the prediction shrinks all causes."""
        known = sum(cause.us for cause in self.causes)
        room = us - self.roofline_us
        if room < 0:  # the roofline is that of memory, and a cache was faster
            self.roofline_us, room = us, 0.0
        if known > room:
            for cause in self.causes:
                cause.us *= room / known
        elif room > known:
            self.causes.append(Cause("unexplained", room - known))
        self.causes = [cause for cause in self.causes if cause.us > 0]
        self.us, self.source = us, source


@dataclass
class Line:
    """What a line of the source costs; sums over all lines are those of the kernels."""

    number: int
    us: float = 0
    lost_us: float = 0
    flops: float = 0
    bytes: float = 0
    causes: dict[str, float] = field(default_factory=dict)  # microseconds by name


@dataclass
class Access:
    """The simulator's cost of an access at small sizes: units are sectors or wavefronts."""

    kernel: str
    op: str
    line: int | None
    memory: str
    units: int
    fewest: int

    @property
    def ratio(self) -> float:
        return self.units / self.fewest if self.fewest else 1.0


@dataclass
class Advice:
    """A change of one line, and what it is predicted to save."""

    cause: str
    line: int | None
    text: str
    change: str
    gain_us: float
    variant: Any = field(default=None, repr=False)  # what --verify compiles; None: not mechanical
    verified: str = ""  # the comparison, in words


def kernel_of(entry: dict[str, Any]) -> Kernel:
    """A kernel of the compiler's report."""
    roofline = entry["roofline"]
    return Kernel(
        name=entry["name"],
        line=entry.get("line"),
        schedule=entry["schedule"],
        predicted_us=entry["predicted_us"],
        us=entry["predicted_us"],
        roofline_us=roofline["us"],
        bound=roofline["bound"],
        tensor_us=roofline["tensor_us"],
        vector_us=roofline["vector_us"],
        memory_us=roofline["memory_us"],
        causes=[Cause(one["cause"], one["us"], one.get("of", "")) for one in entry["causes"]],
        ops=[_op(one) for one in entry["ops"]],
        masks=[
            Mask(one.get("line"), one["sentinel"], one["visited"], one["needed"])
            for one in entry["masks"]
        ],
        tensor_cores=entry["tensor_cores"],
        bytes=entry["bytes"],
        l2_bytes=entry["l2_bytes"],
        ctas=entry["ctas"],
        waves=entry["waves"],
        overridden=entry.get("overridden", []),
    )


def _op(one: dict[str, Any]) -> Op:
    names = (
        "unit", "us", "line", "flops", "bytes", "sector_bytes", "l2_bytes", "tensor", "argument",
        "stride", "division", "invariant",
    )  # fmt: skip
    return Op(one["op"], **{name: one[name] for name in names if name in one})
