"""Gradients of random programs on the CPU; `run.py --gradients` runs more of them."""

import sys
import types
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import differences  # noqa: E402
import seeds  # noqa: E402
import tessera as tsr  # noqa: E402
from budget import judge  # noqa: E402
from generate import generate  # noqa: E402
from worker import load  # noqa: E402

ALWAYS, OTHERS = 40, 40
#: Gradients have more discontinuities than values: ties of extrema, steps of comparisons.
UNJUDGED = 0.15


def test_the_same_programs(tmp_path):
    judge(tmp_path, 0, ALWAYS, mode=("gradients",), options="--gradients", unjudged=UNJUDGED)


def test_programs_of_the_commit(tmp_path):
    judge(
        tmp_path,
        seeds.first(),
        OTHERS,
        mode=("gradients",),
        options="--gradients",
        unjudged=UNJUDGED,
    )


def test_differences_find_wrong_gradients(tmp_path):
    """Gradients that are right, of another size, and of an element that is left out."""
    program = generate(5)
    assert differences.applies(program)
    function = getattr(load([program], tmp_path, with_losses=True), f"{program.name}_loss")
    gradient = tsr.grad(function, wrt=program.differentiable)
    arguments = program.arguments(0)
    found = gradient.reference(*arguments)
    assert differences.check(program, function, gradient, arguments) == ""
    assert sum(bool(np.any(one)) for one in found) > 1
    for wrong in ([1.01 * one for one in found], [found[0], *(0 * one for one in found[1:])]):
        given = types.SimpleNamespace(reference=lambda *_, wrong=wrong: wrong)
        message = differences.check(program, function, given, arguments)
        assert message and message.startswith("the loss changes by")


def test_differences_say_nothing_at_kinks():
    """A relu at 0, whose gradient is 0 on one side."""
    program = types.SimpleNamespace(
        seed=1,
        differentiable=("x",),
        parameters=[types.SimpleNamespace(name="x", dtype="fp64")],
    )
    x = np.zeros(4)
    relu = types.SimpleNamespace(reference=lambda x: np.maximum(x, 0).sum())
    gradient = types.SimpleNamespace(reference=lambda x: [np.zeros_like(x)])
    assert differences.check(program, relu, gradient, [x]) is None
    assert differences.check(program, relu, gradient, [x - 1]) == ""
    assert differences.check(program, relu, gradient, [x + 1])
