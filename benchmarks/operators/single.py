"""Single operators of PyTorch with random shapes."""

from __future__ import annotations


import torch
import torch.nn.functional as F
from torch import nn

from .sizes import Input, Program, Sizes, call, normal

# Matrix products


def square(s: Sizes) -> Program:
    n = s.size(64, 8192)
    return call(lambda a, b: a @ b, normal(n, n), normal(n, n))


def matmul(s: Sizes) -> Program:
    m, n, k = s.sizes(3, 16, 16384)
    return call(lambda a, b: a @ b, normal(m, k), normal(k, n))


def thin(s: Sizes) -> Program:
    """One long dimension and two short ones, or a long sum."""
    long, short, other = s.size(2048, 2**20), s.size(8, 128), s.size(8, 128)
    m, n, k = s.choice([(long, short, other), (short, long, other), (short, other, long)])
    return call(lambda a, b: a @ b, normal(m, k), normal(k, n))


def batched(s: Sizes) -> Program:
    b, (m, n, k) = s.size(2, 256), s.sizes(3, 16, 1024)
    return call(torch.bmm, normal(b, m, k), normal(b, k, n))


def transposed(s: Sizes) -> Program:
    m, n, k = s.sizes(3, 64, 8192)
    of_a, of_b = s.choice([(True, False), (False, True), (True, True)])
    return call(
        lambda a, b: (a.T if of_a else a) @ (b.T if of_b else b),
        normal(*((k, m) if of_a else (m, k))),
        normal(*((n, k) if of_b else (k, n))),
        label=f"{'t' if of_a else 'n'}{'t' if of_b else 'n'}",
    )


def matvec(s: Sizes) -> Program:
    m, k = s.size(256, 32768), s.size(256, 32768)
    if s.chance(0.5):
        return call(lambda a, x: a @ x, normal(m, k), normal(k))
    return call(lambda x, a: x @ a, normal(1, k), normal(k, m), label="left")


def diagonal(s: Sizes) -> Program:
    m, n = s.sizes(2, 64, 8192)
    return call(lambda a, b: torch.diag(a) @ b, normal(m), normal(m, n))


def triangular(s: Sizes) -> Program:
    n = s.size(64, 4096)
    part = s.choice([torch.tril, torch.triu])
    which = s.choice(["inputs", "result"])
    function = {
        "inputs": lambda a, b: part(a) @ part(b),
        "result": lambda a, b: part(a @ b),
    }[which]
    return call(function, normal(n, n), normal(n, n), label=f"{part.__name__}_{which}")


def einsum(s: Sizes) -> Program:
    text = s.choice(
        [
            "bik,kj->bij",
            "bijl,lk->bijk",
            "bhid,bhjd->bhij",
            "bij,bjk->ik",
            "bn,anm,bm->ba",
            "ij,ij->i",
        ]
    )
    high = {1: 8192, 2: 4096, 3: 512, 4: 256}
    terms = text.split("->")[0].split(",")
    largest = max(map(len, terms))
    letters = {one: s.size(4, high[largest]) for one in sorted(set("".join(terms)))}
    inputs = [normal(*(letters[one] for one in term)) for term in terms]
    return call(lambda *xs: torch.einsum(text, *xs), *inputs, text=f"einsum {text} ")


# Elementwise operations, softmax

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "softplus": F.softplus,
    "elu": F.elu,
    "selu": F.selu,
    "celu": lambda x: F.celu(x, alpha=1.3),
    "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.05),
    "softsign": F.softsign,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.2, -1.0),
    "relu6": F.relu6,
    "erf": torch.erf,
    "sin": torch.sin,
    "exp": torch.exp,
    "log1p": lambda x: torch.log1p(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x * x + 1.0),
    "glu": lambda x: F.glu(torch.cat([x, x], -1), -1),
}


def shape(s: Sizes, low: int = 2, high: int = 4, most: int = 2**28) -> tuple[int, ...]:
    rank = s.integer(low, high)
    return s.sizes(rank, 4, round(most ** (1.3 / rank)))


def activation(s: Sizes) -> Program:
    name = s.choice(list(ACTIVATIONS))
    return call(ACTIVATIONS[name], normal(*shape(s)), label=name)


