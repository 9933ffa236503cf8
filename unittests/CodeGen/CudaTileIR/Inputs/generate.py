"""Writes the bytecode files of this folder with NVIDIA's frontend, from kernels written here.

    pip install cuda-tile && python generate.py [FOLDER]

They are what our reader and writer are held against: another program's files, in every format that
it can write. The kernels compute nothing useful; together they use most operations.
"""

import linecache
import sys
from pathlib import Path

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

VERSIONS = ["13.1", "13.2", "13.3", "13.4"]
KERNELS = {}  # name: (kernel, parameters, first version)

# Locations name this file as if it stood in the root, wherever it is: the output stays the same.
PLACE = "/kernels.py"
SOURCE = Path(__file__).read_text()
linecache.cache[PLACE] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), PLACE)


def array(dtype, rank, constant_stride=True, divisor=1):
    strides = [None] * (rank - 1) + [1] if constant_stride and rank else None
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        stride_constant=strides,
        shape_divisible_by=divisor,
        base_addr_divisible_by=16 if divisor > 1 else 1,
    )


def entry(*parameters, first="13.1", **options):
    def add(function):
        function.__code__ = function.__code__.replace(co_filename=PLACE)
        KERNELS[function.__name__] = (ct.kernel(**options)(function), parameters, first)
        return function

    return add


@entry(array(ct.float32, 1, divisor=16), array(ct.float32, 1), array(ct.float32, 1))
def vector_add(x, y, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 256) + ct.load(y, i, 256))


@entry(
    array(ct.bfloat16, 2, divisor=8),
    array(ct.bfloat16, 2, divisor=8),
    array(ct.bfloat16, 2, divisor=8),
    num_ctas=ct.ByTarget(sm_90=2, default=1),
    occupancy=2,
)
def matmul(a, b, c):
    acc = ct.full((128, 64), 0, ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(128, 32))):
        x = ct.load(a, (ct.bid(1), k), (128, 32), padding_mode=ct.PaddingMode.ZERO, latency=3)
        y = ct.load(b, (k, ct.bid(0)), (32, 64), padding_mode=ct.PaddingMode.ZERO, allow_tma=False)
        acc = ct.mma(x, y, acc)
    ct.store(c, (ct.bid(1), ct.bid(0)), ct.astype(acc, ct.bfloat16))


@entry(array(ct.int8, 2), array(ct.int8, 2), array(ct.int32, 2))
def matmul_int(a, b, c):
    x, y = ct.load(a, (0, 0), (32, 32)), ct.load(b, (0, 0), (32, 32), order="F")
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((32, 32), ct.int32)))


@entry(array(ct.float32, 2), array(ct.float32, 2), array(ct.float64, 2), array(ct.int32, 1))
def rows(x, out, wide, best):
    t = ct.load(x, (ct.bid(0), 0), (4, 64), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), e / ct.sum(e, axis=1, keepdims=True))
    d = ct.astype(t, ct.float64)
    ct.store(wide, (ct.bid(0), 0), ct.cumsum(d, axis=1) + ct.max(d, axis=1, keepdims=True))
    ct.store(best, ct.bid(0), ct.argmax(t, axis=1))


@entry(array(ct.float32, 1), array(ct.float32, 1))
def functions(x, out):
    t = ct.load(x, ct.bid(0), 128)
    a = ct.sin(t) + ct.cos(t) * ct.tan(t) - ct.sinh(t) / ct.cosh(t)
    b = ct.exp2(ct.floor(t)) + ct.log2(ct.ceil(t)) + ct.log(ct.sqrt(t)) + ct.rsqrt(abs(t))
    c = ct.where(ct.isnan(a), ct.minimum(a, b), ct.maximum(a, -b)) ** t
    ct.store(out, ct.bid(0), ct.mod(c, 3.0) + ct.sub(a, b, rounding_mode=ct.RoundingMode.RZ))


@entry(array(ct.float32, 1), array(ct.float32, 1), first="13.3")
def functions_newer(x, out):
    t = ct.load(x, ct.bid(0), 128)
    a = ct.tanh(t, rounding_mode=ct.RoundingMode.APPROX)
    b = ct.exp(t, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, ct.bid(0), ct.atan2(a, b))


