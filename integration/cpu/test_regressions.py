"""Programs that were once compiled incorrectly or not at all, reduced."""

import platform
import time

import numpy as np
import pytest
from harness import check, define, has_bf16, numpy_dtype, random
from tessera import Tensor, fp32


def test_reshape_of_a_part_of_a_strided_argument():
    f = define(
        "def f(x):\n    return tsr.exp(x.transpose(0, 1)[1:].reshape(-1) + 1.0).reshape(x.shape[0], -1).sum(1)\n"
    )
    for layout in ("dense", "permuted", "stepped", "reversed"):
        check(f, random((6, 9, 4), layout=layout))


def test_reshape_of_a_transposed_reshape():
    f = define("""def f(x, y):
    a = (x * 2.0).reshape(x.shape[0] * x.shape[1], -1).T
    return a.reshape(-1) + y, tsr.concat([a.reshape(-1), y], dim=0)
""")
    for layout in ("dense", "permuted", "offset"):
        check(f, random((5, 7, 6), layout=layout), random((210,), seed=1))


def test_rows_between_loops_that_have_ended():
    """One kernel with a loop for the contraction and one for the stored rows: the bounds of the
    rows' accesses are computed in the first and needed between the two."""
    f = define("def f(x):\n    return tsr.log_softmax(x, dim=0), x @ x.T\n")
    for shape in ((2, 512), (8, 511), (5, 65)):
        check(f, random(shape))


@pytest.mark.parametrize(
    "body",
    [
        "tsr.softmax(x @ x.T, dim=-1) @ x",
        "tsr.log_softmax(x @ x.T, dim=-1) @ x",
        "tsr.softmax(x[:, None], dim=1).sum(-1)",
        "tsr.softmax(x.sum(-1, keepdim=True), dim=-1)",
        "tsr.softmax(tsr.logsumexp(x, dim=-1, keepdim=True), dim=-1)",
        "tsr.exp(x - x).sum(-1)",
        "(tsr.exp(x) / tsr.exp(x)).sum(-1)",
    ],
)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.0])
def test_what_cancels_may_be_infinite(body, value):
    f = define(f"def f(x):\n    return {body}\n")
    for shape in ((1, 700), (1, 5), (4, 9)):
        x = random(shape)
        x[0, 3] = value
        check(f, x)


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize(
    "body",
    [
        "tsr.var(x, dim=-1)",
        "(c * c * c).mean(-1)",
        "(c * c * c).mean(-1) / (c * c).mean(-1) ** 1.5",
    ],
)
def test_moments_of_rows_that_begin_far_out(body, dtype):
    f = define(f"def f(x):\n    c = x - x.mean(-1, keepdim=True)\n    return {body}\n")
    for columns in (1, 2, 3, 20, 1000):
        for offset in (0, 1000):
            for first in (3, 100):
                x = random((60, columns), dtype, low=-1, high=1) + np.array(
                    offset, dtype="f4" if dtype == "fp32" else "f8"
                )
                x[:, 0] += first
                check(f, x, nan=columns == 1)  # the moments of one number, less one or divided by 0


def test_moments_of_what_a_statistic_has_changed():
    """The element that moments are centred on belongs to the stream, and the statistic is not
    changed."""
    f = define("""def f(x):
    y = tsr.tanh(tsr.maximum(tsr.maximum(x, 0.5 * x).sum(-1, keepdim=True), x))
    return y.var(-1), tsr.layer_norm(y, (y.shape[-1],))
""")
    for shape in ((300, 2), (50, 7), (20, 300)):
        check(f, random(shape))


