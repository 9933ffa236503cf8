import tessera as tsr


@tsr.function
def turned(x):
    return x.T


@tsr.function
def moved(x):
    return x.permute(4, 3, 2, 1, 0)
