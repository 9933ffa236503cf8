"""Entries of PyTorch's operator database that are operations of the language, and their spelling.

An entry with the same name (without `nn.functional.`) is called as `tsr.NAME(...)`. The tables here
list the differences: Python's operators, attributes, and functions whose sample has its parts in
another order.
"""

from __future__ import annotations

from collections.abc import Callable

#: LANGUAGE.md's list, with the functions behind its operators.
NAMES = frozenset(
    """
add sub mul div true_divide floor_divide remainder fmod pow matmul neg abs eq ne lt le gt ge bitwise_and bitwise_or
bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor logical_not
__radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __rxor__ __getitem__
exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh sinh cosh asin acos atan atan2 erf erfc floor ceil
round trunc sign isnan isinf isfinite square maximum minimum clamp where lerp
relu leaky_relu elu selu sigmoid silu gelu mish softplus hardswish hardsigmoid
sum mean prod max min amax amin argmax argmin any all var std norm linalg.vector_norm logsumexp softmax log_softmax cumsum
cumprod mm bmm einsum outer dot linear layer_norm rms_norm group_norm batch_norm cross_entropy mse_loss
reshape view flatten transpose permute T mT squeeze unsqueeze expand expand_as broadcast_to repeat flip roll cat stack
split chunk pad tril triu gather take index_select scatter_add embedding one_hot sort argsort topk
conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d max_pool2d max_pool3d
avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
arange full full_like zeros ones zeros_like ones_like eye rand_like randn randn_like dropout to
""".split()
)

#: The database's operator variants as Python writes them, with a and b for the operands.
OPERATORS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "floor_divide": "a // b",
    "remainder": "a % b",
    "pow": "a ** b",
    "matmul": "a @ b",
    "neg": "-a",
    "abs": "abs(a)",
    "eq": "a == b",
    "ne": "a != b",
    "lt": "a < b",
    "le": "a <= b",
    "gt": "a > b",
    "ge": "a >= b",
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "bitwise_not": "~a",
    "bitwise_left_shift": "a << b",
    "bitwise_right_shift": "a >> b",
}
REFLECTED = {
    "__radd__": "b + a",
    "__rsub__": "b - a",
    "__rmul__": "b * a",
    "__rdiv__": "b / a",
    "__rmod__": "b % a",
    "__rpow__": "b ** a",
    "__rmatmul__": "b @ a",
    "__rand__": "b & a",
    "__ror__": "b | a",
    "__rxor__": "b ^ a",
}
ATTRIBUTES = {"T", "mT"}

#: Keywords that say where and how PyTorch stores a result, not what it is.
STORAGE = {
    "device",
    "layout",
    "requires_grad",
    "pin_memory",
    "memory_format",
    "non_blocking",
    "copy",
    "inplace",
}

#: Results that depend on a generator are checked by what they must fulfil (judge.py).
RANDOM = {"rand_like", "randn", "randn_like", "dropout"}
#: The result with the indices, where equal values may come in any order.
UNORDERED = {"sort": 1, "topk": 1, "argsort": 0}


def spelling(name: str) -> str:
    """The operation's name in `tsr`."""
    return name.removeprefix("nn.functional.").removeprefix("linalg.")


def _where(args: list, kwargs: dict) -> tuple[list, dict]:
    value, condition, *rest = args
    return [condition, value, *rest], kwargs


def _einsum(args: list, kwargs: dict) -> tuple[list, dict]:
    tensors, equation = args
    return [equation, *tensors], kwargs


def _to(args: list, kwargs: dict) -> tuple[list, dict]:
    import torch

    types = [value for value in args[1:] if isinstance(value, torch.dtype)]
    types += [value.dtype for value in args[1:] if isinstance(value, torch.Tensor)]
    return [args[0], *types[:1]], {}


def _embedding(args: list, kwargs: dict) -> tuple[list, dict]:
    weight, index = args
    gradients = {"scale_grad_by_freq", "sparse"}
    return [index, weight], {key: value for key, value in kwargs.items() if key not in gradients}


def _seeded(args: list, kwargs: dict) -> tuple[list, dict]:
    return args, {**kwargs, "seed": 7}


#: How a sample's arguments are arranged for the call in the language.
ARRANGED: dict[str, Callable[[list, dict], tuple[list, dict]]] = {
    "where": _where,
    "einsum": _einsum,
    "to": _to,
    "nn.functional.embedding": _embedding,
    "rand_like": _seeded,
    "randn": _seeded,
    "randn_like": _seeded,
    "nn.functional.dropout": _seeded,
}