@pytest.mark.parametrize(
    "step",
    [
        "y * y + y",
        "tsr.log(y) + y",
        "tsr.exp(y + m) * y + m",
        "tsr.where(y > 0, y * m, y + m)",
        "y[::2] + y[1::2]",
        "(y.reshape(-1, 4) * 2.0).T.reshape(y.shape) + y",
        "tsr.exp(y - tsr.amax(y, dim=-1, keepdim=True)) / m",
        "y + y.mT",
    ],
)
def test_shared_values_compile_in_no_time(step):
    """A value that is used twice at every step must not be visited twice at every step."""
    for start in ("x", "m"):
        f = define(f"""def f(x: Tensor[4096, 4096, fp32]):
    m = tsr.sum(x, dim=-1, keepdim=True)
    y = {start} + 0.0 * x
    for i in range(10):
        y = {step}
    return tsr.sum(y * m[:1, :1], dim=-1)
""")
        begin = time.process_time()
        f.compile(Tensor[4096, 4096, fp32])
        assert time.process_time() - begin < 2


def test_stored_along_a_stream_that_it_does_not_depend_on():
    f = define("""def f(x: Tensor["A", "B", "A", "A", fp64]):
    a = tsr.maximum(x, tsr.sum(x, dim=-3, keepdim=True)).amax(dim=-1)
    return tsr.matmul(a, tsr.iota(x.shape, dim=3)), a
""")
    check(f, random((1, 16, 1, 1), "fp64"))


def test_reshapes_of_nothing():
    f = define(
        "def f(x):\n    return x.T.reshape(-1), tsr.concat([x, x], dim=1).reshape(-1, 1), x[:, ::2].sum(1)\n"
    )
    for shape in ((0, 5), (5, 0), (0, 0)):
        check(f, random(shape))


def test_infinite_element_beside_a_statistic():
    f = define(
        "def f(x):\n    return tsr.log_softmax(x, dim=1).sum(1), (x - x.amax(1, keepdim=True)).sum(1)\n"
    )
    for column in (0, 3, 299):
        x = random((4, 300)).copy()
        x[1, column] = -float("inf")
        check(f, x)


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_narrow_results_are_rounded_once(dtype):
    f = define("""def f(x):
    p = tsr.softmax(x, dim=-2)
    return tsr.mean(p[:, :(p.shape[1] + 1) // 2], dim=-2), tsr.sum(p * p.to(fp64), dim=-2)
""")
    check(f, random((40, 9, 9), dtype))


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_casts_from_double_round_once(dtype):
    f = define(f"def f(x):\n    return x.to({dtype}), (x * 3.0).to({dtype})\n")
    step = 2.0**-10 if dtype == "fp16" else 2.0**-7
    ties = (np.arange(1, 400) * step + step / 2) * (1 + np.asarray([[0.0], [1e-12], [-1e-12]]))
    check(f, np.concatenate([ties, -ties, ties * 1e-7, ties * 1e5]))


def test_one_sum_for_all_elements_is_computed_once():
    f = define("""def f(x, y):
    return tsr.where(y > 0, y, tsr.sigmoid(tsr.sum(tsr.sin(x), dim=(0, 1), keepdim=True)))
""")
    check(f, random((30, 50)), random((50, 60, 70), seed=1))
    assert f.inspect_ir("sched").count("sched.kernel") == 2


def test_integers_of_full_range():
    f = define("""def f(x: Tensor["A", "B", int64]):
    top = (x - x.sum(1, keepdim=True)).amax(1)
    return x + 9223372036854775807, tsr.where(x > 0, x, -9223372036854775808), x * 4611686018427387905, top
""")
    numbers = np.iinfo(np.int64)
    check(f, np.random.default_rng(0).integers(numbers.min, numbers.max, (7, 130), endpoint=True))


