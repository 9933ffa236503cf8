#!/usr/bin/env python3
"""Packs dist/tessera-VERSION-cp311-abi3-manylinux_X_Y_ARCH.whl, with the compiler.

    utils/wheel.py [x86_64|aarch64]             builds, packs, checks and tests it
    utils/wheel.py --build DIR --output DIR     only packs an existing build

The extension uses Python's limited API, so that one wheel works with Python 3.11 and later;
compiler and runtime need only libc and libm, and the platform tag names the glibc that they
require. The checks are abi3audit on the extension, auditwheel on the tag, and a program in a fresh
environment of every installed Python; for the other architecture, with Debian's Python under qemu's
user mode.
"""

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import check_binaries
import dist

TOP = dist.TOP
NAME = "tessera"
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
SUMMARY = "A compiler for tensor programs that are written as plain mathematics"
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: {summary}
License-Expression: Apache-2.0 WITH LLVM-exception
License-File: LICENSE
Keywords: compiler,tensor,kernel,attention,mlir
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Programming Language :: Python :: 3.11
Classifier: Programming Language :: Python :: 3.12
Classifier: Programming Language :: Python :: 3.13
Classifier: Programming Language :: Python :: 3.14
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Topic :: Scientific/Engineering
Classifier: Topic :: Software Development :: Compilers
Classifier: Typing :: Typed
Requires-Python: >=3.11
Requires-Dist: numpy>=1.26
Provides-Extra: bf16
Requires-Dist: ml_dtypes>=0.4; extra == "bf16"
Description-Content-Type: text/markdown

{readme}"""


def binaries(build: Path) -> dict[str, Path]:
    """The compiled files, by their path in the package."""
    return {
        "_tessera.abi3.so": build / "python" / NAME / "_tessera.abi3.so",
        "libtessera.so": build / "lib" / "libtessera.so",
        "libtessera_rt.so": build / "lib" / "libtessera_rt.so",
        "bin/tessera": build / "bin" / "tessera",
    }


def contents(build: Path) -> dict[str, tuple[bytes, bool]]:
    """The package's files, and whether they are executable."""
    package = TOP / "python" / NAME
    files = [*package.rglob("*.py"), *package.glob("*.pyi"), package / "py.typed"]
    found = {f"{NAME}/{file.relative_to(package)}": (file.read_bytes(), False) for file in files}
    bench = build / "python" / NAME / "bench"
    for folder in ("kernels", "peers", "programs", "gpu"):  # links to files of benchmarks
        for file in (bench / folder).glob("*.py"):
            found[f"{NAME}/bench/{folder}/{file.name}"] = (file.read_bytes(), False)
    for name, file in binaries(build).items():
        found[f"{NAME}/{name}"] = (file.read_bytes(), "bin/" in name)
    return found


def tag_of(build: Path, arch: str) -> str:
    """The tag by PEP 600: the newest glibc that one of the files requires."""
    major, minor = max(check_binaries.glibc_of(file)[:2] for file in binaries(build).values())
    return f"cp311-abi3-manylinux_{major}_{minor}_{arch}"


def information(version: str, tag: str) -> dict[str, bytes]:
    readme = (TOP / "README.md").read_text()
    metadata = METADATA.format(name=NAME, version=version, summary=SUMMARY, readme=readme)
    wheel = f"Wheel-Version: 1.0\nGenerator: {NAME} {version}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return {
        "METADATA": metadata.encode(),
        "WHEEL": wheel.encode(),
        "entry_points.txt": (
            f"[console_scripts]\n{NAME} = {NAME}.__main__:main\n\n"
            f"[torch_dynamo_backends]\n{NAME} = {NAME}.dynamo:backend\n"
        ).encode(),
        "licenses/LICENSE": (TOP / "LICENSE").read_bytes(),
    }


def pack(build: Path, output: Path, arch: str, level: int = 9) -> Path:
    """The same tree gives the same bytes: sorted names, the package's before its metadata, and
    times of the last commit."""
    version = (TOP / "VERSION").read_text().strip()
    tag = tag_of(build, arch)
    record = f"{NAME}-{version}.dist-info/RECORD"
    files = contents(build)
    for name, data in information(version, tag).items():
        files[f"{NAME}-{version}.dist-info/{name}"] = (data, False)
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files[record] = ("".join([*lines, f"{record},,\n"]).encode(), False)

    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"{NAME}-{version}-{tag}.whl"
    commit = ["git", "-C", str(TOP), "log", "-1", "--format=%ct"]
    done = subprocess.run(commit, capture_output=True, text=True)
    stamp = time.gmtime(int(done.stdout) if done.returncode == 0 else 315532800)[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name == record, name)):
            data, executable = files[name]
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, data)
    return wheel


