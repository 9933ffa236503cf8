"""Exported programs and modules, where PyTorch is installed."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tessera as tsr
from tessera import weights

torch = pytest.importorskip("torch")

from tessera.torch import Module, compile_exported, coverage  # noqa: E402
from torch import nn  # noqa: E402
from torch_models import network  # noqa: E402


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("scale", torch.linspace(0.5, 1.5, width))

    def forward(self, x, bias=None):
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = x + self.scale * self.out(y.transpose(1, 2).reshape(b, s, d))
        return {"y": y if bias is None else y + bias, "heads": y.view(b, s, self.heads, -1)}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def near(got, expected, bound=1e-5):
    got, expected = torch.as_tensor(got), torch.as_tensor(expected)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    assert (got - expected).abs().max() <= bound * expected.abs().max()


# Runs a bundle in a process that cannot import PyTorch.
ALONE = textwrap.dedent("""
    import sys
    sys.modules["torch"] = None
    import numpy as np, tessera as tsr
    bundle = tsr.load(sys.argv[1], weights=sys.argv[2])
    results = bundle.forward(*np.load(sys.argv[3]).values())
    np.savez(sys.argv[4], *(results if isinstance(results, tuple) else (results,)))
""")


def run_alone(exported, folder, *inputs):
    """The results of the saved bundle without PyTorch."""
    beside = exported.save(folder / "model.tsb")
    np.savez(folder / "in.npz", *(one.numpy() for one in inputs))
    paths = [folder / "model.tsb", beside, folder / "in.npz", folder / "out.npz"]
    subprocess.run([sys.executable, "-c", ALONE, *map(str, paths)], check=True)
    return list(np.load(folder / "out.npz").values())


def test_a_network_runs_without_pytorch(tmp_path):
    model, x = network().eval(), torch.randn(2, 3, 8, 8)
    exported = compile_exported(torch.export.export(model, (x,)))
    expected = model(x).detach()
    near(exported(x), expected)
    (got,) = run_alone(exported, tmp_path, x)
    near(got, expected)
    assert "conv2d" in exported.program


def test_sizes_vary_and_structures_are_kept(tmp_path):
    model, x = Attention().eval(), torch.randn(2, 9, 32)
    sizes = {0: torch.export.Dim("B"), 1: torch.export.Dim("S", max=512)}
    program = torch.export.export(model, (x,), dynamic_shapes={"x": sizes})
    exported = compile_exported(program)
    for shape in ((2, 9, 32), (3, 17, 32)):
        x = torch.randn(shape)
        expected, got = model(x), exported(x)
        assert set(got) == {"y", "heads"}
        for name in got:
            near(got[name], expected[name].detach())
        for one, name in zip(run_alone(exported, tmp_path, x), ("y", "heads")):
            near(one, expected[name].detach())


def test_arguments_by_name():
    model, x, bias = Attention().eval(), torch.randn(2, 9, 32), torch.randn(32)
    exported = compile_exported(torch.export.export(model, (x,), {"bias": bias}))
    near(exported(x, bias=bias)["y"], model(x, bias=bias)["y"].detach())


def test_more_weights_than_fast_calls_have(tmp_path):
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(40))).eval()
    x = torch.randn(5, 8)
    exported = compile_exported(torch.export.export(model, (x,)))
    (got,) = run_alone(exported, tmp_path, x)
    near(got, model(x).detach())


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_types_of_weights(dtype, tmp_path):
    pytest.importorskip("ml_dtypes")
    model, x = nn.Linear(16, 8, dtype=getattr(torch, dtype)), torch.randn(4, 16)
    exported = compile_exported(torch.export.export(model, (x.to(model.weight.dtype),)))
    arrays, metadata = weights.read(exported.save(tmp_path / "model.tsb"))
    assert json.loads(metadata["parameters"]) == list(arrays)
    for name, tensor in model.state_dict().items():
        assert arrays[name].dtype.name == dtype
        assert np.array_equal(arrays[name].astype(np.float64), tensor.double().numpy())


def test_programs_that_are_refused():
    model, x = network().train(), torch.randn(2, 3, 8, 8)
    with pytest.raises(tsr.CompileError, match="buffer_mutation.*export the model in eval mode"):
        compile_exported(torch.export.export(model, (x,)))

    class SingularValues(nn.Module):
        def forward(self, x):
            return torch.linalg.svdvals(x)

    with pytest.raises(tsr.CompileError, match="linalg"):
        compile_exported(torch.export.export(SingularValues(), (torch.randn(4, 4),)))


def test_arguments_of_another_structure():
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    exported = compile_exported(torch.export.export(model, (x,)))
    with pytest.raises(tsr.ArgumentError, match="structure"):
        exported(x, x)


@tsr.function
def gated(x, w, v):
    return tsr.silu(x @ w) * (x @ v)


def test_a_function_as_a_module():
    w, v = torch.randn(16, 8) / 4, torch.randn(16, 8) / 4
    layer, x = Module(gated, w=w, v=v), torch.randn(5, 16)
    near(layer(x), torch.nn.functional.silu(x @ w) * (x @ v))
    assert set(layer.state_dict()) == {"w", "v"}
    layer(x).sum().backward()
    expected = torch.func.grad(lambda w: (torch.nn.functional.silu(x @ w) * (x @ v)).sum())(w)
    near(layer.w.grad, expected)
    near(torch.compile(layer, backend="eager", fullgraph=True)(x), layer(x))
    with pytest.raises(tsr.ArgumentError, match="no parameter 'u'; it has x, w, v"):
        Module(gated, u=w)


def test_coverage():
    assert "2 of 2 operations" in str(coverage(lambda x: x.sin() + 1, torch.ones(3)))
