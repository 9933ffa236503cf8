import tessera as tsr


@tsr.function
def weights(x, w):
    return tsr.softmax(x @ w, dim=-1)
