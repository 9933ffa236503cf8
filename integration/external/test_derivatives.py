"""The judge of gradients: some samples of the database, and wrong gradients that it must find."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import calls  # noqa: E402
import derivatives  # noqa: E402
import tables  # noqa: E402
import worker  # noqa: E402

HERE = Path(__file__).resolve().parent

#: Entries of each kind: elementwise, ties, reductions, contractions, gathers, windows, random.
ENTRIES = (
    "add", "atan2", "maximum", "where", "nn.functional.gelu", "sum", "amax", "logsumexp", "std", "softmax",
    "cumsum", "sort", "matmul", "einsum", "nn.functional.layer_norm", "nn.functional.cross_entropy", "cat",
    "__getitem__", "gather", "scatter_add", "nn.functional.embedding", "nn.functional.conv1d",
    "nn.functional.max_pool1d", "nn.functional.dropout",
)  # fmt: skip
LIMIT = 3  # samples of an entry


@pytest.fixture(scope="module")
def database():
    return worker.database()


@pytest.mark.parametrize("name", ENTRIES)
def test_samples(database, name):
    op = next(op for (entry, _), op in database.items() if entry == name)
    worker.seed(name)
    for order in derivatives.orders(op):
        line = worker.run(op, f"{order}/0", LIMIT)
        assert not line.get("failed"), line["messages"]
        assert line.get("passed"), line
        assert line["differences"], "no sample is confirmed by differences"


def problem(text: str, its, *tensors) -> derivatives.Problem:
    """The gradients of a text of the language beside those of a result of PyTorch."""
    call = calls.Call(text, [one.detach() for one in tensors], {}, list(tensors))
    names = [f"t{i}" for i in range(len(tensors))]
    cotangent = torch.linspace(1, 2, its.numel(), dtype=torch.float64).reshape(its.shape)
    return derivatives.Problem(
        call.function(), call.tensors, names, list(tensors), [its], [True], [cotangent]
    )


TEXT = "@tsr.function\ndef f(t0, t1):\n    return {}\n"


@pytest.fixture
def pair():
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(3, 4, generator=generator, dtype=torch.float64).requires_grad_()
        for _ in range(2)
    ]


def test_wrong_gradients_are_found(pair):
    x, y = pair
    generator = torch.Generator().manual_seed(4)
    right = problem(TEXT.format("tsr.sin(t0) * t1"), x.sin() * y, x, y)
    verdict, confirmed = derivatives.differentiate(right, "", generator)
    assert verdict.status == "passed" and confirmed
    wrong = problem(TEXT.format("tsr.sin(t0) * t1.detach()"), x.sin() * y, x, y)
    verdict, confirmed = derivatives.differentiate(wrong, "", generator)
    assert verdict.status == "failed" and not confirmed
    assert verdict.message.startswith("gradient 1 (3, 4): 12 elements differ; at (0, 0) PyTorch")
    # The gradient that PyTorch has as well, of a value that differences do not agree with.
    stopped = problem(TEXT.format("tsr.sin(t0) * t1.detach()"), x.sin() * y.detach() + 0 * y, x, y)
    verdict, confirmed = derivatives.differentiate(stopped, "", generator)
    assert verdict.status == "passed" and not confirmed


def test_an_argument_that_is_given_twice(pair):
    x, _ = pair
    generator = torch.Generator().manual_seed(4)
    twice = problem(TEXT.format("t0 * tsr.exp(t1)"), x * x.exp(), x, x)
    verdict, confirmed = derivatives.differentiate(twice, "", generator)
    assert verdict.status == "passed" and confirmed


def test_nothing_to_differentiate(database):
    assert derivatives.orders(database["eq", ""]) == []
    assert derivatives.orders(database["nn.functional.hardsigmoid", ""]) == ["first"]


def test_every_entry_is_in_the_table(database):
    rows = {
        line.split(" | ")[0].removeprefix("| ")
        for line in (HERE / "gradients.md").read_text().split("## Exclusions")[0].splitlines()
        if line.startswith("| ")
    }
    expected = {
        tables.name_of(f"{name}|{variant}|")
        for (name, variant), op in database.items()
        if derivatives.orders(op)
    }
    assert rows - {"entry", "---"} == expected
