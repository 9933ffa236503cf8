"""Small networks with random widths and depths, in plain torch.nn."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from .parts import (
    Attention,
    Cells,
    ConvNext,
    DenseBlock,
    Fire,
    GatedMlp,
    Inception,
    Inverted,
    Mixer,
    Residual,
    Scan,
    Shuffle,
    TransformerLayer,
    UNet,
    Vit,
    Windows,
    conv_bn,
)
from .sizes import Input, Program, Sizes, normal


def picture(s: Sizes, low: int = 24, high: int = 256, channels: int = 3) -> Input:
    side = s.size(low, high)
    return normal(s.size(1, 128), channels, side, side)


def head(channels: int, classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def mlp(s: Sizes) -> Program:
    name = s.choice(["shallow", "deep", "wide"])
    depth = {"shallow": (1, 3), "deep": (6, 16), "wide": (2, 3)}[name]
    high = {"shallow": 2048, "deep": 1024, "wide": 16384}[name]
    widths = [s.size(32, high) for _ in range(s.integer(*depth) + 2)]
    act = s.choice([nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh])

    def make() -> nn.Module:
        layers: list[nn.Module] = []
        for one, other in zip(widths, widths[1:]):
            layers += [nn.Linear(one, other), act()]
        return nn.Sequential(*layers[:-1])

    return Program(make, [normal(s.size(1, 8192), widths[0])], name)


def lenet(s: Sizes) -> Program:
    a, b, c, d = s.size(4, 32), s.size(8, 64), s.size(32, 512), s.size(32, 256)
    act = s.choice([nn.ReLU, nn.Tanh, nn.Sigmoid])
    pool = s.choice([nn.MaxPool2d, nn.AvgPool2d])
    make = lambda: nn.Sequential(
        nn.Conv2d(1, a, 5), act(), pool(2), nn.Conv2d(a, b, 5), act(), pool(2), nn.Flatten(),
        nn.Linear(b * 25, c), act(), nn.Linear(c, d), act(), nn.Linear(d, 10),
    )  # fmt: skip
    return Program(make, [normal(s.size(1, 8192), 1, 32, 32)])


def alexnet(s: Sizes) -> Program:
    a, b, c, hidden = s.size(16, 96), s.size(32, 256), s.size(32, 384), s.size(128, 4096)
    make = lambda: nn.Sequential(
        nn.Conv2d(3, a, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.Conv2d(a, b, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.Conv2d(b, c, 3, padding=1), nn.ReLU(True), nn.Conv2d(c, b, 3, padding=1), nn.ReLU(True),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Dropout(), nn.Linear(b * 9, hidden),
        nn.ReLU(True), nn.Dropout(), nn.Linear(hidden, 100),
    )  # fmt: skip
    return Program(make, [picture(s, 96, 256)])


def vgg(s: Sizes) -> Program:
    widths = [s.size(8, 256) for _ in range(s.integer(2, 4))]
    repeats, norm = s.integer(1, 2), s.chance(0.5)

    def make() -> nn.Module:
        layers, channels = [], 3
        for width in widths:
            for _ in range(repeats):
                layers += [nn.Conv2d(channels, width, 3, padding=1)]
                layers += [nn.BatchNorm2d(width)] if norm else []
                layers += [nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(2, 2))
        return nn.Sequential(*layers, *head(channels, 10))

    return Program(make, [picture(s, 32, 224)])


def resnet(s: Sizes) -> Program:
    bottleneck = s.chance(0.5)
    width, depth, stages = s.size(8, 128), s.integer(1, 3), s.integer(1, 3)

    def make() -> nn.Module:
        layers, channels = [conv_bn(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)], width
        for stage in range(stages):
            for block in range(depth):
                inner = width * 2**stage
                stride = 2 if stage and not block else 1
                layers.append(Residual(channels, inner, stride, bottleneck))
                channels = inner * (4 if bottleneck else 1)
        return nn.Sequential(*layers, *head(channels, 100))

    return Program(make, [picture(s, 48, 224)], "bottleneck" if bottleneck else "basic")


def densenet(s: Sizes) -> Program:
    channels, growth, depth = s.size(16, 128), s.size(8, 48), s.integer(2, 6)

    def make() -> nn.Module:
        wide = channels + growth * depth
        transition = [nn.BatchNorm2d(wide), nn.ReLU(), nn.Conv2d(wide, wide // 2, 1, bias=False)]
        return nn.Sequential(DenseBlock(channels, growth, depth), *transition, nn.AvgPool2d(2, 2))

    return Program(make, [picture(s, 8, 112, channels)])


def inception(s: Sizes) -> Program:
    channels, widths = s.size(16, 512), s.sizes(6, 8, 256)
    return Program(lambda: Inception(channels, *widths), [picture(s, 7, 112, channels)])


def squeezenet(s: Sizes) -> Program:
    channels, depth = s.size(16, 256), s.integer(1, 4)
    squeeze, expand = s.size(8, 64), s.size(16, 256)
    make = lambda: nn.Sequential(
        Fire(channels, squeeze, expand),
        *(Fire(2 * expand, squeeze, expand) for _ in range(depth - 1)),
        nn.MaxPool2d(3, 2, ceil_mode=True),
    )
    return Program(make, [picture(s, 13, 112, channels)])


def mobilenet1(s: Sizes) -> Program:
    widths = [s.size(8, 256) for _ in range(s.integer(2, 6))]

    def make() -> nn.Module:
        layers = [conv_bn(3, widths[0], 3, 2)]
        for index, (one, other) in enumerate(zip(widths, widths[1:])):
            layers += [conv_bn(one, one, 3, 1 + index % 2, groups=one), conv_bn(one, other, 1)]
        return nn.Sequential(*layers, *head(widths[-1], 100))

    return Program(make, [picture(s, 32, 224)])


def inverted(s: Sizes) -> Program:
    """MobileNet v2, or EfficientNet with squeeze and excitation."""
    efficient = s.chance(0.5)
    channels, depth = s.size(8, 128), s.integer(1, 4)
    expand, kernel = s.choice([1, 2, 4, 6]), s.choice([3, 5]) if efficient else 3
    act, stride = nn.SiLU if efficient else nn.ReLU6, s.choice([1, 2])
    make = lambda: nn.Sequential(
        Inverted(channels, channels, expand, kernel, stride, act, efficient),
        *(Inverted(channels, channels, expand, kernel, 1, act, efficient) for _ in range(depth)),
    )
    return Program(make, [picture(s, 7, 112, channels)], "mbconv" if efficient else "v2")


def shufflenet(s: Sizes) -> Program:
    groups = s.choice([2, 3, 4])
    channels, depth = s.multiple(4 * groups, 24, 480), s.integer(1, 4)
    make = lambda: nn.Sequential(*(Shuffle(channels, groups) for _ in range(depth)))
    return Program(make, [picture(s, 7, 112, channels)])


def regnet(s: Sizes) -> Program:
    groups, depth = s.choice([2, 4, 8]), s.integer(1, 4)
    width = s.multiple(groups, 24, 384)
    make = lambda: nn.Sequential(
        conv_bn(3, width, 3, 2),
        *(Residual(width, width, 1, True, groups, 1) for _ in range(depth)),
        *head(width, 100),
    )
    return Program(make, [picture(s, 16, 128)])


def unet(s: Sizes) -> Program:
    width, depth, classes = s.size(4, 64), s.integer(2, 3), s.integer(1, 8)
    side = 2**depth * s.size(4, 64)
    softmax = s.chance(0.3)
    return Program(
        lambda: UNet(3, width, depth, classes, softmax), [normal(s.size(1, 16), 3, side, side)]
    )


def recurrent(s: Sizes) -> Program:
    """PyTorch's modules, and loops over cells."""
    kind, length = s.choice(["RNN", "GRU", "LSTM"]), s.integer(2, 24)
    batch, width, hidden = s.size(1, 512), s.size(8, 512), s.size(16, 1024)
    if s.chance(0.4):
        layers = s.integer(1, 3)
        make = lambda: getattr(nn, kind)(width, hidden, layers, batch_first=True)
        return Program(make, [normal(batch, s.size(8, 256), width)], kind.lower())
    make = lambda: Cells(getattr(nn, f"{kind}Cell"), width, hidden)
    return Program(make, [normal(batch, length, width)], f"{kind.lower()}_cells")


