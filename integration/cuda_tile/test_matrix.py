"""Every operation with every type, assembled by NVIDIA's tileiras.

The operations are those of ScalarOps.def, so that a new one is covered automatically. All of one
kind and type are in one function with many results: a file is assembled in a second or two.
Everything is assembled for sm_90, a selection for the other chips.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tessera.targets import chips

TOP = Path(__file__).resolve().parents[2]
OTHERS = [chip for chip, one in chips().items() if "tileir" in one["features"] and chip != "sm_90"]
FLOATS = ["fp64", "fp32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
TYPES = [*FLOATS, *INTEGERS, "bool"]
REDUCTIONS = ["sum", "prod", "amax", "amin", "any", "all", "mean", "logsumexp", "softmax"]

installed = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ
pytestmark = pytest.mark.skipif(not installed, reason="tileiras is not installed")


def operations() -> list[tuple[str, int, str]]:
    """(name, number of operands, type rule) of the operations that a program can use."""
    text = (TOP / "include/tessera/Support/ScalarOps.def").read_text()
    found = re.findall(r"^TESSERA_SCALAR_OP\(\w+, (\w+), (\d), (\w+), User,", text, re.M)
    assert len(found) > 50
    return [(name, int(arity), rule) for name, arity, rule in found]


def assemble(
    folder: Path, results: list[str], arguments: dict[str, str], chip: str, *flags: str
) -> None:
    body = ",\n            ".join(results)
    program = folder / "program.py"
    program.write_text(
        f"import tessera as tsr\n\n@tsr.function\ndef f({', '.join(arguments)}):\n    return ({body},)\n"
    )
    command = [
        TOP / "build/bin/tessera",
        "compile",
        f"{program}::f",
        "--target",
        chip,
        "--emit",
        "cubin",
        *flags,
    ]
    command += [word for name, spec in arguments.items() for word in ("--arg", f"{name}={spec}")]
    done = subprocess.run(
        [*map(str, command), "-o", str(folder / "f.cubin")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "f.cubin").read_bytes().startswith(b"\x7fELF")


def elementwise(dtype: str) -> list[str]:
    is_float, is_bool = dtype in FLOATS, dtype == "bool"
    texts = []
    for name, arity, rule in operations():
        if (rule == "Integer" and is_float) or (rule == "Number" and is_bool):
            continue
        if rule in ("Float", "Test") and not is_float:
            continue
        texts.append(
            "tsr.where(c, x, y)" if rule == "Select" else f"tsr.{name}({'x, y'[: 3 * arity - 2]})"
        )
    texts += [f"tsr.{name}(x)" for name in ("gelu", "leaky_relu", "mish", "softplus") if is_float]
    return texts


#: How many results a function has; one kernel computes them all.
AT_ONCE = 16


@pytest.mark.parametrize("dtype", TYPES)
def test_elementwise(dtype: str, tmp_path: Path) -> None:
    texts = elementwise(dtype)
    arguments = {"c": "bool[8,16]", "x": f"{dtype}[8,16]", "y": f"{dtype}[8,16]"}
    for first in range(0, len(texts), AT_ONCE):
        assemble(tmp_path, texts[first : first + AT_ONCE], arguments, "sm_90")


@pytest.mark.parametrize("dtype", TYPES)
def test_casts(dtype: str, tmp_path: Path) -> None:
    assemble(
        tmp_path,
        [f"x.to(tsr.{to})" for to in TYPES if to != dtype],
        {"x": f"{dtype}[8,16]"},
        "sm_90",
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(dtype: str, tmp_path: Path) -> None:
    names = REDUCTIONS if dtype in FLOATS else REDUCTIONS[:6]
    texts = [f"tsr.{name}(x, dim=-1)" for name in names]
    assemble(tmp_path, texts, {"x": f"{dtype}[4,50]"}, "sm_90")
    assemble(
        tmp_path, [text.replace("-1", "0") for text in texts[:4]], {"x": f"{dtype}[4,50]"}, "sm_90"
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_scans(dtype: str, tmp_path: Path) -> None:
    assemble(
        tmp_path,
        [f"tsr.{name}(x, {dim})" for name in ("cumsum", "cumprod") for dim in (0, 1)],
        {"x": f"{dtype}[40,300]"},
        "sm_90",
    )


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "bf16", "fp16"])
def test_random_numbers(dtype: str, tmp_path: Path) -> None:
    texts = ["tsr.rand_like(x, 3)", "tsr.randn(x.shape, s, x.dtype)", "tsr.dropout(x, 0.5, seed=s)"]
    assemble(tmp_path, texts, {"x": f"{dtype}[40,300]", "s": "7"}, "sm_90")


@pytest.mark.parametrize("dtype", TYPES[:4] + TYPES[6:])
def test_sorts(dtype: str, tmp_path: Path) -> None:
    texts = ["tsr.sort(x, 1)[0]", "tsr.argsort(x, 0)", "tsr.topk(x, 5)[0]"]
    assemble(tmp_path, texts, {"x": f"{dtype}[8,50]"}, "sm_90")


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "int16", "bool"])
def test_long_sorts(dtype: str, tmp_path: Path) -> None:
    texts = ["tsr.sort(x, 1)[0]", "tsr.topk(x, 5)[1]"]
    assemble(tmp_path, texts, {"x": f"{dtype}[8,5000]"}, "sm_90")


@pytest.mark.parametrize("dtype", TYPES[:-1])
def test_products(dtype: str, tmp_path: Path) -> None:
    assemble(tmp_path, ["x @ y"], {"x": f"{dtype}[16,32]", "y": f"{dtype}[32,16]"}, "sm_90")


#: Operations that are made of others, of x[4,6,10], c[6], y[6,10] and the class indices t[4,10].
COMPOSITES = [
    "tsr.norm(x, dim=-1)",
    "tsr.norm(x, p=1, dim=(0, 2))",
    "tsr.norm(x, p=3)",
    "tsr.norm(x, p=tsr.inf, dim=1)",
    "tsr.group_norm(x, 3, c, c)",
    "tsr.batch_norm(x, c, c * c, c, c)",
    "tsr.layer_norm(x, (10,))",
    "tsr.rms_norm(x, (10,))",
    "tsr.einsum('bik,jk->bij', x, y)",
    "tsr.einsum('bij->b', x)",
    "tsr.einsum('bii->bi', x[:, :, :6])",
    "tsr.cross_entropy(x, t)",
    "tsr.cross_entropy(x, t, c, label_smoothing=0.1, reduction='none')",
    "tsr.mse_loss(x, y)",
    "tsr.var(x, dim=1)",
    "tsr.log_softmax(x, dim=1)",
    "tsr.one_hot(t, 6)",
    "tsr.pad(x, (1, 2), 'reflect')",
    "tsr.roll(x, 3)",
]


@pytest.mark.parametrize("dtype", FLOATS)
def test_composites(dtype: str, tmp_path: Path) -> None:
    arguments = {
        "x": f"{dtype}[4,6,10]",
        "c": f"{dtype}[6]",
        "y": f"{dtype}[6,10]",
        "t": "int64[4,10]",
    }
    for first in range(0, len(COMPOSITES), AT_ONCE):
        assemble(tmp_path, COMPOSITES[first : first + AT_ONCE], arguments, "sm_90")


@pytest.mark.parametrize(
    "pair", ["bf16 fp16", "fp32 bf16", "fp64 fp32", "fp8_e4m3 fp8_e5m2", "int8 uint8", "fp16 int8"]
)
def test_products_of_two_types(pair: str, tmp_path: Path) -> None:
    x, y = pair.split()
    assemble(tmp_path, ["x @ y"], {"x": f"{x}[16,32]", "y": f"{y}[32,16]"}, "sm_90")


@pytest.mark.parametrize("policy", ["tf32", "bf16", "fp32"])
def test_policies(policy: str, tmp_path: Path) -> None:
    arguments = {"x": "fp32[16,32]", "y": "fp32[32,16]"}
    assemble(tmp_path, ["x @ y"], arguments, "sm_90", "--option", f"matmul={policy}")


#: Reads and writes at places that `i` and `j` hold, of x[16,32].
PLACES = [
    "tsr.embedding(i, x)",
    "tsr.gather(x, 1, j)",
    "tsr.take(x, j)",
    "x[:, i]",
    "x[i, i]",
    "tsr.scatter_add(x, 0, j, x)",
]


@pytest.mark.parametrize("dtype", TYPES)
def test_places(dtype: str, tmp_path: Path) -> None:
    results = [text for text in PLACES if not (dtype.startswith("fp8") and "scatter" in text)]
    assemble(
        tmp_path, results, {"x": f"{dtype}[16,32]", "i": "int64[7]", "j": "int32[16,32]"}, "sm_90"
    )


@pytest.mark.parametrize("index", INTEGERS)
def test_place_types(index: str, tmp_path: Path) -> None:
    arguments = {"x": "bf16[16,32]", "w": "bf16[32,64]", "i": f"{index}[40]"}
    assemble(
        tmp_path,
        ["tsr.softmax(tsr.embedding(i, x), dim=-1)", "tsr.take(x, i, dim=0) @ w"],
        arguments,
        "sm_90",
    )


@pytest.mark.parametrize("chip", OTHERS)
def test_other_chips(chip: str, tmp_path: Path) -> None:
    both = {"x": "fp32[8,16]", "y": "fp32[8,16]"}
    assemble(
        tmp_path,
        ["tsr.erf(x) + tsr.sin(y)", "x // y", "tsr.pow(x, y)", "tsr.softmax(x, dim=-1)"],
        both,
        chip,
    )
    assemble(
        tmp_path, [f"x.to(tsr.{to})" for to in TYPES if to != "fp32"], {"x": "fp32[8,16]"}, chip
    )
    assemble(
        tmp_path, ["tsr.cumsum(x, 1)", "tsr.randn_like(x, 5)", "tsr.sort(x, 0)[1]"], both, chip
    )
    for dtype in ("fp8_e4m3", "fp8_e5m2"):
        assemble(
            tmp_path,
            ["x @ y", "tsr.gelu(x).sum(dim=-1)"],
            {"x": f"{dtype}[16,32]", "y": f"{dtype}[32,16]"},
            chip,
        )
    assemble(tmp_path, PLACES, {"x": "fp32[16,32]", "i": "int64[7]", "j": "int32[16,32]"}, chip)
    for dtype in ("bf16", "fp32", "fp64", "int8", "int16"):
        assemble(tmp_path, ["x @ y"], {"x": f"{dtype}[16,32]", "y": f"{dtype}[32,16]"}, chip)
