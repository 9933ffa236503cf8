import pytest


@pytest.fixture(scope="session")
def shared():
    return []
