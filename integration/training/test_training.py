"""Training on a CPU in fp32, beside PyTorch: a GPT, a classifier, a block of a vision transformer, a
mixture of experts."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.append(str(Path(__file__).resolve().parent))

import curves  # noqa: E402
from models import MODELS  # noqa: E402

NAMES = ("gpt", "classifier", "vit", "experts")


def test_every_model_is_trained():
    assert set(NAMES) == MODELS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_curve(name):
    model = MODELS[name]
    seeds = [curves.theirs(model, seed) for seed in range(curves.SEEDS)]
    mine = curves.ours(model)
    assert len(mine) == model.steps
    assert curves.same_steps(mine, seeds[0]) >= curves.SAME_STEPS
    assert curves.outside(mine, seeds) == ""
    assert mine[-1] < 0.6 * mine[0], "it learns"


def test_the_judge_finds_wrong_gradients():
    """AdamW hides the scale of gradients, but not of some of them; a wrong curve is found, too."""
    model = dataclasses.replace(MODELS["classifier"], steps=90, rate=1e-2)
    seeds = [curves.theirs(model, seed) for seed in range(2)]
    slow = curves.ours(dataclasses.replace(model, rate=2e-3))
    assert curves.same_steps(slow, seeds[0]) < 10
    assert "PyTorch's" in curves.outside(slow, seeds)
    assert "nan" in curves.outside([float("nan")] * 90, seeds)
