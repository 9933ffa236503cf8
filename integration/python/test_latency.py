"""The overhead of a call: the best of many rounds, so that other load does not fail the test."""

import numpy as np
import tessera as tsr
from tessera.bench.latency import microseconds

SCALE = 0.5


@tsr.function
def small(x, y, z):
    return x * SCALE + y * z


def test_a_small_call_is_quick():
    arrays = [np.ones((2, 8), np.float32) for _ in range(3)]
    best = microseconds(lambda: small(*arrays))[0]
    assert best < 5, f"{best:.2f} microseconds"
