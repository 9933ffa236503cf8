"""Types of the package, its operations among them.

Written by utils/stubs.py from the compiler's entries."""

# Tensors have methods of these names.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, overload

from .compiled import Compiled as Compiled
from .errors import (
    ArgumentError as ArgumentError,
    CompileError as CompileError,
    DeviceError as DeviceError,
    Diagnostic as Diagnostic,
    FixIt as FixIt,
    OutOfMemoryError as OutOfMemoryError,
    OutOfRangeError as OutOfRangeError,
    TesseraError as TesseraError,
)
from .function import Function as Function
from .options import Numerics
from .options import accum as accum
from .options import numerics as numerics
from .types import DType as DType
from .types import Region as Region
from .types import TensorType as TensorType
from .types import read as read
from .types import reduce_sum as reduce_sum
from .types import write as write

__version__: str
inf: _float
nan: _float
pi: _float
e: _float

Operand: TypeAlias = "Tensor | _float | _bool"
Dims: TypeAlias = _int | Sequence[_int]
Sizes: TypeAlias = _int | Sequence[_int]

# Element types.
fp64: DType
fp32: DType
bf16: DType
fp16: DType
int64: DType
int32: DType
int16: DType
int8: DType
uint8: DType
fp8_e4m3: DType
fp8_e5m2: DType
tf32: DType
fp6_e2m3: DType
fp6_e3m2: DType
fp4_e2m1: DType
float64: DType
float32: DType
float16: DType
bfloat16: DType
float8_e4m3fn: DType
float8_e5m2: DType

