"""Convolutions and pooling against loops in NumPy, and their gradients."""

import itertools

import numpy as np
import pytest
from harness import check, define, random
from tessera.errors import CompileError

import tessera as tsr


def pairs(value, rank):
    return tuple(value) if isinstance(value, tuple) else (value,) * rank


def windows(x, sizes, steps, dilations, padding, fill=0.0, counts=None):
    """[batch, channels, positions.., elements..] by loops."""
    rank = len(sizes)
    widths = [(0, 0), (0, 0)] + [(p, p) for p in padding]
    if counts is not None:
        for j in range(rank):
            extent = dilations[j] * (sizes[j] - 1) + 1
            missing = (counts[j] - 1) * steps[j] + extent - x.shape[2 + j] - 2 * padding[j]
            widths[2 + j] = (padding[j], padding[j] + max(0, missing))
    x = np.pad(x, widths, constant_values=fill)
    counts = counts or [
        (x.shape[2 + j] - dilations[j] * (sizes[j] - 1) - 1) // steps[j] + 1 for j in range(rank)
    ]
    result = np.zeros((*x.shape[:2], *counts, *sizes), x.dtype)
    for at in itertools.product(*map(range, counts)):
        for k in itertools.product(*map(range, sizes)):
            place = tuple(i * s + e * d for i, s, e, d in zip(at, steps, k, dilations))
            result[(slice(None), slice(None), *at, *k)] = x[(slice(None), slice(None), *place)]
    return result


def convolution(x, weight, stride=1, padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    view = windows(
        x, weight.shape[2:], pairs(stride, rank), pairs(dilation, rank), pairs(padding, rank)
    )
    outputs = weight.shape[0] // groups
    inputs = weight.shape[1]
    parts = []
    for g in range(groups):
        mine = view[:, g * inputs : (g + 1) * inputs]
        kernel = weight[g * outputs : (g + 1) * outputs]
        over = [1, *range(2 + rank, 2 + 2 * rank)]
        part = np.tensordot(mine, kernel, (over, [1, *range(2, 2 + rank)]))
        parts.append(np.moveaxis(part, -1, 1))
    return np.concatenate(parts, axis=1)


def transposed(x, weight, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Adds each element's window to the result."""
    rank = x.ndim - 2
    s, p, d = pairs(stride, rank), pairs(padding, rank), pairs(dilation, rank)
    more = pairs(output_padding, rank)
    sizes = weight.shape[2:]
    full = [(x.shape[2 + j] - 1) * s[j] + d[j] * (sizes[j] - 1) + 1 + more[j] for j in range(rank)]
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    result = np.zeros((x.shape[0], outputs * groups, *full))
    for g in range(groups):
        for at in itertools.product(*map(range, x.shape[2:])):
            for k in itertools.product(*map(range, sizes)):
                place = tuple(i * s[j] + k[j] * d[j] for j, i in enumerate(at))
                mine = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)]
                kernel = weight[(slice(g * inputs, (g + 1) * inputs), slice(None), *k)]
                result[(slice(None), slice(g * outputs, (g + 1) * outputs), *place)] += (
                    mine @ kernel
                )
    cut = tuple(slice(p[j], full[j] - p[j]) for j in range(rank))
    return result[(slice(None), slice(None), *cut)]


CONVOLUTIONS = [
    ((2, 4, 9), (6, 4, 3), {}),
    ((2, 4, 9), (6, 4, 4), {"stride": 2, "padding": 3}),
    ((2, 8, 13, 11), (6, 8, 3, 3), {"padding": 1}),
    ((2, 8, 13, 11), (6, 8, 3, 2), {"stride": (2, 3), "padding": (2, 0), "dilation": (2, 1)}),
    ((1, 8, 7, 7), (12, 2, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 5, 7, 6), (5, 1, 3, 3), {"groups": 5, "stride": 2, "padding": 1}),
    ((3, 2, 5, 5), (4, 2, 1, 1), {}),
    ((1, 2, 5, 4, 6), (3, 2, 3, 2, 3), {"padding": 1, "stride": (1, 2, 1)}),
]


def written(name, options):
    given = "".join(f", {key}={value!r}" for key, value in options.items())
    return define(f"def f(x, w):\n    return tsr.{name}(x, w{given})\n")


@pytest.mark.parametrize("shape, weight, options", CONVOLUTIONS)
def test_convolutions(shape, weight, options):
    f = written(f"conv{len(shape) - 2}d", options)
    x, w = random(shape, seed=1), random(weight, seed=2)
    expected = convolution(x.astype(np.float64), w.astype(np.float64), **options)
    np.testing.assert_allclose(f(x, w), expected, rtol=1e-5, atol=1e-5)
    check(f, x, w)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp64"])
def test_convolutions_of_other_types(dtype):
    f = written("conv2d", {"padding": 1, "stride": 2})
    check(f, random((2, 3, 9, 8), dtype, seed=1), random((5, 3, 3, 3), dtype, seed=2))


