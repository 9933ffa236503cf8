"""The package as seen by tools: stubs, signatures, help()."""

import ast
import inspect
import json
import pydoc
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor

HERE = Path(__file__).resolve().parent
PACKAGE = Path(tsr.__file__).parent
STUBS = HERE.parents[1] / "utils" / "stubs.py"

sys.path.insert(0, str(HERE / "typing"))

import sizes  # noqa: E402


@pytest.mark.skipif(not STUBS.exists(), reason="stubs are made in the tree, not in the archive")
def test_stubs_are_those_of_the_compiler():
    done = subprocess.run([sys.executable, STUBS, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_and_package_have_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    defined = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            defined.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.level:
            defined |= {alias.asname for alias in node.names if alias.asname}
    aliases = {"Operand", "Dims", "Sizes"}
    assert not [name for name in defined - aliases if not hasattr(tsr, name)]
    public = {name for name in tsr.__all__} | set(tsr.operations.OPERATIONS)
    assert public <= defined


def checker(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_mypy(tmp_path):
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}"]
    command = [checker("mypy"), *options, "plain.py", "sizes.py"]
    environment = {"MYPYPATH": str(PACKAGE.parent), "PATH": str(Path(sys.executable).parent)}
    done = subprocess.run(
        command, cwd=HERE / "typing", env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["pyright", "basedpyright"])
def test_pyright(name, tmp_path):
    program = checker(name)
    settings = {
        "include": [str(HERE / "typing")],
        "extraPaths": [str(PACKAGE.parent)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [program, "-p", tmp_path, "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@tsr.function
def scale(x: Tensor["B", 64], factor: float = 2.0, *, shift: float = 0.0) -> Tensor["B", 64]:
    """Scales rows.

    And shifts them.
    """
    return x * factor + shift


class Layer:
    @tsr.function
    def forward(self, x: Tensor["B"]) -> Tensor["B"]:
        """One layer."""
        return x


def test_help_of_functions():
    text = pydoc.render_doc(scale, renderer=pydoc.plaintext)
    signature = (
        "(x: Tensor['B', 64], factor: float = 2.0, *, shift: float = 0.0) -> Tensor['B', 64]"
    )
    assert f"scale{signature}" in text and "And shifts them." in text
    assert str(inspect.signature(scale)) == signature
    assert scale.__annotations__["factor"] is float
    assert typing.get_type_hints(scale.__wrapped__)["shift"] is float
    assert inspect.getsource(scale).startswith("@tsr.function")


def test_help_of_methods():
    assert str(inspect.signature(Layer.forward)) == "(self, x: Tensor['B']) -> Tensor['B']"
    assert str(inspect.signature(Layer().forward)) == "(x: Tensor['B']) -> Tensor['B']"
    assert "One layer." in pydoc.render_doc(Layer, renderer=pydoc.plaintext)


def test_help_of_operations():
    text = pydoc.render_doc(tsr.softmax, renderer=pydoc.plaintext)
    assert "softmax(x, dim" in text and "exponentials divided by their sum" in text
    for operation in tsr.operations.OPERATIONS.values():
        assert operation.__doc__ and inspect.signature(operation)


def test_sizes_in_annotated():
    """`Annotated[Tensor, "B", 64]` is `Tensor["B", 64]`."""
    x, w, b = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32), np.ones(5, np.float32)
    assert sizes.linear(x, w, b).tolist() == np.full((2, 3, 5), 5.0).tolist()
    with pytest.raises(tsr.ArgumentError, match="argument 'x': expected fp32, found fp64"):
        sizes.linear(x.astype(np.float64), w, b)
    with pytest.raises(
        tsr.ArgumentError, match="argument 'w': expected size 4 for 'K' as in argument 'x'"
    ):
        sizes.linear(x, w[:, :3], b)

    @tsr.function
    def names(x: typing.Annotated[Tensor, "B", "D"]):
        return x * D  # noqa: F821

    assert names(np.ones((2, 3))).tolist() == [[3, 3, 3], [3, 3, 3]]
