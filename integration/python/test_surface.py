"""The package before anything is compiled: names, annotations, options, errors."""

import builtins
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor, bf16, fp16, fp32


def test_types_under_both_names():
    for ours, numpys in [
        ("fp64", "float64"),
        ("fp32", "float32"),
        ("fp16", "float16"),
        ("bf16", "bfloat16"),
    ]:
        assert getattr(tsr, ours) is getattr(tsr, numpys)
    others = "tf32 fp8_e4m3 fp8_e5m2 fp6_e2m3 fp6_e3m2 fp4_e2m1 int64 int32 int16 int8 uint8 bool"
    for name in others.split():
        assert repr(getattr(tsr, name)) == name
    assert pickle.loads(pickle.dumps(tsr.bf16)) is tsr.bf16


def test_names_of_the_package():
    """Public names only: one module of the package, nothing private."""
    names = dir(tsr)
    assert {"function", "Tensor", "fp16", "float16", "softmax", "sum", "bool", "pi"} <= set(names)
    assert [name for name in names if name.startswith("_")] == ["__version__"]
    assert [name for name in names if inspect.ismodule(getattr(tsr, name))] == ["tiers"]
    assert not {"annotations", "errors", "compiler", "types", "bench"} & set(names)
    assert set(tsr.__all__) < set(names) and not set(tsr.__all__) & set(dir(builtins))


def test_star_import_leaves_builtins():
    names: dict = {}
    exec("from tessera import *", names)  # noqa: S102 (what a user may write)
    assert names["softmax"] is tsr.softmax and names["fp16"] is tsr.fp16
    assert names.get("sum", sum) is sum and names.get("print", print) is print


def test_annotations():
    assert repr(Tensor["B", 128, fp16]) == "Tensor['B', 128, fp16]"
    assert Tensor["B"] == Tensor["B"] and Tensor["B"] != Tensor["B", fp32]
    assert repr(Tensor["*batch", "M", "K"]) == "Tensor['*batch', 'M', 'K']"
    assert repr(Tensor[bf16]) == "Tensor[bf16]"


@pytest.mark.parametrize(
    "items", [(1.5,), (-1,), (True,), ("not a name",), ("M", "*batch"), (fp16, "M"), (None,)]
)
def test_wrong_annotations(items):
    with pytest.raises(tsr.ArgumentError, match=r"Tensor\[\.\.\.\]: "):
        Tensor[items]


def test_tensor_is_no_array():
    with pytest.raises(tsr.ArgumentError, match="annotation"):
        Tensor(3)


def test_operations_explain_themselves():
    for name in ("softmax", "matmul", "where", "iota", "sum", "max", "cat", "full_like"):
        with pytest.raises(tsr.TesseraError, match=rf"tsr\.{name} is an operation of the language"):
            getattr(tsr, name)(1)
    with pytest.raises(AttributeError):
        tsr.sofmax


def test_errors():
    assert issubclass(tsr.ArgumentError, (ValueError, TypeError)) and issubclass(
        tsr.ArgumentError, tsr.TesseraError
    )
    assert issubclass(tsr.ArgumentError, TypeError)
    assert issubclass(tsr.CompileError, tsr.TesseraError) and issubclass(
        tsr.DeviceError, tsr.TesseraError
    )
    assert issubclass(tsr.OutOfMemoryError, MemoryError)


def test_function_keeps_its_name():
    @tsr.function
    def documented(x):
        """What it does."""
        return x

    assert documented.__name__ == "documented" and documented.__doc__ == "What it does."
    assert "documented" in repr(documented)
    assert documented.specializations() == []


def test_options_are_checked():
    with pytest.raises(
        tsr.ArgumentError, match="no option 'determinstic'; did you mean 'deterministic'"
    ):
        tsr.function(determinstic=False)(lambda x: x)
    with pytest.raises(tsr.ArgumentError, match="no option 'speed'"):
        tsr.numerics(speed=3)
    with pytest.raises(
        tsr.ArgumentError, match="'numerics': expected 'default' or 'strict', found 'slop"
    ):
        tsr.function(numerics="sloppy")(lambda x: x)
    with pytest.raises(tsr.ArgumentError, match="'deterministic': expected a bool, found 'yes'"):
        tsr.function(deterministic="yes")(lambda x: x)
    with pytest.raises(
        tsr.ArgumentError, match="'optimization_level': expected 0 or 1 or 2 or 3, found 4"
    ):
        tsr.function(optimization_level=4)(lambda x: x)
    with pytest.raises(tsr.ArgumentError, match="'optimization_level': expected .*, found True"):
        tsr.function(optimization_level=True)(lambda x: x)
    with pytest.raises(tsr.ArgumentError, match="'tensor_cores': expected a bool, found 1"):
        tsr.function(tensor_cores=1)(lambda x: x)
    assert tsr.numerics(matmul="tf32", fast_math=False) == {"matmul": "tf32", "fast_math": "false"}


