"""Results do not depend on the number of threads; under `batch_invariant`, rows do not depend on
other rows."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tessera as tsr
from harness import has_bf16, numpy_dtype

THREADS = (1, 2, 3, 7)


def numbers(*shape, dtype="fp32", seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)
    return values.astype(numpy_dtype(dtype))


def total(x):
    return tsr.sum(x), tsr.mean(x), tsr.max(x), tsr.argmax(x)


def columns(x):
    return tsr.sum(x, dim=0), tsr.var(x, dim=0), tsr.logsumexp(x, dim=0)


def rows(x):
    return tsr.softmax(x, dim=-1), tsr.layer_norm(x, (x.shape[-1],)), tsr.std(x, dim=-1)


def product(a, b):
    return a @ b


def scans(x):
    return tsr.cumsum(x, dim=-1), tsr.cumprod(1 + x * 0.01, dim=0)


def places(x, i, y):
    return tsr.scatter_add(x, 0, i, y)


def order(x):
    return tsr.sort(x, dim=-1)[0], tsr.topk(x, 5, dim=-1)[1]


def attend(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v


def cases():
    index = np.random.default_rng(3).integers(0, 50, (4000, 30))
    yield "total", total, [numbers(1_000_003)]
    yield "columns", columns, [numbers(20_001, 7)]
    yield "rows", rows, [numbers(3, 100_001)]
    yield "long sum", product, [numbers(48, 60_000), numbers(60_000, 33)]
    yield "product", product, [numbers(300, 257), numbers(257, 513)]
    yield "attention", attend, [numbers(2, 4, 64), numbers(2, 9001, 64), numbers(2, 9001, 64)]
    yield "many heads", attend, [numbers(6, 200, 64), numbers(6, 300, 64), numbers(6, 300, 64)]
    yield "scans", scans, [numbers(40, 5001)]
    yield "scatter_add", places, [numbers(50, 30), index, numbers(4000, 30)]
    yield "order", order, [numbers(30, 300)]
    if has_bf16():
        yield (
            "narrow",
            product,
            [numbers(40, 30_000, dtype="bf16"), numbers(30_000, 64, dtype="bf16")],
        )


@pytest.fixture
def threads():
    yield
    tsr.set_num_threads(0)


@pytest.mark.parametrize("deterministic", [None, True, False])
@pytest.mark.parametrize("name, program, arguments", [pytest.param(*c, id=c[0]) for c in cases()])
def test_thread_counts(threads, name, program, arguments, deterministic):
    options = {} if deterministic is None else {"deterministic": deterministic}
    function = tsr.function(**options)(program)

    def run():
        results = function(*arguments)
        return results if isinstance(results, tuple) else (results,)

    expected = None
    for count in THREADS:
        tsr.set_num_threads(count)
        for _ in range(2):
            found = [np.asarray(one).tobytes() for one in run()]
            expected = expected or found
            if deterministic is not False:
                assert found == expected, f"{count} threads give other bits"
    # Sums that may be added in any order are correct in every order.
    reference = function.reference(*arguments, bounds=True)
    reference = (reference,) if hasattr(reference, "bound") else reference
    for one, right in zip(run(), reference, strict=True):
        distance = abs(np.asarray(one).astype(np.float64) - right.value)
        assert ((distance <= right.bound) | right.excluded).all()


CHILD = """
import os, sys, json, hashlib
os.sched_setaffinity(0, set(json.loads(sys.argv[1])))
sys.path.insert(0, os.path.dirname(sys.argv[2]))
import numpy as np, tessera as tsr, test_determinism as t
for name, program, arguments in t.cases():
    results = tsr.function(program)(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    print(name, hashlib.sha256(b"".join(np.asarray(r).tobytes() for r in results)).hexdigest())
"""


def test_cores_that_a_process_may_use(tmp_path):
    """Code that is compiled while a process has one core gives the same bits as all others."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("there is one core only")
    outputs = []
    for allowed in (cores[:1], cores):
        environment = {**os.environ, "TESSERA_CACHE": str(tmp_path / str(len(allowed)))}
        command = [sys.executable, "-c", CHILD, json.dumps(allowed), __file__]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.append(done.stdout.splitlines())
    assert outputs[0] == outputs[1] and len(outputs[0]) >= 10


# -- rows alone ------------------------------------------------------------------------------------

BATCHES = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    24,
    31,
    33,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    130,
    200,
    257,
)


def linear(x, w):
    return x @ w.T


