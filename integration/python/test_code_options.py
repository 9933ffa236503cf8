"""Code generation options: those of C++'s TargetLoweringOptions."""

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, _tessera, bf16, fp32


def product(a, b):
    return a @ b


TIMED = 'tessera_kernel_launches_total{function="negated"'
TYPES = [Tensor[256, 256, bf16]] * 2


def test_tensor_cores():
    """Without them contractions of narrow types are computed in fp32."""
    usual = tsr.function(product).inspect_ir("tileir", *TYPES, target="sm_90")
    plain = tsr.function(tensor_cores=False)(product).inspect_ir("tileir", *TYPES, target="sm_90")
    assert usual.count("ftof") == 1  # of the result alone
    assert plain.count("ftof") == 3


def test_optimization_level():
    """In the decorator and in one compilation; each gives separate code."""
    x = np.arange(64, dtype=np.float32)

    def doubled(x):
        return x + x

    lengths = set()
    for level in (0, 3):
        compiled = tsr.function(doubled).compile(Tensor[64, fp32], optimization_level=level)
        assert (compiled(x) == 2 * x).all()
        assert (tsr.function(optimization_level=level)(doubled)(x) == 2 * x).all()
        text = tsr.function(optimization_level=level)(doubled).inspect_ir("asm", x)
        lengths.add(len(text.splitlines()))
    assert len(lengths) == 2


def test_profiling():
    """Kernels of such code are timed immediately."""

    def negated(x):
        return -x

    x = np.ones(8, np.float32)
    try:
        tsr.function(profiling=True)(negated)(x)
        assert TIMED in tsr.metrics_text()
    finally:
        _tessera.set_profiling(False)
    tsr.function(negated)(x)
    counted = [line for line in tsr.metrics_text().splitlines() if line.startswith(TIMED)]
    assert len(counted) == 1 and counted[0].endswith(" 1")


def test_schedule():
    """A user's choices: in the decorator above and below `function`, and in one compilation."""

    def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
        return a @ b

    a = np.arange(60 * 70, dtype=np.float32).reshape(60, 70) % 7
    b = np.arange(70 * 50, dtype=np.float32).reshape(70, 50) % 5
    above = tsr.schedule(**{"tile.m": 7})(tsr.function(product))
    below = tsr.function(tsr.schedule("tile.m=7")(product))
    for made in (above, below):
        assert (made(a, b) == a @ b).all()
        assert "parallel m = M tile 7," in made.inspect_ir("sched")
    # Several add up; the outer one is applied last.
    both = tsr.schedule(kernel=0, **{"tile.n": 24, "tile.m": 9})(above)
    assert (both(a, b) == a @ b).all()
    text = both.inspect_ir("sched")
    assert "parallel m = M tile 9," in text and "parallel n = N tile 24" in text
    compiled = above.compile(Tensor["M", "K", fp32], Tensor["K", "N", fp32], schedule="tile.n=16")
    assert (compiled(a, b) == a @ b).all()
    assert "parallel n = N tile 16" in compiled.inspect_ir("sched")


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"tile.x": 4}, "there is no dimension 'x', expected 'm', 'k' or 'n'"),
        ({"wraps": 4}, "there is no field 'wraps'"),
        ({"kernel": 3, "tile.m": 4}, "there is no kernel '3'"),
        ({"tile.m": -4}, "expected a positive number for 'tile.m', got '-4'"),
    ],
)
def test_schedules_that_do_not_fit(choices, message):
    @tsr.schedule(**choices)
    @tsr.function
    def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
        return a @ b

    a = np.ones((8, 8), np.float32)
    with pytest.raises(tsr.CompileError, match=message):
        product(a, a)


def test_schedules_that_are_none():
    for wrong in ({"tile.m": 2.5}, {"num_warps": True}, {}):
        with pytest.raises(tsr.ArgumentError, match="@schedule: expected"):
            tsr.schedule(**wrong)
    with pytest.raises(tsr.ArgumentError, match="option 'schedule': expected a string, found 4"):
        tsr.function(product).compile(*TYPES, schedule=4)
