"""`python -m tessera.profile …` is the command `tessera profile …`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

EXAMPLES = """
examples:
  tessera profile model.py::mlp --arg x=fp32[512,768] --arg w=fp32[768,3072]
                              on this CPU: kernels are measured
  tessera profile model.py::mlp --arg x=bf16[4096,768] --arg w=bf16[768,3072] --target sm_90
                              for a GPU that is not here: times are predicted, code is assembled
  tessera profile … --target sm_90 --counters ncu.csv --html profile.html
                              with counters of Nsight Compute, as a page
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tessera profile",
        description="Says why a function is not faster: the time of each kernel beside its "
        "roofline, the gap by cause, time by line of the source, and advice with its predicted "
        "gain. Each figure is measured, counted, assembled, simulated or predicted, and says so.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("program", help="FILE or FILE::FUNCTION")
    add("--arg", "-a", action="append", default=[], help="an argument: x=fp32[64,128], n=3")
    add("--target", default="cpu",
        help="cpu (default), another CPU, a GPU such as sm_90, or cuda: the GPU of this machine")  # fmt: skip
    add("--via", choices=["auto", "tileir", "ptx"], help="the backend for NVIDIA GPUs")
    add("--option", action="append", default=[], metavar="KEY=VALUE", help="a compiler option")
    add("--schedule", help="choices that replace the scheduler's: 'tile.m=128,num_stages=4'")
    add("--predict", action="store_true", help="run nothing: all times are predicted")
    add("--simulate", action="store_true",
        help="also run the kernels of a GPU in the simulator at small sizes, for bank conflicts and "
        "uncoalesced accesses")  # fmt: skip
    add("--counters", type=Path, metavar="FILE",
        help="times and traffic from 'ncu --csv --page raw --print-units base'")  # fmt: skip
    add("--verify", action="store_true",
        help="apply each advice that can be applied, and compare: measured where the code runs here, "
        "else predicted")  # fmt: skip
    add("--html", type=Path, metavar="FILE", help="write one page with source, bars and code")
    add("--json", type=Path, metavar="FILE", help="write all figures")
    return made


def _options(options: argparse.Namespace) -> dict[str, Any]:
    from ..bench.functions import Wrong

    given: dict[str, Any] = {}
    for text in options.option:
        key, equals, value = text.partition("=")
        if not equals:
            raise Wrong(f"--option {text}: expected KEY=VALUE")
        given[key] = {"true": True, "false": False}.get(value, value)
        if value.isdigit():
            given[key] = int(value) if key != "indices" else value
    if options.schedule:
        given["schedule"] = options.schedule
    if options.via:
        given["via"] = options.via
    return given


def _write(path: Path, text: str) -> None:
    from ..bench.functions import Wrong

    try:
        path.write_text(text)
    except OSError as error:
        raise Wrong(f"{path}: cannot write: {error.strerror}") from None


def run(options: argparse.Namespace) -> int:
    from ..bench import functions
    from ..errors import DeviceError
    from ..function import Function
    from . import arguments

    function = functions.load(options.program)
    if not isinstance(function, Function):
        raise functions.Wrong(f"{options.program} is not decorated with @tsr.function")
    runs = options.target in ("cpu", "cuda") and not options.predict
    values = arguments.of_function(function, options.arg, runs)
    if options.target == "cuda" and runs:
        try:
            import torch
        except ImportError:
            raise DeviceError(
                "target 'cuda' needs PyTorch for arrays on the GPU; name a chip, such as --target "
                "sm_90, to predict times"
            ) from None
        if not torch.cuda.is_available():
            raise DeviceError(
                "this machine has no GPU; name a chip, such as --target sm_90, to predict times"
            )
        values = [torch.from_numpy(one).cuda() if hasattr(one, "dtype") else one for one in values]
    found = function.profile(
        *values,
        target=options.target,
        counters=options.counters,
        simulate=options.simulate,
        verify=options.verify,
        **_options(options),
    )
    print(found)
    if options.html:
        _write(options.html, found.html())
        print(f"page: {options.html}")
    if options.json:
        _write(options.json, json.dumps(found.json(), indent=1) + "\n")
        print(f"figures: {options.json}")
    return 0


def main() -> int:
    options = parser().parse_args()
    try:
        import numpy  # noqa: F401
    except ImportError:
        reported = f"'profile' needs NumPy, which {sys.executable} has not; TESSERA_PYTHON names another Python"
        print(f"tessera: error: {reported}", file=sys.stderr)
        return 2
    from ..errors import TesseraError

    try:
        return run(options)
    except (TesseraError, ValueError, OSError, SyntaxError, ImportError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1 if isinstance(error, TesseraError) and not isinstance(error, ValueError) else 2


if __name__ == "__main__":
    sys.exit(main())
