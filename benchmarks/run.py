#!/usr/bin/env python3
"""`make bench`: the command `tessera bench` (python/tessera/bench) on this tree, results in
benchmarks/results."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# If this is not run by the tree's Python environment.
sys.path.append(str(HERE.parent / "build" / "python"))

from tessera.bench.command import main  # noqa: E402

if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(words if "--json" in words else [*words, "--json", str(HERE / "results")]))
