import tessera as tsr


@tsr.function
def decode(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, -1) @ v


@tsr.function
def indices(x):
    return tsr.argmax(x, -1)


@tsr.function
def sums(x):
    return tsr.cumsum(x, -1)
