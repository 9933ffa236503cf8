import tessera as tsr
from tessera import Tensor


@tsr.function
def plain(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.schedule(kernel=0, num_warps=4, **{"tile.m": 64, "num_stages": 3})
@tsr.function
def keywords(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.function
@tsr.schedule("tile.m=64,num_warps=4")
@tsr.schedule(num_stages=3)
def text(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.schedule()
@tsr.function
def empty(a, b):
    return a @ b


@tsr.schedule(**{"num_warps": True})
@tsr.function
def wrong(a, b):
    return a @ b
