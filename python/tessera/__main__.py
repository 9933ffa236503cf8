"""`python -m tessera …` runs the command `tessera …`, which is a separate program."""

import os
import shutil
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def find() -> str | None:
    candidates = [
        os.path.join(_HERE, "bin", "tessera"),
        os.path.join(_HERE, "..", "..", "bin", "tessera"),
    ]
    return next((path for path in candidates if os.access(path, os.X_OK)), None) or shutil.which(
        "tessera"
    )


def main() -> int:
    if sys.argv[1:2] == ["bench"]:  # a part of the package
        from .bench.__main__ import main as bench

        sys.argv[:2] = ["tessera bench"]
        return bench()
    if sys.argv[1:2] == ["profile"]:
        from .profile.__main__ import main as profile

        sys.argv[:2] = ["tessera profile"]
        return profile()
    if sys.argv[1:2] == ["tune"]:
        from .tune.__main__ import main as tune

        sys.argv[:2] = ["tessera tune"]
        return tune()
    if sys.argv[1:2] == ["import"]:
        from .importing import main as import_model

        sys.argv[:2] = ["tessera import"]
        return import_model()
    if sys.argv[1:2] == ["traces"]:
        from .traces.__main__ import main as traces

        sys.argv[:2] = ["tessera traces"]
        return traces()
    command = find()
    if command is None:
        print("tessera: error: the command is not installed beside the package", file=sys.stderr)
        return 2
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
