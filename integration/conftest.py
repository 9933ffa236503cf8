"""Processes that tests start in other folders find the same package. The tests are about compiled
code; those of tiers say otherwise."""

import os
import sys
from pathlib import Path

os.environ.setdefault("TESSERA_TIER", "2")

if paths := os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, paths.split(os.pathsep)))

# Modules that several folders share.
sys.path.append(str(Path(__file__).parent))
