"""GPU calls without a GPU: a fake libcuda, which loads real cubins and computes nothing.

The tests cover everything around the kernels: specialisations, streams, results, errors, the cache
and the time of a call. Numbers are checked on a GPU by integration/gpu.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
_FOLDER = tempfile.TemporaryDirectory(prefix="tessera-test-cache-")
os.environ["TESSERA_CACHE"] = _FOLDER.name

from exchange import LIBRARIES  # noqa: E402

os.environ["TESSERA_CUDA_LIBRARY"] = str(LIBRARIES / "libfake_cuda.so")

TOP = Path(__file__).resolve().parents[2]
_ASSEMBLES = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("assembles") and not _ASSEMBLES:
            item.add_marker(pytest.mark.skip(reason="unsupported: tileiras is not installed"))


def pytest_configure(config):
    config.addinivalue_line("markers", "assembles: needs NVIDIA's assembler tileiras")
