import tessera as tsr


@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT, dim=-1) @ v


@tsr.function
def loss(x, w):
    return tsr.tanh(x @ w).sum()


@tsr.function(residual_bytes=1000)
def limited(x, w):
    return tsr.tanh(x @ w).sum()
