"""The wheel of this build: installed in a fresh environment with only NumPy."""

import email
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy
import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "utils"))

import wheel as packing  # noqa: E402

PROGRAM = """
import sys
import numpy as np
import tessera as tsr
from tessera import Tensor

@tsr.function
def attention(q: Tensor["H", "S", "D"], k: Tensor["H", "T", "D"], v: Tensor["H", "T", "D"]):
    i = tsr.iota((S, T), dim=0)
    j = tsr.iota((S, T), dim=1)
    scores = tsr.where(j <= i, q @ k.mT * D ** -0.5, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v

if __name__ == "__main__":
    q, k, v = np.random.default_rng(0).standard_normal((3, 2, 100, 64), np.float32)
    assert np.abs(attention(q, k, v) - attention.reference(q, k, v)).max() < 1e-5
    print(tsr.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return packing.pack(TOP / "build", folder, platform.machine(), level=1)


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory) -> Path:
    """The programs of an environment with the wheel, which pip installed without a network."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    for path in Path(numpy.__file__).parents[1].glob("numpy*"):
        (site / path.name).symlink_to(path)
    pip = [folder / "bin" / "pip", "install", "-q", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
    return folder / "bin"


def run(programs: Path, folder: Path, *command: str) -> str:
    """Runs with only the environment's programs on the path."""
    environment = {"PATH": str(programs), "TESSERA_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [programs / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_attention_from_python(programs, tmp_path):
    (tmp_path / "attention.py").write_text(PROGRAM)
    found = run(programs, tmp_path, "python", "attention.py").strip()
    assert found.startswith(str(programs.parent))


def test_command_line(programs, tmp_path):
    (tmp_path / "attention.py").write_text(PROGRAM)
    arguments = [f"--arg={name}=fp32[2,37,64]" for name in "qkv"]
    assert " ok" in run(programs, tmp_path, "tessera", "run", "attention.py", *arguments, "--check")
    version = (TOP / "VERSION").read_text().strip()
    assert version in run(programs, tmp_path, "tessera", "--version")
    assert version in run(programs, tmp_path, "python", "-m", "tessera", "--version")


def test_benchmarks_are_in_the_package(programs, tmp_path):
    """From Python's script and from the program itself, which finds its Python."""
    (tmp_path / "attention.py").write_text(PROGRAM)
    words = ["attention.py::attention", *(f"--arg={name}=fp32[2,16,8]" for name in "qkv")]
    words += ["--threads=1", "--seconds=0.05", f"--json={tmp_path / 'run.json'}"]
    assert "attention 2x16x8" in run(programs, tmp_path, "tessera", "bench", *words)
    inner = next(programs.parent.rglob("site-packages/tessera/bin/tessera"))
    assert "transformer block" in run(programs, tmp_path, str(inner), "bench", "--list")
    assert next(programs.parent.rglob("tessera/bench/gpu/programs.py")).exists()


def test_pip_finds_nothing_amiss(programs, tmp_path):
    run(programs, tmp_path, "pip", "--disable-pip-version-check", "check")
    shown = run(programs, tmp_path, "pip", "--disable-pip-version-check", "show", "-f", "tessera")
    assert "py.typed" in shown and "bin/tessera" in shown


def test_metadata(wheel):
    assert "-cp311-abi3-manylinux_2_35_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = email.message_from_bytes(
            archive.read(next(name for name in names if name.endswith("/METADATA")))
        )
    assert metadata["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "numpy>=1.26" in metadata.get_all("Requires-Dist")
    assert metadata.get_payload().startswith("# Tessera")
    assert not [name for name in names if "__pycache__" in name or "/." in name]


def test_the_same_tree_gives_the_same_bytes(wheel, tmp_path):
    again = packing.pack(TOP / "build", tmp_path, platform.machine(), level=1)
    assert again.read_bytes() == wheel.read_bytes()


def test_the_extension_keeps_to_the_limited_interface(wheel):
    """By abi3audit, which `make wheel` always runs; here if it is installed."""
    tool = shutil.which("abi3audit", path=os.path.dirname(sys.executable))
    if tool is None:
        pytest.skip("abi3audit is not installed")
    subprocess.run([tool, "--strict", wheel], check=True)
