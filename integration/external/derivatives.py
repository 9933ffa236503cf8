"""The gradients of one sample in float64, beside PyTorch's autograd and finite differences.

The call of the sample is differentiated with `tsr.vjp`, with a random cotangent for each float
result. The second gradients are those of the first, with respect to the arguments and the
cotangents. An element is right if it is within PyTorch's tolerance of PyTorch's gradient, or within
the reference's bound. Differences are taken along random directions of all arguments at once, of
the compiled call itself. At a kink they say nothing; how many samples they confirm is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import calls
import exclusions
import entries
import torch
from judge import Verdict, explain, outside, results, wrong

import tessera as tsr

#: The task types, by how often the call is differentiated.
ORDERS = {"first": 1, "second": 2}
#: Samples of a task; entries with more have several tasks.
PART = 60
#: Steps of the differences. The smallest also fits close to a pole, the largest has the least
#: rounding.
STEPS = (1e-4, 1e-5, 1e-6)
TOLERANCE = 1e-5  # of a difference, over the sum of the magnitudes that it has


class Unjudged(Exception):
    """A sample that has nothing to differentiate, by PyTorch."""


@dataclass
class Problem:
    """What is differentiated, beside PyTorch's values."""

    function: Any  # of the language; its gradients are judged
    arguments: list  # of the function
    wanted: list[str]  # the names of parameters
    sources: list[torch.Tensor]  # PyTorch's tensor for each wanted one, equal ones repeated
    outputs: list[torch.Tensor]  # the results, as PyTorch recorded them
    results: list[bool]  # whether each result has a cotangent
    cotangents: list

    @property
    def vjp(self) -> Any:
        known = self.function.__dict__.setdefault("_judged", {})
        key = (tuple(self.wanted), len(self.results))
        if key not in known:
            known[key] = tsr.vjp(self.function, wrt=key[0], results=key[1])
        return known[key]

    @property
    def inputs(self) -> list:
        return [*self.arguments, *self.cotangents]


def has_gradients(op: Any) -> bool:
    return op.supports_autograd and torch.float64 in op.supported_backward_dtypes("cpu")


def orders(op: Any) -> list[str]:
    """The gradients that the database has samples for."""
    if not has_gradients(op):
        return []
    return list(ORDERS) if op.supports_gradgrad else ["first"]


def samples(op: Any) -> list[Any]:
    return list(op.sample_inputs("cpu", torch.float64, requires_grad=True))


# -- PyTorch's side --------------------------------------------------------------------------------


def _random(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like.dtype)


def _unique(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(one): one for one in tensors}.values())


def _theirs(
    outputs: list[torch.Tensor], sources: list, cotangents: list, again: bool
) -> list[torch.Tensor]:
    """PyTorch's gradients with respect to each distinct source; zeros where there is none."""
    try:
        return list(
            torch.autograd.grad(
                outputs,
                _unique(sources),
                cotangents,
                create_graph=again,
                retain_graph=True,
                materialize_grads=True,
            )
        )
    except RuntimeError as error:
        raise Unjudged(f"PyTorch refuses: {error}") from error


def _same_elements_dropped(args: list, kwargs: dict, ours: torch.Tensor) -> torch.Tensor:
    """PyTorch's dropout of the elements that ours dropped."""
    p = kwargs.get("p", 0.5) if kwargs.get("training", True) else 0.0
    return args[0] * (ours != 0).double() / (1 - p if p < 1 else 1)


# -- our side --------------------------------------------------------------------------------------


