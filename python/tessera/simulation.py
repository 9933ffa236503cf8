"""`f.simulate`: GPU kernels on the CPU, with the simulator's findings."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _tessera, compiler
from .errors import compile_error
from .parameters import Bound

_OK, _DIAGNOSTICS = 0, 1


class Simulation(NamedTuple):
    """The result of a simulation; docs/simulator.md explains it."""

    ok: bool  # no findings, and no mutant survives without a proof that it is equivalent
    text: str  # the findings, at their lines
    report: dict[str, Any]  # findings, launches, results, mutants


def simulate(
    unit: compiler.Unit, bound: Bound, seeds: int, exhaustive: bool, most_runs: int, mutants: bool
) -> Simulation:
    compiler.load()
    values = [one for one in bound.specifications if not isinstance(one, str)]
    result = _tessera.simulate(unit.request(), values, seeds, 0, most_runs, exhaustive, mutants)
    report = json.loads(result["report"]).get("simulation")
    if result["status"] not in (_OK, _DIAGNOSTICS) or report is None:
        raise compile_error(result["text"], result["diagnostics"], unit.name)
    return Simulation(result["status"] == _OK, result["text"], report)