def softmax(s: Sizes) -> Program:
    function = s.choice([torch.softmax, torch.log_softmax])
    given = shape(s, 2, 4)
    dim = -1 if s.chance(0.6) else s.integer(0, len(given) - 1)
    name = f"{'log_' if function is torch.log_softmax else ''}dim{dim}"
    return call(lambda x: function(x, dim), normal(*given), label=name)


def chain(s: Sizes) -> Program:
    """where, clamp and arithmetic with broadcasting."""
    low, high = s.number(-2, 0), s.number(0.1, 2)
    functions = {
        "where": lambda x, y: torch.where(x > y, x * high, y + low),
        "clamp": lambda x, y: (x.clamp(low, high) + y).clamp(min=low) * x,
        "masked_fill": lambda x, y: x.masked_fill(y > high, low) - y,
        "minmax": lambda x, y: torch.maximum(x, y) / (1.0 + torch.minimum(x, y).abs()),
        "addcmul": lambda x, y: torch.addcmul(x, y, y, value=high),
        "lerp": lambda x, y: torch.lerp(x, y, 0.3).sign() * x.abs().sqrt(),
    }
    name = s.choice(list(functions))
    given = shape(s, 2, 4, 2**26)
    other = tuple(1 if s.chance(0.3) else one for one in given)
    return call(functions[name], normal(*given), normal(*other), label=name)


# Normalizations


def layer_norm(s: Sizes) -> Program:
    given = shape(s, 2, 4)
    tail = given[-s.integer(1, min(3, len(given) - 1)) :]
    return Program(lambda: nn.LayerNorm(tail), [normal(*given)])


def rms_norm(s: Sizes) -> Program:
    given = shape(s, 2, 4)
    if s.chance(0.5):
        return Program(lambda: nn.RMSNorm(given[-1], eps=1e-6), [normal(*given)])
    dim = s.integer(1, len(given) - 1)
    return call(
        lambda x: x * torch.rsqrt(x.pow(2).mean(dim, keepdim=True) + 1e-5),
        normal(*given),
        label=f"dim{dim}",
    )


