"""Code generation options: those of C++'s TargetLoweringOptions."""

import numpy as np

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