def test_convolutions_of_rounded_factors():
    """Warpgroups multiply stored windows whose sums are last, as TF32."""
    types = "x: Tensor[2, 16, 9, 8, fp32], w: Tensor[66, 16, 3, 3, fp32]"
    f = define(f"def f({types}):\n    return tsr.conv2d(x, w, padding=1)\n")
    f = tsr.function(f.__wrapped__, numerics=tsr.numerics(matmul="tf32"))
    check(f, random((2, 16, 9, 8)), random((66, 16, 3, 3), seed=1))


@pytest.mark.parametrize(
    "shape, weight, options",
    [
        ((2, 4, 5), (4, 6, 3), {}),
        ((2, 4, 5, 7), (4, 6, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((2, 4, 5, 3), (4, 3, 2, 3), {"stride": (3, 2), "dilation": 2, "groups": 2}),
        ((1, 2, 3, 4, 3), (2, 3, 2, 3, 2), {"stride": 2}),
        # Residues in another order than their results, residues without windows, and both.
        ((2, 3, 7), (3, 2, 4), {"stride": 3, "dilation": 2, "padding": 2, "output_padding": 2}),
        ((2, 3, 6), (3, 2, 3), {"stride": 2, "dilation": 5, "padding": 1}),
        ((2, 3, 5), (3, 2, 3), {"stride": 4, "dilation": 4, "padding": 3}),
        ((1, 4, 5, 6), (4, 2, 3, 4), {"stride": (4, 1), "dilation": (6, 3), "groups": 2}),
        ((1, 2, 5, 4), (2, 3, 5, 2), {"stride": (6, 5), "dilation": (4, 7), "padding": (1, 6)}),
    ],
)
def test_transposed_convolutions(shape, weight, options):
    f = written(f"conv_transpose{len(shape) - 2}d", options)
    x, w = random(shape, seed=1), random(weight, seed=2)
    expected = transposed(x.astype(np.float64), w.astype(np.float64), **options)
    np.testing.assert_allclose(f(x, w), expected, rtol=1e-5, atol=1e-5)
    check(f, x, w)


def test_bias_and_a_single_image():
    f = define("def f(x, w, b):\n    return tsr.conv2d(x, w, b, padding='same')\n")
    x, w, b = random((3, 6, 5), seed=1), random((4, 3, 3, 4), seed=2), random((4,), seed=3)
    padded = np.pad(x[None].astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 2)))
    expected = convolution(padded, w.astype(np.float64))[0] + b[:, None, None]
    np.testing.assert_allclose(f(x, w, b), expected, rtol=1e-5, atol=1e-5)


def test_named_sizes():
    f = define("""def f(x: Tensor["B", 3, "H", "W", fp32], w: Tensor[4, 3, 3, 3, fp32]):
    return tsr.relu(tsr.conv2d(x, w, stride=2, padding=1))
""")
    w = random((4, 3, 3, 3), seed=2)
    for shape in ((1, 3, 8, 8), (2, 3, 9, 17), (3, 3, 31, 2)):
        x = random(shape, seed=1)
        expected = np.maximum(convolution(x.astype(np.float64), w, stride=2, padding=1), 0)
        np.testing.assert_allclose(f(x, w), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options, counts",
    [("3, 2, 1", None), ("2", None), ("3, 2, 0, 1, True", (7, 6)), ("2, 1, 0, 2", None)],
)
def test_max_pool(options, counts):
    f = define(f"def f(x):\n    return tsr.max_pool2d(x, {options})\n")
    x = random((2, 3, 14, 12), seed=1)
    numbers = eval(f"({options},)")
    size, step = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
    padding = numbers[2] if len(numbers) > 2 else 0
    dilation = numbers[3] if len(numbers) > 3 else 1
    view = windows(x, (size,) * 2, (step,) * 2, (dilation,) * 2, (padding,) * 2, -np.inf, counts)
    np.testing.assert_array_equal(f(x), view.max(axis=(4, 5)))


def test_indices_of_max_pool():
    f = define("def f(x):\n    return tsr.max_pool2d(x, 3, 2, 1, return_indices=True)\n")
    x = np.round(random((2, 3, 9, 8), seed=1), 1)
    values, indices = f(x)
    flat = x.reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, indices.reshape(2, 3, -1), 2).reshape(values.shape), values
    )


@pytest.mark.parametrize("include", [True, False])
def test_avg_pool(include):
    f = define(f"def f(x):\n    return tsr.avg_pool2d(x, 3, 2, 1, False, {include})\n")
    x = random((2, 3, 9, 8), seed=1).astype(np.float64)
    view = windows(x, (3, 3), (2, 2), (1, 1), (1, 1)).sum(axis=(4, 5))
    ones = windows(np.ones_like(x), (3, 3), (2, 2), (1, 1), (1, 1)).sum(axis=(4, 5))
    np.testing.assert_allclose(f(x), view / (9 if include else ones), rtol=1e-12)