def mlp(x, w):
    return tsr.gelu(x @ w) @ w.T + x


def norms(x, w):
    return tsr.layer_norm(x, (x.shape[-1],)) * w[0], tsr.rms_norm(x, (x.shape[-1],))


def shares(x, w):
    return tsr.softmax(x, dim=-1), tsr.log_softmax(x + 1, dim=-1), tsr.sum(x, dim=-1)


@pytest.mark.parametrize("dtype", ["fp32", *(["bf16"] if has_bf16() else [])])
@pytest.mark.parametrize(
    "program, width, other",
    [
        (product, 70, (70, 90)),
        (product, 2048, (2048, 64)),
        (linear, 513, (40, 513)),
        (mlp, 64, (64, 200)),
        (norms, 1000, (1, 1000)),
        (norms, 33, (1, 33)),
        (shares, 1000, (1, 1)),
        (shares, 20_000, (1, 1)),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_rows_do_not_depend_on_the_batch(program, width, other, dtype):
    function = tsr.function(batch_invariant=True)(program)
    # An infinity in one row does not affect other rows.
    x, w = numbers(max(BATCHES), width, dtype=dtype), numbers(*other, dtype=dtype)
    x[-1, 0] = np.inf

    def run(part):
        results = function(part, w)
        return results if isinstance(results, tuple) else (results,)

    whole = run(x)
    for size in BATCHES:
        for start in {0, (max(BATCHES) - size) // 2, max(BATCHES) - size}:
            for one, all_rows in zip(run(x[start : start + size]), whole):
                expected = all_rows[start : start + size]
                assert one.tobytes() == expected.tobytes(), f"{size} rows from {start}"


@pytest.mark.parametrize("dtype", ["fp32", *(["bf16"] if has_bf16() else [])])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_does_not_depend_on_the_batch(dtype, masked):
    """Neither on other sequences nor, without a mask by position, on other queries."""

    def causal(q, k, v):
        i = tsr.iota((q.shape[-2], k.shape[-2]), dim=0)
        j = tsr.iota((q.shape[-2], k.shape[-2]), dim=1)
        return tsr.softmax(tsr.where(j <= i, q @ k.mT * 0.125, -tsr.inf), dim=-1) @ v

    function = tsr.function(batch_invariant=True)(causal if masked else attend)
    q, k, v = (numbers(18, 130, 64, dtype=dtype, seed=i) for i in range(3))
    whole = function(q, k, v)
    for size in (1, 2, 3, 5, 8, 16, 17):
        found = function(q[:size], k[:size], v[:size])
        assert found.tobytes() == whole[:size].tobytes(), f"{size} sequences"
    for rows in (1, 2, 3, 4, 5, 16, 17, 64, 65, 129):
        found = function(q[:, :rows], k, v)
        assert found.tobytes() == np.ascontiguousarray(whole[:, :rows]).tobytes(), f"{rows} rows"


def test_it_is_the_policy_that_does_it():
    """Without it, rows of a large batch are multiplied differently from a single row."""
    function = tsr.function(product)
    x, w = numbers(200, 4096), numbers(4096, 64)
    assert function(x[:1], w).tobytes() != function(x, w)[:1].tobytes()


@pytest.mark.parametrize("target", ["sm_90", "sm_80"])
def test_schedules_of_gpus(target):
    """No split and no tile is chosen by the number of rows."""

    def dims(program, types):
        compiled = tsr.function(batch_invariant=True)(program)
        text = compiled.inspect_ir("sched", *types, target=target)
        assert "split" not in text
        report = [line for line in text.splitlines() if "dims [" in line]
        return [re.findall(r"tile (\d+)", line) for line in report]

    def schedule(program, count, depth=64):
        half = tsr.bf16
        types = {
            product: [tsr.Tensor[count, 4096, half], tsr.Tensor[4096, 512, half]],
            attend: [tsr.Tensor[2, count, depth, half]] + [tsr.Tensor[2, 9000, depth, half]] * 2,
            norms: [tsr.Tensor[count, 1024, half], tsr.Tensor[1, 1024, half]],
        }[program]
        return dims(program, types)

    for program in (product, attend, norms):
        expected = schedule(program, 2000)
        for count in (1, 2, 3, 8, 17, 64, 100, 300):
            assert schedule(program, count) == expected, f"{program.__name__} of {count} rows"
    # The types stored between kernels do not depend on it either.
    assert all(schedule(attend, count, 200) == schedule(attend, 2000, 200) for count in (1, 2, 17))
