#!/usr/bin/env python3
"""Packs dist/tessera-VERSION-ARCH.tar.xz: compiler, runtime, Python package, examples and tests.

    utils/dist.py [x86_64|aarch64]      default: this machine's architecture

The archive needs only libc, libm and, for the package, a Python 3.11 or later with NumPy. Builds in
build-dist-ARCH, without assertions and symbols; for the other architecture, against a sysroot of
Debian's packages that is created on first use (utils/sysroot.sh). Unpacked, `bin/tessera` is the
command line, `python/` goes into PYTHONPATH, and `python3 tests/run_suite.py` runs the tests.
"""

import argparse
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SIZE_LIMIT = 40 << 20
# The C++ interface: the headers that programs outside the tree include.
CXX_HEADERS = [
    "tessera/Runtime.h",
    "tessera/RuntimeCall.h",
    "tessera/Compiler.h",
    "tessera/CompileModule.h",
]
TARGETS = ["libtessera", "tessera_rt", "tessera", "tessera-opt", "python_package"]


def build(arch: str, targets: list[str] = TARGETS) -> Path:
    """Configures build-dist-ARCH and builds `targets`; returns the folder."""
    folder = TOP / f"build-dist-{arch}"
    options = ["-DTESSERA_STRIP=ON", "-DTESSERA_ASSERTIONS=OFF", "-DTESSERA_BUILD_TESTS=OFF"]
    if arch != platform.machine():
        sysroot = TOP / f"sysroot-{arch}"
        if not sysroot.exists():
            print(f"dist: making {sysroot.name}", flush=True)
            subprocess.run([TOP / "utils" / "sysroot.sh", arch, sysroot], check=True)
        options += [f"-DCMAKE_TOOLCHAIN_FILE={TOP}/cmake/Cross.cmake"]
        options += [f"-DTESSERA_TARGET_ARCH={arch}", f"-DTESSERA_SYSROOT={sysroot}"]
    environment = dict(os.environ, NINJA_DIR=str(folder), CMAKE_ARGS=" ".join(options))
    subprocess.run([TOP / "utils" / "ninja.sh", *targets], env=environment, check=True)
    return folder


def stage(folder: Path, root: Path) -> None:
    """Copies the shipped files from the build and from the tree; links become files."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    for name in ("bin/tessera", "bin/tessera-opt", "lib/libtessera.so", "lib/libtessera_rt.so"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / name, root / name)
    package = root / "python" / "tessera"
    libraries = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "libtessera*.so")
    shutil.copytree(folder / "python" / "tessera", package, ignore=libraries)
    for metadata in (folder / "python").glob("*.dist-info"):  # PyTorch finds the backend by it
        shutil.copytree(metadata, package.parent / metadata.name)
    for name in ("libtessera.so", "libtessera_rt.so"):  # once in the archive
        (package / name).symlink_to(Path("..", "..", "lib", name))
    shutil.copytree(TOP / "examples", root / "examples", ignore=unwanted)
    for suite in ("cpu", "python", "random"):
        shutil.copytree(TOP / "integration" / suite, root / "tests" / suite, ignore=unwanted)
    shutil.copy2(TOP / "utils" / "run_suite.py", root / "tests")
    for name in ("README.md", "LICENSE", "VERSION"):
        shutil.copy2(TOP / name, root)
    shutil.copytree(TOP / "runtime" / "include", root / "include", ignore=unwanted)
    shutil.copytree(TOP / "include" / "tessera-c", root / "include" / "tessera-c", ignore=unwanted)
    for name in CXX_HEADERS:
        (root / "include" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / "include" / name, root / "include" / name)
    shutil.copytree(folder / "package", root / "lib" / "cmake" / "Tessera")


def pack(root: Path, archive: Path, arch: str) -> None:
    """The same tree gives the same bytes: sorted names, times of the last commit, no owners."""
    commit = ["git", "-C", str(TOP), "log", "-1", "--format=%ct"]
    stamp = int(subprocess.run(commit, capture_output=True, text=True, check=True).stdout)

    def normalise(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = stamp
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    # A low preset is fast and costs little size: most of the content is machine code, for which the
    # x86 branch filter helps more.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 16 << 20}]
    if arch == "x86_64":
        filters.insert(0, {"id": lzma.FILTER_X86})
    archive.parent.mkdir(exist_ok=True)
    with (
        lzma.open(archive, "wb", filters=filters) as out,
        tarfile.open(fileobj=out, mode="w") as tar,
    ):
        tar.add(root, root.name, filter=normalise)  # add() visits folders in order of name


PROGRAM = """
@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, -1) @ v
"""


def emulator_of(arch: str, root: Path) -> list[str | Path]:
    """The emulator for programs of the other architecture, with the libraries in `root`; empty if
    qemu-user is not installed."""
    qemu = shutil.which(f"qemu-{arch}") or shutil.which(f"qemu-{arch}-static")
    return [qemu, "-L", root] if qemu else []


def try_out(archive: Path, arch: str) -> None:
    """Unpacks the archive elsewhere, compiles and checks a function with it, imports the package,
    and builds the C++ example. For the other architecture, only the programs, if qemu-user is
    installed."""
    emulator = []
    if arch != platform.machine():
        emulator = emulator_of(arch, TOP / f"sysroot-{arch}")
        if not emulator:
            print(f"dist: not tried out, since qemu-{arch} is not installed")
            return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        root = next(Path(folder).iterdir())
        program = Path(folder) / "attention.py"
        program.write_text("import tessera as tsr\n" + PROGRAM)
        environment = {"PATH": "/usr/bin:/bin", "TESSERA_CACHE": folder + "/cache"}

        def call(*command: str | Path) -> str:
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"dist: {' '.join(map(str, command))} failed\n{done.stdout}{done.stderr}")
            return done.stdout

        call(*emulator, root / "bin" / "tessera-opt", "--version")
        arguments = [f"--arg={name}=fp32[2,37,64]" for name in "qkv"]
        call(*emulator, root / "bin" / "tessera", "run", program, *arguments, "--check")
        if not emulator:
            environment["PYTHONPATH"] = str(root / "python")
            found = call(sys.executable, "-c", "import tessera; print(tessera.__file__)").strip()
            if not found.startswith(folder):
                sys.exit(f"dist: 'import tessera' found {found}, not the archive's package")
            source, build = root / "examples" / "cpp", Path(folder) / "build"
            options = [f"-DCMAKE_PREFIX_PATH={root}", "-DCMAKE_CXX_COMPILER=clang++-22"]
            call("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)
            call("cmake", "--build", build)
            call(build / "layers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "arch", nargs="?", choices=["x86_64", "aarch64"], default=platform.machine()
    )
    arch = parser.parse_args().arch
    version = (TOP / "VERSION").read_text().strip()
    name = f"tessera-{version}-{arch}"
    folder = build(arch)
    archive = TOP / "dist" / f"{name}.tar.xz"
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / name
        stage(folder, root)
        check = [sys.executable, TOP / "utils" / "check_binaries.py", root]
        subprocess.run(check, check=True)
        pack(root, archive, arch)
    try_out(archive, arch)
    size = archive.stat().st_size
    print(f"{archive.relative_to(TOP)}: {size / (1 << 20):.1f} MiB")
    if size > SIZE_LIMIT:
        sys.exit(f"dist: the archive is larger than {SIZE_LIMIT >> 20} MiB")


if __name__ == "__main__":
    main()