def test_fourth_moment_is_not_expanded():
    f = define("""def f(x):
    c = x - x.mean(-1, keepdim=True)
    return (c * c * c * c).mean(-1)
""")
    for seed in range(4):
        x = random((200, 20), seed=seed).copy()
        x[:, 0] *= 3
        check(f, x)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_tests_of_integers_are_zero_or_one(dtype):
    """An implicit conversion to bool is not a rounding that may be omitted."""
    f = define(
        "def f(x):\n    return tsr.logical_not(x).to(tsr.int32), tsr.all(x, dim=0), tsr.all(x[0]), tsr.any(x[0] * 1)\n"
    )
    check(f, np.array([5, 0, 3], dtype))


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 512), (300, 300), (513, 7), (3, 0), (4, 384), (869, 8)]
)
def test_masks_between_reduced_dimensions(shape):
    f = define("""def f(x):
    band = tsr.triu(tsr.tril(x, 2), -1)
    return tsr.sum(tsr.tril(x)), tsr.logsumexp(tsr.where(band != 0, x, -tsr.inf), dim=(0, 1)), tsr.sum(band * x, dim=(1, 0))
""")
    check(f, random(shape))


@pytest.mark.parametrize("layout", ["dense", "reversed", "transposed"])
def test_slices_from_a_quotient_of_sizes(layout):
    """The start of a slice is known before the kernel runs, unlike the divisor of a reshape."""
    f = define("""def f(x):
    n = x.shape[-1] // 2
    turned = tsr.concat((-x[:, n:], x[:, :n]), dim=-1)
    return turned * 2.0, tsr.flip(x[: x.shape[0] // 2], (0,)), x[x.shape[0] % 3 :].sum(0), x.reshape(x.shape[0] * x.shape[1])[n:]
""")
    for shape in ((4, 4), (7, 9), (300, 70)):
        x = random(shape)
        check(
            f,
            {"dense": x, "reversed": x[::-1, ::-1], "transposed": np.ascontiguousarray(x.T).T}[
                layout
            ],
        )


def test_products_of_repeated_elements():
    f = define("""def f(x, y, i):
    rows = tsr.broadcast_to(tsr.exp(0.1 * x), y.shape)
    return tsr.prod(tsr.cos(x.expand(x.shape[0], 3)), dim=1).sum(0), tsr.prod(rows, dim=1), tsr.prod(rows * tsr.exp(0.1 * y), dim=(0, 1)), \\
        tsr.prod(tsr.broadcast_to(i, y.shape), dim=1)
""")
    for rows, columns in ((4, 2), (5, 7), (3, 20)):
        check(
            f,
            random((rows, 1)),
            random((rows, columns), seed=1),
            np.arange(-2, rows - 2).reshape(rows, 1),
        )


@pytest.mark.parametrize(
    "dtype, least, most",
    [("fp64", -1074, 1023), ("fp32", -149, 127), ("bf16", -133, 127), ("fp16", -24, 15)],
)
def test_remainders_of_quotients_that_overflow(dtype, least, most):
    """4 / 2^-126 overflows fp32, and 2^60 / 3 has digits that it does not hold."""
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    values = np.array(
        [
            m * np.ldexp(1.0, e)
            for e in np.linspace(least + 2, most, 40, dtype=int)
            for m in (1.0, 1.25, 1.75)
        ]
    )
    values = np.concatenate([values, -values, [0.0, 3.0, np.inf]]).astype(numpy_dtype(dtype))
    x, y = (grid.ravel().copy() for grid in np.meshgrid(values, values))
    f = define("def f(x, y):\n    return tsr.fmod(x, y)\n")
    with np.errstate(invalid="ignore"):
        exact = np.fmod(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal(np.asarray(f(x, y)).astype(np.float64), exact)
    check(define("def f(x, y):\n    return tsr.remainder(x, y)\n"), x, y)


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00100])
def test_weights_of_nan_are_nan_whatever_its_bits(bits):
    """The exponent of a power comes from the bits of a sum, which are those of a NaN if there is
    one."""
    x = random((4, 70))
    x.view(np.uint32)[1, 3] = bits
    result = define("def f(x):\n    return tsr.softmax(x, dim=-1)\n")(x)
    np.testing.assert_array_equal(
        np.isnan(result), np.broadcast_to(np.arange(4)[:, None] == 1, x.shape)
    )