def vit(s: Sizes) -> Program:
    heads, patch, grid = s.choice([2, 3, 4, 6, 8, 12]), s.choice([8, 16]), s.size(4, 16)
    width, depth = heads * s.choice([16, 32, 64]), s.integer(1, 4)
    side = patch * grid
    make = lambda: Vit(side, patch, width, heads, depth, 100)
    return Program(make, [normal(s.size(1, 64), 3, side, side)])


def swin(s: Sizes) -> Program:
    heads, window, count = s.choice([1, 2, 3, 4, 8]), s.choice([4, 7, 8]), s.integer(1, 8)
    width, shift = heads * s.choice([16, 32]), s.chance(0.5)
    side = window * count
    make = lambda: Windows(width, heads, window, window // 2 if shift else 0)
    return Program(make, [normal(s.size(1, 64), width, side, side)], "shift" if shift else "")


def convnext(s: Sizes) -> Program:
    width, depth = s.size(16, 384), s.integer(1, 3)
    make = lambda: nn.Sequential(*(ConvNext(width) for _ in range(depth)))
    return Program(make, [picture(s, 7, 96, width)])


def causal_attention(s: Sizes) -> Program:
    heads, flash = s.choice([1, 2, 4, 8, 12, 16]), s.chance(0.5)
    width, length = heads * s.choice([16, 32, 64, 128]), s.size(16, 1024)
    make = lambda: Attention(width, heads, True, flash)
    return Program(make, [normal(s.size(1, 64), length, width)], "sdpa" if flash else "plain")


def gpt(s: Sizes) -> Program:
    heads, depth, words = s.choice([1, 2, 4, 8, 12]), s.integer(1, 3), s.size(64, 8192)
    width, length = heads * s.choice([16, 32, 64]), s.size(16, 1024)

    def make() -> nn.Module:
        layers = [TransformerLayer(width, heads, True, s_act) for _ in range(depth)]
        return nn.Sequential(
            nn.Embedding(words, width), *layers, nn.LayerNorm(width), nn.Linear(width, words)
        )

    s_act = s.choice(["gelu", "tanh", "swiglu"])
    return Program(make, [Input((s.size(1, 32), length), "index", high=words)], s_act)


def gated(s: Sizes) -> Program:
    width, hidden = s.size(32, 4096), s.size(64, 8192)
    act = s.choice(["silu", "gelu", "relu", "sigmoid"])
    return Program(lambda: GatedMlp(width, hidden, act), [normal(s.size(1, 8192), width)], act)


def state_space(s: Sizes) -> Program:
    batch, heads, chunks = s.size(1, 16), s.size(1, 32), s.integer(1, 16)
    block, width, state = s.choice([16, 32, 64]), s.choice([16, 32, 64]), s.choice([8, 16, 32])
    length = chunks * block
    inputs = [
        normal(batch, length, heads, width),
        Input((batch, length, heads), "uniform", -0.5, 0.0),
        normal(batch, length, heads, state),
        normal(batch, length, heads, state),
    ]
    return Program(lambda: Scan(block), inputs)


def mixer(s: Sizes) -> Program:
    tokens, width, depth = s.size(16, 256), s.size(16, 768), s.integer(1, 4)
    hidden, wide = s.size(16, 512), s.size(32, 2048)
    make = lambda: nn.Sequential(
        *(Mixer(tokens, width, hidden, wide) for _ in range(depth)), nn.LayerNorm(width)
    )
    return Program(make, [normal(s.size(1, 128), tokens, width)])


def encoder(s: Sizes) -> Program:
    """PyTorch's own transformer layer."""
    heads = s.choice([1, 2, 4, 8])
    width, length = heads * s.choice([16, 32, 64]), s.size(8, 512)
    hidden, first = s.size(32, 2048), s.chance(0.5)
    make = lambda: nn.TransformerEncoderLayer(
        width, heads, hidden, 0.1, batch_first=True, norm_first=first
    )
    return Program(make, [normal(s.size(1, 64), length, width)])


def autoencoder(s: Sizes) -> Program:
    a, b, c = s.size(8, 64), s.size(8, 128), s.size(8, 128)
    make = lambda: nn.Sequential(
        nn.Conv2d(3, a, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(a, b, 4, 2, 1),
        nn.InstanceNorm2d(b), nn.LeakyReLU(0.2), nn.Conv2d(b, c, 3, 1, 1), nn.ReLU(),
        nn.ConvTranspose2d(c, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU(),
        nn.ConvTranspose2d(b, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    side = 4 * s.size(4, 64)
    return Program(make, [normal(s.size(1, 64), 3, side, side)])


_FAMILIES: list[Callable[[Sizes], Program]] = [
    mlp, lenet, alexnet, vgg, resnet, densenet, inception, squeezenet, mobilenet1, inverted,
    shufflenet, regnet, unet, recurrent, vit, swin, convnext, causal_attention, gpt, gated,
    state_space, mixer, encoder, autoencoder,
]  # fmt: skip
_TWICE = (mlp, resnet, inverted, recurrent)
FAMILIES = {one.__name__: (one, 2 if one in _TWICE else 1) for one in _FAMILIES}
