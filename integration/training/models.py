"""The models that are trained, each written twice: in the language, and in PyTorch.

Parameters and batches are NumPy arrays, which both get. The GPT is the one of examples/train.py.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tessera as tsr
import torch
from tessera import Tensor
from torch.nn import functional as F

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import train as gpt_example  # noqa: E402

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Model:
    steps: int
    rate: float
    parameters: Callable[[int], Arrays]  # of a seed
    batches: Callable[[int, int], Iterator[tuple[np.ndarray, ...]]]  # of a seed and a number
    loss: tsr.Function  # of a batch and the parameters by name
    peer: Callable[..., torch.Tensor]  # the same in PyTorch; the parameters are a dictionary


def drawn(seed: int, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """Weights with the deviation of 1 / sqrt(inputs); vectors of zeros, and of ones for norms."""
    rng, found = np.random.default_rng(seed), {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            found[name] = np.full(shape, name.startswith("norm"), np.float32)
        else:
            scale = np.float32(1 / math.sqrt(shape[-2]))
            found[name] = scale * rng.standard_normal(shape, np.float32)
    return found


# -- GPT -------------------------------------------------------------------------------------------


def _heads(x: Any, heads: int) -> Any:
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def _gpt(p: dict[str, torch.Tensor], tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    width, heads = gpt_example.WIDTH, gpt_example.HEADS
    length = tokens.shape[1]
    x = F.embedding(tokens, p["embed"]) + p["place"][:length]
    for layer in range(gpt_example.LAYERS):
        h = F.rms_norm(x, (width,), p["norm1"][layer])
        q, k, v = (_heads(part, heads) for part in (h @ p["qkv"][layer]).split(width, dim=-1))
        scores = q @ k.mT / math.sqrt(width // heads)
        above = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(above, -math.inf).softmax(dim=-1)
        x = x + (weights @ v).transpose(1, 2).flatten(2) @ p["out"][layer]
        h = F.rms_norm(x, (width,), p["norm2"][layer])
        x = x + F.gelu(h @ p["up"][layer]) @ p["down"][layer]
    logits = F.rms_norm(x, (width,), p["last"]) @ p["embed"].mT
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# -- a classifier of points on spirals ---------------------------------------------------------------


def _spirals(seed: int, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        arm, along = rng.integers(0, 3, 128), rng.random(128)
        angle = 4 * along + 2 * np.pi / 3 * arm
        points = along[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        yield (points + 0.1 * rng.standard_normal((128, 2))).astype(np.float32), arm


@tsr.function
def classifier(x, y, w1, b1, w2, b2, w3, b3):
    h = tsr.tanh(x @ w1 + b1)
    h = tsr.relu(h @ w2 + b2)
    return tsr.cross_entropy(h @ w3 + b3, y)


def _classifier(p: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    h = torch.tanh(x @ p["w1"] + p["b1"])
    h = torch.relu(h @ p["w2"] + p["b2"])
    return F.cross_entropy(h @ p["w3"] + p["b3"], y)


CLASSIFIER = {"w1": (2, 64), "b1": (64,), "w2": (64, 64), "b2": (64,), "w3": (64, 3), "b3": (3,)}

# -- a block of a vision transformer, on images of stripes -------------------------------------------

PATCH, SIDE, HEADS, WIDTH = 4, 16, 4, 48


def _stripes(seed: int, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Stripes in one of eight directions, as patches."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:SIDE, :SIDE] / SIDE
    for _ in range(steps):
        kind = rng.integers(0, 8, 32)
        angle = (np.pi / 8 * kind)[:, None, None]
        phase, waves = rng.random((2, 32, 1, 1))
        wave = row * np.cos(angle) + column * np.sin(angle)
        images = np.sin(2 * np.pi * ((2 + 2 * waves) * wave + phase))
        images += 1.5 * rng.standard_normal(images.shape)
        patches = images.reshape(32, SIDE // PATCH, PATCH, SIDE // PATCH, PATCH)
        patches = patches.transpose(0, 1, 3, 2, 4).reshape(32, -1, PATCH * PATCH)
        yield patches.astype(np.float32), kind


@tsr.function
def vit(
    patches: Tensor["B", "N", "P"], y, embed: Tensor["P", "D"], place: Tensor["N", "D"],
    norm1, shift1, qkv, out, norm2, shift2, up, b1, down, b2, head,
):  # fmt: skip
    x = patches @ embed + place
    h = tsr.layer_norm(x, (D,), norm1, shift1)
    heads = (h @ qkv).reshape(B, N, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
    q, k, v = heads[0], heads[1], heads[2]
    weights = tsr.softmax(q @ k.mT / math.sqrt(D // HEADS), dim=-1)
    x = x + (weights @ v).transpose(1, 2).reshape(B, N, D) @ out
    x = x + tsr.gelu(tsr.layer_norm(x, (D,), norm2, shift2) @ up + b1) @ down + b2
    return tsr.cross_entropy(x.mean(dim=1) @ head, y)


def _vit(p: dict[str, torch.Tensor], patches: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = patches @ p["embed"] + p["place"]
    h = F.layer_norm(x, (WIDTH,), p["norm1"], p["shift1"])
    q, k, v = (_heads(part, HEADS) for part in (h @ p["qkv"]).split(WIDTH, dim=-1))
    weights = (q @ k.mT / math.sqrt(WIDTH // HEADS)).softmax(dim=-1)
    x = x + (weights @ v).transpose(1, 2).flatten(2) @ p["out"]
    h = F.layer_norm(x, (WIDTH,), p["norm2"], p["shift2"])
    x = x + F.gelu(h @ p["up"] + p["b1"]) @ p["down"] + p["b2"]
    return F.cross_entropy(x.mean(dim=1) @ p["head"], y)


VIT = {
    "embed": (PATCH * PATCH, WIDTH),
    "place": ((SIDE // PATCH) ** 2, WIDTH),
    "norm1": (WIDTH,),
    "shift1": (WIDTH,),
    "qkv": (WIDTH, 3 * WIDTH),
    "out": (WIDTH, WIDTH),
    "norm2": (WIDTH,),
    "shift2": (WIDTH,),
    "up": (WIDTH, 4 * WIDTH),
    "b1": (4 * WIDTH,),
    "down": (4 * WIDTH, WIDTH),
    "b2": (WIDTH,),
    "head": (WIDTH, 8),
}

# -- a mixture of experts ------------------------------------------------------------------------------

EXPERTS, CHOSEN, INPUTS, HIDDEN = 4, 2, 8, 32


def _regions(seed: int, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Another linear map in each quadrant of the first two coordinates."""
    rng = np.random.default_rng(seed)
    maps = np.random.default_rng(99).standard_normal((4, INPUTS, INPUTS)) / math.sqrt(INPUTS)
    for _ in range(steps):
        x = rng.standard_normal((128, INPUTS))
        quadrant = 2 * (x[:, 0] > 0) + (x[:, 1] > 0)
        y = np.einsum("ni,nij->nj", x, maps[quadrant])
        yield x.astype(np.float32), y.astype(np.float32)