def test_rows_pass_through_two_products_in_bands():
    """Intermediate tiles hold a few rows at a time: several bands, an end inside of one, rows that
    depend on others."""
    chain = define("""def f(x, a, b):
    p = tsr.gelu(x @ a)
    return p @ b, (p - p.mean(dim=0)) @ b
""")
    attend = define("""def f(q, k, v):
    s = q @ k.mT
    return tsr.softmax(s, dim=-1) @ v, tsr.logsumexp(s, dim=-1)
""")
    for rows in (1, 15, 17, 255, 256, 529):
        check(
            chain,
            random((rows, 64)),
            random((64, 256), seed=1) * 0.1,
            random((256, 80), seed=2) * 0.1,
        )
        check(
            attend,
            random((2, rows, 64)) * 0.3,
            random((2, 300, 64), seed=1) * 0.3,
            random((2, 300, 72), seed=2),
        )


@pytest.mark.parametrize("source", ["int64", "int32", "int16", "fp32", "fp64"])
@pytest.mark.parametrize("target", ["int8", "int16"])
@pytest.mark.parametrize("columns", [3, 5, 6, 7, 11, 19])
def test_narrowed_ends_of_rows(source, target, columns):
    """Vectors of three lanes, truncated and stored."""
    f = define(f"""def f(x: Tensor[9, {columns}, tsr.{source}]):
    v = x.to(tsr.{target})
    return v, tsr.concat((v, v), dim=1)
""")
    check(f, random((9, columns), source))


@pytest.mark.parametrize("columns", [65, 66, 67])
def test_sorts_of_computed_columns(columns):
    """The counts of digits and the words that are moved come from the same elements."""
    f = define("""def f(x: Tensor["R", "C", fp32], mean: Tensor["C", fp32], var: Tensor["C", fp32]):
    v = tsr.batch_norm(x, mean, abs(var) + 1.0, var, mean)
    return tsr.argsort(tsr.minimum(v, var), dim=0, descending=True)
""")
    rows = 67
    got = np.asarray(f(random((rows, columns)), random((columns,)), random((columns,))))
    assert (np.sort(got, axis=0) == np.arange(rows)[:, None]).all()


def test_masked_rows_of_nan():
    """A factor that is chosen to be zero stays zero, also times NaN."""
    f = define("""def f(x, k, v):
    p = tsr.softmax(x.to(fp64), dim=-1).to(fp32)
    q = tsr.where(k, tsr.softmax(x, dim=-1), 0.0)
    return tsr.where(k, p, 0.0).sum(-1), q @ v
""")
    x = np.ones((3, 40), np.float32)
    x[0], x[1] = -np.inf, np.nan
    sums, products = f(x, np.array([[False], [False], [True]]), np.ones((40, 8), np.float32))
    np.testing.assert_allclose(sums, [0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(products[:, 0], [0, 0, 1], atol=1e-5)


def test_rows_beside_one_of_them():
    """The norm of all rows and a product with the first are not one kernel."""
    f = define("""def f(x, w):
    y = tsr.layer_norm(x + tsr.layer_norm(x))
    return y, tsr.tanh(y[:, 0] @ w)
""")
    check(f, random((2, 17, 64)), random((64, 48), seed=1))


@pytest.mark.parametrize("target", ["", *["x86-64-v3"] * (platform.machine() == "x86_64")])
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_transposed_columns_of_halves(target, depth):
    """LLVM 22 loses the upper half of a vector that is converted from fp16 and interleaved."""
    f = define(f"def f(x, y: Tensor['A', {depth}, fp16]):\n    return x @ y.mT\n")
    x, y = random((33, depth), "fp16"), random((33, depth), "fp16", seed=1)
    if not target:
        check(f, x, y)
    else:
        got = np.asarray(f.compile(x, y, target=target)(x, y), np.float64)
        np.testing.assert_allclose(got, x.astype(float) @ y.astype(float).T, atol=0.02)
