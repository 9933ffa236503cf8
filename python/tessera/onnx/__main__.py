"""`tessera import`: prints the program of an ONNX model."""

from __future__ import annotations

import sys

from ..errors import ArgumentError, CompileError
from .model import from_onnx


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        text = "usage: tessera import MODEL.onnx\n\nprints the program of an ONNX model"
        is_help = sys.argv[1:] in (["-h"], ["--help"])
        print(text, file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    try:
        print(from_onnx(sys.argv[1]).program, end="")
    except (ArgumentError, CompileError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
