"""Here functions choose their tier themselves, and each test has its own cache and events."""

import pytest
import tessera as tsr
from tessera import variants


@pytest.fixture(autouse=True)
def tiers(tmp_path, monkeypatch):
    monkeypatch.delenv("TESSERA_TIER", raising=False)
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def events():
    """The events of a test, in their order."""
    found = []
    remove = tsr.tiers.on_event(found.append)
    yield found
    remove()


@pytest.fixture
def trusted(monkeypatch):
    """Variants stay, however fast this machine runs them just now."""
    monkeypatch.setattr(variants, "is_measurable", lambda unit, observed: False)