@pytest.mark.parametrize("size", [(6, 3), (1, 1), (7, 4), (14, 5)])
def test_adaptive_avg_pool(size):
    f = define(f"def f(x):\n    return tsr.adaptive_avg_pool2d(x, {size})\n")
    x = random((2, 3, 14, 12), seed=1).astype(np.float64)
    expected = np.zeros((2, 3, *size))
    for i, j in itertools.product(*map(range, size)):
        rows = slice(i * 14 // size[0], -((-(i + 1) * 14) // size[0]))
        columns = slice(j * 12 // size[1], -((-(j + 1) * 12) // size[1]))
        expected[:, :, i, j] = x[:, :, rows, columns].mean(axis=(2, 3))
    np.testing.assert_allclose(f(x), expected, rtol=1e-6)


def test_unfold():
    f = define("def f(x):\n    return x.unfold(1, 3, 2)\n")
    x = random((2, 9, 4))
    expected = np.stack([x[:, i : i + 3].transpose(0, 2, 1) for i in range(0, 7, 2)], axis=1)
    np.testing.assert_array_equal(f(x), expected)


@pytest.mark.parametrize(
    "call, shapes",
    [
        ("tsr.conv2d(x, w, stride=2, padding=1)", ((2, 3, 6, 5), (4, 3, 3, 3))),
        ("tsr.conv2d(x, w, dilation=2, groups=2)", ((1, 4, 7, 6), (4, 2, 3, 2))),
        ("tsr.conv_transpose1d(x, w, stride=2, padding=1)", ((2, 3, 5), (3, 2, 4))),
        ("tsr.avg_pool2d(x, 3, 2, 1) * w", ((1, 2, 6, 5), (1, 2, 3, 3))),
        ("tsr.max_pool2d(x, 2) * w", ((1, 2, 6, 4), (1, 2, 3, 2))),
    ],
)
def test_gradients(call, shapes):
    """Against differences."""
    f = define(f"def f(x, w):\n    return ({call}).sin().sum()\n")
    gradient = tsr.grad(f, argnums=(0, 1))
    given = [random(shape, seed=i).astype(np.float64) for i, shape in enumerate(shapes)]
    found = gradient(*given)
    step = 1e-5
    for which, array in enumerate(given):
        for place in list(np.ndindex(array.shape))[::7]:
            moved = [one.copy() for one in given]
            moved[which][place] += step
            above = float(f(*moved))
            moved[which][place] -= 2 * step
            difference = (above - float(f(*moved))) / (2 * step)
            assert abs(difference - found[which][place]) < 1e-6


def test_weight_gradient():
    f = define(
        "def f(x, g):\n    return tsr.conv2d_weight(x, (6, 2, 3, 3), g, stride=2, padding=1, groups=2)\n"
    )
    loss = define(
        "def f(x, w, g):\n    return (tsr.conv2d(x, w, stride=2, padding=1, groups=2) * g).sum()\n"
    )
    x, g = random((2, 4, 9, 8), seed=1), random((2, 6, 5, 4), seed=2)
    expected = tsr.grad(loss, wrt="w")(x, random((6, 2, 3, 3), seed=3), g)
    np.testing.assert_allclose(f(x, g), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "call, message",
    [
        ("tsr.conv2d(x, x[0])", "expected weights of 4 dimensions"),
        ("tsr.conv2d(x, x[:, :2])", "expected weights for 3 channels"),
        ("tsr.conv2d(x, x, groups=2)", "expected a divisor of 3 and 2 channels"),
        ("tsr.conv2d(x, x, padding='half')", "expected numbers, 'same' or 'valid'"),
        ("tsr.conv2d(x, x, stride=0)", "expected at least 1 for 'stride' of 'conv2d'"),
        ("tsr.conv2d(x, x, stride=(1, 2, 3))", "expected a number or 2 numbers for 'stride'"),
        ("tsr.max_pool2d(x, 9)", "expected at least 9 elements with padding"),
        ("tsr.max_pool2d(x, 2, padding=2)", "expected at most half of the window"),
        ("tsr.avg_pool1d(x, 2)", "expected a tensor of 2 or 3 dimensions"),
        ("x.unfold(0, 3, 1)", "expected at most 2 for 'size' of 'unfold'"),
    ],
)
def test_errors(call, message):
    f = define(f"def f(x):\n    return {call}\n")
    with pytest.raises(CompileError, match=message):
        f(random((2, 3, 5, 5)))


def test_convolution_of_pooled():
    """Rows of the second convolution's windows begin at each element."""
    f = define("""def f(x, v, b, w):
    y = tsr.max_pool2d(tsr.relu(tsr.conv2d(x, v, b)), 2)
    return tsr.conv2d(y, w)
""")
    shapes = ((3, 1, 32, 32), (16, 1, 5, 5), (16,), (12, 16, 5, 5))
    check(f, *(random(shape, "fp32") for shape in shapes))
