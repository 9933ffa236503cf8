"""What calls save for PyTorch's backward, where PyTorch is installed: gradients are PyTorch's own."""

import pytest

import tessera as tsr

torch = pytest.importorskip("torch")
F = torch.nn.functional


@tsr.function
def attention(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    i, j = tsr.iota(scores.shape, dim=-2), tsr.iota(scores.shape, dim=-1)
    return tsr.softmax(tsr.where(j <= i, scores, -tsr.inf), dim=-1) @ v


@tsr.function
def grouped(q, k, v):
    """Several heads of q share a head of k and v."""
    b, h, s, d = q.shape
    q = q.reshape(b, k.shape[1], h // k.shape[1], s, d)
    k, v = k[:, :, None], v[:, :, None]
    return (tsr.softmax(q @ k.mT / d**0.5, dim=-1) @ v).reshape(b, h, s, d)


@tsr.function
def mlp(x, w, b, v):
    return tsr.gelu(x @ w + b) @ v


@tsr.function
def norm(x, scale, shift):
    return tsr.layer_norm(x, scale, shift)


@tsr.function
def both(x, w):
    y = tsr.tanh(x @ w)
    values, indices = y.max(dim=1)
    return y, values, indices


@tsr.function
def dropped(x, w, seed: int):
    return tsr.dropout(tsr.tanh(x @ w), 0.5, seed=seed)


def arguments(*shapes, dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]


HEADS = ((2, 3, 9, 4),) * 3
CASES = {
    "attention": (
        attention,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        HEADS,
    ),
    "grouped": (
        grouped,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        ((2, 4, 7, 4), (2, 2, 9, 4), (2, 2, 9, 4)),
    ),
    "mlp": (mlp, lambda x, w, b, v: F.gelu(x @ w + b) @ v, ((5, 4), (4, 8), (8,), (8, 3))),
    "norm": (norm, lambda x, s, b: F.layer_norm(x, (12,), s, b), ((5, 12), (12,), (12,))),
    "empty": (mlp, lambda x, w, b, v: F.gelu(x @ w + b) @ v, ((0, 4), (4, 8), (8,), (8, 3))),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    ours, theirs, shapes = CASES[name]
    given = arguments(*shapes)
    result, expected = ours(*given), theirs(*given)
    torch.testing.assert_close(result, expected)
    cotangent = torch.randn_like(result)
    got = torch.autograd.grad(result, given, cotangent)
    torch.testing.assert_close(got, torch.autograd.grad(expected, given, cotangent))


@pytest.mark.parametrize("name", ["attention", "grouped", "mlp", "norm"])
def test_differences(name):
    ours, _, shapes = CASES[name]
    given = arguments(*shapes)
    assert torch.autograd.gradcheck(ours, given)
    assert torch.autograd.gradgradcheck(ours, given, atol=1e-4)


class Packed:
    """Counts what is saved."""

    def __init__(self):
        self.shapes = []

    def __enter__(self):
        def pack(tensor):
            self.shapes.append(tuple(tensor.shape))
            return tensor

        self.hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)


def test_statistics_are_saved_and_scores_are_not():
    q, k, v = arguments((2, 128, 16), (2, 160, 16), (2, 160, 16), dtype=torch.float32)
    with Packed() as packed:
        result = attention(q, k, v)
    own = [(2, 128, 16), (2, 160, 16), (2, 160, 16)]
    assert packed.shapes[:3] == own
    assert sorted(packed.shapes[3:]) == [(2, 128), (2, 128), (2, 128, 16)]
    vjps = len(attention.__dict__.get("_vjps", {}))
    result.sum().backward()
    assert len(attention.__dict__.get("_vjps", {})) == vjps, "backward did not use what was saved"


def test_nothing_is_saved_without_gradients():
    given = [one.detach() for one in arguments(*HEADS)]
    with Packed() as packed, torch.no_grad():
        attention(*given)
    attention(*given)
    assert packed.shapes == []


def test_some_gradients_and_results():
    x, w = arguments((5, 4), (4, 3))
    y, values, indices = both(x.detach(), w)
    assert not indices.requires_grad and y.requires_grad and values.requires_grad
    expected = torch.tanh(x.detach() @ w)
    (got,) = torch.autograd.grad(values.sum(), w, retain_graph=True)  # y has no cotangent
    torch.testing.assert_close(
        got, torch.autograd.grad(expected.amax(1).sum(), w, retain_graph=True)[0]
    )
    (got,) = torch.autograd.grad((y**2).sum() + values.sum(), w)
    loss = (expected**2).sum() + expected.amax(1).sum()
    torch.testing.assert_close(got, torch.autograd.grad(loss, w)[0])


def test_part_of_the_gradients_is_wanted():
    given = arguments(*CASES["mlp"][2])
    y = mlp(*given)
    (got,) = torch.autograd.grad(y.sum(), given[1], retain_graph=True)
    expected = torch.autograd.grad(CASES["mlp"][1](*given).sum(), given)
    torch.testing.assert_close(got, expected[1])
    torch.testing.assert_close(torch.autograd.grad(y.sum(), given), expected)


def test_graphs_are_kept_and_freed():
    given = arguments(*CASES["mlp"][2])
    y = mlp(*given)
    first = torch.autograd.grad(y.sum(), given, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), given), first)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), given)


