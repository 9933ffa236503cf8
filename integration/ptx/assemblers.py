"""NVIDIA's assemblers: the newest ptxas, and one of CUDA 12, which still has the chips that CUDA 13 has dropped; `make tileiras` installs both."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tessera.targets import chips

TOP = Path(__file__).resolve().parents[2]
ROOTS = {TOP / ".venv", Path(sys.prefix)}


def _wheel(path: str) -> str | None:
    places = (
        found for root in ROOTS for found in root.glob(f"lib/python*/site-packages/nvidia/{path}")
    )
    return next((str(found) for found in places), None)


_PLACES = [
    os.environ.get("TESSERA_PTXAS"),
    shutil.which("ptxas"),
    "/usr/local/cuda/bin/ptxas",
    _wheel("cu13/bin/ptxas"),
]
PTXAS = next((place for place in _PLACES if place and os.access(place, os.X_OK)), None)
OLDER = _wheel("cuda_nvcc/bin/ptxas")

#: The chips that CUDA 13 has dropped.
LEGACY = {chip for chip, one in chips().items() if one["last_cuda"] < 1300}


def assembler(chip: str) -> str | None:
    """The ptxas for a chip, where it is installed."""
    return OLDER if chip in LEGACY else PTXAS
