"""The measuring process, with one number of threads; it sends results as lines of JSON."""

from __future__ import annotations

import json
import subprocess
import time
from argparse import Namespace
from collections.abc import Callable

from . import roofline, functions
from .harness import OURS, Case, Figure, measure


def selected(arguments: Namespace) -> tuple[list[Case], list[Figure]]:
    """Cases and figures that the command line selects."""
    from . import latency
    from .kernels import attention, chain, linear, matmul, models, precision, rows

    programs = [name for name in arguments.names if functions.is_program(name)]
    texts = [name for name in arguments.names if name not in programs]
    if programs:
        return [functions.case(one, arguments.arg, arguments.peer) for one in programs], []

    def keep(item: Case | Figure) -> bool:
        named = not texts or any(text in item.title for text in texts)
        return named and (item.quick or not arguments.quick)

    modules = (matmul, attention, rows, linear, chain, models, precision)
    cases = [case for module in modules for case in module.cases() if keep(case)]
    known = [*latency.figures(arguments.clock), *latency.memory_figures()]
    return cases, [one for one in known if keep(one)] if arguments.threads[0] == 1 else []


def send(kind: str, **fields: object) -> None:
    print(json.dumps({"kind": kind, **fields}), flush=True)


def clock_of(arguments: Namespace) -> Callable[[], float]:
    return time.thread_time if arguments.clock == "cpu" else time.perf_counter


def run_case(case: Case, arguments: Namespace, ceiling: dict | None) -> None:
    start = time.perf_counter()
    prepared = case.prepare()
    if wrong := prepared.check():
        send("error", title=case.title, text=wrong)
        return
    timing = measure(prepared.calls, arguments.seconds, clock=clock_of(arguments))
    targets = []
    for target in case.targets:
        present = [name for name in target.contenders if name in timing.rounds]
        if not present:
            continue
        peer = min(present, key=timing.median)
        ratio, low, high = timing.ratio(peer)
        targets.append(
            {
                "against": peer,
                "seconds": timing.median(peer),
                "ratio": ratio,
                "low": low,
                "high": high,
                "best_ratio": timing.best_ratio(peer),
                "target": target.ratio,
            }
        )
    least = roofline.roof(case.flops, case.bytes, ceiling) if case.roofed else 0.0
    send(
        "case",
        group=case.group,
        title=case.title,
        seconds=timing.median(OURS),
        interval=timing.interval(OURS),
        flops=case.flops,
        bytes=case.bytes,
        roof=least / timing.median(OURS),
        rounds=len(timing.rounds[OURS]),
        targets=targets,
        medians={name: timing.median(name) for name in timing.rounds},
        best=timing.best,
        samples=timing.rounds,
        spent=time.perf_counter() - start,
    )


def run_figure(figure: Figure) -> None:
    from . import latency

    value, least, greatest = latency.summary(figure.measure())
    send(
        "figure",
        group=figure.group,
        title=figure.title,
        unit=figure.unit,
        value=value,
        low=least,
        high=greatest,
        limit=figure.limit,
    )


def versions() -> dict[str, str]:
    import numpy

    import tessera

    from .peers import openblas, pytorch

    found = {"tessera": tessera.__version__, "numpy": numpy.__version__}
    found |= {"openblas": openblas.description()} if openblas.available() else {}
    found |= {"torch": pytorch.description()} if pytorch.available() else {}
    return found


def work(arguments: Namespace) -> int:
    import tessera

    from .peers import openblas, pytorch

    threads = arguments.threads[0]
    for peer in (openblas, pytorch):
        peer.set_threads(threads)
    try:
        cases, figures = selected(arguments)
    except (functions.Wrong, tessera.TesseraError) as error:
        send("wrong", text=str(error))
        return 1
    send("start", total=len(cases) + len(figures) + 1, versions=versions())
    send("running", title="roofline")
    ceiling = (
        roofline.measure(threads, clock_of(arguments))
        if any(case.roofed for case in cases)
        else None
    )
    send("ceiling", ceiling=ceiling)
    for case in cases:
        send("running", title=case.title)
        try:
            run_case(case, arguments, ceiling)
        except tessera.TesseraError as error:
            send("error", title=case.title, text=str(error))
    for figure in figures:
        send("running", title=figure.title)
        try:
            run_figure(figure)
        except (tessera.TesseraError, subprocess.CalledProcessError) as error:
            send("error", title=figure.title, text=str(error))
    return 0
