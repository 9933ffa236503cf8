"""`python -m tessera.tune …` is the command `tessera tune …`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tessera tune",
        description="Measures schedules of a function's kernels on this machine and keeps the "
        "fastest in the tuning table, which every later compilation reads.",
    )
    made.add_argument("program", nargs="?", help="FILE or FILE::FUNCTION")
    made.add_argument(
        "--arg", "-a", action="append", default=[], help="an argument: x=fp32[64,128], n=3"
    )
    made.add_argument(
        "--shapes",
        type=Path,
        help="a file with the arguments of one call in each line: x=fp32[64,128] w=fp32[128,64]",
    )
    made.add_argument("--budget", default="60s", help="time for each call: 60s, 2m; default 60s")
    made.add_argument(
        "--strategy", default="bayesian", choices=["bayesian", "random", "exhaustive"]
    )
    made.add_argument("--seed", type=int, default=0, help="of the search; default 0")
    made.add_argument("--device", default="cpu", help="cpu or cuda; default cpu")
    made.add_argument("--threads", type=int, help="threads of the CPU; default: all cores")
    made.add_argument("--export", type=Path, metavar="FILE", help="write the table to a file")
    made.add_argument(
        "--import", dest="take", type=Path, metavar="FILE", help="add a file to the table first"
    )
    return made


def calls(options: argparse.Namespace) -> list[list[str]]:
    """The arguments of each call to tune."""
    if options.shapes is None:
        return [options.arg]
    lines = [one.split("#")[0].split() for one in options.shapes.read_text().splitlines()]
    return [[*options.arg, *one] for one in lines if one]


def run(options: argparse.Namespace) -> int:
    import tessera as tsr
    from tessera import _tessera
    from tessera.bench import functions
    from tessera.compiler import table_name

    from .autotune import export_table, import_table

    if options.take is not None:
        device, count = import_table(options.take)
        print(f"{options.take}: {count} kernels measured on {device}")
    if options.threads:
        tsr.set_num_threads(options.threads)
    target = _tessera.host_target()
    if options.program is not None:
        function = functions.load(options.program)
        for texts in calls(options):
            arguments = functions.arguments_of(function, texts)
            if options.device == "cuda":
                import torch

                arguments = [
                    torch.from_numpy(one).cuda() if hasattr(one, "dtype") else one
                    for one in arguments
                ]
                target = tsr.devices()[-1]["target"]
            if options.shapes is not None:
                print(" ".join(texts))
            print(
                function.tune(
                    *arguments,
                    budget=options.budget,
                    strategy=options.strategy,
                    seed=options.seed,
                ),
                flush=True,
            )
    if options.export is not None:
        count = export_table(options.export, table_name(target))
        print(f"{options.export}: {count} kernels")
    return 0


def main() -> int:
    made = parser()
    options = made.parse_args()
    if options.program is None and options.take is None and options.export is None:
        made.error("expected FILE::FUNCTION, --import or --export")
    try:
        import numpy  # noqa: F401

        from tessera import TesseraError
    except ImportError:
        reported = f"'tune' needs NumPy, which {sys.executable} has not; TESSERA_PYTHON names another Python"
        print(f"tessera: error: {reported}", file=sys.stderr)
        return 2
    try:
        return run(options)
    except (TesseraError, ValueError, OSError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1 if isinstance(error, TesseraError) else 2


if __name__ == "__main__":
    sys.exit(main())
