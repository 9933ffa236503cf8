import tessera as tsr


@tsr.function
def biased(x, b):
    return tsr.gelu(x + b)


@tsr.function
def chosen_rows(ids, table):
    return tsr.embedding(ids, table)


@tsr.function
def normalised(x, w, b):
    return tsr.layer_norm(x, w, b)


@tsr.function
def shares(x):
    return tsr.log_softmax(x, dim=-1)


@tsr.function
def level(x):
    return tsr.logsumexp(x, dim=-1)
