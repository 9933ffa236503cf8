"""Judges operations in this process: one task per line of standard input, one line of JSON per task
on standard output.

    worker.py LIMIT | --list

A task is "ENTRY|VARIANT|TYPE", where the type "errors" means the error inputs and invalid calls
(wrong.py), and "first/0" the first samples' gradients (derivatives.py). At most LIMIT samples of each form are judged, all if it is 0. Standard error is left to
the libraries.
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import random
import signal
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TESSERA_NUM_THREADS", "1")

import entries
import exclusions
import derivatives
import judge
import numpy as np
import torch
import wrong
from torch.testing._internal.common_methods_invocations import op_db

MESSAGES = 12  # kept of a task
SECONDS = 900  # of processor time for one task; then the process ends


def database() -> dict[tuple[str, str], Any]:
    found = {}
    for op in op_db:
        if op.name.removeprefix("nn.functional.") in entries.NAMES:
            found[op.name, op.variant_test_name] = op
    return found


def seed(text: str) -> None:
    number = zlib.crc32(text.encode())
    torch.manual_seed(number)
    np.random.seed(number)
    random.seed(number)


def forms(op: Any) -> list[tuple[str, str]]:
    """The forms of the operation besides the function: (form, name)."""
    name = entries.spelling(op.name)
    found = []
    if (
        op.method_variant is not None
        and not op.name.startswith("__")
        and op.name not in entries.ATTRIBUTES
    ):
        found.append(("method", name))
    plain = op.variant_test_name in ("", "no_rounding_mode", "floor_rounding")
    if op.name in entries.OPERATORS and plain and op.variant_test_name != "floor_rounding":
        found.append(("operator", name))
    found += [
        ("function", alias.name)
        for alias in op.aliases
        if "." not in alias.name and op.variant_test_name != "binary"
    ]
    return found


def some(samples: Iterator[Any], limit: int) -> Iterator[Any]:
    """All samples, or at most this many, evenly spread."""
    if not limit:
        return samples
    every = list(samples)
    step = max(len(every) / limit, 1)
    return iter([every[int(i * step)] for i in range(min(limit, len(every)))])


def run_gradients(op: Any, kind: str, limit: int) -> dict:
    order, _, part = kind.partition("/")
    first = int(part) * derivatives.PART
    every = list(some(iter(derivatives.samples(op)), limit))
    generator = torch.Generator().manual_seed(first)
    verdicts, differences = [], 0
    for sample in every[first : first + derivatives.PART]:
        verdict, confirmed = derivatives.judge(op, sample, derivatives.ORDERS[order], generator)
        verdicts.append(verdict)
        differences += confirmed
    return {**summary(verdicts), "differences": differences}


def run(op: Any, dtype: str, limit: int) -> dict:
    if dtype.partition("/")[0] in derivatives.ORDERS:
        return run_gradients(op, dtype, limit)
    name = entries.spelling(op.name)
    verdicts: list[judge.Verdict] = []
    if dtype == "errors":
        if op.error_inputs_func is not None:
            for one in op.error_inputs("cpu"):
                sample = one.sample_input
                verdicts.append(
                    judge.judge_error(op, [sample.input, *sample.args], sample.kwargs, name)
                )
        for args, kwargs, message in wrong.of(op):
            reason = exclusions.refusal(message)
            verdicts.append(
                judge.Verdict("excluded", reason)
                if reason
                else judge.judge_error(op, args, kwargs, name)
            )
    else:
        kind = getattr(torch, dtype)
        for sample in some(op.reference_inputs("cpu", kind), limit):
            verdicts.append(
                judge.judge(op, [sample.input, *sample.args], sample.kwargs, "function", name)
            )
        for form, spelled in forms(op):
            for sample in some(op.sample_inputs("cpu", kind), limit):
                if form == "operator" and (sample.kwargs or isinstance(sample.input, (int, float))):
                    continue
                verdicts.append(
                    judge.judge(op, [sample.input, *sample.args], sample.kwargs, form, spelled)
                )
    return summary(verdicts)


def summary(verdicts: list[judge.Verdict]) -> dict:
    counts = collections.Counter(one.status for one in verdicts)
    reasons = collections.Counter(one.message for one in verdicts if one.status == "excluded")
    failed = [one for one in verdicts if one.status == "failed"]
    return {
        **counts,
        "reasons": reasons,
        "messages": [
            f"{one.message} | {one.program.splitlines()[-1].strip() if one.program else ''}"
            for one in failed[:MESSAGES]
        ],
    }


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = database()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    if sys.argv[1:] == ["--list"]:
        for (name, variant), op in known.items():
            types = [d for d in judge.calls.TYPES if d in op.supported_dtypes("cpu")]
            for dtype in [*(str(d).removeprefix("torch.") for d in types), "errors"]:
                print(f"{name}|{variant}|{dtype}", file=out)
            orders = derivatives.orders(op)
            parts = range(0, len(derivatives.samples(op)) if orders else 0, derivatives.PART)
            for order, part in itertools.product(orders, range(len(parts))):
                print(f"{name}|{variant}|{order}/{part}", file=out)
        return
    limit = int(sys.argv[1])
    for line in sys.stdin:
        task = line.strip()
        name, variant, dtype = task.split("|")
        seed(task)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            result = run(known[name, variant], dtype, limit)
        except Exception as error:  # noqa: BLE001 (the judge's own failure is one of the task)
            result = {"failed": 1, "messages": [f"{type(error).__name__}: {error}"]}
        print(json.dumps({"task": task, **result}), file=out)


if __name__ == "__main__":
    main()
