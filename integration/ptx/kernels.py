"""Per-thread kernels of Target IR, written out for a chip."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tessera.targets import chips

TOP = Path(__file__).resolve().parents[2]
CHIPS = list(chips())

#: MLIR's names of the types that PTX names otherwise.
TYPES = {
    "s8": "i8",
    "u8": "ui8",
    "s32": "i32",
    "e4m3": "f8E4M3FN",
    "e5m2": "f8E5M2",
    "e3m2": "f6E3M2FN",
    "e2m3": "f6E2M3FN",
    "e2m1": "f4E2M1FN",
}
BITS = {
    "f64": 32,
    "f32": 32,
    "s32": 32,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
}  # a register of f64 is one


def features() -> dict[str, set[str]]:
    """Which chips have a feature; those of the page that no chip has are there, too."""
    page = (TOP / "docs" / "chips.md").read_text()
    names = re.findall(r"^\| \*\*(.*?)\*\*", page, re.MULTILINE)
    return {
        name: {chip for chip, one in chips().items() if name in one["features"]} for name in names
    }


@dataclass
class Product:
    """A shape of `tensor_core` and one choice of its types."""

    shape: str
    a: str
    b: str
    sum: str
    chips: set[str]

    def __str__(self) -> str:
        return f"{self.shape}-{self.a}-{self.b}-{self.sum}"

    def body(self) -> str:
        m, n, k = map(int, re.match(r"m(\d+)n(\d+)k(\d+)", self.shape).groups())
        copies = 4 if (self.shape, self.a) == ("m8n8k4", "f16") else 1
        count = lambda size, name: copies * size * BITS.get(name, 8) // 1024  # noqa: E731
        word = "f64" if self.a == "f64" else "i32"
        total = self.sum if self.sum in ("f32", "f64") else "i32"
        na, nb, nc = count(m * k, self.a), count(k * n, self.b), count(m * n, self.sum)
        names = lambda name, number: ", ".join([name] * number)  # noqa: E731
        types = ", ".join(TYPES.get(name, name) for name in (self.a, self.b, self.sum))
        return f"""
    %w = llvm.load %x : !llvm.ptr<1> -> {word}
    %c = llvm.load %x : !llvm.ptr<1> -> {total}
    %d:{nc} = tessera_target.tensor_core "mma" shape [{m}, {n}, {k}] types [{types}]
      ({names("%w", na)}) ({names("%w", nb)}) ({names("%c", nc)})
      : ({names(word, na + nb)}, {names(total, nc)}) -> ({names(total, nc)})
    llvm.store %d#0, %x : {total}, !llvm.ptr<1>
    llvm.store %d#{nc - 1}, %x : {total}, !llvm.ptr<1>"""


def products() -> list[Product]:
    """Every shape with its first types and its last ones, in both orders, and the chips that have it."""
    having: dict[tuple, set[str]] = {}
    for chip, one in chips().items():
        for mma in one["mma"]:
            kinds = mma["operands"]
            for total in mma["accumulators"]:
                for pair in dict.fromkeys([(kinds[0], kinds[-1]), (kinds[-1], kinds[0])]):
                    having.setdefault((mma["shape"], *pair, total), set()).add(chip)
    return [Product(*key, chips) for key, chips in having.items()]


#: What needs a feature, and what every chip has (""), as bodies of kernels.
OPERATIONS = {
    "": """
    %t = tessera_target.special_register "tid.x" : i32
    %lane = tessera_target.special_register "lanemask_lt" : i32
    %clock = tessera_target.special_register "clock64" : i64
    %s = tessera_target.allocate pool "shared" bytes 1000 zero : !llvm.ptr<3>
    %s2 = tessera_target.allocate pool "shared" bytes 4096 align 512 zero : !llvm.ptr<3>
    %l = tessera_target.allocate pool "local" bytes 72 align 8 zero : !llvm.ptr<5>
    tessera_target.memcpy %s2, %x bytes 4096 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.barrier "block"
    tessera_target.memcpy %l, %s2 bytes 71 align 8 : !llvm.ptr<5>, !llvm.ptr<3>
    tessera_target.barrier "warp"
    tessera_target.memcpy %x, %l bytes 20 : !llvm.ptr<1>, !llvm.ptr<5>
    %h = llvm.load %s : !llvm.ptr<3> -> f16
    %p, %r = tessera_target.ptx_instr "{ .reg .b16 h; mov.b16 h, $2; mov.b16 $1, h; setp.ne.s32 $0, $3, 0; }" (%h, %t) pure
      : (f16, i32) -> (i1, f16)
    tessera_target.assert %p, "expected a thread that is not the first"
    llvm.store %r, %x : f16, !llvm.ptr<1>
    llvm.store %clock, %x : i64, !llvm.ptr<1>
    tessera_target.ptx_instr "membar.gl;" () : () -> ()
    %first = arith.cmpi eq, %t, %lane : i32
    scf.if %first {
      tessera_target.breakpoint
    }
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %eight = arith.constant 8 : index
    scf.for %i = %zero to %eight step %one {
      %at = arith.index_cast %i : index to i64
      %to = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
      llvm.store %at, %to : i64, !llvm.ptr<1>
    }""",
    "cp.async": """
    %s = tessera_target.allocate pool "shared" bytes 1024 : !llvm.ptr<3>
    tessera_target.memcpy async %s, %x bytes 4 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.memcpy async %s, %x bytes 8 align 8 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.memcpy async %s, %x bytes 16 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.commit
    tessera_target.wait 0""",
    "clusters": """
    %rank = tessera_target.special_register "cluster_ctarank" : i32
    %id = tessera_target.special_register "clusterid.x" : i32
    tessera_target.barrier "cluster"
    llvm.store %rank, %x : i32, !llvm.ptr<1>
    llvm.store %id, %x : i32, !llvm.ptr<1>""",
}


PLAIN = "grid = [?], block = [16, 4, 2], shared = 8192, regs = 64"


def module(chip: str, *bodies: str, config: str = PLAIN) -> str:
    """A kernel for each body, which has the address %x."""
    kernels = [
        f"""  tessera_target.kernel @k{number} config #tessera_target.kernel_config<{config}> {{
  ^bb0(%x: !llvm.ptr<1>):{body}
    tessera_target.return
  }}
"""
        for number, body in enumerate(bodies)
    ]
    head = f'tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "{chip}" features "ptx" {{\n'
    return head + "".join(kernels) + "}\n"
