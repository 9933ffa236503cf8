"""`python -m tessera.bench …` is the command `tessera bench …`."""

import sys


def main() -> int:
    try:
        import numpy  # noqa: F401
    except ImportError:
        reported = f"'bench' needs NumPy, which {sys.executable} has not; TESSERA_PYTHON names another Python"
        print(f"tessera: error: {reported}", file=sys.stderr)
        return 2
    from .command import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
