"""Programs of rows and contractions that the tests of placed kernels share."""

import tessera as tsr


@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)


@tsr.function
def rms_norm(x, w):
    return tsr.rms_norm(x, weight=w)


@tsr.function
def layer_norm(x, w, b):
    return tsr.layer_norm(x, weight=w, bias=b)


@tsr.function
def log_softmax(x):
    return tsr.log_softmax(x, dim=-1)


@tsr.function
def residual(x, r, w):
    return tsr.rms_norm(x + r, weight=w)


@tsr.function
def centered(x):
    return x - x.amax(dim=-1, keepdim=True)


@tsr.function
def cross_entropy(x, t):
    return tsr.cross_entropy(x, t, reduction="none")


@tsr.function
def total(x):
    return x.sum(dim=-1)


@tsr.function
def largest(x):
    return x.amax(dim=-1)


@tsr.function
def every(x):
    return (x > 0).all(dim=-1)


@tsr.function
def product(x, w):
    return x @ w


@tsr.function
def product_of_rows(x, w):
    return x @ w.T


@tsr.function
def product_of_columns(x, w):
    return x.T @ w


@tsr.function
def product_of_cosines(x, w):
    return tsr.cos(x) @ w


@tsr.function
def product_of_sums(x, w):
    return tsr.tanh(x.sum(dim=1)) @ w


@tsr.function
def product_with_sums(x, w):
    return x @ tsr.tanh(w.sum(dim=1))


@tsr.function
def product_of_losses(x, t, w):
    return tsr.tanh(tsr.cross_entropy(x, t % x.shape[1], reduction="none")) @ w


@tsr.function
def product_of_deviations(x, y, w):
    return tsr.cos(x - y.amax(dim=0, keepdim=True)) @ w


@tsr.function
def linear(x, w, b, r):
    return tsr.silu(x @ w + b) + r


@tsr.function
def column_shares(x):
    return tsr.softmax(x, dim=0)


@tsr.function
def column_norm(x):
    y = x - x.mean(dim=0)
    return y * tsr.rsqrt((y * y).mean(dim=0) + 1e-5), tsr.argmax(x, dim=0)


@tsr.function
def moments(x):
    return x.mean(dim=(0, 2, 3)), tsr.var(x, dim=(0, 2, 3)), tsr.amax(x, dim=(2, 3))


@tsr.function
def distance(x, y):
    return ((x - y) * (x - y)).mean(), tsr.logsumexp(x, dim=(0, 1))


@tsr.function
def level_of_bounded(x):
    return tsr.logsumexp(tsr.tanh(x) * 300.0, dim=0)


@tsr.function
def level_of_products(x, w):
    return tsr.logsumexp(x @ w, dim=0)


@tsr.function
def shares_both_ways(x):
    return tsr.softmax(x, dim=0), tsr.softmax(x, dim=1)


@tsr.function
def running(x):
    return tsr.cumsum(x, dim=-1)


@tsr.function
def running_down(x):
    return tsr.cumsum(x, dim=0) * 0.5


@tsr.function
def spread_of_all(x):
    return tsr.var(x, dim=(0, 1)), x.mean(dim=0)
