#!/usr/bin/env python3
"""Checks the shape of the tree: layers only look down, passes name no model, files stay short.

A file's layer is the folder it stands in. RULES says for each layer which other layers its
#include lines may reach; what is not listed is forbidden. A file always sees its own layer.
    check_layers.py [TREE]      prints one line per violation, exit status 1 if there is any
"""

import os
import re
import sys
from typing import Iterator, NamedTuple

MAX_LINES = 800

# Groups used below. A program walks the dialects in this order; one knows those before it.
DIALECTS = ["Graph", "Schedule", "Tile", "Target"]
DIALECT_IR = [f"Dialect/{d}/IR" for d in DIALECTS]
BASE = ["Support", "Layout", "Target"]
GRAPH_ANALYSIS, TILE_ANALYSIS = "Dialect/Graph/Analysis", "Dialect/Tile/Analysis"
SHARED = [*BASE, "Dialect/Common"]
# The runtime's public headers: the kernels' calling convention and the file formats, which whoever
# writes them must know.
RUNTIME_ABI = ["runtime/include"]
COMPILER_ABI = ["CAPI/include"]
COMPILER = [
    *BASE,
    "Frontend",
    "Dialect",
    "Reference",
    "Fusion",
    "CostModel",
    "Simulator",
    "Conversion",
    "CodeGen",
    "Bundle",
    "Interpreter",
    *RUNTIME_ABI,
]

# (layer, layers it may include, whether it may know MLIR). The first prefix that matches counts.
RULES: list[tuple[str, list[str], bool]] = [
    ("Support", RUNTIME_ABI, False),
    ("Layout", ["Support"], False),
    # The runtime compares the features of a CPU with those that code needs: the names are its own.
    ("Target/LLVM", ["Support", "Target", *RUNTIME_ABI], False),
    ("Target", ["Support"], False),
    ("Import", ["Support"], True),
    ("Frontend/Lex", ["Support"], False),
    ("Frontend/AST", ["Support", "Frontend/Lex"], False),
    ("Frontend/Parse", ["Support", "Frontend/Lex", "Frontend/AST"], False),
    ("Frontend", [*SHARED, "Frontend", "Dialect/Graph/IR"], True),
    ("Dialect/Common", [*BASE, *RUNTIME_ABI], True),
    *[(f"Dialect/{d}/IR", [*SHARED, *DIALECT_IR[:i]], True) for i, d in enumerate(DIALECTS)],
    (
        "Dialect/Schedule/Transforms",
        [*SHARED, *DIALECT_IR[:2], GRAPH_ANALYSIS, "CostModel"],
        True,
    ),
    *[
        (
            f"Dialect/{d}/{part}",
            [
                *SHARED,
                *DIALECT_IR[: i + 1],
                *[f"Dialect/{one}/Analysis" for one in DIALECTS[: i + 1]],
            ],
            True,
        )
        for i, d in enumerate(DIALECTS)
        for part in ("Analysis", "Transforms")
    ],
    ("Reference", [*SHARED, "Dialect/Graph/IR"], True),
    ("Fusion", [*SHARED, "Dialect/Graph/IR"], True),
    ("CostModel", [*SHARED, *DIALECT_IR, GRAPH_ANALYSIS, "Fusion"], True),
    (
        "Simulator",
        [
            *SHARED,
            "Dialect/Graph/IR",
            "Dialect/Tile/IR",
            GRAPH_ANALYSIS,
            TILE_ANALYSIS,
            "Reference",
        ],
        True,
    ),
    (
        "Conversion/GraphToSchedule",
        [*SHARED, *DIALECT_IR[:2], GRAPH_ANALYSIS, "Fusion", "CostModel"],
        True,
    ),
    *[
        (
            f"Conversion/{a}To{b}",
            [*SHARED, f"Dialect/{a}/IR", f"Dialect/{b}/IR", GRAPH_ANALYSIS],
            True,
        )
        for a in DIALECTS
        for b in [*DIALECTS, "LLVM"]
    ],
    ("CodeGen/CudaTools", BASE, False),
    ("CodeGen/CudaTileIR/Bytecode", [*BASE, "CodeGen/CudaTools"], False),
    ("CodeGen/LLVM", [*SHARED, *DIALECT_IR], True),
    (
        "CodeGen",
        [
            *SHARED,
            *DIALECT_IR,
            GRAPH_ANALYSIS,
            TILE_ANALYSIS,
            "Conversion/TileToTarget",
            "CodeGen/LLVM",
            *RUNTIME_ABI,
        ],
        True,
    ),
    ("Interpreter/Ready", ["Support", "Interpreter", *RUNTIME_ABI], False),
    (
        "Interpreter",
        [
            *SHARED,
            "Dialect/Graph/IR",
            "Dialect/Target/IR",
            "Conversion/TileToTarget",
            *RUNTIME_ABI,
        ],
        True,
    ),
    ("Bundle", [*SHARED, "Dialect/Target/IR", "CodeGen/CPU", *RUNTIME_ABI], True),
    ("Pipeline", COMPILER, True),
    ("CAPI/include", RUNTIME_ABI, False),
    ("CAPI", [*COMPILER, "Pipeline", "Import"], True),
    ("runtime", ["runtime"], False),
    ("python", [*COMPILER_ABI, *RUNTIME_ABI], False),
    ("tools", [*COMPILER_ABI, *RUNTIME_ABI], False),
]

# Fusion is derived from what operations do; these folders must not know what models call them.
NAMELESS = ["Dialect/Schedule", "Conversion/GraphToSchedule", "Fusion", "CostModel"]
MODEL_NAMES = re.compile(r"soft_?max|attention|(?:layer|rms)_?norm", re.IGNORECASE)

