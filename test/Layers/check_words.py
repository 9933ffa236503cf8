#!/usr/bin/env python3
"""Keeps retired identifiers and phrases out of the tree: the glossary has the words in use.

check_words.py [TREE]      prints one line per hit, exit status 1 if there is any

The words of CUDA, PTX, CUTLASS, MLIR and the literature name things; docs/glossary.md has the few that are Tessera's own. A word
below is retired as a name of ours and may keep its everyday meaning in prose.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = "lib include runtime python tools test unittests integration benchmarks docs utils fuzz examples"
SUFFIXES = {".cpp", ".h", ".td", ".def", ".py", ".pyi", ".md", ".mlir", ".test", ".txt", ".tsr"}
#: What tests and data say in their own words: results, and this list.
LEFT_OUT = re.compile(r"^benchmarks/results/|^test/Layers/(check_)?words|/hashes\.txt$")

PASSES = """walk-programs free-warps share-products defer-reductions align-rows defer-statistics keep-rows fetch-rows send-rows
guard-selections group-products delay-products step-products fetch-tiles share-fetches release-slots expand-exchanges share-kernels
carry-shapes relax-math narrow-indices narrow-products widen-products split-products split-integer-products""".split()
OPS = """gates await arrive fetch send sent copy commit wait open meet push receive take mma_async mma_fence mma_commit mma_wait row
shift partial""".split()
FIELDS = "ahead residents group bulk retain cached warps cluster spread axes walk persistent warpgroups unit".split()

RETIRED = {
    rf"\btile-({'|'.join(PASSES)})\b": "a pass of the glossary",
    rf"(?<![\w!#.])tile\.({'|'.join(OPS)})\b(?!\()": "the operation's name in Tile IR",
    rf"\b(launch|tuning) <[^>]*\b({'|'.join(FIELDS)}) = ": "the field's name in LaunchFields.def",
    r"\bhints \{(?!default)|\bLaunchHints?\b|\bgetHintsAttr\b": "launch <…> tuning <…>",
    r"\b[Rr]oads?\b|\w*[a-z]Roads?\b": "backend",
    r"\bmultiprocessors?\b": "SM",
    r"\b(goesByThreads|kByTiles|kByThreads|standUp|areEnough\w*)\b": "a full predicate",
    r"\b(TileUnit|tileUnit\w*|hasTileUnit|PairProducts|GroupTiles|GroupProducts|KernelRoads)\b": "AMX, BFMMLA, wgmma, BackendChoice",
    r"\b[Cc]eilings\b": "roofline",
    r"\bblocks? that stays?\b": "persistent CTA",
    r"\bgroups? of (four )?warps\b": "warpgroup",
    r"\brows that begin anywhere\b": "unaligned rows",
    r"\btoo dear\b": "too expensive",
    r"\bmailbox(es)?\b": "distributed shared memory",
    r"\bquarters of a warp\b": "quad pairs",
    r"\bunder way\b": "in flight",
    r"\bbehind the (loop|stream)\b": "after the loop",
    r"\bquick forms?\b": "approximation",
    r"\bcopy engine\b|\bcopies of the machine\b": "TMA, bulk copies",
    r"\brunning joins?\b": "scan",
}

#: Words that are retired where pipelined kernels are meant, and mean something else in other places.
PLACED = re.compile(
    r"^(lib/(Dialect/Tile|CodeGen/PTX)|include/tessera/Dialect/Tile|test/(Dialect/Tile|Simulator|CodeGen/PTX))/"
)
RETIRED_IN_PLACED = {r"\b[Ss]lots?\b": "stage", r"\b[Gg]ates?\b": "mbarrier"}


def main() -> int:
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    listed = subprocess.run(
        [
            "git",
            "-C",
            str(top),
            "ls-files",
            "-co",
            "--exclude-standard",
            *FOLDERS.split(),
            "README.md",
        ],
        capture_output=True,
        text=True,
    )
    paths = listed.stdout.splitlines() or [
        str(path.relative_to(top))
        for folder in FOLDERS.split()
        for path in (top / folder).rglob("*")
    ]
    rules = [(re.compile(pattern), word) for pattern, word in RETIRED.items()]
    placed = [(re.compile(pattern), word) for pattern, word in RETIRED_IN_PLACED.items()]
    hits = 0
    for name in sorted(paths):
        path = top / name
        if path.suffix not in SUFFIXES or LEFT_OUT.search(name) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for rule, word in rules + placed if PLACED.search(name) else rules:
                if found := rule.search(line):
                    print(f"{name}:{number}: retired '{found[0].strip()}'; use {word}")
                    hits += 1
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
