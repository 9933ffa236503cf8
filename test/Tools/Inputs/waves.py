import tessera as tsr


@tsr.function
def waves(x, w):
    y = x @ w
    return tsr.sin(y) * tsr.cos(y) + tsr.tan(y)
