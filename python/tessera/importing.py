"""`tessera import`: prints the program of an ONNX model or of a StableHLO module."""

from __future__ import annotations

import pathlib
import sys

from .errors import ArgumentError, CompileError

USAGE = """\
usage: tessera import FILE

prints the program of an ONNX model (FILE.onnx) or of a StableHLO module (FILE.mlir, FILE.stablehlo, FILE.mlirbc)"""


def program_of(path: str) -> str:
    if path.endswith((".mlir", ".mlirbc", ".stablehlo")):
        from .stablehlo import from_stablehlo

        return from_stablehlo(pathlib.Path(path)).program
    from .onnx import from_onnx

    return from_onnx(path).program


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        is_help = sys.argv[1:] in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    try:
        print(program_of(sys.argv[1]), end="")
    except (ArgumentError, CompileError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
