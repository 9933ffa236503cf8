"""Programs of CUDA that code depends on: which one the compiler would take, known without the compiler."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator


def _places(name: str, library: str) -> Iterator[str]:
    """Where the compiler looks, in its order: lib/CodeGen/CudaTools/Tools.cpp."""
    environments = []
    folder = os.path.dirname(os.path.realpath(library))
    for _ in range(3):
        folder = os.path.dirname(folder)
        environments.append(os.path.join(folder, ".venv"))
    environments.append(os.environ.get("VIRTUAL_ENV", ""))
    for environment in filter(os.path.isdir, environments):
        yield os.path.join(environment, "bin", name)
        for wheel in ("cu13", "cuda_nvcc"):
            packages = os.path.join(glob.escape(environment), "lib/*/site-packages/nvidia")
            yield from glob.glob(os.path.join(packages, wheel, "bin", name))
    for folder in os.environ.get("PATH", "").split(":"):
        if folder:
            yield os.path.join(folder, name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if variable in os.environ:
            yield os.path.join(os.environ[variable], "bin", name)
    yield os.path.join("/usr/local/cuda/bin", name)


def ptxas_identity(library: str) -> list:
    """What tells the assembler of PTX from others: the compiler library stands at `library`.

    All files count that may be it, since releases differ in the chips that they know; a file stands
    for its version, since asking for that takes longer than finding code in the cache.
    """
    named = os.environ.get("TESSERA_PTXAS")
    found: list = [named] if named else []
    for place in [named] if named else _places("ptxas", library):
        if os.access(place, os.X_OK):
            status = os.stat(place)
            if [status.st_size, status.st_mtime_ns] not in found:
                found.append([status.st_size, status.st_mtime_ns])
    return found