def test_writes_to_saved_tensors_are_noticed():
    given = arguments(*HEADS)
    result = attention(*given)
    with torch.no_grad():
        given[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    result = attention(*given)
    with torch.no_grad():
        result.mul_(2)  # it is saved, too
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_hooks():
    given = arguments(*CASES["mlp"][2])
    y = mlp(*given)
    y.register_hook(lambda cotangent: 3 * cotangent)
    seen = []
    given[1].register_hook(lambda gradient: seen.append(gradient.shape))
    y.sum().backward()
    assert seen == [given[1].shape]
    expected = torch.autograd.grad(3 * CASES["mlp"][1](*given).sum(), given)
    torch.testing.assert_close([one.grad for one in given], list(expected))


def test_random_numbers_are_the_same_in_both_parts():
    x, w = arguments((16, 8), (8, 32))
    y = dropped(x, w, 3)
    (got,) = torch.autograd.grad(y.sum(), x)
    kept = (y.detach() != 0).to(y.dtype)
    expected = torch.autograd.grad((torch.tanh(x @ w) * kept * 2).sum(), x)[0]
    torch.testing.assert_close(got, expected)


def test_other_sizes_and_types():
    for rows in (64, 72, 65, 130, 3):
        given = arguments((2, rows, 8), (2, rows, 8), (2, rows, 8))
        result = attention(*given)
        expected = F.scaled_dot_product_attention(*given, is_causal=True)
        torch.testing.assert_close(
            torch.autograd.grad(result.sum(), given), torch.autograd.grad(expected.sum(), given)
        )
    given = arguments((2, 32, 16), (2, 32, 16), (2, 32, 16), dtype=torch.bfloat16)
    result = attention(*given)
    result.float().sum().backward()
    wide = [one.detach().double().requires_grad_() for one in given]
    F.scaled_dot_product_attention(*wide, is_causal=True).sum().backward()
    for one, other in zip(given, wide):
        assert one.grad.dtype == torch.bfloat16
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=0.1, atol=0.1)


def test_strided_arguments_and_cotangents():
    q, k, v = arguments((9, 2, 4), (9, 2, 4), (9, 2, 4))
    views = [one.transpose(0, 1) for one in (q, k, v)]
    result = attention(*views)
    cotangent = torch.randn(9, 2, 4, dtype=torch.float64).transpose(0, 1)
    expected = F.scaled_dot_product_attention(*views, is_causal=True)
    torch.testing.assert_close(
        torch.autograd.grad(result, (q, k, v), cotangent),
        torch.autograd.grad(expected, (q, k, v), cotangent),
    )
