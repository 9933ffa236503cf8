"""The operations of the language, as names.

A program uses them inside `@tsr.function`, where the compiler gives them their meaning. Called from
Python they say so; as values they can be captured, aliased and imported like any other name.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import TesseraError


class Operation:
    """The name of an operation."""

    __slots__ = ("__name__",)

    def __init__(self, name: str):
        self.__name__ = name

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TesseraError(
            f"tsr.{self.__name__} is an operation of the language: "
            "call it inside a function that is decorated with @tsr.function"
        )

    def __repr__(self) -> str:
        return f"<operation tsr.{self.__name__}>"


NAMES = """
abs exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh sinh cosh asin acos atan
atan2 erf erfc floor ceil round trunc sign isnan isinf isfinite square pow maximum minimum fmod
remainder clamp where lerp relu leaky_relu elu selu sigmoid silu gelu mish softplus hardswish
hardsigmoid sum mean prod max min amax amin argmax argmin any all var std norm logsumexp softmax
log_softmax cumsum cumprod matmul bmm einsum outer dot linear layer_norm rms_norm group_norm
batch_norm cross_entropy mse_loss reshape view flatten transpose permute squeeze unsqueeze expand
broadcast_to repeat flip roll concat stack split chunk pad tril triu gather take index_select
scatter_add embedding one_hot sort topk iota arange full zeros ones zeros_like ones_like eye rand
randn dropout
add sub mul div floor_divide neg eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_not
bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor logical_not mm vector_norm
expand_as full_like
absolute arccos arcsin arctan arctan2 cat clip concatenate divide fix ger greater greater_equal less
less_equal multiply negative not_equal subtract swapaxes swapdims true_divide
""".split()

OPERATIONS = {name: Operation(name) for name in NAMES}