def image(s: Sizes, rank: int, channels: int, most: int = 512) -> tuple[int, ...]:
    """Batch, channels and spatial sizes; half of the images are square."""
    high = {1: most * 128, 2: most, 3: max(8, most // 8)}[rank]
    first = s.size(7, high)
    sides = [first] * rank if s.chance(0.5) else [s.size(7, high) for _ in range(rank)]
    return (s.size(1, 128), channels, *sides)


def channel_norm(s: Sizes) -> Program:
    rank = s.choice([1, 2, 2, 3])
    name = s.choice(["batch", "group", "instance"])
    groups = s.choice([1, 2, 4, 8])
    channels = s.multiple(groups, 8, 512)
    batch = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}[rank]
    instance = {1: nn.InstanceNorm1d, 2: nn.InstanceNorm2d, 3: nn.InstanceNorm3d}[rank]
    make = {
        "batch": lambda: batch(channels),
        "group": lambda: nn.GroupNorm(groups, channels),
        "instance": lambda: instance(channels, affine=groups > 2),
    }[name]
    return Program(make, [normal(*image(s, rank, channels))], f"{name}{rank}d")


def vector_norm(s: Sizes) -> Program:
    functions = {
        "frobenius": lambda x: x / torch.linalg.norm(x),
        "l1": lambda x: x / x.abs().sum(1, keepdim=True),
        "l1_mean": lambda x: x / x.abs().mean(1, keepdim=True),
        "l2": lambda x: x / torch.linalg.vector_norm(x, dim=1, keepdim=True),
        "normalize": lambda x: F.normalize(x, dim=-1),
    }
    name = s.choice(list(functions))
    return call(functions[name], normal(*shape(s, 2, 3)), label=name)


# Reductions, scans, pooling

REDUCTIONS = {
    "sum": lambda x, d: x.sum(d),
    "sum_keepdim": lambda x, d: x.sum(d, keepdim=True),
    "mean": lambda x, d: x.mean(d),
    "max": lambda x, d: x.max(d).values,
    "min": lambda x, d: x.min(d).values,
    "amax": lambda x, d: x.amax(d),
    "argmax": lambda x, d: x.argmax(d),
    "argmin": lambda x, d: x.argmin(d),
    "var": lambda x, d: x.var(d),
    "std": lambda x, d: x.std(d, unbiased=False),
    "logsumexp": lambda x, d: torch.logsumexp(x, d),
    "any": lambda x, d: (x > 3.0).any(d),
    "count_nonzero": lambda x, d: (x > 1.0).sum(d),
}


def reduction(s: Sizes) -> Program:
    name = s.choice(list(REDUCTIONS))
    given = shape(s, 2, 4)
    dim = s.integer(0, len(given) - 1)
    function = REDUCTIONS[name]
    return call(lambda x: function(x, dim), normal(*given), label=f"{name}_dim{dim}")


def product(s: Sizes) -> Program:
    given = shape(s, 2, 3)
    dim = s.integer(0, len(given) - 1)
    near_one = Input(given, "uniform", 0.9, 1.1)
    return call(lambda x: x.prod(dim), near_one, label=f"dim{dim}")


def scan(s: Sizes) -> Program:
    given = shape(s, 2, 3)
    dim = s.integer(0, len(given) - 1)

    def exclusive(x: torch.Tensor) -> torch.Tensor:
        first = torch.zeros_like(x.select(dim, 0).unsqueeze(dim))
        return torch.cat([first, x.narrow(dim, 0, x.size(dim) - 1)], dim).cumsum(dim)

    functions = {
        "cumsum": lambda x: torch.cumsum(x, dim),
        "cumprod": lambda x: torch.cumprod(x, dim),
        "reverse": lambda x: x.flip(dim).cumsum(dim).flip(dim),
        "exclusive": exclusive,
        "masked": lambda x, mask: torch.cumsum(x * (mask > 0), dim),
        "logcumsumexp": lambda x: torch.logcumsumexp(x, dim),
        "cummax": lambda x: torch.cummax(x, dim).values,
    }
    name = s.choice(["cumsum", "cumsum", "cumprod", "reverse", "exclusive", "masked", "masked",
                     "logcumsumexp", "cummax"])  # fmt: skip
    inputs = [Input(given, "uniform", 0.9, 1.1) if name == "cumprod" else normal(*given)]
    inputs += [normal(*given)] if name == "masked" else []
    return call(functions[name], *inputs, label=f"{name}_dim{dim}")


def pool(s: Sizes) -> Program:
    rank = s.choice([1, 2, 2, 3])
    given = image(s, rank, s.size(1, 256))
    kernel = s.integer(2, 5)
    stride = s.choice([None, 1, 2, 3])
    padding = s.integer(0, kernel // 2)
    name = s.choice(["max", "avg"])
    kinds = {
        "max": [nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d],
        "avg": [nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d],
    }[name]
    more = {"dilation": s.integer(1, 2)} if name == "max" and s.chance(0.4) else {}
    make = lambda: kinds[rank - 1](kernel, stride, padding, **more)
    return Program(make, [normal(*given)], f"{name}{rank}d")


def adaptive_pool(s: Sizes) -> Program:
    rank = s.choice([1, 2, 2, 3])
    given = image(s, rank, s.size(1, 256))
    name = s.choice(["max", "avg", "avg"])
    kinds = {
        "max": [nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d],
        "avg": [nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d],
    }[name]
    out = s.choice([1, 1, 2, 3, 7])
    return Program(lambda: kinds[rank - 1](out), [normal(*given)], f"{name}{rank}d_to{out}")


# Losses


def loss(s: Sizes) -> Program:
    rows, columns = s.size(16, 65536), s.size(8, 16384)
    x, y = normal(rows, columns), normal(rows, columns)
    functions = {
        "mse": (F.mse_loss, x, y),
        "huber": (F.huber_loss, x, y),
        "smooth_l1": (lambda a, b: F.smooth_l1_loss(a, b, beta=0.5), x, y),
        "cross_entropy": (F.cross_entropy, x, Input((rows,), "index", high=columns)),
        "kl_div": (
            lambda a, b: F.kl_div(a.log_softmax(-1), b.softmax(-1), reduction="batchmean"), x, y
        ),
        "cosine": (lambda a, b: 1 - F.cosine_similarity(a, b, dim=1).mean(), x, y),
        "triplet": (lambda a, b, c: F.triplet_margin_loss(a, b, c), x, y, normal(rows, columns)),
        "hinge": (lambda a, b: torch.clamp(1 - a * b.sign(), min=0).mean(), x, y),
        "bce_logits": (lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid()), x, y),
        "nll": (lambda a, t: F.nll_loss(a.log_softmax(1), t), x,
                Input((rows,), "index", high=columns)),
    }  # fmt: skip
    name = s.choice(list(functions))
    function, *inputs = functions[name]
    return call(function, *inputs, label=name)


# Attention


def attention(s: Sizes) -> Program:
    batch, heads, length = s.size(1, 64), s.choice([1, 2, 4, 8, 12, 16, 32]), s.size(32, 4096)
    width = s.choice([16, 32, 40, 64, 64, 80, 96, 128, 128, 256])
    causal = s.chance(0.5)
    keys = length if causal or s.chance(0.6) else s.size(32, 4096)
    inputs = [normal(batch, heads, n, width) for n in (length, keys, keys)]
    return call(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        *inputs,
        label=f"{'causal_' if causal else ''}d{width}",
    )


# Convolutions


def _convolution(s: Sizes, rank: int, transposed: bool) -> Program:
    most = {1: 9, 2: 9, 3: 5}[rank]
    odd = [one for one in range(1, most + 1, 2)] + [2, 4]
    first = s.choice(odd)
    kernel = (first,) * rank if s.chance(0.6) else tuple(s.choice(odd) for _ in range(rank))
    stride, dilation = s.choice([1, 1, 1, 2, 2, 3]), s.choice([1, 1, 1, 2, 3])
    groups = s.choice([1, 1, 1, 2, 4, 8])
    width = {1: 512, 2: 512, 3: 128}[rank]
    first_in = s.choice([1, 3]) if groups == 1 and s.chance(0.15) else s.multiple(groups, 8, width)
    out = s.multiple(groups, 8, width)
    given = image(s, rank, first_in, 256)
    reach = max((one - 1) * dilation + 1 for one in kernel)
    padding = s.integer(0, reach // 2) if s.chance(0.7) else 0
    if not transposed and min(given[2:]) + 2 * padding < reach:
        padding = reach
    more: dict = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    more["bias"] = s.chance(0.5)
    if transposed:
        padding = min(padding, (min(given[2:]) - 1) * stride // 2)
        more["padding"] = padding
        more["output_padding"] = s.integer(0, stride - 1)
    kinds = (
        [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d]
        if transposed
        else [nn.Conv1d, nn.Conv2d, nn.Conv3d]
    )
    make = lambda: kinds[rank - 1](first_in, out, kernel, **more)
    return Program(make, [normal(*given)])


def conv(rank: int, transposed: bool = False):  # noqa: ANN201
    return lambda s: _convolution(s, rank, transposed)


def depthwise(s: Sizes) -> Program:
    rank = s.choice([1, 2, 2, 2, 3])
    channels, times = s.size(8, 512), s.choice([1, 1, 1, 2])
    kernel, stride = s.choice([3, 3, 5, 7]), s.choice([1, 1, 2])
    kinds = [nn.Conv1d, nn.Conv2d, nn.Conv3d]
    make = lambda: kinds[rank - 1](
        channels, channels * times, kernel, stride, kernel // 2, groups=channels, bias=times == 2
    )
    return Program(make, [normal(*image(s, rank, channels))], f"{rank}d")


def pointwise(s: Sizes) -> Program:
    rank = s.choice([1, 2, 2, 3])
    channels, out = s.sizes(2, 8, 1024)
    kinds = [nn.Conv1d, nn.Conv2d, nn.Conv3d]
    bias = s.chance(0.5)
    return Program(
        lambda: kinds[rank - 1](channels, out, 1, bias=bias),
        [normal(*image(s, rank, channels))],
        f"{rank}d",
    )


def separable(s: Sizes) -> Program:
    channels, out, kernel = s.size(8, 512), s.size(8, 512), s.choice([3, 5, 7])
    stride, dilation = s.choice([1, 1, 2]), s.choice([1, 1, 2])
    make = lambda: nn.Sequential(
        nn.Conv2d(channels, channels, kernel, stride, kernel // 2 * dilation, dilation,
                  groups=channels, bias=False),
        nn.Conv2d(channels, out, 1, bias=False),
    )  # fmt: skip
    return Program(make, [normal(*image(s, 2, channels))])


# Movement


def embedding(s: Sizes) -> Program:
    words, width = s.size(64, 200000), s.size(8, 2048)
    tokens = s.sizes(s.integer(1, 2), 8, 4096)
    return Program(lambda: nn.Embedding(words, width), [Input(tokens, "index", high=words)])


def gather(s: Sizes) -> Program:
    rows, columns, taken = s.size(8, 32768), s.size(16, 16384), s.size(4, 4096)
    if s.chance(0.5):
        indices = Input((rows, taken), "index", high=columns)
        return call(lambda x, i: x.gather(1, i), normal(rows, columns), indices)
    indices = Input((taken,), "index", high=rows)
    function, name = s.choice(
        [
            (lambda x, i: x.index_select(0, i), "index_select"),
            (lambda x, i: x[i] * 2.0, "index"),
        ]
    )
    return call(function, normal(rows, columns), indices, label=name)


def topk(s: Sizes) -> Program:
    rows, columns = s.size(8, 32768), s.size(16, 8192)
    k = min(columns, s.integer(1, 16))

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.topk(x, k, dim=-1)
        return values, x.gather(-1, indices)  # equal elements may come in any order

    return call(function, normal(rows, columns), label=f"k{k}")


def sort(s: Sizes) -> Program:
    rows, columns = s.size(4, 16384), s.size(16, 16384)
    descending = s.chance(0.5)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.sort(x, dim=-1, descending=descending)
        return values, x.gather(-1, indices)

    return call(function, normal(rows, columns))


def movement(s: Sizes) -> Program:
    given = shape(s, 3, 4, 2**26)
    pad, up = s.integer(1, 4), s.choice([2, 3])
    functions = {
        "permute": lambda x: x.permute(*reversed(range(x.dim()))).contiguous(),
        "cat": lambda x: torch.cat([x, x * 2.0, x.relu()], 1),
        "pad": lambda x: F.pad(x, (pad, pad - 1, 0, pad)),
        "reflect": lambda x: F.pad(x.flatten(0, -3), (1, 2), mode="reflect") * 1.5,
        "roll": lambda x: torch.roll(x, pad, 1),
        "repeat": lambda x: x.repeat_interleave(up, -1),
        "stack": lambda x: torch.stack([x, -x], 1),
        "flip": lambda x: x.flip(-1) + x,
        "tril": lambda x: torch.tril(x, 1),
    }
    name = s.choice(list(functions))
    return call(functions[name], normal(*given), label=name)


def resize(s: Sizes) -> Program:
    given = image(s, 2, s.size(1, 128), 256)
    factor, mode = s.choice([2, 2, 3, 1.5]), s.choice(["nearest", "bilinear"])
    if mode == "nearest" and s.chance(0.3):
        up = s.choice([2, 3])
        given = (given[0], given[1] * up * up, *given[2:])
        return Program(lambda: nn.PixelShuffle(up), [normal(*given)], "pixel_shuffle")
    return Program(lambda: nn.Upsample(scale_factor=factor, mode=mode), [normal(*given)], mode)


FAMILIES = {
    "square": (square, 1),
    "matmul": (matmul, 2),
    "thin": (thin, 2),
    "batched": (batched, 2),
    "transposed": (transposed, 2),
    "matvec": (matvec, 1),
    "diagonal": (diagonal, 1),
    "triangular": (triangular, 2),
    "einsum": (einsum, 2),
    "activation": (activation, 6),
    "softmax": (softmax, 2),
    "chain": (chain, 2),
    "layer_norm": (layer_norm, 2),
    "rms_norm": (rms_norm, 1),
    "channel_norm": (channel_norm, 3),
    "vector_norm": (vector_norm, 2),
    "reduction": (reduction, 5),
    "product": (product, 1),
    "scan": (scan, 4),
    "pool": (pool, 4),
    "adaptive_pool": (adaptive_pool, 1),
    "loss": (loss, 4),
    "attention": (attention, 3),
    "conv1d": (conv(1), 2),
    "conv2d": (conv(2), 4),
    "conv3d": (conv(3), 2),
    "conv_transpose1d": (conv(1, True), 1),
    "conv_transpose2d": (conv(2, True), 2),
    "conv_transpose3d": (conv(3, True), 2),
    "depthwise": (depthwise, 2),
    "pointwise": (pointwise, 1),
    "separable": (separable, 1),
    "embedding": (embedding, 1),
    "gather": (gather, 1),
    "topk": (topk, 1),
    "sort": (sort, 1),
    "movement": (movement, 2),
    "resize": (resize, 1),
}
