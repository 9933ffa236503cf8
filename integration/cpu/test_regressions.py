"""Programs that were once compiled wrongly or not at all, reduced to what it took."""

import time

import pytest
from harness import check, define, random
from tessera import Tensor, fp32


def test_reshape_of_a_part_of_a_strided_argument():
    f = define("def f(x):\n    return tsr.exp(x.transpose(0, 1)[1:].reshape(-1) + 1.0).reshape(x.shape[0], -1).sum(1)\n")
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
    f = define("""def f(x: Tensor["C", "B", "B", fp32], m: Tensor["C", "B", "B", tsr.bool]):
    a = tsr.log1p(x * x + 0.5)
    b = tsr.amax(a, dim=2)
    c = tsr.clamp(tsr.where(m, x.transpose(1, 2), 3 * a), min=-2.0, max=2.0)
    d = tsr.tanh(tsr.matmul(b, c)) * 0.05
    return tsr.softmax(d, dim=1)
""")
    check(f, random((8, 7, 7)), random((8, 7, 7), "bool"))
    check(f, random((5, 65, 65)), random((5, 65, 65), "bool"))


@pytest.mark.parametrize("step", [
    "y * y + y", "tsr.log(y) + y", "tsr.exp(y + m) * y + m", "tsr.where(y > 0, y * m, y + m)", "y[::2] + y[1::2]",
    "(y.reshape(-1, 4) * 2.0).T.reshape(y.shape) + y", "tsr.exp(y - tsr.amax(y, dim=-1, keepdim=True)) / m", "y + y.mT",
])
def test_shared_values_compile_in_no_time(step):
    """What is used twice at every step must not be looked at twice at every step."""
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
