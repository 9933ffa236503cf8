"""ONNX models as functions of the language.

The model is checked, its shapes are inferred, and what is known when it is imported is evaluated.
The compiler translates the other operators (`lib/Import`, one table); operators that are not in the
table are replaced by their definitions in the ONNX standard, if they have one. Weights are
arguments of the function.
"""

from __future__ import annotations

from .model import Model, from_onnx

__all__ = ["Model", "from_onnx"]
