#!/usr/bin/env python3
"""Writes the documentation as a static site, build/docs/site.

    utils/docs.py [FOLDER]

Pages come from docs/, from the definitions of dialects and passes, and from the compiler itself: the
entries of operations with examples that are run here, the programs of the tutorial with their output,
the order of passes, and excerpts of every stage. The site loads nothing from elsewhere.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "build" / "python"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", nargs="?", type=Path, default=TOP / "build" / "docs" / "site")
    folder = parser.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TESSERA_CACHE"] = cache
        os.environ["NO_COLOR"] = "1"
        from docsite.site import Site

        shutil.rmtree(folder, ignore_errors=True)
        site = Site()
        site.write(folder)
    print(f"{len(site.pages)} pages in {os.path.relpath(folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
