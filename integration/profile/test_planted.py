"""Ten planted problems are named with their lines, and nothing is said of good programs."""

from __future__ import annotations

from pathlib import Path

import planted
import pytest

import tessera as tsr
from tessera import Tensor, bf16, fp32, int64
from tessera.profile import Profile

TEXT = Path(planted.__file__).read_text().splitlines()
HEADS = Tensor[16, 2048, 64, bf16]
SQUARE = Tensor[4096, 4096, bf16]

#: The program, its arguments, the cause, and whether --verify can apply the change.
PLANTED = {
    "wide_table": (
        [Tensor[4096, 1024, bf16], Tensor[1024, fp32], Tensor[1024, 4096, bf16]],
        "fp32 operand",
        True,
    ),
    "strided": ([Tensor[8192, 16384, fp32], Tensor[8192, 1024, fp32]], "uncoalesced view", False),
    "tiny_tiles": ([SQUARE, SQUARE], "schedule", True),
    "returns_weights": ([HEADS, HEADS, HEADS], "stored intermediate", True),
    "finite_mask": ([HEADS, HEADS, HEADS], "finite mask", False),
    "odd_depth": ([Tensor[4096, 4095, bf16], Tensor[4095, 4096, bf16]], "odd size", True),
    "divides": ([HEADS, HEADS, HEADS, Tensor[16, 2048, 1, bf16]], "division", False),
    "chain": ([Tensor[64, 128, bf16], *3 * [Tensor[128, 128, bf16]]], "launch-bound chain", False),
    "decode": ([Tensor[16, 8192, bf16], Tensor[8192, 1024, bf16]], "split-K disabled", True),
    "strict": ([HEADS, HEADS, HEADS], "strict numerics", True),
}
GOOD = {
    "attention": [HEADS, HEADS, HEADS],
    "mlp": [Tensor[4096, 1024, bf16], Tensor[1024, 4096, bf16], Tensor[4096, 1024, bf16]],
    "norm": [Tensor[8192, 4096, bf16], Tensor[4096, bf16], Tensor[4096, bf16]],
    "transposed": [SQUARE, SQUARE],
    "entropy": [Tensor[8192, 32768, bf16], Tensor[8192, int64]],
}


def line_of(function: tsr.Function) -> int:
    """The line of the planted problem."""
    first = function.__wrapped__.__code__.co_firstlineno
    return next(n for n, text in enumerate(TEXT, 1) if n >= first and "# planted" in text)


def profiled(name: str, arguments: list, **more) -> Profile:
    return getattr(planted, name).profile(*arguments, target="sm_90", via="ptx", **more)


@pytest.mark.parametrize("name", PLANTED)
def test_the_line_and_the_cause_are_named(name):
    arguments, cause, mechanical = PLANTED[name]
    found = profiled(name, arguments, verify=True)
    assert [(one.line, one.cause) for one in found.advice[:1]] == [
        (line_of(getattr(planted, name)), cause)
    ], found
    advice = found.advice[0]
    assert 0 < advice.gain_us < found.us
    if mechanical:
        before, after = (float(one) for one in advice.verified.split(" us")[0].split(" -> "))
        assert before - after == pytest.approx(advice.gain_us, abs=0.11)
        assert advice.verified.endswith("predicted")
    else:
        assert advice.verified == "the source has to be changed by hand"


@pytest.mark.parametrize("name", GOOD)
def test_good_programs_get_no_advice(name):
    found = profiled(name, GOOD[name])
    assert found.advice == [], found


#: What each planted program becomes when the problem is mended.
MENDED = {
    "wide_table": ("g is fp32", [Tensor[4096, 1024, bf16], Tensor[1024, bf16], Tensor[1024, 4096, bf16]]),
    "odd_depth": ("K is 4095", [SQUARE, SQUARE]),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_mended_programs_get_no_advice(name):
    found = profiled(name, MENDED[name][1])
    assert found.advice == [], found


@pytest.mark.parametrize("name", [*PLANTED, *GOOD])
def test_sums_are_whole(name):
    """The gap is the sum of its causes, and lines add up to kernels."""
    arguments = PLANTED[name][0] if name in PLANTED else GOOD[name]
    found = profiled(name, arguments)
    for kernel in found.kernels:
        assert all(cause.us > 0 for cause in kernel.causes)
        assert sum(cause.us for cause in kernel.causes) == pytest.approx(kernel.gap_us, rel=1e-6)
        assert 0 < kernel.roofline_us <= kernel.us
    assert sum(line.us for line in found.lines) == pytest.approx(found.us, rel=1e-6)
    lost = found.us - found.roofline_us
    assert sum(line.lost_us for line in found.lines) == pytest.approx(lost, rel=1e-6)
    products = sum(line.flops for line in found.lines)
    assert products == pytest.approx(sum(op.flops for k in found.kernels for op in k.ops))
