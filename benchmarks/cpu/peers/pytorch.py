"""PyTorch, eager and compiled. `make peers` installs it."""

from __future__ import annotations

import os
import shutil
from typing import Callable

import numpy as np

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = functional = None

_compiled_works = True


def available() -> bool:
    return torch is not None


def set_threads(count: int) -> None:
    if torch is not None:
        torch.set_num_threads(count)
        torch.set_grad_enabled(False)


def description() -> str:
    return torch.__version__


def contenders(
    program: Callable, arrays: tuple[np.ndarray, ...], compiled: bool = True
) -> dict[str, Callable[[], object]]:
    """`program(torch, functional, *tensors)`, eager and through torch.compile."""
    if torch is None:
        return {}
    tensors = [torch.from_numpy(a) for a in arrays]
    calls: dict[str, Callable[[], object]] = {"torch": lambda: program(torch, functional, *tensors)}
    if compiled and _compiled_works:
        if call := _compile(program, tensors):
            calls["torch.compile"] = call
    return calls


def _compile(program: Callable, tensors: list) -> Callable[[], object] | None:
    """The compiled program, or None if there is no C++ compiler that PyTorch can use."""
    global _compiled_works
    if not shutil.which("g++") and "CXX" not in os.environ and shutil.which("clang++-22"):
        os.environ["CXX"] = "clang++-22"
    try:
        torch._dynamo.reset()
        compiled = torch.compile(lambda *t: program(torch, functional, *t), dynamic=False)
        compiled(*tensors)
    except Exception as error:  # anything that its tool chain lacks here
        print(f"torch.compile does not work here: {str(error).splitlines()[0]}", flush=True)
        _compiled_works = False
        return None
    return lambda: compiled(*tensors)
