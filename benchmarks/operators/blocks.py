"""Blocks: a product or convolution, and two to six further operations that fit its result."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from .single import _convolution, image
from .sizes import Input, Program, Sizes, normal


class Product(nn.Module):
    """torch.matmul or torch.bmm of an input and a parameter."""

    def __init__(self, *shape: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape) * shape[-2] ** -0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, self.weight) if self.weight.dim() == 3 else x @ self.weight


class Pointwise(nn.Module):
    """An operation without parameters."""

    def __init__(self, name: str, function: Callable):
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)

    def extra_repr(self) -> str:
        return self.name


class WithParameter(nn.Module):
    """Adds, subtracts or multiplies by a parameter that is broadcast."""

    def __init__(self, name: str, shape: tuple[int, ...]):
        super().__init__()
        self.name = name
        self.value = nn.Parameter(torch.randn(shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.name == "add":
            return x + self.value
        return x - self.value if self.name == "subtract" else x * self.value

    def extra_repr(self) -> str:
        return f"{self.name}, {tuple(self.value.shape)}"


class Block(nn.Module):
    """Steps in order. A residual step adds the result of the first one."""

    def __init__(self, steps: list[nn.Module], residual: int | None):
        super().__init__()
        self.steps, self.residual = nn.ModuleList(steps), residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = None
        for index, step in enumerate(self.steps):
            x = step(x)
            first = x if first is None else first
            if index == self.residual:
                x = x + first
        return x

    def extra_repr(self) -> str:
        return f"residual={self.residual}"


ACTIVATIONS: dict[str, Callable] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "silu": lambda x: x * torch.sigmoid(x),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.02),
    "softplus": F.softplus,
    "tanh_softplus": lambda x: x * torch.tanh(F.softplus(x)),
}
REDUCTIONS: dict[str, Callable] = {
    "mean": lambda x, dims: x.mean(dims, keepdim=True),
    "sum": lambda x, dims: x.sum(dims, keepdim=True),
    "max": lambda x, dims: x.amax(dims, keepdim=True),
    "min": lambda x, dims: x.min(dims[0], keepdim=True)[0],
    "logsumexp": lambda x, dims: torch.logsumexp(x, dims, keepdim=True),
}

Step = tuple[str, Callable[[], nn.Module]]


def activation(s: Sizes, shape: tuple[int, ...]) -> Step:
    name = s.choice(list(ACTIVATIONS))
    return name, lambda: Pointwise(name, ACTIVATIONS[name])


def constant(s: Sizes, shape: tuple[int, ...]) -> Step:
    value = s.number(0.3, 2.5)
    functions: dict[str, Callable] = {
        "scale": lambda x: x * value,
        "divide": lambda x: x / value,
        "subtract": lambda x: x - value,
        "add": lambda x: x + value,
        "clamp": lambda x: torch.clamp(x, -value, value),
        "clamp_min": lambda x: torch.clamp(x, min=-value),
    }
    name = s.choice(list(functions))
    return name, lambda: Pointwise(f"{name} {value}", functions[name])


def parameter(s: Sizes, shape: tuple[int, ...]) -> Step:
    name = s.choice(["add", "add", "multiply", "subtract"])
    rank = len(shape)
    if rank > 3:
        value = (shape[1],) + (1,) * (rank - 2) if s.chance(0.8) else (1,) * rank
    else:
        value = (shape[-1],) if s.chance(0.8) else (1,)
    return f"{name}_parameter", lambda: WithParameter(name, value)


def reduce(s: Sizes, shape: tuple[int, ...]) -> Step:
    name = s.choice(list(REDUCTIONS))
    rank = len(shape)
    if rank > 3:
        dims = s.choice([(1,), (1,), tuple(range(2, rank)), (2,)])
    else:
        dims = (rank - 1,)
    return f"{name}{''.join(map(str, dims))}", lambda: Pointwise(
        f"{name} {dims}", lambda x: REDUCTIONS[name](x, dims)
    )


def softmax(s: Sizes, shape: tuple[int, ...]) -> Step:
    dim = 1 if len(shape) > 3 else -1
    return "softmax", lambda: nn.Softmax(dim)


def norm(s: Sizes, shape: tuple[int, ...]) -> Step | None:
    rank, channels = len(shape), shape[1] if len(shape) != 3 else shape[-1]
    groups = s.choice([one for one in (1, 2, 4, 8, 16) if channels % one == 0])
    if rank == 3:
        return "layer_norm", lambda: nn.LayerNorm(channels)
    if rank == 2:
        name = s.choice(["batch", "layer", "group"])
        makes = {
            "batch": lambda: nn.BatchNorm1d(channels),
            "layer": lambda: nn.LayerNorm(channels),
            "group": lambda: nn.GroupNorm(groups, channels),
        }
        return (f"{name}_norm", makes[name]) if channels > 1 else None
    pixels = 1
    for one in shape[2:]:
        pixels *= one
    if pixels == 1:
        return None
    batch, instance = (
        (nn.BatchNorm2d, nn.InstanceNorm2d) if rank == 4 else (nn.BatchNorm3d, nn.InstanceNorm3d)
    )
    name = s.choice(["batch", "batch", "group", "instance", "layer"])
    makes = {
        "batch": lambda: batch(channels),
        "group": lambda: nn.GroupNorm(groups, channels),
        "instance": lambda: instance(channels),
        "layer": lambda: nn.LayerNorm(shape[-1]),
    }
    return f"{name}_norm", makes[name]


def pool(s: Sizes, shape: tuple[int, ...]) -> Step | None:
    rank, kernel = len(shape), s.integer(2, 3)
    if rank < 4:
        if rank == 2 and shape[1] >= 16 and s.chance(0.4):
            return "max_pool1d", lambda: Pointwise(
                f"max_pool1d {kernel}", lambda x: F.max_pool1d(x.unsqueeze(1), kernel).squeeze(1)
            )
        return None
    if min(shape[2:]) < kernel:
        return None
    of_rank = {
        "max_pool": [nn.MaxPool2d, nn.MaxPool3d],
        "avg_pool": [nn.AvgPool2d, nn.AvgPool3d],
    }
    name = s.choice(["max_pool", "avg_pool", "global"])
    if name == "global":
        kind = nn.AdaptiveAvgPool2d if rank == 4 else nn.AdaptiveAvgPool3d
        return "global_pool", lambda: kind(1)
    return name, lambda: of_rank[name][rank - 4](kernel)


def dropout(s: Sizes, shape: tuple[int, ...]) -> Step:
    return "dropout", lambda: nn.Dropout(0.3)


STEPS = [activation] * 5 + [constant] * 4 + [parameter] * 3 + [reduce] * 2 + [norm] * 2
STEPS += [pool] * 2 + [softmax, dropout]


def first(s: Sizes, name: str) -> tuple[Callable[[], nn.Module], Input]:
    if name == "linear":
        m, n, k = s.sizes(3, 16, 8192)
        given = normal(m, k) if s.chance(0.7) else normal(s.size(2, 64), s.size(16, 512), k)
        bias = s.chance(0.8)
        return (lambda: nn.Linear(k, n, bias)), given
    if name == "matmul":
        m, n, k = s.sizes(3, 16, 8192)
        return (lambda: Product(k, n)), normal(m, k)
    if name == "bmm":
        b, (m, n, k) = s.size(2, 128), s.sizes(3, 16, 1024)
        return (lambda: Product(b, k, n)), normal(b, m, k)
    rank, transposed = int(name[-2]), "transpose" in name
    if s.chance(0.3):  # any convolution
        program = _convolution(s, rank, transposed)
        return program.make, program.inputs[0]
    channels, out = s.sizes(2, 3, 256 if rank == 2 else 96)
    kernel = s.choice([3, 3, 3, 4, 5])
    more = {"padding": s.choice([0, 1])}
    if transposed:
        more["stride"] = s.choice([1, 2])
    kinds = {(2, False): nn.Conv2d, (3, False): nn.Conv3d}
    kinds |= {(2, True): nn.ConvTranspose2d, (3, True): nn.ConvTranspose3d}
    given = normal(*image(s, rank, channels, 256))
    return (lambda: kinds[rank, transposed](channels, out, kernel, **more)), given


def block(name: str) -> Callable[[Sizes], Program]:
    def family(s: Sizes) -> Program:
        start, given = first(s, name)
        with torch.no_grad(), torch.device("meta"):
            x = start()(given.make())
            initial, makes, names, residual = x.shape, [start], [], None
            for _ in range(s.integer(2, 6)):
                found = s.choice(STEPS)(s, tuple(x.shape))
                if found is None:
                    continue
                names.append(found[0])
                makes.append(found[1])
                x = found[1]().eval()(x)
                if residual is None and x.shape == initial and s.chance(0.15):
                    residual = len(makes) - 1
                    names.append("residual")
        make = lambda: Block([one() for one in makes], residual)
        return Program(make, [given], "_".join(names))

    return family


FAMILIES = {
    name: (block(name), share)
    for name, share in {
        "linear": 4,
        "matmul": 2,
        "bmm": 1,
        "conv2d": 5,
        "conv3d": 3,
        "conv_transpose2d": 3,
        "conv_transpose3d": 3,
    }.items()
}
