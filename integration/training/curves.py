"""Trains a model with Tessera and with PyTorch, and compares the loss curves.

The first steps must be the same up to rounding. Later, rounding errors have grown into different
parameters, as different seeds would; then the curve must stay among those of PyTorch's seeds.
"""

from __future__ import annotations

import numpy as np
import tessera as tsr
import torch
from models import Model, gpt_example

SEEDS = 5  # of PyTorch; the first is also ours
SAME_STEPS, SAME = 50, 1e-4  # of the loss, relative
SMOOTH = 20  # steps that a point of a curve is the mean of
MARGIN = 0.05  # of the loss, around the seeds' least and largest

torch.set_num_threads(1)  # the models are too small for more


def ours(model: Model, seed: int = 0, change: float = 1.0) -> list[float]:
    """The losses of Tessera; `change` scales gradients, to see that the judge finds it."""
    values = model.parameters(seed)
    moments = {name: (np.zeros_like(one), np.zeros_like(one)) for name, one in values.items()}
    gradients = tsr.value_and_grad(model.loss, wrt=tuple(values))
    losses = []
    for step, batch in enumerate(model.batches(seed, model.steps), 1):
        value, *found = gradients(*batch, **values)
        losses.append(float(value))
        for name, gradient in zip(values, found, strict=True):
            values[name], *moments[name] = gpt_example.adamw(
                values[name], change * gradient, *moments[name], model.rate, float(step)
            )
    return losses


def theirs(model: Model, seed: int) -> list[float]:
    """The losses of PyTorch."""
    values = {
        name: torch.from_numpy(one).requires_grad_() for name, one in model.parameters(seed).items()
    }
    optimizer = torch.optim.AdamW(
        values.values(), lr=model.rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01
    )
    losses = []
    for batch in model.batches(seed, model.steps):
        optimizer.zero_grad()
        loss = model.peer(values, *map(torch.from_numpy, batch))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def smooth(losses: list[float]) -> np.ndarray:
    return np.convolve(losses, np.ones(SMOOTH) / SMOOTH, mode="valid")


def same_steps(mine: list[float], its: list[float]) -> int:
    """The first step at which two curves differ by more than rounding."""
    bad = np.abs(np.array(mine) - its) > SAME * np.abs(its)
    return int(bad.argmax()) if bad.any() else len(mine)


def outside(mine: list[float], seeds: list[list[float]]) -> str:
    """Where a curve leaves the band of the seeds, or nothing."""
    curve, others = smooth(mine[SAME_STEPS:]), np.array([smooth(one[SAME_STEPS:]) for one in seeds])
    low, high = others.min(axis=0), others.max(axis=0)
    margin = MARGIN * others.mean(axis=0)
    bad = ~((low - margin <= curve) & (curve <= high + margin))
    if not bad.any():
        return ""
    at = int(bad.argmax())
    step = SAME_STEPS + at + SMOOTH
    return f"step {step}: the loss is {curve[at]:.4g}, PyTorch's {low[at]:.4g} to {high[at]:.4g}"
