"""Every test session has its own cache, so that no test depends on earlier runs."""

import os
import tempfile

import pytest

_FOLDER = tempfile.TemporaryDirectory(prefix="tessera-test-cache-")
os.environ["TESSERA_CACHE"] = _FOLDER.name


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder for one test."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
