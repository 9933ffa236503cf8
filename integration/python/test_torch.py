"""PyTorch's tensors on the CPU, where PyTorch is installed."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tessera as tsr
from tessera.bench.latency import microseconds

torch = pytest.importorskip("torch")
HERE = Path(__file__).resolve().parent


@tsr.function
def double(x):
    return x + x


@tsr.function
def five(a, b, c, d, e):
    return a * b + c * d + e


def test_parameters_views_and_gradients():
    for x in (
        torch.randn(4, 6),
        torch.nn.Parameter(torch.randn(4, 6)),
        torch.randn(4, 6, requires_grad=True),
        torch.randn(6, 4).T,
        torch.randn(4, 1).expand(4, 6),
        torch.randn(4, 12)[:, ::2],
        torch.tensor(2.0),
        torch.zeros(0, 6),
    ):
        for _ in range(2):
            y = double(x)
            assert type(y) is torch.Tensor and torch.equal(y, 2 * x.detach())


def test_numbers_that_stand_with_the_other_sign():
    x = torch.randn(4, 6, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    double(torch.zeros(4, 12)[:, ::2])  # the same class, without the sign
    assert torch.equal(double(x), 2 * x)
    zero = torch.tensor(1 + 2j).conj().imag
    double(torch.tensor(1.0))
    assert double(zero).item() == -4


def test_subclasses_go_their_own_way():
    class Named(torch.Tensor):
        pass

    x = torch.randn(4, 6).as_subclass(Named)
    assert torch.equal(torch.Tensor(double(x)), 2 * torch.Tensor(x))


def test_results_can_be_kept_by_streams_and_resized():
    y = double(torch.ones(4, 6))
    assert y.untyped_storage().resizable()


def test_a_call_is_quick():
    arrays = [torch.ones(8, 64) for _ in range(5)]
    out = five(*arrays)
    best = microseconds(lambda: five(*arrays, out=out))[0]
    assert best < 3, f"{best:.2f} microseconds"


def test_earlier_versions_have_no_exchange_interface():
    program = """
        import torch
        del torch.Tensor.__dlpack_c_exchange_api__
        import test_torch

        test_torch.test_parameters_views_and_gradients()
        test_torch.test_numbers_that_stand_with_the_other_sign()
        x, out = torch.randn(4, 6), torch.empty(4, 6)
        assert test_torch.double(x, out=out) is out and torch.equal(out, 2 * x)
        assert test_torch.double(x, out=x) is x and torch.equal(out, x)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
