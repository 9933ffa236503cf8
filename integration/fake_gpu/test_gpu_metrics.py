"""The counters of a process that uses a GPU, in Python and in Prometheus' format."""

import fake
import pytest
from fake import gpu

import tessera as tsr

pytestmark = pytest.mark.assembles


@tsr.function
def columns(a, b):
    """Three launches, and a temporary as large as a @ b."""
    return tsr.softmax(tsr.matmul(a, b), dim=0)


def test_counters_of_calls_on_a_gpu():
    arrays = gpu(256, 64, dtype="fp16"), gpu(64, 256, dtype="fp16")
    before, launched = tsr.metrics(), fake.launches()
    for _ in range(3):
        columns(*arrays)
    after = tsr.metrics()
    spent = {name: after[name] - before[name] for name in after}
    assert spent["calls"] == 3 and spent["launches"] == 0
    assert spent["device_launches"] == fake.launches() - launched > 3
    assert spent["compilations"] == 1 and spent["compile_nanoseconds"] > 0
    assert spent["cache_misses"] == 1 and spent["cache_written_bytes"] > 0
    assert spent["modules_loaded"] >= 1 and spent["load_nanoseconds"] > 0
    assert after["device_memory_in_use"] == 0
    assert after["device_memory_reserved"] >= 256 * 256 * 4
    assert after["device_memory_peak"] >= 256 * 256 * 4


def test_prometheus_reads_the_same():
    lines = dict(
        line.rsplit(" ", 1) for line in tsr.metrics_text().splitlines() if not line.startswith("#")
    )
    metrics = tsr.metrics()
    for name, value in {
        "tessera_device_launches_total": metrics["device_launches"],
        "tessera_compilations_total": metrics["compilations"],
        "tessera_cache_hits_total": metrics["cache_hits"],
        "tessera_device_memory_reserved_bytes": metrics["device_memory_reserved"],
    }.items():
        assert float(lines[name]) == value
