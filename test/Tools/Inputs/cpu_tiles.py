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


@tsr.function
def reversed_dims(x):
    return tsr.tanh(x.permute((15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0))) + x