# The fields of launch and tuning have one table, whose enums name them; kernels change them by
# changeConfig alone, which says in the IR what is overwritten.
FIELDS = "include/tessera/Dialect/Common/LaunchFields.def"
FIELD = re.compile(r'^TESSERA_\w+_FIELD\(\w+, "(\w+)"', re.MULTILINE)
SETTER = re.compile(r"\bset(?:Launch|Tuning)Attr\(")
MAY_SET = ["Dialect/Schedule/IR", "Dialect/Tile/IR"]

IR_HEADERS = ("mlir/", "mlir-c/", "llvm/IR/", "llvm/CodeGen/", "llvm/Target/")
LAYERED = (".h", ".hpp", ".c", ".cpp", ".td", ".def", ".inc")
COUNTED = (*LAYERED, ".py", ".mlir", ".tsr", ".sh", ".cmake")
INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]')


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def source_files(tree: str) -> Iterator[str]:
    """The tree's own files, relative to it; built and hidden folders are left out."""
    for folder, subfolders, files in os.walk(tree):
        subfolders[:] = sorted(
            s
            for s in subfolders
            if not s.startswith((".", "build", "sysroot-")) and s not in ("dist", "__pycache__")
        )
        for name in sorted(files):
            yield os.path.relpath(os.path.join(folder, name), tree)


def layer_of(path: str) -> str | None:
    """'lib/Frontend/Lex/Lexer.cpp' and 'tessera/Frontend/Lex/Token.h' are both 'Frontend/Lex'."""
    folder = os.path.dirname(path)
    for root in ("include/tessera/", "lib/", "tessera/"):
        if (folder + "/").startswith(root):
            return folder[len(root) :] or None
    for root in ("runtime", "python", "tools"):
        if (folder + "/").startswith(root + "/"):
            return folder
    if path.startswith(("tessera-c/", "include/tessera-c/")):
        return "CAPI/include"
    if path.startswith("tessera_rt"):
        return "runtime/include"
    return None


def within(layer: str, prefix: str) -> bool:
    return layer == prefix or layer.startswith(prefix + "/")


def rule_for(layer: str) -> tuple[str, list[str], bool] | None:
    return next((rule for rule in RULES if within(layer, rule[0])), None)


def check_include(layer: str, target: str) -> str | None:
    """Why a file of this layer may not include the target, or None."""
    rule = rule_for(layer)
    if rule is None:
        return None
    own, allowed, knows_ir = rule
    if not knows_ir and target.startswith(IR_HEADERS):
        return f"{own} knows no IR, but includes '{target}'"
    if own == "runtime" and target.startswith("llvm/"):
        return f"the runtime knows no compiler, but includes '{target}'"
    reached = layer_of(target)
    if reached is None or within(reached, own):
        return None
    if any(within(reached, a) for a in allowed):
        return None
    return f"{own} must not look at {reached}, but includes '{target}'"


def check_codegen(layer: str, target: str) -> str | None:
    """Code generators share lib/CodeGen/LLVM and CUDA's programs, but do not know each other."""
    reached = layer_of(target)
    if not reached or not (layer.startswith("CodeGen/") and reached.startswith("CodeGen/")):
        return None
    mine, other = layer.split("/")[1], reached.split("/")[1]
    shared = (mine, "LLVM", "CudaTools")
    return None if other in shared else f"CodeGen/{mine} must not look at CodeGen/{other}"


def field_names(tree: str) -> re.Pattern | None:
    """A field of launch or tuning as a string literal; None in a tree without the table."""
    path = os.path.join(tree, FIELDS)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return re.compile(f'"({"|".join(FIELD.findall(file.read()))})"')


def check_fields(layer: str, line: str, names: re.Pattern | None) -> str | None:
    """Why a line of lib/ may not name or set a field of launch or tuning like that, or None."""
    if names and (name := names.search(line)):
        return f"names the field '{name[1]}' by a string; use LaunchField or TuningField"
    if SETTER.search(line) and not any(within(layer, one) for one in MAY_SET):
        return "overwrites launch or tuning; use changeConfig"
    return None


def check_file(tree: str, path: str, names: re.Pattern | None) -> Iterator[Violation]:
    with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    if path.endswith(COUNTED) and len(lines) > MAX_LINES:
        yield Violation(path, MAX_LINES, f"{len(lines)} lines; split files past {MAX_LINES}")
    layer = layer_of(path)
    if layer is None or not path.endswith(LAYERED):
        return
    if path.startswith(("lib/", "include/")) and rule_for(layer) is None:
        yield Violation(path, 1, f"'{layer}' is no layer that check_layers.py knows; add a rule")
    nameless = any(within(layer, n) for n in NAMELESS)
    for number, line in enumerate(lines, 1):
        if include := INCLUDE.match(line):
            target = include[1]
            if ".." in target.split("/"):
                target = os.path.normpath(os.path.join(os.path.dirname(path), target))
            for check in (check_include, check_codegen):
                if message := check(layer, target):
                    yield Violation(path, number, message)
        if path.startswith("lib/") and (message := check_fields(layer, line, names)):
            yield Violation(path, number, message)
        if nameless and (name := MODEL_NAMES.search(line)):
            yield Violation(path, number, f"names '{name[0]}': fusion is derived, never recognised")


def main() -> int:
    tree = sys.argv[1] if len(sys.argv) > 1 else "."
    names = field_names(tree)
    violations = [v for path in source_files(tree) for v in check_file(tree, path, names)]
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