def test_what_cannot_be_decorated():
    with pytest.raises(tsr.TesseraError, match="expected a function, found int"):
        tsr.function(3)
    with pytest.raises(tsr.TesseraError, match=r"\*args and \*\*kwargs"):

        @tsr.function
        def f(*args):
            return args

    with pytest.raises(tsr.TesseraError, match="decorated twice"):

        @tsr.function
        @tsr.function
        def g(x):
            return x


@tsr.function
def add(x, y=1.0, *, z=2.0):
    return x + y + z


X = np.ones(4, np.float32)


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        ((), {}, "add: missing argument 'x'"),
        ((X, 1.0, 2.0), {}, "add: expected 2 positional arguments, found 3"),
        ((X,), {"yy": 1.0}, "add: there is no argument 'yy'; did you mean 'y'"),
        ((X,), {"x": X}, "add: argument 'x' is given twice"),
        (
            ([1, 2],),
            {},
            "argument 'x': expected an array or a number, found a list; wrap it with numpy.asarray",
        ),
        (
            (X.astype(complex),),
            {},
            "argument 'x': expected an element type of .*, found complex128",
        ),
        ((X.astype(">f4"),), {}, "argument 'x': expected an element type of .*, found '>f4'"),
        ((np.array(["a"]),), {}, "argument 'x': expected an element type of"),
        ((2**70,), {}, "argument 'x': .* does not fit into 64 bits"),
        ((X,), {"stream": 1}, "stream= is for CUDA arrays"),
    ],
)
def test_wrong_calls(args, kwargs, message):
    with pytest.raises(tsr.TesseraError, match=message):
        add(*args, **kwargs)


@tsr.function
def annotated(
    x: Tensor["M", "K", fp32], w: Tensor["K", 8], s: float, n: int = 3, flag: bool = False
):
    return x


W = np.ones((4, 8), np.float32)
M = np.ones((2, 4), np.float32)


@pytest.mark.parametrize(
    "args, message",
    [
        ((M.astype(np.float64), W, 1.0), "argument 'x': expected fp32, found fp64"),
        (
            (X, W, 1.0),
            r"argument 'x': expected 2 dimensions Tensor\['M', 'K', fp32\], found 1 with the shape",
        ),
        ((M, W[:3], 1.0), "argument 'w': expected size 4 for 'K' as in argument 'x', found 3"),
        ((M, W[:, :7], 1.0), "argument 'w': expected size 8 in .*, found 7"),
        ((M, W, X), "argument 's': expected a float, found an array"),
        ((M, W, "a"), "argument 's': expected a float, found str"),
        ((M, W, 1.0, 2.5), "argument 'n': expected an int, found 2.5"),
        ((M, W, 1.0, True), "argument 'n': expected an int, found True"),
        ((M, W, 1.0, 1, 1), "argument 'flag': expected a bool, found 1"),
        ((M, 3.0, 1.0), "argument 'w': expected an array, found float; wrap it with numpy.asarray"),
    ],
)
def test_annotations_check_calls(args, message):
    with pytest.raises(tsr.ArgumentError, match=message):
        annotated(*args)


def test_no_source():
    scope = {"tsr": tsr}
    exec("@tsr.function\ndef typed(x):\n    return x", scope)
    with pytest.raises(tsr.CompileError, match="function 'typed' has no source text"):
        scope["typed"](X)


def test_stages_are_checked():
    with pytest.raises(
        tsr.ArgumentError, match="expected a stage of graph sched tile .*, found 'tiles'"
    ):
        add.inspect_ir("tiles")
    with pytest.raises(tsr.TesseraError, match="was not called yet"):
        tsr.function(add.__wrapped__).inspect_ir("tile")


def test_import_is_light():
    code = (
        "import sys, tessera; assert 'numpy' not in sys.modules; "
        "assert not tessera._tessera.compiler_loaded()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_setting():
    before = tsr.get_num_threads()
    try:
        tsr.set_num_threads(3)
        assert tsr.get_num_threads() == 3
    finally:
        tsr.set_num_threads(0)
    assert tsr.get_num_threads() == before


def test_threads_from_the_environment():
    code = "import tessera; print(tessera.get_num_threads())"

    def run(value):
        import os

        environment = {**os.environ, "TESSERA_NUM_THREADS": value}
        return subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    assert run("5").stdout.strip() == "5"
    wrong = run("many")
    assert int(wrong.stdout) >= 1
    assert "TESSERA_NUM_THREADS: expected a positive number, found 'many'" in wrong.stderr


def test_bundles_that_are_none(tmp_path):
    with pytest.raises(tsr.TesseraError, match="No such file"):
        tsr.load(tmp_path / "missing.tsb")
    (tmp_path / "bad.tsb").write_bytes(b"TSRB and then nothing of use")
    with pytest.raises(tsr.TesseraError, match="bad.tsb: invalid bundle: "):
        tsr.load(tmp_path / "bad.tsb")
