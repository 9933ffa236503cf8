"""Functions in PyTorch's graph of gradients, where PyTorch is installed."""

import pytest

import tessera as tsr

torch = pytest.importorskip("torch")


@tsr.function
def layer(x, w, b, scale: float = 1.5):
    return tsr.gelu(x @ w + b) * scale


@tsr.function
def best(x):
    return x.max(dim=1)


@tsr.function
def lookup(table, i):
    return table[i] ** 2


def plain(x, w, b, scale=1.5):
    return torch.nn.functional.gelu(x @ w + b) * scale


def arguments():
    torch.manual_seed(0)
    shapes = ((5, 4), (4, 3), (3,))
    return [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in shapes]


def test_backward():
    ours, theirs = arguments(), arguments()
    (layer(*ours) ** 2).sum().backward()
    (plain(*theirs) ** 2).sum().backward()
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one.grad, other.grad)


def test_only_some_require_gradients():
    x, w, b = arguments()
    x = x.detach()
    y = layer(x, w, b=b, scale=2.0)
    assert y.requires_grad
    dw, db = torch.autograd.grad(y.sum(), (w, b))
    expected = torch.autograd.grad(plain(x, w, b, 2.0).sum(), (w, b))
    torch.testing.assert_close((dw, db), expected)


def test_gradcheck():
    x, w, b = arguments()
    assert torch.autograd.gradcheck(layer, (x, w, b))
    assert torch.autograd.gradgradcheck(layer, (x, w, b))


def test_integer_results_and_arguments():
    x = arguments()[0]
    values, indices = best(x)
    assert values.requires_grad and not indices.requires_grad
    values.sum().backward()
    expected = torch.zeros_like(x).scatter_(1, indices[:, None], 1.0)
    torch.testing.assert_close(x.grad, expected)
    table = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    i = torch.tensor([1, 1, 4])
    lookup(table, i).sum().backward()
    expected = torch.zeros_like(table)
    expected.index_add_(0, i, 2 * table.detach()[i])
    torch.testing.assert_close(table.grad, expected)


def test_nothing_is_recorded_without_need():
    x, w, b = arguments()
    with torch.no_grad():
        assert not layer(x, w, b).requires_grad
    assert not layer(x.detach(), w.detach(), b.detach()).requires_grad
    out = torch.empty(5, 3, dtype=torch.float64)
    assert layer(x, w, b, out=out) is out and not out.requires_grad


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @tsr.function
    def cube(self, x):
        return x * x * x * self.scale


def test_methods():
    x = arguments()[0]
    Scaled(2.0).cube(x).sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach() ** 2)


def test_modules_train():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(4, 3))
            self.b = torch.nn.Parameter(torch.zeros(3))

        def forward(self, x):
            return layer(x, self.w, self.b)

    torch.manual_seed(1)
    model, x, y = Model(), torch.randn(32, 4), torch.rand(32, 3)
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    losses = []
    for _ in range(60):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@tsr.function
def two(x, w, *, power=2.0):
    return (x * w) ** power, (x + w).sum(dim=0)


def test_several_results_and_keywords():
    x, w = arguments()[0], arguments()[0].detach().flip(0).requires_grad_()
    y, total = two(x, w=w, power=3.0)
    got = torch.autograd.grad((y.sum() + total.prod()), (x, w))
    expected = torch.autograd.grad(((x * w) ** 3).sum() + (x + w).sum(0).prod(), (x, w))
    torch.testing.assert_close(got, expected)
    y, _ = two(x, w)  # a result that is not used
    torch.testing.assert_close(
        torch.autograd.grad(y.sum(), x), torch.autograd.grad(((x * w) ** 2).sum(), x)
    )


def test_hooks_and_graphs_of_gradients():
    x, w, b = arguments()
    seen = []
    y = layer(x, w, b)
    y.register_hook(lambda g: seen.append(g.shape) or 2 * g)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [y.shape] and first.requires_grad
    torch.testing.assert_close(first, 2 * torch.autograd.grad(plain(x, w, b).sum(), x)[0])
    (first**2).sum().backward()
    assert x.grad is not None and w.grad is not None
    with torch.inference_mode():
        assert not layer(x, w, b).requires_grad


def test_functional_gradients():
    x, w, b = (one.detach() for one in arguments())
    got = torch.func.grad(lambda w: layer(x, w, b).sum())(w)
    torch.testing.assert_close(got, torch.func.grad(lambda w: plain(x, w, b).sum())(w))


def test_types_of_autocast():
    """Arguments of several types are promoted, and gradients have the types of the arguments."""
    x = torch.randn(5, 4, dtype=torch.bfloat16, requires_grad=True)
    w, b = torch.randn(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = torch.nn.functional.linear(x, torch.randn(4, 4, requires_grad=True))
        assert hidden.dtype == torch.bfloat16
        y = layer(hidden, w, b)
        y.float().sum().backward()
    assert x.grad.dtype == torch.bfloat16 and w.grad.dtype == torch.float32


def test_rules_and_checkpoints():
    @tsr.custom_vjp
    def doubled(x):
        return x.sum()

    def forward(x):
        return x.sum(), x

    def backward(x, cotangent):
        return 2 * x * cotangent

    doubled.defvjp(forward, backward)
    x = arguments()[0]
    doubled(x).backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    x.grad = None
    checkpointed = tsr.checkpoint(best, policy="nothing")
    checkpointed(x)[0].sum().backward()
    torch.testing.assert_close(x.grad.sum(), torch.tensor(5.0, dtype=torch.float64))


def test_numpy_beside_tensors():
    import numpy as np

    x = np.ones((5, 4))
    torch.manual_seed(0)
    assert isinstance(layer(x, np.ones((4, 3)), np.zeros(3)), np.ndarray)


def step(x, w, b):
    return layer(x * 2, w, b) + 1


def test_compiled_callers():
    pytest.importorskip("torch._dynamo")
    from tessera.torch import traceable

    traceable(layer, best)
    for is_dynamic in (False, True):
        torch._dynamo.reset()
        run = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=is_dynamic)
        for rows in (5, 7):
            x, w, b = arguments()
            x = torch.randn(rows, 4, dtype=torch.float64, requires_grad=True)
            torch.testing.assert_close(run(x, w, b), step(x, w, b))
            got = torch.autograd.grad(run(x, w, b).sum(), (x, w, b))
            torch.testing.assert_close(got, torch.autograd.grad(step(x, w, b).sum(), (x, w, b)))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def largest(x):
        values, indices = best(x)
        return values * 2, indices

    x = arguments()[0]
    values, indices = largest(x)
    torch.testing.assert_close(values, x.max(dim=1)[0] * 2)
    values.sum().backward()
    assert not indices.requires_grad and x.grad is not None


def test_compiled_callers_without_a_whole_graph():
    torch._dynamo.reset()
    x, w, b = arguments()
    run = torch.compile(lambda x: lookup(x * 2, torch.tensor([1, 1, 4])), backend="eager")
    torch.testing.assert_close(run(x), (x * 2)[torch.tensor([1, 1, 4])] ** 2)