@tsr.function
def experts(x, y, gate, up, b1, down):
    scores = x @ gate
    best, chosen = tsr.topk(scores, CHOSEN, dim=-1)
    weights = tsr.scatter_add(tsr.zeros_like(scores), 1, chosen, tsr.softmax(best, dim=-1))
    hidden = tsr.silu(tsr.einsum("nd,edf->nef", x, up) + b1)
    outputs = tsr.einsum("nef,efd->ned", hidden, down)
    result = (weights.unsqueeze(-1) * outputs).sum(dim=1)
    # Balance: how often an expert is chosen times its mean probability.
    share = tsr.stop_gradient((weights > 0).to(x.dtype).mean(dim=0))
    balance = (share * tsr.softmax(scores, dim=-1).mean(dim=0)).sum()
    return tsr.mse_loss(result, y) + 0.01 * EXPERTS * balance


def _experts(p: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    scores = x @ p["gate"]
    best, chosen = scores.topk(CHOSEN, dim=-1)
    weights = torch.zeros_like(scores).scatter_add(1, chosen, best.softmax(dim=-1))
    hidden = F.silu(torch.einsum("nd,edf->nef", x, p["up"]) + p["b1"])
    outputs = torch.einsum("nef,efd->ned", hidden, p["down"])
    result = (weights.unsqueeze(-1) * outputs).sum(dim=1)
    share = (weights > 0).float().mean(dim=0)
    balance = (share * scores.softmax(dim=-1).mean(dim=0)).sum()
    return F.mse_loss(result, y) + 0.01 * EXPERTS * balance


MIXTURE = {
    "gate": (INPUTS, EXPERTS),
    "up": (EXPERTS, INPUTS, HIDDEN),
    "b1": (HIDDEN,),
    "down": (EXPERTS, HIDDEN, INPUTS),
}

# ----------------------------------------------------------------------------------------------------

MODELS = {
    "gpt": Model(300, 3e-3, gpt_example.parameters, gpt_example.batches, gpt_example.loss, _gpt),
    "classifier": Model(
        200, 1e-2, lambda seed: drawn(seed, CLASSIFIER), _spirals, classifier, _classifier
    ),
    "vit": Model(200, 3e-3, lambda seed: drawn(seed, VIT), _stripes, vit, _vit),
    "experts": Model(200, 1e-2, lambda seed: drawn(seed, MIXTURE), _regions, experts, _experts),
}
