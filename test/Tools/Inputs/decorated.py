import tessera as tsr
from tessera import fp64


@tsr.function(tensor_cores=False, target="sm_90")
def product(a, b):
    return a @ b


@tsr.function(optimization_level=0)
def slow(x):
    return x * 2 + 1


@tsr.function
def usual(x):
    return x * 2 + 1


@tsr.function(numerics=tsr.numerics(batch_invariant=True, deterministic=True), profiling=True)
def rows(x):
    return tsr.softmax(x, dim=-1)


@tsr.function(numerics="strict")
def strict(x, y, z):
    return x * y + z


@tsr.accum(fp64)
@tsr.function
def total(x):
    return tsr.sum(x, dim=-1)
