"""A program with sizes in its annotations, in the form that type checkers accept, too."""

from typing import Annotated

import tessera as tsr
from tessera import Tensor, fp32

Rows = Annotated[Tensor, "B", 64]


@tsr.function
def linear(
    x: Annotated[Tensor, "*batch", "K", fp32],
    w: Annotated[Tensor, "N", "K"],
    b: Annotated[Tensor, "N"],
) -> Annotated[Tensor, "*batch", "N"]:
    return tsr.relu(x @ w.T + b)


@tsr.function
def rows(x: Rows, factor: float = 2.0) -> tuple[Tensor, Rows]:
    return x.sum(dim=-1), x * factor
