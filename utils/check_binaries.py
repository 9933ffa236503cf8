#!/usr/bin/env python3
"""Checks the dependencies and exports of the libraries and programs of a build.

    check_binaries.py DIR      DIR holds bin/, lib/ and python/tessera/

The libraries export only the C ABI, neither the runtime nor the Python extension depends on the
compiler, and nothing needs more than libc and libm (glibc 2.35) and our own two libraries.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

TOOLS = Path("/usr/lib/llvm-22/bin")
GLIBC = (2, 35)
OURS = {"libtessera.so", "libtessera_rt.so"}
SYSTEM = re.compile(r"lib(c|m)\.so\.6$|ld-linux-.*\.so\.\d$")

# What may be exported, by a pattern of the file's name.
EXPORTS = {
    "libtessera.so": r"tessera_",
    "libtessera_rt.so": r"tessera_rt_",
    "*.abi3.so": r"PyInit_",
}


def tool(name: str, *arguments: str) -> list[str]:
    done = subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def needed(file: Path) -> set[str]:
    lines = tool("llvm-readelf", "--dynamic-table", str(file))
    return {m[1] for line in lines if (m := re.search(r"\(NEEDED\).*\[(.*)\]", line))}


def glibc_of(file: Path) -> tuple[int, ...]:
    text = "\n".join(tool("llvm-readelf", "--version-info", str(file)))
    found = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", text)]
    return max(found, default=(0,))


def exported(file: Path) -> list[str]:
    lines = tool("llvm-nm", "--dynamic", "--defined-only", "--format=just-symbols", str(file))
    return [line.split("@")[0] for line in lines if line]


def check(file: Path) -> list[str]:
    problems = []
    for name in sorted(needed(file)):
        if name == "libtessera.so" and file.parent.name != "bin":
            problems.append(f"needs {name}: only the programs know the compiler")
        elif name not in OURS and not SYSTEM.match(name):
            problems.append(f"needs {name}, which a bare machine does not have")
    if glibc_of(file) > GLIBC:
        problems.append(f"needs glibc {'.'.join(map(str, glibc_of(file)))}")
    for pattern, allowed in EXPORTS.items():
        if file.match(pattern):
            foreign = [s for s in exported(file) if not re.match(allowed, s)]
            if foreign:
                problems.append(
                    f"exports {', '.join(foreign[:3])}{' …' if len(foreign) > 3 else ''}"
                )
    return [f"{file}: {problem}" for problem in problems]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="holds bin/, lib/ and python/tessera/")
    root = parser.parse_args().folder
    files = [root / "lib" / name for name in sorted(OURS)]
    files += [root / "bin" / name for name in ("tessera", "tessera-opt")]
    files += sorted((root / "python" / "tessera").rglob("*.so"))
    missing = [f"{file}: is missing" for file in files if not file.exists()]
    if not any(f.suffix == ".so" and "python" in f.parts for f in files):
        missing.append(f"{root}/python/tessera: holds no extension module")
    problems = missing or [p for file in files for p in check(file)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
