"""Functions in PyTorch's graph of gradients, where PyTorch is installed."""

import pytest

import tessera as tsr

torch = pytest.importorskip("torch")

from tessera.torch import differentiable  # noqa: E402


@differentiable
@tsr.function
def layer(x, w, b, scale: float = 1.5):
    return tsr.gelu(x @ w + b) * scale


@differentiable
@tsr.function
def best(x):
    return x.max(dim=1)


@differentiable
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
    differentiable(Scaled(2.0).cube)(x).sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach() ** 2)
    with pytest.raises(tsr.ArgumentError, match="decorated with @tsr.function"):
        differentiable(torch.sin)


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
