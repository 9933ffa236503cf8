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
def column_sums(x):
    return x.sum(dim=0)


@tsr.function
def column_shares(x):
    return tsr.softmax(x, dim=0)


@tsr.function
def distance(x, y):
    return ((x - y) * (x - y)).mean()


@tsr.function
def channel_means(x):
    return x.mean(dim=(0, 2, 3))


@tsr.function
def level(x):
    return tsr.logsumexp(x, dim=-1)


@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT, dim=-1) @ v


@tsr.function
def causal_attention(q, k, v):
    s = q @ k.mT
    return tsr.softmax(tsr.where(tsr.arange(s.shape[1])[:, None] >= tsr.arange(s.shape[2]), s, -tsr.inf), dim=-1) @ v


@tsr.function
def attention_with_sink(q, k, v, sink):
    s = q @ k.mT
    s = tsr.where(tsr.arange(s.shape[1])[:, None] >= tsr.arange(s.shape[2]), s, -tsr.inf)
    columns = sink[:, None, :].expand(s.shape[0], s.shape[1], sink.shape[1])
    return tsr.softmax(tsr.concat([columns, s], dim=-1), dim=-1)[..., sink.shape[1] :] @ v


@tsr.function
def moved(y, x):
    return y - x.mean(dim=-1, keepdim=True)


@tsr.function
def running(x):
    return tsr.cumsum(x, dim=-1)


@tsr.function
def pooled_norm(x):
    return tsr.amax(tsr.group_norm(x, 1), dim=3)


@tsr.function
def averages(x):
    return tsr.avg_pool2d(x, 5, 2)


@tsr.function
def group_normalised(x, w, b):
    return tsr.silu(tsr.group_norm(x, 2, w, b))