@entry(array(ct.int32, 1), array(ct.int64, 1), ScalarConstraint(ct.int32))
def integers(x, out, n):
    t = ct.load(x, ct.bid(0), 64)
    i = ct.arange(64, dtype=ct.int32)
    u = (t // (i + 1)) + (t % (i + 1)) + ((t << 2) ^ (t >> 1)) - (t & i | ~i)
    v = ct.where(t > n, ct.maximum(u, t), ct.minimum(u, -t))
    w = ct.astype(ct.cdiv(abs(v), 3), ct.int64) + ct.astype(ct.astype(v, ct.float32), ct.int64)
    ct.store(out, ct.bid(0), w + ct.astype(t == i, ct.int64))


@entry(array(ct.float32, 2), array(ct.float32, 2))
def shapes(x, out):
    t = ct.load(x, (0, 0), (8, 16))
    u = ct.reshape(ct.permute(t, (1, 0)), (8, 16))
    v = ct.cat((ct.extract(t, (0, 1), (8, 8)), ct.extract(u, (0, 0), (8, 8))), 1)
    w = ct.bitcast(ct.bitcast(v, ct.int32) + 1, ct.float32)
    ct.store(out, (0, 0), w + ct.broadcast_to(ct.sum(t, axis=0, keepdims=True), (8, 16)))


@entry(array(ct.float32, 2), array(ct.int32, 1), array(ct.float32, 1), array(ct.int32, 1))
def pointers(x, index, out, counts):
    i = ct.load(index, ct.bid(0), 32)
    t = ct.gather(x, (i, ct.arange(32, dtype=ct.int32)), padding_value=1.0)
    ct.scatter(out, i, t, mask=t > 0)
    ct.atomic_add(counts, i, 1)
    ct.atomic_max(counts, i, i, memory_order=ct.MemoryOrder.RELAXED)
    ct.atomic_cas(counts, i, 0, 1)
    ct.atomic_xchg(counts, i, 7)


@entry(array(ct.float32, 1), array(ct.float32, 1), ScalarConstraint(ct.int32))
def control(x, out, n):
    total = ct.zeros((16,), ct.float32)
    k = 0
    while k < n:
        t = ct.load(x, k, 16)
        if k % 2 == 0:
            total = total + t
        else:
            total = total * t
        if ct.max(total, axis=0) > 100.0:
            break
        k = k + 1
    for i in range(0, n, 2):
        total = total + ct.load(x, i, 16)
    ct.assert_(k <= n, "too far")
    ct.printf("%d\n", k)
    ct.store(out, 0, total)


@entry(array(ct.float8_e4m3fn, 2), array(ct.float8_e5m2, 2), array(ct.float32, 2), first="13.2")
def small_floats(a, b, c):
    x, y = ct.load(a, (0, 0), (32, 32)), ct.load(b, (0, 0), (32, 32))
    y = ct.astype(ct.astype(y, ct.float32), ct.float8_e4m3fn)
    z = ct.mma(x, y, ct.zeros((32, 32), ct.float32))
    ct.store(c, (0, 0), z + ct.astype(ct.astype(z, ct.tfloat32), ct.float32))


@entry(array(ct.float32, 1), array(ct.float32, 1), first="13.4")
def dependent(x, out):
    ct.grid_dependency_control_wait()
    t = ct.load(x, ct.bid(0), 64)
    ct.grid_dependency_control_launch_dependents()
    ct.store(out, ct.bid(0), t)


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    convention = CallingConvention.cutile_python_v1()
    failures = 0
    for name, (kernel, parameters, first) in KERNELS.items():
        for version in VERSIONS[VERSIONS.index(first) :]:
            signature = KernelSignature(parameters, convention, symbol=name)
            try:
                export_kernel(
                    kernel,
                    [signature],
                    folder / f"{name}-{version}.tileirbc",
                    gpu_code="sm_90",
                    output_format="tileir_bytecode",
                    bytecode_version=version,
                )
            except Exception as error:
                print(f"{name} {version}: {error}", file=sys.stderr)
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
