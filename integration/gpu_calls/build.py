#!/usr/bin/env python3
"""Creates build/gpu_calls: the files that check.py needs on a machine with a GPU.

    build.py [--clang clang++-22]

The files are the Python package with the runtime; a cache with the code of all functions, so that
no compilation is needed there; the first bytes of the compiler's library, whose build id is part of
the cache keys; a bundle, and the library that times it from C++.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BENCH = TOP / "benchmarks/gpu"
OUT = TOP / "build/gpu_calls"
HEAD = 1 << 16  # bytes of the library: its build id is in its first segment


def build_launch_time(clang: str, out: Path) -> None:
    """With a private static runtime, of which nothing is exported."""
    runtime = [*(TOP / "runtime/src").glob("*.cpp"), *(TOP / "runtime/drivers").glob("*/*.cpp")]
    command = [clang, "-std=c++20", "-O2", "-fPIC", "-shared", "-fno-exceptions"]
    command += ["-fvisibility=hidden", f"-I{TOP}/runtime/include", '-DTESSERA_RT_VERSION_STRING=""']
    command += [BENCH / "LaunchTime.cpp", *runtime, "-static-libstdc++", "-static-libgcc"]
    command += ["-Wl,-Bsymbolic", "-lpthread", "-ldl", "-o", out]
    subprocess.run(command, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clang", default="clang++-22")
    options = parser.parse_args()
    package = OUT / "tessera"
    shutil.rmtree(OUT, ignore_errors=True)
    package.mkdir(parents=True)
    os.environ["TESSERA_CACHE"] = str(OUT / "cache")
    import functions

    import tessera as tsr

    source = Path(tsr.__file__).parent
    for file in [*source.glob("*.py"), *source.glob("_tessera*.so"), source / "libtessera_rt.so"]:
        shutil.copy2(file, package / file.name)
    with (source / "libtessera.so").open("rb") as library:
        (package / "libtessera.so").write_bytes(library.read(HEAD))
    for file in (HERE / "functions.py", HERE / "check.py", BENCH / "call_times.py"):
        shutil.copy2(file, OUT / file.name)
    for function, types, more in functions.UNITS:
        start = time.perf_counter()
        compiled = function.compile(*types, target="sm_90", **more)
        print(f"{compiled!r} {time.perf_counter() - start:.2f} s", flush=True)
    functions.five.compile(*functions.UNITS[0][1], target="sm_90").save(OUT / "five.tsb")
    build_launch_time(options.clang, OUT / "liblaunch_time.so")
    size = sum(file.stat().st_size for file in OUT.rglob("*") if file.is_file())
    print(f"{OUT.relative_to(TOP)}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
