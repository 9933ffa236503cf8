"""Element types, and `Tensor[...]` for annotations and for types without an array."""

from __future__ import annotations

from typing import Any

from .errors import ArgumentError


class DType:
    """An element type. `code` is its number in the runtime; None: no target supports it yet."""

    __slots__ = ("name", "code", "numpy_name", "itemsize")

    def __init__(self, name: str, code: int | None, numpy_name: str | None, itemsize: float):
        self.name = name
        self.code = code
        self.numpy_name = numpy_name
        self.itemsize = itemsize

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return _dtype_named, (self.name,)


fp64 = DType("fp64", 0, "float64", 8)
fp32 = DType("fp32", 1, "float32", 4)
bf16 = DType("bf16", 2, None, 2)
fp16 = DType("fp16", 3, "float16", 2)
int64 = DType("int64", 4, "int64", 8)
int32 = DType("int32", 5, "int32", 4)
int16 = DType("int16", 6, "int16", 2)
int8 = DType("int8", 7, "int8", 1)
uint8 = DType("uint8", 8, "uint8", 1)
bool_ = DType("bool", 9, "bool", 1)
tf32 = DType("tf32", None, None, 4)
fp8_e4m3 = DType("fp8_e4m3", 10, None, 1)
fp8_e5m2 = DType("fp8_e5m2", 11, None, 1)
fp6_e2m3 = DType("fp6_e2m3", None, None, 0.75)
fp6_e3m2 = DType("fp6_e3m2", None, None, 0.75)
fp4_e2m1 = DType("fp4_e2m1", None, None, 0.5)

#: By the runtime's number.
DTYPES = (
    fp64, fp32, bf16, fp16, int64, int32, int16, int8, uint8, bool_, fp8_e4m3, fp8_e5m2,
)  # fmt: skip
ALL_DTYPES = DTYPES + (tf32, fp6_e2m3, fp6_e3m2, fp4_e2m1)

#: PyTorch's and ml_dtypes' names of the types that NumPy itself lacks.
EXTENSION_NAMES = {bf16: "bfloat16", fp8_e4m3: "float8_e4m3fn", fp8_e5m2: "float8_e5m2"}

#: The language's names, and NumPy's, PyTorch's and ml_dtypes' of the same types.
BY_NAME = {dtype.name: dtype for dtype in ALL_DTYPES}
BY_NAME.update({dtype.numpy_name: dtype for dtype in DTYPES if dtype.numpy_name})
BY_NAME.update({name: dtype for dtype, name in EXTENSION_NAMES.items()})


def _dtype_named(name: str) -> DType:
    return BY_NAME[name]


class TensorType:
    """The value of `Tensor["B", 128, fp16]`: dimensions (names, sizes), and an element type or
    None."""

    __slots__ = ("dims", "dtype")

    def __init__(self, dims: tuple, dtype: DType | None):
        self.dims = dims
        self.dtype = dtype

    def __repr__(self) -> str:
        items = [repr(dim) for dim in self.dims] + ([self.dtype.name] if self.dtype else [])
        return f"Tensor[{', '.join(items)}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and (self.dims, self.dtype) == (
            other.dims,
            other.dtype,
        )

    def __hash__(self) -> int:
        return hash((self.dims, self.dtype))


class Tensor:
    """`Tensor["B", 64, fp16]`: strings are symbolic sizes, a type may come last."""

    def __new__(cls, *_: Any, **__: Any) -> Tensor:
        raise ArgumentError(
            "Tensor is an annotation, it is written Tensor[...]; pass arrays to functions"
        )

    def __class_getitem__(cls, items: Any) -> TensorType:
        if not isinstance(items, tuple):
            items = (items,)
        dtype = None
        if items and isinstance(items[-1], DType):
            *dims, dtype = items
            items = tuple(dims)
        for position, dim in enumerate(items):
            if isinstance(dim, DType):
                raise ArgumentError("Tensor[...]: the element type comes last")
            if isinstance(dim, str):
                if dim.startswith("*") and position != 0:
                    raise ArgumentError(
                        f"Tensor[...]: '{dim}' stands for leading dimensions and comes first"
                    )
                if not dim.removeprefix("*").isidentifier():
                    raise ArgumentError(f"Tensor[...]: expected a name, found '{dim}'")
            elif isinstance(dim, bool) or not isinstance(dim, int) or dim < 0:
                raise ArgumentError(f"Tensor[...]: expected a name or a size, found {dim!r}")
        return TensorType(items, dtype)


class Privilege(str):
    """The privileges of a function on an argument: `read`, `write`, `reduce_sum`, `read |
    write`."""

    __slots__ = ()

    def __or__(self, other: str) -> Privilege:
        words = [word.strip() for word in f"{self}|{other}".split("|")]
        return Privilege("|".join(dict.fromkeys(words)))

    __ror__ = __or__


read = Privilege("read")
write = Privilege("write")
reduce_sum = Privilege("reduce_sum")


class RegionType:
    """The value of `Region[read, "B", 128, fp16]`: privileges, and the tensor type."""

    __slots__ = ("privileges", "tensor")

    def __init__(self, privileges: frozenset, tensor: TensorType):
        self.privileges = privileges
        self.tensor = tensor

    @property
    def is_written(self) -> bool:
        return bool(self.privileges & {"write", "reduce_sum"})

    @property
    def is_read(self) -> bool:
        return bool(self.privileges & {"read", "reduce_sum"})

    def __repr__(self) -> str:
        privileges = " | ".join(
            one for one in ("read", "write", "reduce_sum") if one in self.privileges
        )
        inner = repr(self.tensor)[len("Tensor[") : -1]
        return f"Region[{privileges}{', ' if inner else ''}{inner}]"


class Region:
    """`Region[read, "B", 64, fp16]`: a tensor, and the privileges of the function on it."""

    def __new__(cls, *_: Any, **__: Any) -> Region:
        raise ArgumentError("Region is an annotation, it is written Region[...]")

    def __class_getitem__(cls, items: Any) -> RegionType:
        first, *rest = items if isinstance(items, tuple) else (items,)
        words = {word.strip() for word in first.split("|")} if isinstance(first, str) else set()
        if not words or words - {read, write, reduce_sum}:
            raise ArgumentError(
                f"Region[...]: expected read, write or reduce_sum first, found {first!r}"
            )
        if len(rest) == 1 and isinstance(rest[0], TensorType):
            return RegionType(frozenset(words), rest[0])
        return RegionType(frozenset(words), Tensor.__class_getitem__(tuple(rest)))
