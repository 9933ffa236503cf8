"""Gradients where a derivative does not exist: compiled, and in the reference."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr
from conventions import ROWS
from judge import define


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.case.replace(" ", "_"))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_convention(row, dtype):
    gradient = tsr.grad(define(f"def f(x):\n    return {row.expression}\n"))
    x = np.array(row.x, dtype)
    np.testing.assert_allclose(gradient.reference(x), row.gradient, rtol=1e-6)
    np.testing.assert_allclose(gradient(x), row.gradient, rtol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.case.replace(" ", "_"))
def test_convention_in_pytorch(row):
    """The table itself, where PyTorch has the operation under the same name."""
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
        pytest.skip("the table is that of a later PyTorch")
    x = torch.tensor(row.x, dtype=torch.float64, requires_grad=True)
    functional = torch.nn.functional

    class Names:
        def __getattr__(self, name):
            return getattr(torch, name, None) or getattr(functional, name)

    if "safe" in row.expression:
        pytest.skip("PyTorch has no safe softmax")
    eval(row.expression, {"tsr": Names(), "x": x}).backward()  # noqa: S307 (our own table)
    np.testing.assert_allclose(x.grad.numpy(), row.gradient, rtol=1e-6)


def test_documentation():
    """docs/gradients.md has the table."""
    text = (Path(__file__).resolve().parents[2] / "docs/gradients.md").read_text()
    for row in ROWS:
        numbers = ["1/6" if value == 1 / 6 else f"{value:g}" for value in row.gradient]
        x = ", ".join(f"{value:g}" for value in row.x)
        line = f"| {row.case} | `{row.expression}` | {x} | {', '.join(numbers)} |"
        assert line in text, f"docs/gradients.md lacks: {line}"
