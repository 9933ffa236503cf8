"""NVIDIA's assemblers: the newest ptxas, and one of CUDA 12, which still has sm_70; `make tileiras` installs both."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ROOTS = {TOP / ".venv", Path(sys.prefix)}


def _wheel(path: str) -> str | None:
    places = (found for root in ROOTS for found in root.glob(f"lib/python*/site-packages/nvidia/{path}"))
    return next((str(found) for found in places), None)


_PLACES = [os.environ.get("TESSERA_PTXAS"), shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas", _wheel("cu13/bin/ptxas")]
PTXAS = next((place for place in _PLACES if place and os.access(place, os.X_OK)), None)
OLDER = _wheel("cuda_nvcc/bin/ptxas")
