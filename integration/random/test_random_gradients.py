"""Gradients of random programs on the CPU; `run.py --gradients` runs more of them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import seeds  # noqa: E402
from budget import judge  # noqa: E402

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
