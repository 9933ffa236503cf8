"""StableHLO modules as functions of the language.

The compiler reads MLIR in generic form (`lib/Import`, one table of operations). Other forms go
through jaxlib, where it is installed. Constants are arguments of the function.
"""

from __future__ import annotations

from .model import Model, from_stablehlo

__all__ = ["Model", "from_stablehlo"]
