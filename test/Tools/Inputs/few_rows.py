"""A product of sizes that are no whole blocks."""

import tessera as tsr
from tessera import Tensor


@tsr.function
def few_rows(a: Tensor[100, 50], b: Tensor[50, 512]):
    return a @ b
