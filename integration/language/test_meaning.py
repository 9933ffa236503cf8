"""The semantics of expressions, against NumPy in float64.

Each case is an expression over the same few arguments and the NumPy expression that it must equal.
The frontend defines the semantics; the function is evaluated by the reference, operation by
operation.
"""

import atexit
import importlib.util
import itertools
import math
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

_folder = Path(tempfile.mkdtemp(prefix="tessera-language-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_numbers = itertools.count()

_random = np.random.default_rng(7)
X = _random.normal(size=(3, 4, 6))
Y = _random.normal(size=(4, 6))
W = _random.normal(size=(6, 5))
V = _random.normal(size=6)
I = _random.integers(-9, 9, size=(4, 6))
K = _random.integers(1, 5, size=6)
B = _random.random(size=(4, 6)) > 0.5
N, S, F = 2, 0.75, True
ARGUMENTS = (X, Y, W, V, I, K, B, N, S, F)
PARAMETERS = "x, y, w, v, i, k, b, n: int, s: float, f: bool"


def function(body: str):
    """A function with the common parameters; `body` is an expression or the lines of a body."""
    if "\n" not in body:
        body = f"return {body}"
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    path = _folder / f"case_{next(_numbers)}.py"
    path.write_text(
        "import math\nimport tessera as tsr\nfrom tessera import Tensor\n"
        f"\n@tsr.function\ndef case({PARAMETERS}):\n{lines}"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.case


def softmax(a, axis):
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(a, eps):
    mean = a.mean(-1, keepdims=True)
    return (a - mean) / np.sqrt(((a - mean) ** 2).mean(-1, keepdims=True) + eps)


erf = np.vectorize(math.erf)

CASES = {
    # Operators
    "x + y * 2 - v / 3": lambda: X + Y * 2 - V / 3,
    "i // 4, i % 4, i // -4, i % -4": lambda: (I // 4, I % 4, I // -4, I % -4),
    "x // 0.5, x % 0.5": lambda: (X // 0.5, X % 0.5),
    "-x ** 2, abs(x) ** 0.5, x ** 3, 2.0 ** x": lambda: (-(X**2), abs(X) ** 0.5, X**3, 2.0**X),
    "i & 3, i | 4, i ^ k, ~i, i << 1, i >> 1": lambda: (I & 3, I | 4, I ^ K, ~I, I << 1, I >> 1),
    "b & (i > 0), b | (i == 1), ~b, b ^ True": lambda: (B & (I > 0), B | (I == 1), ~B, B ^ True),
    "i / k": lambda: I / K,
    "-1 < i <= 3": lambda: (I > -1) & (I <= 3),
    "x * n + s, s * 2 - n, n / 4, n * f": lambda: (X * N + S, S * 2 - N, N / 4, N * F),
    "1 - x, 1 / k, 5 // k, 7 % k, 2 ** k": lambda: (1 - X, 1 / K, 5 // K, 7 % K, 2**K),
    # Elementary functions
    "tsr.exp(x), tsr.exp2(x), tsr.expm1(x)": lambda: (np.exp(X), np.exp2(X), np.expm1(X)),
    "tsr.log(k), tsr.log2(k), tsr.log1p(k)": lambda: (np.log(K), np.log2(K), np.log1p(K)),
    "x.sin(), x.cos(), x.tan(), x.tanh()": lambda: (np.sin(X), np.cos(X), np.tan(X), np.tanh(X)),
    "tsr.atan2(x, y), x.atan(), x.sinh(), x.cosh()": lambda: (
        np.arctan2(X, Y),
        np.arctan(X),
        np.sinh(X),
        np.cosh(X),
    ),
    "tsr.rsqrt(k), tsr.reciprocal(k), k.sqrt()": lambda: (1 / np.sqrt(K), 1 / K, np.sqrt(K)),
    "x.floor(), x.ceil(), x.round(), x.trunc(), x.sign()": lambda: (
        np.floor(X),
        np.ceil(X),
        np.round(X),
        np.trunc(X),
        np.sign(X),
    ),
    "tsr.erf(x), tsr.erfc(x)": lambda: (erf(X), 1 - erf(X)),
    "tsr.fmod(x, 0.5), tsr.remainder(x, -0.5)": lambda: (np.fmod(X, 0.5), np.mod(X, -0.5)),
    "tsr.isnan(x / 0 * 0), tsr.isinf(x / 0), tsr.isfinite(x)": lambda: (
        np.ones_like(X, bool),
        np.ones_like(X, bool),
        np.ones_like(X, bool),
    ),
    # Choice
    "tsr.where(y > 0, y, -1), tsr.maximum(x, y), tsr.minimum(i, 2)": lambda: (
        np.where(Y > 0, Y, -1),
        np.maximum(X, Y),
        np.minimum(I, 2),
    ),
    "tsr.clamp(x, -0.5, 0.5), x.clamp(min=0), tsr.clamp(x, max=v)": lambda: (
        np.clip(X, -0.5, 0.5),
        np.maximum(X, 0),
        np.minimum(X, V),
    ),
    "tsr.lerp(x, y, 0.25)": lambda: X + 0.25 * (Y - X),
    "tsr.logical_and(i, k), tsr.logical_not(i)": lambda: ((I != 0) & (K != 0), I == 0),
    # Activations
    "tsr.relu(x), tsr.sigmoid(x), tsr.silu(x)": lambda: (
        np.maximum(X, 0),
        1 / (1 + np.exp(-X)),
        X / (1 + np.exp(-X)),
    ),
    "tsr.gelu(x)": lambda: X * (1 + erf(X / np.sqrt(2))) / 2,
    "tsr.gelu(x, approximate='tanh')": lambda: (
        X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))) / 2
    ),
    "tsr.leaky_relu(x), tsr.elu(x, alpha=0.5)": lambda: (
        np.where(X > 0, X, 0.01 * X),
        np.where(X > 0, X, 0.5 * np.expm1(X)),
    ),
    "tsr.softplus(x), tsr.mish(x)": lambda: (
        np.log1p(np.exp(X)),
        X * np.tanh(np.log1p(np.exp(X))),
    ),
    "tsr.hardsigmoid(x * 4), tsr.hardswish(x * 4)": lambda: (
        np.clip(X * 4 / 6 + 0.5, 0, 1),
        X * 4 * np.clip(X * 4 / 6 + 0.5, 0, 1),
    ),
    # Reductions
    "x.sum(), x.sum(0), x.sum(dim=(0, -1)), tsr.sum(x, axis=1, keepdims=True)": lambda: (
        X.sum(),
        X.sum(0),
        X.sum((0, 2)),
        X.sum(1, keepdims=True),
    ),
    "b.sum(), i.prod(dim=0), i.sum(1)": lambda: (B.sum(), I.prod(0), I.sum(1)),
    "x.mean(), x.mean(-1), x.var(0), x.var(1, correction=0), x.std()": lambda: (
        X.mean(),
        X.mean(-1),
        X.var(0, ddof=1),
        X.var(1),
        X.std(ddof=1),
    ),
    "x.amax(), x.amin(dim=(0, 1)), x.max(), i.min()": lambda: (
        X.max(),
        X.min((0, 1)),
        X.max(),
        I.min(),
    ),
    "x.max(dim=1)[0], x.max(1).indices, x.min(0, keepdim=True).values": lambda: (
        X.max(1),
        X.argmax(1),
        X.min(0, keepdims=True),
    ),
    "x.argmax(), x.argmin(dim=-1), i.argmax(0)": lambda: (X.argmax(), X.argmin(-1), I.argmax(0)),
    "b.any(), b.all(dim=0), (i > 100).any(1)": lambda: (B.any(), B.all(0), (I > 100).any(1)),
    "tsr.logsumexp(x, dim=1), tsr.logsumexp(x, (0, 2), keepdim=True)": lambda: (
        np.log(np.exp(X).sum(1)),
        np.log(np.exp(X).sum((0, 2), keepdims=True)),
    ),
    "tsr.softmax(x, dim=1), tsr.log_softmax(x, -1)": lambda: (
        softmax(X, 1),
        np.log(softmax(X, -1)),
    ),
    # Products
    "x @ w, tsr.matmul(v, w), w.T @ v, v @ v, x @ v": lambda: (
        X @ W,
        V @ W,
        W.T @ V,
        V @ V,
        X @ V,
    ),
    "x @ x.mT, x @ x.transpose(-2, -1), y @ x.mT": lambda: (
        X @ X.swapaxes(1, 2),
        X @ X.swapaxes(1, 2),
        Y @ X.swapaxes(1, 2),
    ),
    "x.unsqueeze(1) @ x.mT, x[:, None] @ x.mT[None]": lambda: (
        X[:, None] @ X.swapaxes(1, 2),
        X[:, None] @ X.swapaxes(1, 2)[None],
    ),
    "tsr.bmm(x, x.mT), tsr.outer(v, v), tsr.dot(v, v)": lambda: (
        X @ X.swapaxes(1, 2),
        np.outer(V, V),
        V @ V,
    ),
    "tsr.linear(x, w.T, w[0])": lambda: X @ W + W[0],
    # Norms and losses
    "tsr.layer_norm(x, 6), tsr.layer_norm(x, (6,), v, v, eps=1e-3)": lambda: (
        layer_norm(X, 1e-5),
        layer_norm(X, 1e-3) * V + V,
    ),
    "tsr.rms_norm(x, (6,), v, eps=1e-6)": lambda: (
        X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-6) * V
    ),
    "tsr.mse_loss(y, v), tsr.mse_loss(y, v, reduction='sum')": lambda: (
        ((Y - V) ** 2).mean(),
        ((Y - V) ** 2).sum(),
    ),
    # Shapes
    "x.reshape(12, 6), x.reshape(-1), x.view((2, -1, 3)), x.flatten(1), x.flatten(0, 1)": lambda: (
        X.reshape(12, 6),
        X.reshape(-1),
        X.reshape(2, -1, 3),
        X.reshape(3, 24),
        X.reshape(12, 6),
    ),
    "x.permute(2, 0, 1), x.T, x.mT, y.T, tsr.transpose(x, 0, 1)": lambda: (
        X.transpose(2, 0, 1),
        X.T,
        X.swapaxes(1, 2),
        Y.T,
        X.swapaxes(0, 1),
    ),
    "y.unsqueeze(0).squeeze(), y.unsqueeze(-1), y[None, :, None]": lambda: (
        Y,
        Y[..., None],
        Y[None, :, None],
    ),
    "v.expand(4, -1), v.broadcast_to((2, 6)), v.repeat(2, 3)": lambda: (
        np.broadcast_to(V, (4, 6)),
        np.broadcast_to(V, (2, 6)),
        np.tile(V, (2, 3)),
    ),
    "tsr.concat([x, x], dim=1), tsr.stack([v, v]), tsr.stack((y, y), dim=-1)": lambda: (
        np.concatenate([X, X], 1),
        np.stack([V, V]),
        np.stack([Y, Y], -1),
    ),
    "x.split(4, dim=2)[1], x.chunk(3, dim=-1)[2], x.split((1, 2), 0)[1]": lambda: (
        X[..., 4:],
        X[..., 4:],
        X[1:],
    ),
    "tsr.flip(x, 0), x.flip(0, 2), tsr.roll(v, 2, 0), tsr.roll(v, -1, 0)": lambda: (
        X[::-1],
        X[::-1, :, ::-1],
        np.roll(V, 2),
        np.roll(V, -1),
    ),
    "tsr.pad(y, (1, 2), value=9), tsr.pad(y, (0, 1, 2, 0))": lambda: (
        np.pad(Y, ((0, 0), (1, 2)), constant_values=9),
        np.pad(Y, ((2, 0), (0, 1))),
    ),
    "y.tril(), y.triu(1), tsr.tril(x, -1)": lambda: (np.tril(Y), np.triu(Y, 1), np.tril(X, -1)),
    # Subscripts
    "x[0], x[-1, 2], x[..., 1], x[1:, ::2], x[:, -2:, 3]": lambda: (
        X[0],
        X[-1, 2],
        X[..., 1],
        X[1:, ::2],
        X[:, -2:, 3],
    ),
    "v[::-1], v[4:1:-2], v[:100], v[-100:3], v[5:2], v[n:], v[:-n]": lambda: (
        V[::-1],
        V[4:1:-2],
        V[:100],
        V[-100:3],
        V[5:2],
        V[2:],
        V[:-2],
    ),
    "x[:, None, 0, ..., 1:2], x[n], x[(0, 1)]": lambda: (X[:, None, 0, ..., 1:2], X[2], X[0, 1]),
    # Creation
    "tsr.iota((2, 3), dim=1), tsr.arange(4), tsr.arange(n, 9, 3), tsr.arange(5, 0, -2)": lambda: (
        np.broadcast_to(np.arange(3), (2, 3)),
        np.arange(4),
        np.arange(2, 9, 3),
        np.arange(5, 0, -2),
    ),
    "tsr.full((2, 2), 1.5), tsr.zeros(3), tsr.ones_like(y), tsr.eye(3, 4), tsr.full(2, n)": lambda: (
        np.full((2, 2), 1.5),
        np.zeros(3),
        np.ones_like(Y),
        np.eye(3, 4),
        np.full(2, 2),
    ),
    "tsr.arange(0.0, 1.0, 0.25)": lambda: np.arange(0, 1, 0.25),
    # Numbers and sizes
    "x * math.sqrt(x.shape[-1]), x * (x.shape[0] // 2), x / x.numel()": lambda: (
        X * math.sqrt(6),
        X * 1,
        X / 72,
    ),
    "x * len(x) + x.ndim + x.size(1), x.sum() * max(x.shape[0], 5, n)": lambda: (
        X * 3 + 3 + 4,
        X.sum() * 5,
    ),
    "x * min(0.5, s), x * (math.pi if f else 0), x * round(2.5) * int(-2.7)": lambda: (
        X * 0.5,
        X * math.pi,
        X * 2 * -2,
    ),
    "x + (7 // 2) + (-7 // 2) + (-7 % 3) + 2 ** -1 + 7.5 % -2": lambda: X + 3 - 4 + 2 + 0.5 - 0.5,
    # Statements
    """
total = x * 0
for a in range(3):
    for c in (1, 2):
        if (a + c) % 2 == 0:
            continue
        total += x * a * c
    else:
        total = total + 1
return total
""": lambda: X * (0 * 1 + 1 * 2 + 2 * 1) + 3,
    """
a, (c, d) = y, (v, n)
a = a if d > 1 else c
parts = []
for j in range(d):
    parts.append(a * j)
assert len(parts) == 2, "two"
return tsr.concat(parts) if f and not (n == 3 or d is None) else a
""": lambda: np.concatenate([Y * 0, Y * 1]),
}


@pytest.mark.parametrize("body", CASES)
def test_meaning(body):
    expected = CASES[body]()
    found = function(body).reference(*ARGUMENTS)
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    assert len(found) == len(expected)
    for number, (got, want) in enumerate(zip(found, expected)):
        got, want = np.asarray(got), np.asarray(want)
        assert got.shape == want.shape, (number, got.shape, want.shape)
        np.testing.assert_allclose(
            got.astype(np.float64),
            want.astype(np.float64),
            rtol=1e-6,
            atol=1e-7,
            err_msg=str(number),
        )
