"""The layers of the networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


def conv_bn(
    given: int, out: int, kernel: int, stride: int = 1, groups: int = 1, act: type | None = nn.ReLU
) -> nn.Sequential:
    layers = [
        nn.Conv2d(given, out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """The basic and the bottleneck block of ResNet; with groups, that of RegNet."""

    def __init__(
        self, given: int, inner: int, stride: int, bottleneck: bool, groups: int = 1, grow: int = 4
    ):
        super().__init__()
        out = inner * grow if bottleneck else inner
        if bottleneck:
            self.body = nn.Sequential(
                conv_bn(given, inner, 1),
                conv_bn(inner, inner, 3, stride, groups),
                conv_bn(inner, out, 1, act=None),
            )
        else:
            self.body = nn.Sequential(
                conv_bn(given, inner, 3, stride), conv_bn(inner, out, 3, act=None)
            )
        same = given == out and stride == 1
        self.shortcut = nn.Identity() if same else conv_bn(given, out, 1, stride, act=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.shortcut(x))


class DenseBlock(nn.Module):
    def __init__(self, channels: int, growth: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(channels + i * growth),
                nn.ReLU(),
                nn.Conv2d(channels + i * growth, growth, 3, padding=1, bias=False),
            )
            for i in range(depth)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return torch.cat(found, 1)


class Inception(nn.Module):
    def __init__(self, given: int, a: int, b0: int, b: int, c0: int, c: int, d: int):
        super().__init__()
        self.first = nn.Conv2d(given, a, 1)
        self.second = nn.Sequential(nn.Conv2d(given, b0, 1), nn.Conv2d(b0, b, 3, padding=1))
        self.third = nn.Sequential(nn.Conv2d(given, c0, 1), nn.Conv2d(c0, c, 5, padding=2))
        self.fourth = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(given, d, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.first(x), self.second(x), self.third(x), self.fourth(x)], 1)


class Fire(nn.Module):
    def __init__(self, given: int, squeeze: int, expand: int):
        super().__init__()
        self.squeeze = nn.Conv2d(given, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int, inner: int):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.up(F.silu(self.down(F.adaptive_avg_pool2d(x, 1))))
        return x * torch.sigmoid(gate)


class Inverted(nn.Module):
    """The inverted residual of MobileNet v2, with squeeze and excitation the one of EfficientNet."""

    def __init__(
        self, given: int, out: int, expand: int, kernel: int, stride: int, act: type, excite: bool
    ):
        super().__init__()
        inner = given * expand
        layers: list[nn.Module] = [] if expand == 1 else [conv_bn(given, inner, 1, act=act)]
        layers.append(conv_bn(inner, inner, kernel, stride, inner, act))
        layers += [SqueezeExcite(inner, max(1, given // 4))] if excite else []
        self.body = nn.Sequential(*layers, conv_bn(inner, out, 1, act=None))
        self.same = stride == 1 and given == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.same else self.body(x)


class Shuffle(nn.Module):
    """The unit of ShuffleNet: grouped convolutions around an exchange of channels."""

    def __init__(self, channels: int, groups: int):
        super().__init__()
        self.groups, inner = groups, channels // 4
        self.reduce = conv_bn(channels, inner, 1, groups=groups)
        self.depthwise = conv_bn(inner, inner, 3, groups=inner, act=None)
        self.expand = conv_bn(inner, channels, 1, groups=groups, act=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.reduce(x)
        n, c, h, w = y.shape
        y = y.view(n, self.groups, c // self.groups, h, w).transpose(1, 2).reshape(n, c, h, w)
        return F.relu(x + self.expand(self.depthwise(y)))


class UNet(nn.Module):
    def __init__(self, given: int, width: int, depth: int, classes: int, softmax: bool):
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]

        def double(one: int, other: int) -> nn.Module:
            return nn.Sequential(conv_bn(one, other, 3), conv_bn(other, other, 3))

        self.down = nn.ModuleList(map(double, [given, *widths[:-1]], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * one, one, 2, 2) for one in widths[:-1])
        self.join = nn.ModuleList(double(2 * one, one) for one in widths[:-1])
        self.last, self.softmax = nn.Conv2d(width, classes, 1), softmax

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for index, layer in enumerate(self.down):
            x = layer(F.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for index in reversed(range(len(self.up))):
            x = self.join[index](torch.cat([self.up[index](x), kept[index]], 1))
        x = self.last(x)
        return x.softmax(1) if self.softmax else x


class Cells(nn.Module):
    """A loop over the steps of a sequence."""

    def __init__(self, cell: type, width: int, hidden: int):
        super().__init__()
        self.cell, self.hidden, self.last = cell(width, hidden), hidden, nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(x.size(0), self.hidden)
        memory, found = state, []
        for step in range(x.size(1)):
            if isinstance(self.cell, nn.LSTMCell):
                state, memory = self.cell(x[:, step], (state, memory))
            else:
                state = self.cell(x[:, step], state)
            found.append(state)
        return self.last(torch.stack(found, 1))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool, flash: bool = True):
        super().__init__()
        self.heads, self.causal, self.flash = heads, causal, flash
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
            if self.causal:
                mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
                scores = scores.masked_fill(~mask, float("-inf"))
            y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, n, c))


class GatedMlp(nn.Module):
    def __init__(self, width: int, hidden: int, act: str):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden, False), nn.Linear(width, hidden, False)
        self.down = nn.Linear(hidden, width, False)
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        act = torch.sigmoid if self.act == "sigmoid" else getattr(F, self.act)
        return self.down(act(self.gate(x)) * self.up(x))


class TransformerLayer(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool, act: str = "gelu"):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        if act == "swiglu":
            self.mlp: nn.Module = GatedMlp(width, 3 * width, "silu")
        else:
            gelu = nn.GELU("tanh" if act == "tanh" else "none")
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), gelu, nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Vit(nn.Module):
    def __init__(self, side: int, patch: int, width: int, heads: int, depth: int, classes: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width))
        layers = (TransformerLayer(width, heads, False) for _ in range(depth))
        self.layers = nn.Sequential(*layers, nn.LayerNorm(width))
        self.last = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.position
        return self.last(self.layers(x)[:, 0])


class Windows(nn.Module):
    """Attention within windows, which may be shifted, and an MLP over the positions of a window."""

    def __init__(self, width: int, heads: int, window: int, shift: int):
        super().__init__()
        self.window, self.shift = window, shift
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads, False)
        self.second, self.mix = nn.LayerNorm(width), nn.Conv1d(window**2, window**2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        size = self.window
        y = x.permute(0, 2, 3, 1)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = y.reshape(b, h // size, size, w // size, size, c).transpose(2, 3)
        y = y.reshape(-1, size * size, c)
        y = y + self.attention(self.norm(y))
        y = y + self.mix(self.second(y))
        y = y.reshape(b, h // size, w // size, size, size, c).transpose(2, 3).reshape(b, h, w, c)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        return x + y.permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y))) * self.scale
        return x + y.permute(0, 3, 1, 2)


class Mixer(nn.Module):
    def __init__(self, tokens: int, width: int, hidden: int, wide: int):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, hidden), nn.GELU(), nn.Linear(hidden, tokens))
        self.channels = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


class Scan(nn.Module):
    """A linear state space in chunks: products within a chunk, a recurrence over their states.
    Decays between two positions are differences of cumulative sums."""

    def __init__(self, block: int):
        super().__init__()
        self.block = block

    @staticmethod
    def decays(x: torch.Tensor) -> torch.Tensor:
        total = x.cumsum(-1)
        n = x.size(-1)
        mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        return (total[..., :, None] - total[..., None, :]).masked_fill(~mask, float("-inf")).exp()

    def forward(
        self, x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
    ) -> torch.Tensor:
        n, length, heads, _ = x.shape
        x, b, c = (one.reshape(n, -1, self.block, heads, one.size(-1)) for one in (x, b, c))
        a = a.reshape(n, -1, self.block, heads).permute(0, 3, 1, 2)
        total = a.cumsum(-1)
        within = torch.einsum("bclhn,bcshn->bhcls", c, b) * self.decays(a)
        y = torch.einsum("bhcls,bcshp->bclhp", within, x)
        rest = (total[..., -1:] - total).exp()
        states = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, rest, x)
        sums = F.pad(total[..., -1], (1, 0))
        states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
        states = torch.einsum("bhzc,bchpn->bzhpn", self.decays(sums), states)[:, :-1]
        y = y + torch.einsum("bclhn,bchpn,bhcl->bclhp", c, states, total.exp())
        return y.reshape(n, length, heads, -1)
