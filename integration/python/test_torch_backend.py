"""torch.compile(backend="tessera"), where PyTorch is installed."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")

from tessera import fx as tessera_fx  # noqa: E402
from tessera.dynamo import backend, coverage  # noqa: E402
from torch import nn  # noqa: E402
from torch_models import Block, network  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Tessera runs a part")
        yield


def near(got, expected, bound=1e-4, least=1e-6):
    """`least` is a size below which differences do not count."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    scale = max(expected.abs().max().item(), least)
    assert (got - expected).abs().max().item() <= bound * scale


MODELS = {
    "block": (Block, (2, 17, 32)),
    "network": (network, (2, 3, 8, 8)),
    "mlp": (lambda: nn.Sequential(nn.Linear(20, 64), nn.SiLU(), nn.Linear(64, 5)), (7, 20)),
}


@pytest.mark.parametrize("name", MODELS)
def test_inference(name):
    make, shape = MODELS[name]
    model, x = make().eval(), torch.randn(shape)
    with torch.no_grad():
        near(torch.compile(model, backend=backend)(x), model(x))


@pytest.mark.parametrize("name", MODELS)
def test_training_step(name):
    """Gradients of parameters and inputs, and the statistics of batch norm."""
    make, shape = MODELS[name]
    model = make()
    other = copy.deepcopy(model)
    x, y = torch.randn(shape, requires_grad=True), None
    for one in (model, torch.compile(other, backend=backend)):
        result = one(x)
        weight = torch.linspace(-1, 1, result.numel()).view(result.shape)
        (result * weight).sum().backward()
        if y is not None:
            near(result, y)
        y = result.detach()
    # Some gradients are zero but for rounding, such as that of a bias before a norm.
    largest = max(one.grad.abs().max().item() for one in model.parameters())
    for expected, got in zip(model.parameters(), other.parameters(), strict=True):
        near(got.grad, expected.grad, 1e-3, least=0.01 * largest)
    for expected, got in zip(model.buffers(), other.buffers(), strict=True):
        near(got, expected)


def test_varying_sizes_share_graphs(monkeypatch):
    compiled = []
    real = tessera_fx.compile_graph
    monkeypatch.setattr(
        "tessera.dynamo.compile_graph", lambda *given: compiled.append(1) or real(*given)
    )
    model = torch.compile(Block().eval(), backend=backend, dynamic=True)
    with torch.no_grad():
        for length in (5, 6, 9, 33, 70):
            x = torch.randn(2, length, 32)
            near(model(x), model._orig_mod(x))
    assert len(compiled) == 1


def test_mutation_and_views():
    def update(x, y):
        x.add_(y)
        part = x[:2]
        part.mul_(2)
        return part.t()

    x, y = torch.randn(4, 3), torch.randn(4, 3)
    expected_x = x.clone()
    expected = update(expected_x, y)
    got = torch.compile(update, backend=backend)(x, y)
    near(x, expected_x)
    near(got, expected)
    assert got.stride() == expected.stride()


def test_narrow_types_and_autocast():
    model, x = Block().eval(), torch.randn(2, 9, 32)
    with torch.no_grad():
        expected = model(x)
        narrow = copy.deepcopy(model).bfloat16()
        near(torch.compile(narrow, backend=backend)(x.bfloat16()).float(), expected, 0.05)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            near(torch.compile(model, backend=backend)(x).float(), expected, 0.05)


def test_what_is_not_known_runs_by_pytorch():
    def f(x):
        return torch.histc(x * 2, 4, 0, 1) + 1

    x = torch.rand(100)
    near(torch.compile(f, backend=backend)(x), f(x))
    found = coverage(f, x)
    assert found.foreign["aten.histc.default"] == 1 and found.compiled["aten.mul.Tensor"] == 1
    assert "aten.histc.default" in str(found)


def test_random_numbers_are_pytorchs():
    def f(x):
        return nn.functional.dropout(x, 0.5)

    compiled = torch.compile(f, backend=backend)
    torch.manual_seed(3)
    first = compiled(torch.ones(1000))
    torch.manual_seed(3)
    assert torch.equal(first, compiled(torch.ones(1000)))
    assert set(first.unique().tolist()) == {0.0, 2.0} and 0.8 < first.mean() < 1.2


def test_the_backend_has_an_entry_point():
    near(torch.compile(torch.sin, backend="tessera")(torch.ones(3)), torch.sin(torch.ones(3)))


def test_errors_of_data_are_errors():
    table = nn.Embedding(10, 4)
    model = torch.compile(table, backend=backend)
    with torch.no_grad():
        near(model(torch.tensor([1, 2])), table(torch.tensor([1, 2])))
        with pytest.raises(IndexError):
            model(torch.tensor([1, 10]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_narrow_attention(monkeypatch, dtype, causal):
    """Contractions have narrow operands, and fp32 ones where gradients are wanted."""
    traced = []
    real = tessera_fx.compile_graph

    def compile_graph(module, *rest):
        traced.append({one.meta["val"].dtype for one in module.graph.nodes if "bmm" in one.name})
        return real(module, *rest)

    monkeypatch.setattr("tessera.dynamo.compile_graph", compile_graph)

    def f(q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    q, k, v = (torch.randn(2, 3, n, 40, dtype=dtype) for n in (17, 33, 33))
    got = torch.compile(f, backend=backend)(q, k, v)
    near(got.double(), f(q.double(), k.double(), v.double()), 2.0**-6)
    assert got.dtype == dtype and traced == [{dtype}]
    traced.clear()
    torch.compile(f, backend=backend)(q.requires_grad_(), k, v).sum().backward()
    assert traced[0] == {torch.float32}
    assert not torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_scores_are_computed_again(monkeypatch, masked, dynamic):
    """On GPUs, forward saves no scores, probabilities or masks for backward."""
    saved = []
    real = tessera_fx.compile_graph

    def compile_graph(module, *rest):
        results = next(node for node in module.graph.nodes if node.op == "output").args[0]
        values = [one.meta["val"] for one in results if isinstance(one, torch.fx.Node)]
        tensors = [one for one in values if isinstance(one, torch.Tensor)]
        saved.extend(one.shape[-2:] for one in tensors if one.dim() > 1)
        return real(module, *rest)

    monkeypatch.setattr("tessera.dynamo.compile_graph", compile_graph)
    monkeypatch.setattr("tessera.dynamo._on_gpu", lambda values: True)

    def f(qkv, w):
        q, k, v = qkv.unbind(2)
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=masked) * w

    compiled = torch.compile(f, backend=backend)
    for size in (60, 72):
        qkv, w = torch.randn(2, size, 3, 4, 8), torch.randn(8)
        ours, theirs = ([one.clone().requires_grad_() for one in (qkv, w)] for _ in range(2))
        if dynamic:
            torch._dynamo.mark_dynamic(ours[0], 1)
        compiled(*ours).square().sum().backward()
        f(*theirs).square().sum().backward()
        for one, other in zip(ours, theirs):
            near(one.grad, other.grad, 1e-4)
    assert saved and not any(str(rows) == str(columns) for rows, columns in saved if rows != 1)
