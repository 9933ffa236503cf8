"""The steps of the check: what each one has to run, and how one item of it runs.

A step's items are found in what travelled (build.py), so a smaller `make gpu` is a smaller check.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Step:
    name: str
    title: str
    verbose = True  # print a line for each item, not only for those that are wrong

    def names(self) -> list[str]:
        raise NotImplementedError

    def prepare(self, names: list[str], deadline: float) -> None:
        """What is done once before the items, outside the process that runs them."""

    def run(self, name: str, sustained: bool) -> dict:
        raise NotImplementedError

    def line(self, name: str, result: dict) -> str:
        if "failure" in result:
            return f"{name:44} FAILED: {result['failure'].splitlines()[0][:160]}"
        return f"{name:44} {'' if result['good'] else 'WRONG'}"


class Bench(Step):
    name = "bench"
    title = "error/bound, our burst, then ratios burst/sustained (! short of the goal)"
    folder = HERE / "bench"

    def names(self) -> list[str]:
        from rows import ROWS

        return [row.name for row in ROWS if (self.folder / row.bundle).exists()]

    def prepare(self, names: list[str], deadline: float) -> None:
        """Lets PyTorch compile its forms in several processes; the cache on disk keeps them."""
        from rows import ROWS

        compiled = [
            row.name
            for row in ROWS
            if row.name in names
            and any(peer in ("compile", "flex") for goal in row.goals for peer in goal.against)
        ]
        script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import steps; steps.warm(sys.argv[1:])"
        groups = [group for group in (compiled[i::8] for i in range(8)) if group]
        workers = [
            subprocess.Popen([sys.executable, "-c", script, *group], stderr=subprocess.DEVNULL)
            for group in groups
        ]
        for worker in workers:
            try:
                worker.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()

    def run(self, name: str, sustained: bool) -> dict:
        import bench
        from rows import ROWS

        (row,) = (row for row in ROWS if row.name == name)
        return bench.run(row, self.folder / row.bundle, sustained)

    def line(self, name: str, result: dict) -> str:
        import bench

        return bench.line(name, result)


def warm(names: list[str]) -> None:
    import bench
    from rows import ROWS

    for row in ROWS:
        if row.name in names:
            try:
                bench.warm(row)
            except Exception:  # the measurement tells
                pass


STEPS = {step.name: step for step in (Bench(),)}


def about() -> dict:
    """What the results belong to."""
    import torch

    built = json.loads((HERE / "built.json").read_text())
    return {
        **built,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