def _summed(gradients: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> list:
    """Gradients of the distinct sources: an argument that is given twice has the sum."""
    found: dict[int, torch.Tensor] = {}
    for one, source in zip(gradients, sources, strict=True):
        found[id(source)] = found[id(source)] + one if id(source) in found else one
    return list(found.values())


def _beyond_bounds(
    problem: Problem, number: int, ours: torch.Tensor, theirs: torch.Tensor
) -> torch.Tensor:
    """Where a gradient is outside the reference's bound; everywhere if it is a sum of several."""
    if len(_unique(problem.sources)) != len(problem.sources):
        return torch.ones(ours.shape, dtype=torch.bool)
    expected = problem.vjp.reference(*problem.inputs, bounds=True)
    return outside(expected[number] if type(expected) is tuple else expected, ours, theirs)


def compare(problem: Problem, ours: list, theirs: list) -> str:
    """The error of gradients, or nothing."""
    for number, (mine, its) in enumerate(zip(_summed(ours, problem.sources), theirs, strict=True)):
        its = its.detach()
        if mine.shape != its.shape or mine.dtype != its.dtype:
            return (
                f"gradient {number} is {mine.dtype}{tuple(mine.shape)}, "
                f"PyTorch's {its.dtype}{tuple(its.shape)}"
            )
        bad = wrong(mine, its)
        if bool(bad.any()):
            bad &= _beyond_bounds(problem, number, mine, its)
        if bool(bad.any()):
            return explain(number, mine, its, bad).replace("result", "gradient", 1)
    return ""


def _paired(values: Sequence, weights: Sequence, mask: Sequence[bool]) -> float:
    chosen = [(v, w) for v, w, has in zip(values, weights, mask, strict=True) if has]
    return sum(float((v.double() * w.double()).sum()) for v, w in chosen)


def _moved(problem: Problem, directions: list[torch.Tensor], step: float) -> list:
    names = problem.function._make_parameters().names
    where = {names.index(name): one for name, one in zip(problem.wanted, directions)}
    return [
        given + step * where[at] if at in where else given
        for at, given in enumerate(problem.arguments)
    ]


def confirm(problem: Problem, ours: Sequence[torch.Tensor], generator: torch.Generator) -> bool:
    """Whether differences of the compiled call agree with the gradients."""
    by_source: dict[int, torch.Tensor] = {}
    for one in problem.sources:
        if id(one) not in by_source:
            by_source[id(one)] = _random(one, generator)
    directions = [by_source[id(one)] for one in problem.sources]
    found = sum(float((g * d).sum()) for g, d in zip(ours, directions, strict=True))
    scale = sum(float((g * d).abs().sum()) for g, d in zip(ours, directions, strict=True))

    def value(step: float) -> float:
        outputs = results(problem.function(*_moved(problem, directions, step)))
        return _paired(outputs, problem.cotangents, problem.results)

    def central(step: float) -> float:
        return (value(step) - value(-step)) / (2 * step)

    for step in STEPS:
        expected = (4 * central(step) - central(2 * step)) / 3
        if abs(found - expected) <= TOLERANCE * (1 + scale):
            return True
    return False


# -- one sample ------------------------------------------------------------------------------------


def _first(op: Any, sample: Any, call: calls.Call, generator: torch.Generator) -> Problem:
    """The sample's own call, differentiated."""
    args = [sample.input, *sample.args]
    outputs = results(op.op(*args, **sample.kwargs))
    function = call.function()
    if op.name.split(".")[-1] in entries.RANDOM:
        with torch.no_grad():
            ours = function(*call.tensors)
        outputs = [_same_elements_dropped(args, sample.kwargs, ours)]
    names = function._make_parameters().names
    wanted = [at for at, one in enumerate(call.sources) if one.requires_grad]
    is_float = [one.is_floating_point() for one in outputs]
    depends = [has and one.requires_grad for one, has in zip(outputs, is_float)]
    if not wanted or not any(depends):
        raise Unjudged("nothing to differentiate")
    cotangents: list = []
    for one, has, is_live in zip(outputs, is_float, depends):
        cotangent = _random(one, generator) if is_live else torch.zeros_like(one)
        cotangents.append(cotangent if has else 0)
    return Problem(
        function,
        call.tensors,
        [names[at] for at in wanted],
        [call.sources[at] for at in wanted],
        outputs,
        depends,
        cotangents,
    )


def _second(first: Problem, generator: torch.Generator) -> Problem:
    """The gradients of a problem as the function that is differentiated."""
    vjp = first.vjp
    cotangents = [
        one.requires_grad_() if has else one for one, has in zip(first.cotangents, first.results)
    ]
    live = [one for one, has in zip(cotangents, first.results) if has]
    outputs = [one for one, has in zip(first.outputs, first.results) if has]
    gradients = _theirs(outputs, first.sources, live, again=True)
    depends = [one.requires_grad for one in gradients]
    if not any(depends):
        raise Unjudged("gradients that depend on nothing")
    # Both gradients of an argument that is given twice have its cotangent.
    distinct = {id(one): at for at, one in enumerate(_unique(first.sources))}
    weights = [_random(one, generator) for one in gradients]
    places = [distinct[id(one)] for one in first.sources]
    names = vjp._make_parameters().names[len(first.arguments) :]
    return Problem(
        vjp,
        [one.detach() if isinstance(one, torch.Tensor) else one for one in first.inputs],
        [*first.wanted, *(name for name, has in zip(names, first.results) if has)],
        [*first.sources, *live],
        [gradients[at] for at in places],
        [depends[at] for at in places],
        [weights[at] if depends[at] else torch.zeros_like(weights[at]) for at in places],
    )


def judge(op: Any, sample: Any, order: int, generator: torch.Generator) -> tuple[Verdict, bool]:
    """The verdict, and whether differences confirm the gradients."""
    args = [sample.input, *sample.args]
    try:
        call = calls.write(op, args, sample.kwargs, "function", entries.spelling(op.name))
    except calls.NotInLanguage as error:
        return Verdict("excluded", str(error)), False
    if sample.kwargs.get("scale_grad_by_freq"):
        return Verdict("excluded", "gradients by frequency"), False
    if (reason := exclusions.behaviour(op.name, args, sample.kwargs, is_error=False)) is not None:
        return Verdict("excluded", reason), False
    try:
        problem = _first(op, sample, call, generator)
        if order == 2:
            problem = _second(problem, generator)
    except Unjudged as error:
        return Verdict("refused", str(error)), False
    return differentiate(problem, call.text, generator)


def differentiate(problem: Problem, text: str, generator: torch.Generator) -> tuple[Verdict, bool]:
    """Judges the gradients of a problem."""
    live = {
        (id(one), id(cotangent)): (one, cotangent)
        for one, cotangent, has in zip(problem.outputs, problem.cotangents, problem.results)
        if has
    }
    outputs, cotangents = map(list, zip(*live.values()))
    try:
        theirs = _theirs(outputs, problem.sources, cotangents, again=False)
        ours = results(problem.vjp(*problem.inputs))
        message = compare(problem, ours, theirs)
        # The steps are far below the distance of numbers of other types.
        is_wide = all(one.dtype == torch.float64 for one in outputs)
        confirmed = not message and is_wide and confirm(problem, ours, generator)
    except Unjudged as error:
        return Verdict("refused", str(error), text), False
    except tsr.TesseraError as error:
        message, confirmed = f"{type(error).__name__}: {str(error).splitlines()[0]}", False
    return Verdict("failed" if message else "passed", message, text), confirmed