class Tensor:
    """A tensor inside a function, and `Tensor["B", 64, fp16]` in its annotations."""

    def __class_getitem__(cls, items: Any) -> TensorType: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __add__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __pow__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    @property
    def T(self) -> Tensor:
        """all dimensions reversed"""

    def abs(self) -> Tensor:
        """absolute value"""

    def absolute(self) -> Tensor:
        """absolute value"""

    def acos(self) -> Tensor:
        """inverse cosine"""

    def add(self, y: Operand, *, alpha: _float = ...) -> Tensor:
        """x + y (or of bools)"""

    def all(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """whether all elements are non-zero"""

    def amax(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """largest element"""

    def amin(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """smallest element"""

    def any(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """whether some element is non-zero"""

    def arccos(self) -> Tensor:
        """inverse cosine"""

    def arcsin(self) -> Tensor:
        """inverse sine"""

    def arctan(self) -> Tensor:
        """inverse tangent"""

    def arctan2(self, y: Operand) -> Tensor:
        """angle of the point (y, x), first operand is the ordinate"""

    def argmax(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """index of the largest element"""

    def argmin(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """index of the smallest element"""

    def argsort(self, dim: Dims = ..., descending: _bool = ..., stable: _bool = ..., *, axis: Dims | None = ...) -> Tensor:
        """the indices that sort the elements"""

    def asin(self) -> Tensor:
        """inverse sine"""

    def astype(self, dtype: DType) -> Tensor:
        """as `to`"""

    def atan(self) -> Tensor:
        """inverse tangent"""

    def atan2(self, y: Operand) -> Tensor:
        """angle of the point (y, x), first operand is the ordinate"""

    def bfloat16(self) -> Tensor:
        """x converted to this element type"""

    def bitwise_and(self, y: Operand) -> Tensor:
        """x & y"""

    def bitwise_left_shift(self, y: Operand) -> Tensor:
        """x << y"""

    def bitwise_not(self) -> Tensor:
        """~x (logical for bools)"""

    def bitwise_or(self, y: Operand) -> Tensor:
        """x | y"""

    def bitwise_right_shift(self, y: Operand) -> Tensor:
        """x >> y, with the sign"""

    def bitwise_xor(self, y: Operand) -> Tensor:
        """x ^ y"""

    def bmm(self, y: Operand) -> Tensor:
        """matrix product of batches"""

    def bool(self) -> Tensor:
        """x converted to this element type"""

    def broadcast_to(self, *shape: Sizes) -> Tensor:
        """dimensions of size 1 repeated"""

    def ceil(self) -> Tensor:
        """smallest integer not below x"""

    def chunk(self, chunks: _int, dim: Dims = ..., *, axis: Dims | None = ...) -> tuple[Tensor, ...]:
        """so many parts"""

    def clamp(self, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
        """x limited to [min, max]"""

    def clip(self, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
        """x limited to [min, max]"""

    def clone(self) -> Tensor:
        """x itself: tensors are values"""

    def contiguous(self) -> Tensor:
        """x itself: layouts are the compiler's"""

    def cos(self) -> Tensor:
        """cosine"""

    def cosh(self) -> Tensor:
        """hyperbolic cosine"""

    def cumprod(self, dim: Dims = ..., *, dtype: DType | None = ..., axis: Dims | None = ...) -> Tensor:
        """products of all elements up to each"""

    def cumsum(self, dim: Dims = ..., *, dtype: DType | None = ..., axis: Dims | None = ...) -> Tensor:
        """sums of all elements up to each"""

    def detach(self) -> Tensor:
        """x itself: there are no gradients"""

    def dim(self) -> _int:
        """the number of dimensions"""

    def div(self, y: Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """x / y; integers are divided in fp32"""

    def divide(self, y: Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """x / y; integers are divided in fp32"""

    def dot(self, y: Operand) -> Tensor:
        """inner product of vectors"""

    def double(self) -> Tensor:
        """x converted to this element type"""

    @property
    def dtype(self) -> DType:
        """the element type"""

    def elu(self, alpha: _float = ...) -> Tensor:
        """x where positive, else alpha * expm1(x)"""

    def eq(self, y: Operand) -> Tensor:
        """x == y"""

    def erf(self) -> Tensor:
        """error function"""

    def erfc(self) -> Tensor:
        """1 - erf(x), accurate for large x"""

    def exp(self) -> Tensor:
        """e raised to x"""

    def exp2(self) -> Tensor:
        """2 raised to x"""

    def expand(self, *shape: Sizes) -> Tensor:
        """dimensions of size 1 repeated; -1 keeps a size"""

    def expand_as(self, y: Operand) -> Tensor:
        """x repeated to the shape of y"""

    def expm1(self) -> Tensor:
        """exp(x) - 1, accurate near 0"""

    def fix(self) -> Tensor:
        """x without its fraction"""

    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """dimensions merged into one"""

    def flip(self, *dims: Sizes) -> Tensor:
        """elements in reverse order"""

    def float(self) -> Tensor:
        """x converted to this element type"""

    def floor(self) -> Tensor:
        """largest integer not above x"""

    def floor_divide(self, y: Operand) -> Tensor:
        """largest integer not above x / y"""

    def fmod(self, y: Operand) -> Tensor:
        """x - trunc(x / y) * y: the sign is x's"""

    def gather(self, dim: Dims = ..., index: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
        """elements of x along a dimension, at indices of the result's shape"""

    def ge(self, y: Operand) -> Tensor:
        """x >= y"""

    def gelu(self, approximate: str = ...) -> Tensor:
        """x times the normal distribution function of x"""

    def ger(self, y: Operand) -> Tensor:
        """as outer"""

    def greater(self, y: Operand) -> Tensor:
        """x > y"""

    def greater_equal(self, y: Operand) -> Tensor:
        """x >= y"""

    def gt(self, y: Operand) -> Tensor:
        """x > y"""

    def half(self) -> Tensor:
        """x converted to this element type"""

    def hardsigmoid(self) -> Tensor:
        """x / 6 + 1/2 limited to [0, 1]"""

    def hardswish(self) -> Tensor:
        """x * hardsigmoid(x)"""

    def index_select(self, dim: Dims = ..., index: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
        """slices of x along a dimension"""

    def int(self) -> Tensor:
        """x converted to this element type"""

    def isfinite(self) -> Tensor:
        """whether x is neither infinite nor nan"""

    def isinf(self) -> Tensor:
        """whether x is inf or -inf"""

    def isnan(self) -> Tensor:
        """whether x is nan"""

    def le(self, y: Operand) -> Tensor:
        """x <= y"""

    def leaky_relu(self, negative_slope: _float = ...) -> Tensor:
        """x, times the slope where negative"""

    def lerp(self, y: Operand, weight: Operand) -> Tensor:
        """x + weight * (y - x)"""

    def less(self, y: Operand) -> Tensor:
        """x < y"""

    def less_equal(self, y: Operand) -> Tensor:
        """x <= y"""

    def log(self) -> Tensor:
        """natural logarithm"""

    def log1p(self) -> Tensor:
        """log(1 + x), accurate near 0"""

    def log2(self) -> Tensor:
        """logarithm to base 2"""

    def log_softmax(self, dim: Dims = ..., dtype: DType | None = ..., *, axis: Dims | None = ...) -> Tensor:
        """logarithm of the softmax"""

    def logical_and(self, y: Operand) -> Tensor:
        """both are non-zero"""

    def logical_not(self) -> Tensor:
        """x is zero"""

    def logical_or(self, y: Operand) -> Tensor:
        """one of them is non-zero"""

    def logical_xor(self, y: Operand) -> Tensor:
        """just one of them is non-zero"""

    def logsumexp(self, dim: Dims = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """log of the sum of exponentials"""

    def long(self) -> Tensor:
        """x converted to this element type"""

    def lt(self, y: Operand) -> Tensor:
        """x < y"""

    @property
    def mT(self) -> Tensor:
        """the last two dimensions swapped"""

    def matmul(self, y: Operand) -> Tensor:
        """matrix product, batched and broadcast"""

    def max(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Any:
        """largest element; with dim, values and indices"""

    def maximum(self, y: Operand) -> Tensor:
        """the larger; nan if either is nan"""

    def mean(self, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """mean of elements"""

    def min(self, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Any:
        """smallest element; with dim, values and indices"""

    def minimum(self, y: Operand) -> Tensor:
        """the smaller; nan if either is nan"""

    def mish(self) -> Tensor:
        """x * tanh(softplus(x))"""

    def mm(self, y: Operand) -> Tensor:
        """matrix product"""

    def mul(self, y: Operand) -> Tensor:
        """x * y (and of bools)"""

    def multiply(self, y: Operand) -> Tensor:
        """x * y (and of bools)"""

    @property
    def ndim(self) -> _int:
        """the number of dimensions"""

    def ne(self, y: Operand) -> Tensor:
        """x != y"""

    def neg(self) -> Tensor:
        """-x"""

    def negative(self) -> Tensor:
        """-x"""

    def norm(self, p: _float = ..., dim: Dims | None = ..., keepdim: _bool = ..., dtype: DType | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """the p-norm of the elements: sum(|x|^p)^(1/p)"""

    def not_equal(self, y: Operand) -> Tensor:
        """x != y"""

    def numel(self) -> _int:
        """the number of elements"""

    def outer(self, y: Operand) -> Tensor:
        """all products of two vectors' elements"""

    def pad(self, pad: Sizes, mode: str = ..., value: Operand | None = ...) -> Tensor:
        """the last dimensions extended: by a constant, 'reflect', 'replicate' or 'circular'"""

    def permute(self, *dims: Sizes) -> Tensor:
        """dimensions in another order"""

    def pow(self, y: Operand) -> Tensor:
        """x raised to y"""

    def prod(self, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """product of elements"""

    def reciprocal(self) -> Tensor:
        """1 / x"""

    def relu(self) -> Tensor:
        """max(x, 0)"""

    def remainder(self, y: Operand) -> Tensor:
        """x - floor(x / y) * y: the sign is y's"""

    def repeat(self, *counts: Sizes) -> Tensor:
        """copies along each dimension"""

    def reshape(self, *shape: Sizes) -> Tensor:
        """the same elements in another shape; one size may be -1"""

    def roll(self, shifts: Sizes, dims: Sizes | None = ...) -> Tensor:
        """elements moved along dimensions, around their ends"""

    def round(self, *, decimals: _int = ...) -> Tensor:
        """nearest integer, ties to even"""

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)"""

    def scatter_add(self, dim: Dims = ..., index: Operand = ..., src: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
        """x with elements of src added at indices along a dimension, in their order"""

    def selu(self) -> Tensor:
        """the self-normalising elu"""

    @property
    def shape(self) -> tuple[_int, ...]:
        """the sizes as a tuple"""

    def short(self) -> Tensor:
        """x converted to this element type"""

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))"""

    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for nan"""

    def silu(self) -> Tensor:
        """x * sigmoid(x)"""

    def sin(self) -> Tensor:
        """sine"""

    def sinh(self) -> Tensor:
        """hyperbolic sine"""

    def size(self, dim: Dims | None = ..., *, axis: Dims | None = ...) -> Any:
        """a size, or all as a tuple"""

    def softmax(self, dim: Dims = ..., safe: _bool = ..., dtype: DType | None = ..., *, axis: Dims | None = ...) -> Tensor:
        """exponentials divided by their sum; safe gives zeros for rows of -inf"""

    def softplus(self, beta: _float = ..., threshold: _float = ...) -> Tensor:
        """log(1 + exp(beta * x)) / beta, linear above a threshold"""

    def sort(self, dim: Dims = ..., descending: _bool = ..., stable: _bool = ..., *, axis: Dims | None = ...) -> Any:
        """values in order and their indices; equal elements keep their order, nan is the largest"""

    def split(self, sizes: Sizes, dim: Dims = ..., *, axis: Dims | None = ...) -> tuple[Tensor, ...]:
        """parts of a size, or of the sizes given"""

    def sqrt(self) -> Tensor:
        """square root"""

    def square(self) -> Tensor:
        """x * x"""

    def squeeze(self, dim: Dims | None = ..., *, axis: Dims | None = ...) -> Tensor:
        """dimensions of size 1 removed"""

    def std(self, dim: Dims | None = ..., correction: _float = ..., keepdim: _bool = ..., unbiased: _bool | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """standard deviation of elements"""

    def sub(self, y: Operand, *, alpha: _float = ...) -> Tensor:
        """x - y"""

    def subtract(self, y: Operand, *, alpha: _float = ...) -> Tensor:
        """x - y"""

    def sum(self, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """sum of elements"""

    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """two dimensions swapped"""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """two dimensions swapped"""

    def take(self, index: Operand, dim: Dims | None = ..., *, axis: Dims | None = ...) -> Tensor:
        """elements of x as if it had one dimension, or slices along dim; indices below 0 count from the end"""

    def tan(self) -> Tensor:
        """tangent"""

    def tanh(self) -> Tensor:
        """hyperbolic tangent"""

    def to(self, dtype: DType) -> Tensor:
        """x converted to another element type, rounded"""

    def topk(self, k: _int, dim: Dims = ..., largest: _bool = ..., sorted: _bool = ..., *, axis: Dims | None = ...) -> Any:
        """the k largest (or smallest) elements in order, and their indices"""

    def transpose(self, dim0: _int | None = ..., dim1: _int | None = ...) -> Tensor:
        """two dimensions swapped"""

    def tril(self, diagonal: _int = ...) -> Tensor:
        """zeros above a diagonal"""

    def triu(self, diagonal: _int = ...) -> Tensor:
        """zeros below a diagonal"""

    def true_divide(self, y: Operand) -> Tensor:
        """x / y; integers are divided in fp32"""

    def trunc(self) -> Tensor:
        """x without its fraction"""

    def unsqueeze(self, dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
        """a new dimension of size 1"""

    def var(self, dim: Dims | None = ..., correction: _float = ..., keepdim: _bool = ..., unbiased: _bool | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
        """variance of elements"""

    def view(self, *shape: Sizes) -> Tensor:
        """as reshape"""

    def where(self, condition: Operand, y: Operand) -> Tensor:
        """x where the condition holds, else y"""

@overload
def function(target_function: Callable[..., Any], /) -> Function: ...
@overload
def function(
    *,
    target: str | None = None,
    numerics: str | Numerics = ...,
    matmul: str = ...,
    fast_math: _bool = ...,
    deterministic: _bool = ...,
    batch_invariant: _bool = ...,
    accum: DType = ...,
    via: str = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
def load(path: str | PathLike[str]) -> Any: ...
def set_num_threads(count: _int) -> None: ...
def get_num_threads() -> _int: ...
def metrics() -> dict[str, _int]: ...
def metrics_text() -> str: ...
def devices() -> list[dict[str, Any]]: ...

# Operations.
def abs(x: Operand) -> Tensor:
    """absolute value"""

def absolute(x: Operand) -> Tensor:
    """absolute value"""

def acos(x: Operand) -> Tensor:
    """inverse cosine"""

def add(x: Operand, y: Operand, *, alpha: _float = ...) -> Tensor:
    """x + y (or of bools)"""

def all(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """whether all elements are non-zero"""

def amax(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """largest element"""

def amin(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """smallest element"""

def any(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """whether some element is non-zero"""

def arange(start: Operand, end: Operand | None = ..., step: Operand = ..., dtype: DType | None = ...) -> Tensor:
    """equally spaced numbers"""

def arccos(x: Operand) -> Tensor:
    """inverse cosine"""

def arcsin(x: Operand) -> Tensor:
    """inverse sine"""

def arctan(x: Operand) -> Tensor:
    """inverse tangent"""

def arctan2(x: Operand, y: Operand) -> Tensor:
    """angle of the point (y, x), first operand is the ordinate"""

def argmax(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """index of the largest element"""

def argmin(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """index of the smallest element"""

def argsort(x: Operand, dim: Dims = ..., descending: _bool = ..., stable: _bool = ..., *, axis: Dims | None = ...) -> Tensor:
    """the indices that sort the elements"""

def asin(x: Operand) -> Tensor:
    """inverse sine"""

def atan(x: Operand) -> Tensor:
    """inverse tangent"""

def atan2(x: Operand, y: Operand) -> Tensor:
    """angle of the point (y, x), first operand is the ordinate"""

def batch_norm(x: Operand, running_mean: Operand, running_var: Operand, weight: Operand | None = ..., bias: Operand | None = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """channels, dimension 1, shifted and scaled by their statistics"""

def bitwise_and(x: Operand, y: Operand) -> Tensor:
    """x & y"""

def bitwise_left_shift(x: Operand, y: Operand) -> Tensor:
    """x << y"""

def bitwise_not(x: Operand) -> Tensor:
    """~x (logical for bools)"""

def bitwise_or(x: Operand, y: Operand) -> Tensor:
    """x | y"""

def bitwise_right_shift(x: Operand, y: Operand) -> Tensor:
    """x >> y, with the sign"""

def bitwise_xor(x: Operand, y: Operand) -> Tensor:
    """x ^ y"""

def bmm(x: Operand, y: Operand) -> Tensor:
    """matrix product of batches"""

def broadcast_to(x: Operand, *shape: Sizes) -> Tensor:
    """dimensions of size 1 repeated"""

def cat(tensors: Sequence[Tensor], dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
    """as concat"""

def ceil(x: Operand) -> Tensor:
    """smallest integer not below x"""

def chunk(x: Operand, chunks: _int, dim: Dims = ..., *, axis: Dims | None = ...) -> tuple[Tensor, ...]:
    """so many parts"""

def clamp(x: Operand, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
    """x limited to [min, max]"""

def clip(x: Operand, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
    """x limited to [min, max]"""

def concat(tensors: Sequence[Tensor], dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
    """tensors joined along a dimension"""

def concatenate(tensors: Sequence[Tensor], dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
    """as concat"""

def cos(x: Operand) -> Tensor:
    """cosine"""

def cosh(x: Operand) -> Tensor:
    """hyperbolic cosine"""

def cross_entropy(x: Operand, target: Operand, weight: Operand | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ...) -> Tensor:
    """-log(softmax(x)[class]) along dimension 1; targets are class indices or probabilities"""

def cumprod(x: Operand, dim: Dims = ..., *, dtype: DType | None = ..., axis: Dims | None = ...) -> Tensor:
    """products of all elements up to each"""

def cumsum(x: Operand, dim: Dims = ..., *, dtype: DType | None = ..., axis: Dims | None = ...) -> Tensor:
    """sums of all elements up to each"""

def div(x: Operand, y: Operand, *, rounding_mode: str | None = ...) -> Tensor:
    """x / y; integers are divided in fp32"""

def divide(x: Operand, y: Operand, *, rounding_mode: str | None = ...) -> Tensor:
    """x / y; integers are divided in fp32"""

def dot(x: Operand, y: Operand) -> Tensor:
    """inner product of vectors"""

def dropout(x: Operand, p: _float = ..., training: _bool = ..., *, seed: _int) -> Tensor:
    """x / (1 - p) with probability 1 - p, else 0; the same elements for the same seed"""

def einsum(equation: str, *operands: Operand) -> Tensor:
    """sums of products by the names of dimensions: 'bik,bkj->bij'"""

def elu(x: Operand, alpha: _float = ...) -> Tensor:
    """x where positive, else alpha * expm1(x)"""

def embedding(x: Operand, weight: Operand, padding_idx: Any = ..., max_norm: Any = ..., norm_type: Any = ..., scale_grad_by_freq: Any = ..., sparse: Any = ...) -> Tensor:
    """rows of weight at the indices x, which may also stand behind it"""

def eq(x: Operand, y: Operand) -> Tensor:
    """x == y"""

def erf(x: Operand) -> Tensor:
    """error function"""

def erfc(x: Operand) -> Tensor:
    """1 - erf(x), accurate for large x"""

def exp(x: Operand) -> Tensor:
    """e raised to x"""

def exp2(x: Operand) -> Tensor:
    """2 raised to x"""

def expand(x: Operand, *shape: Sizes) -> Tensor:
    """dimensions of size 1 repeated; -1 keeps a size"""

def expand_as(x: Operand, y: Operand) -> Tensor:
    """x repeated to the shape of y"""

def expm1(x: Operand) -> Tensor:
    """exp(x) - 1, accurate near 0"""

def eye(n: _int, m: _int | None = ..., dtype: DType | None = ...) -> Tensor:
    """ones on the diagonal"""

def fix(x: Operand) -> Tensor:
    """x without its fraction"""

def flatten(x: Operand, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """dimensions merged into one"""

def flip(x: Operand, *dims: Sizes) -> Tensor:
    """elements in reverse order"""

def floor(x: Operand) -> Tensor:
    """largest integer not above x"""

def floor_divide(x: Operand, y: Operand) -> Tensor:
    """largest integer not above x / y"""

def fmod(x: Operand, y: Operand) -> Tensor:
    """x - trunc(x / y) * y: the sign is x's"""

def full(shape: Sizes, value: Operand, dtype: DType | None = ...) -> Tensor:
    """one number everywhere"""

def full_like(x: Operand, value: Operand, dtype: DType | None = ...) -> Tensor:
    """one number in the shape of x"""

def gather(x: Operand, dim: Dims = ..., index: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
    """elements of x along a dimension, at indices of the result's shape"""

def ge(x: Operand, y: Operand) -> Tensor:
    """x >= y"""

def gelu(x: Operand, approximate: str = ...) -> Tensor:
    """x times the normal distribution function of x"""

def ger(x: Operand, y: Operand) -> Tensor:
    """as outer"""

def greater(x: Operand, y: Operand) -> Tensor:
    """x > y"""

def greater_equal(x: Operand, y: Operand) -> Tensor:
    """x >= y"""

def group_norm(x: Operand, num_groups: _int, weight: Operand | None = ..., bias: Operand | None = ..., eps: _float = ...) -> Tensor:
    """groups of channels, dimension 1, shifted to mean 0, scaled to variance 1"""

def gt(x: Operand, y: Operand) -> Tensor:
    """x > y"""

def hardsigmoid(x: Operand) -> Tensor:
    """x / 6 + 1/2 limited to [0, 1]"""

def hardswish(x: Operand) -> Tensor:
    """x * hardsigmoid(x)"""

def index_select(x: Operand, dim: Dims = ..., index: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
    """slices of x along a dimension"""

def iota(shape: Sizes, dim: Dims = ..., dtype: DType | None = ..., *, axis: Dims | None = ...) -> Tensor:
    """the index along a dimension"""

def isfinite(x: Operand) -> Tensor:
    """whether x is neither infinite nor nan"""

def isinf(x: Operand) -> Tensor:
    """whether x is inf or -inf"""

def isnan(x: Operand) -> Tensor:
    """whether x is nan"""

def layer_norm(x: Operand, normalized_shape: Sizes | None = ..., weight: Operand | None = ..., bias: Operand | None = ..., eps: _float = ...) -> Tensor:
    """the last dimensions shifted to mean 0, scaled to variance 1"""

def le(x: Operand, y: Operand) -> Tensor:
    """x <= y"""

def leaky_relu(x: Operand, negative_slope: _float = ...) -> Tensor:
    """x, times the slope where negative"""

def lerp(x: Operand, y: Operand, weight: Operand) -> Tensor:
    """x + weight * (y - x)"""

def less(x: Operand, y: Operand) -> Tensor:
    """x < y"""

def less_equal(x: Operand, y: Operand) -> Tensor:
    """x <= y"""

def linear(x: Operand, weight: Operand, bias: Operand | None = ...) -> Tensor:
    """x @ weight.T + bias"""

def log(x: Operand) -> Tensor:
    """natural logarithm"""

def log1p(x: Operand) -> Tensor:
    """log(1 + x), accurate near 0"""

def log2(x: Operand) -> Tensor:
    """logarithm to base 2"""

def log_softmax(x: Operand, dim: Dims = ..., dtype: DType | None = ..., *, axis: Dims | None = ...) -> Tensor:
    """logarithm of the softmax"""

def logical_and(x: Operand, y: Operand) -> Tensor:
    """both are non-zero"""

def logical_not(x: Operand) -> Tensor:
    """x is zero"""

def logical_or(x: Operand, y: Operand) -> Tensor:
    """one of them is non-zero"""

def logical_xor(x: Operand, y: Operand) -> Tensor:
    """just one of them is non-zero"""

def logsumexp(x: Operand, dim: Dims = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """log of the sum of exponentials"""

def lt(x: Operand, y: Operand) -> Tensor:
    """x < y"""

def matmul(x: Operand, y: Operand) -> Tensor:
    """matrix product, batched and broadcast"""

def max(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Any:
    """largest element; with dim, values and indices"""

def maximum(x: Operand, y: Operand) -> Tensor:
    """the larger; nan if either is nan"""

def mean(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """mean of elements"""

def min(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Any:
    """smallest element; with dim, values and indices"""

def minimum(x: Operand, y: Operand) -> Tensor:
    """the smaller; nan if either is nan"""

def mish(x: Operand) -> Tensor:
    """x * tanh(softplus(x))"""

def mm(x: Operand, y: Operand) -> Tensor:
    """matrix product"""

def mse_loss(x: Operand, target: Operand, reduction: str = ..., weight: Operand | None = ...) -> Tensor:
    """mean of squared differences"""

def mul(x: Operand, y: Operand) -> Tensor:
    """x * y (and of bools)"""

def multiply(x: Operand, y: Operand) -> Tensor:
    """x * y (and of bools)"""

def ne(x: Operand, y: Operand) -> Tensor:
    """x != y"""

def neg(x: Operand) -> Tensor:
    """-x"""

def negative(x: Operand) -> Tensor:
    """-x"""

def norm(x: Operand, p: _float = ..., dim: Dims | None = ..., keepdim: _bool = ..., dtype: DType | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """the p-norm of the elements: sum(|x|^p)^(1/p)"""

def not_equal(x: Operand, y: Operand) -> Tensor:
    """x != y"""

def one_hot(x: Operand, num_classes: _int = ...) -> Tensor:
    """1 at the index's position along a new last dimension, else 0"""

def ones(shape: Sizes, dtype: DType | None = ...) -> Tensor:
    """ones"""

def ones_like(x: Operand, dtype: DType | None = ...) -> Tensor:
    """ones in the shape and type of x"""

def outer(x: Operand, y: Operand) -> Tensor:
    """all products of two vectors' elements"""

def pad(x: Operand, pad: Sizes, mode: str = ..., value: Operand | None = ...) -> Tensor:
    """the last dimensions extended: by a constant, 'reflect', 'replicate' or 'circular'"""

def permute(x: Operand, *dims: Sizes) -> Tensor:
    """dimensions in another order"""

def pow(x: Operand, y: Operand) -> Tensor:
    """x raised to y"""

def print(*items: Any) -> None:
    """prints tensors when the function has run; strings in front of them are their labels"""

def prod(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """product of elements"""

def rand(shape: Sizes, seed: _int, dtype: DType | None = ...) -> Tensor:
    """uniform random numbers in [0, 1): element n is the same function of n and seed everywhere"""

def rand_like(x: Operand, seed: _int, dtype: DType | None = ...) -> Tensor:
    """uniform random numbers in the shape and type of x"""

def randn(shape: Sizes, seed: _int, dtype: DType | None = ...) -> Tensor:
    """normal random numbers with mean 0 and variance 1"""

def randn_like(x: Operand, seed: _int, dtype: DType | None = ...) -> Tensor:
    """normal random numbers in the shape and type of x"""

def reciprocal(x: Operand) -> Tensor:
    """1 / x"""

def relu(x: Operand) -> Tensor:
    """max(x, 0)"""

def remainder(x: Operand, y: Operand) -> Tensor:
    """x - floor(x / y) * y: the sign is y's"""

def repeat(x: Operand, *counts: Sizes) -> Tensor:
    """copies along each dimension"""

def reshape(x: Operand, *shape: Sizes) -> Tensor:
    """the same elements in another shape; one size may be -1"""

def rms_norm(x: Operand, normalized_shape: Sizes | None = ..., weight: Operand | None = ..., eps: _float | None = ...) -> Tensor:
    """the last dimensions scaled to root mean square 1"""

def roll(x: Operand, shifts: Sizes, dims: Sizes | None = ...) -> Tensor:
    """elements moved along dimensions, around their ends"""

def round(x: Operand, *, decimals: _int = ...) -> Tensor:
    """nearest integer, ties to even"""

def rsqrt(x: Operand) -> Tensor:
    """1 / sqrt(x)"""

def scatter_add(x: Operand, dim: Dims = ..., index: Operand = ..., src: Operand = ..., *, axis: Dims | None = ...) -> Tensor:
    """x with elements of src added at indices along a dimension, in their order"""

def selu(x: Operand) -> Tensor:
    """the self-normalising elu"""

def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + exp(-x))"""

def sign(x: Operand) -> Tensor:
    """-1, 0 or 1; 0 for nan"""

def silu(x: Operand) -> Tensor:
    """x * sigmoid(x)"""

def sin(x: Operand) -> Tensor:
    """sine"""

def sinh(x: Operand) -> Tensor:
    """hyperbolic sine"""

def softmax(x: Operand, dim: Dims = ..., safe: _bool = ..., dtype: DType | None = ..., *, axis: Dims | None = ...) -> Tensor:
    """exponentials divided by their sum; safe gives zeros for rows of -inf"""

def softplus(x: Operand, beta: _float = ..., threshold: _float = ...) -> Tensor:
    """log(1 + exp(beta * x)) / beta, linear above a threshold"""

def sort(x: Operand, dim: Dims = ..., descending: _bool = ..., stable: _bool = ..., *, axis: Dims | None = ...) -> Any:
    """values in order and their indices; equal elements keep their order, nan is the largest"""

def split(x: Operand, sizes: Sizes, dim: Dims = ..., *, axis: Dims | None = ...) -> tuple[Tensor, ...]:
    """parts of a size, or of the sizes given"""

def sqrt(x: Operand) -> Tensor:
    """square root"""

def square(x: Operand) -> Tensor:
    """x * x"""

def squeeze(x: Operand, dim: Dims | None = ..., *, axis: Dims | None = ...) -> Tensor:
    """dimensions of size 1 removed"""

def stack(tensors: Sequence[Tensor], dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
    """tensors joined along a new dimension"""

def std(x: Operand, dim: Dims | None = ..., correction: _float = ..., keepdim: _bool = ..., unbiased: _bool | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """standard deviation of elements"""

def sub(x: Operand, y: Operand, *, alpha: _float = ...) -> Tensor:
    """x - y"""

def subtract(x: Operand, y: Operand, *, alpha: _float = ...) -> Tensor:
    """x - y"""

def sum(x: Operand, dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """sum of elements"""

def swapaxes(x: Operand, dim0: _int, dim1: _int) -> Tensor:
    """two dimensions swapped"""

def swapdims(x: Operand, dim0: _int, dim1: _int) -> Tensor:
    """two dimensions swapped"""

def take(x: Operand, index: Operand, dim: Dims | None = ..., *, axis: Dims | None = ...) -> Tensor:
    """elements of x as if it had one dimension, or slices along dim; indices below 0 count from the end"""

def tan(x: Operand) -> Tensor:
    """tangent"""

def tanh(x: Operand) -> Tensor:
    """hyperbolic tangent"""

def topk(x: Operand, k: _int, dim: Dims = ..., largest: _bool = ..., sorted: _bool = ..., *, axis: Dims | None = ...) -> Any:
    """the k largest (or smallest) elements in order, and their indices"""

def transpose(x: Operand, dim0: _int | None = ..., dim1: _int | None = ...) -> Tensor:
    """two dimensions swapped"""

def tril(x: Operand, diagonal: _int = ...) -> Tensor:
    """zeros above a diagonal"""

def triu(x: Operand, diagonal: _int = ...) -> Tensor:
    """zeros below a diagonal"""

def true_divide(x: Operand, y: Operand) -> Tensor:
    """x / y; integers are divided in fp32"""

def trunc(x: Operand) -> Tensor:
    """x without its fraction"""

def unsqueeze(x: Operand, dim: Dims = ..., *, axis: Dims | None = ...) -> Tensor:
    """a new dimension of size 1"""

def var(x: Operand, dim: Dims | None = ..., correction: _float = ..., keepdim: _bool = ..., unbiased: _bool | None = ..., *, axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """variance of elements"""

def vector_norm(x: Operand, ord: _float = ..., dim: Dims | None = ..., keepdim: _bool = ..., *, dtype: DType | None = ..., axis: Dims | None = ..., keepdims: _bool = ...) -> Tensor:
    """as norm"""

def view(x: Operand, *shape: Sizes) -> Tensor:
    """as reshape"""

def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """y where the condition holds, else z"""

def zeros(shape: Sizes, dtype: DType | None = ...) -> Tensor:
    """zeros"""

def zeros_like(x: Operand, dtype: DType | None = ...) -> Tensor:
    """zeros in the shape and type of x"""