def command(*words: str | Path, **more: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"wheel: {' '.join(map(str, words))} failed\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def audit(wheel: Path) -> None:
    """Checks by external tools: the extension's symbols, and the tag."""
    with tempfile.TemporaryDirectory() as folder:
        command(sys.executable, "-m", "venv", folder)
        tools = Path(folder) / "bin"
        command(
            tools / "pip", "install", "-q", "--disable-pip-version-check", "abi3audit", "auditwheel"
        )
        command(tools / "abi3audit", "--strict", wheel)
        shown = command(tools / "auditwheel", "show", wheel)
        expected = wheel.stem.split("-")[-1]
        tags = re.findall(r"manylinux_\d+_\d+_\w+", shown.replace(wheel.name, ""))
        if expected not in tags:
            sys.exit(f"wheel: auditwheel expects another tag than {expected}:\n{shown}")
    print(f"wheel: abi3audit and auditwheel agree with {wheel.name}")


PROGRAM = (
    dist.PROGRAM
    + """
if __name__ == "__main__":
    import numpy as np

    q, k, v = np.random.default_rng(0).standard_normal((3, 2, 100, 64), np.float32)
    expected = attention.reference(q, k, v)
    assert np.abs(attention(q, k, v) - expected).max() < 1e-5
"""
)


def check(folder: Path, program: list[str | Path], environment: dict[str, str]) -> None:
    """The command line compiles, runs and checks the program in the folder."""
    arguments = ["attention.py", *(f"--arg={name}=fp32[2,37,64]" for name in "qkv"), "--check"]
    shown = command(*program, "run", *arguments, env=environment, cwd=folder)
    if " ok" not in shown:
        sys.exit(f"wheel: tessera run --check said\n{shown}")


def try_out(python: str, install: list[str | Path]) -> None:
    """Installs the wheel in a fresh environment, runs a program and the command line: without a
    compiler, since only the environment's own programs are on the path."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        command(python, "-m", "venv", folder / "venv")
        programs = folder / "venv" / "bin"
        pip = [programs / "pip", "install", "-q", "--disable-pip-version-check"]
        command(*pip, *install)
        program = folder / "attention.py"
        program.write_text("import tessera as tsr\n" + PROGRAM)
        environment = {"PATH": str(programs), "TESSERA_CACHE": str(folder / "cache")}
        command(programs / "python", program, env=environment, cwd=folder)
        check(folder, [programs / NAME], environment)
        command(programs / "python", "-m", "tessera", "--version", env=environment, cwd=folder)


def try_out_emulated(wheel: Path, arch: str) -> str:
    """The same for the other architecture; returns the outcome. There are no environments, since a
    Python under qemu cannot start programs: pip on the host installs the packages for that
    architecture in a folder."""
    root = TOP / f"sysroot-{arch}-python"
    emulator = dist.emulator_of(arch, root)
    if not emulator:
        return f"not tried out, since qemu-{arch} is not installed"
    if not root.exists():
        command(TOP / "utils" / "sysroot.sh", arch, root, "python")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # Of a Debian 12, whose glibc is 2.36.
        machine = [f"--platform=manylinux_2_{minor}_{arch}" for minor in range(17, 37)]
        machine += ["--python-version=3.11", "--only-binary=:all:"]
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        command(*pip, *machine, "--target", folder / "site", wheel)
        program = folder / "attention.py"
        program.write_text("import tessera as tsr\n" + PROGRAM)
        environment = {"PYTHONPATH": str(folder / "site"), "TESSERA_CACHE": str(folder / "cache")}
        command(
            *emulator, root / "usr" / "bin" / "python3.11", program, env=environment, cwd=folder
        )
        check(folder, [*emulator, folder / "site" / NAME / "bin" / NAME], environment)
    return f"works with python3.11 of {arch}, emulated"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    here = platform.machine()
    parser.add_argument("arch", nargs="?", choices=["x86_64", "aarch64"], default=here)
    parser.add_argument("--build", type=Path, help="a build directory to pack as it is")
    parser.add_argument("--output", type=Path, default=TOP / "dist")
    arguments = parser.parse_args()
    if arguments.build:
        print(pack(arguments.build, arguments.output, arguments.arch, level=1))
        return
    wheel = pack(dist.build(arguments.arch), arguments.output, arguments.arch)
    audit(wheel)
    if arguments.arch != here:
        print("wheel:", try_out_emulated(wheel, arguments.arch))
    for python in filter(shutil.which, PYTHONS if arguments.arch == here else ()):
        if subprocess.run([python, "-c", "import ensurepip"], capture_output=True).returncode:
            continue  # a name without a working Python
        try_out(python, [wheel])
        print(f"wheel: works with {python}")
    size = wheel.stat().st_size
    print(f"{os.path.relpath(wheel, TOP)}: {size / (1 << 20):.1f} MiB")


if __name__ == "__main__":
    main()
