"""A product of sizes that are no whole blocks, and one by columns."""

import tessera as tsr
from tessera import Tensor


@tsr.function
def few_rows(a: Tensor[100, 200], b: Tensor[200, 512]):
    return a @ b


@tsr.function
def transposed(a, b):
    return a @ b.mT
