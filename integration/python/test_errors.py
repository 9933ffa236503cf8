"""User errors: diagnostics with notes and suggestions, and tracebacks that end in the user's own
lines, from a script, from pytest and from a notebook cell."""

import linecache
import pickle
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor, fp16

X = np.ones((4, 8), np.float32)


@tsr.function
def normalise(a):
    return a / a.sum(dim=1)


@tsr.function
def layer(x: Tensor["N", "D"]):
    return normalise(x) * 2


@tsr.function
def affine(x: Tensor["N", "D"], y: Tensor["D"], n: int = 1):
    return x * n + y


@tsr.function
def half(x: Tensor["N", fp16]):
    return x


CONFIG = {"scale": 2.0}
SIZES = [4, 8]


@tsr.function
def configured(x):
    return x * CONFIG["scale"]


@tsr.function
def sized(x):
    return x.reshape(SIZES[1], SIZES[0])


@tsr.function
def foreign(x):
    return np.exp(x)


class Model:
    scale = 2.0

    @tsr.function
    def forward(self, x):
        return x * self.scael


def line_of(text: str) -> int:
    """The number of the line of this file that holds just this text."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def frames(error: BaseException) -> list[tuple[str, int, str]]:
    return [
        (Path(entry.filename).name, entry.lineno, entry.name)
        for entry in traceback.extract_tb(error.__traceback__)
    ]


def test_diagnostics_have_places_notes_and_suggestions():
    with pytest.raises(tsr.CompileError) as caught:
        layer(X)
    (error,) = caught.value.diagnostics
    assert error.severity == "error" and error.file == __file__
    assert error.line == line_of("return a / a.sum(dim=1)") and error.column == 14
    assert error.message.startswith("sizes do not match in dimension -1: 'D' and 'N'")
    messages = [note.message for note in error.notes]
    assert messages == [
        "this is a tensor of fp32[N, D]",
        "this is a tensor of fp32[N]",
        "'D' (8 in this call) is bound here",
        "'N' (4 in this call) is bound here",
        "in the call of 'normalise' here",
    ]
    assert all(note.file == __file__ and note.line for note in error.notes)
    (fix,) = error.fixits
    assert isinstance(fix, tsr.FixIt) and fix.replacement == ", keepdim=True"
    # Applied to the file's text, the suggestion gives a program that runs.
    lines = Path(__file__).read_text().splitlines()
    line = lines[fix.line - 1]
    corrected = line[: fix.column - 1] + fix.replacement + line[fix.end_column - 1 :]
    assert corrected.strip() == "return a / a.sum(dim=1, keepdim=True)"


def test_text_is_the_rendering():
    with pytest.raises(tsr.CompileError) as caught:
        layer(X)
    number = line_of("return a / a.sum(dim=1)")
    text = str(caught.value)
    assert text.startswith(f"{__file__}:{number}:14: error: sizes do not match")
    assert f"{number} |     return a / a.sum(dim=1)\n" in text
    assert "|            ~ ^ ~~~~~~~~~~~~\n" in text
    assert "|                           , keepdim=True\n" in text


def test_captured_objects_are_named_by_their_types():
    with pytest.raises(tsr.CompileError, match="the dict 'CONFIG' cannot be indexed; constants"):
        configured(X)
    with pytest.raises(tsr.CompileError, match="the list 'SIZES' cannot be indexed; make it a tup"):
        sized(X)


def test_suggestions_use_the_names_of_the_file():
    with pytest.raises(tsr.CompileError, match="'np.exp' is not a @tsr.function") as caught:
        foreign(X)
    assert caught.value.diagnostics[0].fixits[0].replacement == "tsr.exp"


def test_methods_are_shown_with_their_indentation():
    with pytest.raises(tsr.CompileError) as caught:
        Model().forward(X)
    number = line_of("return x * self.scael")
    assert str(caught.value).startswith(
        f"{__file__}:{number}:25: error: 'self' has no attribute 'scael'; did you mean 'scale'?\n"
    )
    assert f"{number} |         return x * self.scael\n" in str(caught.value)
    assert f"      |{' ' * 25}^~~~~\n" in str(caught.value)
    assert frames(caught.value)[-1] == (Path(__file__).name, number, "forward")


def test_traceback_ends_in_the_function_that_is_wrong():
    with pytest.raises(tsr.CompileError) as caught:
        layer(X)
    here = Path(__file__).name
    assert frames(caught.value)[1:] == [
        (here, line_of("return normalise(x) * 2"), "layer"),
        (here, line_of("return a / a.sum(dim=1)"), "normalise"),
    ]
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.colno, last.end_colno) == (13, 14)


@tsr.function
def chosen(x, i):
    return x[i]


def test_indices_of_the_reference():
    """Errors in the data are reported without mentioning the compiler."""
    with pytest.raises(tsr.CompileError, match="index 9 is out of range") as raised:
        chosen.reference(np.zeros((4, 3), np.float32), np.array([0, 9]))
    assert "internal" not in str(raised.value)


@pytest.mark.parametrize("attribute", ["compile", "inspect_ir", "reference"])
def test_traceback_of_other_ways_to_compile(attribute):
    arguments = ("graph", X) if attribute == "inspect_ir" else (X,)
    with pytest.raises(tsr.CompileError) as caught:
        getattr(layer, attribute)(*arguments)
    assert frames(caught.value)[-1][2] == "normalise"


def test_traceback_of_an_argument_ends_in_the_call():
    with pytest.raises(tsr.ArgumentError) as caught:
        affine(X)
    assert [name for _, _, name in frames(caught.value)] == [
        "test_traceback_of_an_argument_ends_in_the_call"
    ]


def test_errors_survive_pickling():
    with pytest.raises(tsr.CompileError) as caught:
        layer(X)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.diagnostics == caught.value.diagnostics


def run(command: list, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stdout + done.stderr


PROGRAM = """
    import numpy as np
    import tessera as tsr

    @tsr.function
    def helper(v):
        return v.reshape(3)

    @tsr.function
    def model(v):
        return helper(v) + 1

    def test_model():
        model(np.ones(4, np.float32))

    if __name__ == "__main__":
        test_model()
"""


def test_script(tmp_path):
    (tmp_path / "test_script.py").write_text(textwrap.dedent(PROGRAM).lstrip())
    text = run([sys.executable, "test_script.py"], tmp_path)
    file = tmp_path / "test_script.py"
    expected = f'''\
  File "{file}", line 10, in model
    return helper(v) + 1
           ^^^^^^^^^
  File "{file}", line 6, in helper
    return v.reshape(3)
                     ^
tessera.errors.CompileError: {file}:6:22: error: cannot reshape a tensor of fp32[4] to [3]'''
    assert expected in text
    assert "tessera/function.py" not in text


def test_pytest_points_at_the_line(tmp_path):
    (tmp_path / "test_script.py").write_text(textwrap.dedent(PROGRAM).lstrip())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_script.py"]
    text = run(command, tmp_path)
    assert "\n>   return v.reshape(3)\n" in text
    assert "\ntest_script.py:6: CompileError\n" in text


def test_notebook():
    """A cell: its text is known to linecache alone."""
    cell = "<cell 3>"
    text = textwrap.dedent(PROGRAM).partition("if __name__")[0].lstrip()
    linecache.cache[cell] = (len(text), None, text.splitlines(True), cell)
    names: dict = {}
    exec(compile(text, cell, "exec"), names)
    with pytest.raises(tsr.CompileError) as caught:
        names["test_model"]()
    assert frames(caught.value)[-1] == (cell, 6, "helper")
    assert f"{cell}:6:22: error:" in str(caught.value)


WRONG_CALLS = {
    "missing": (lambda: affine(X), "affine: missing argument 'y'"),
    "unknown": (lambda: affine(X, X[0], m=2), "affine: there is no argument 'm'"),
    "near": (lambda: half(xx=X), "half: there is no argument 'xx'; did you mean 'x'"),
    "twice": (lambda: affine(X, x=X), "affine: argument 'x' is given twice"),
    "many": (lambda: half(X, X), "half: expected 1 positional argument, found 2"),
    "rank": (
        lambda: affine(X[0], X[0]),
        r"argument 'x': expected 2 dimensions Tensor\['N', 'D'\], found 1 with the shape \(8,\)",
    ),
    "size": (
        lambda: affine(X, X[0, :7]),
        "argument 'y': expected size 8 for 'D' as in argument 'x', found 7",
    ),
    "dtype": (lambda: half(X[0]), "argument 'x': expected fp16, found fp32"),
    "list": (lambda: affine([1.0], X), "expected an array, found list; wrap it with numpy.asarray"),
    "none": (lambda: affine(None, X), "argument 'x': expected an array, found None"),
    "int": (lambda: affine(X, X[0], 1.5), "argument 'n': expected an int, found 1.5"),
    "bool": (lambda: affine(X, X[0], True), "argument 'n': expected an int, found True"),
    "large": (lambda: affine(X, X[0], 2**70), "does not fit into 64 bits"),
    "out-shape": (
        lambda: affine(X, X[0], out=np.ones((4, 9), np.float32)),
        r"out: expected fp32\[4, 8\], found fp32\[4, 9\]",
    ),
    "out-dtype": (
        lambda: affine(X, X[0], out=np.ones((4, 8))),
        r"out: expected fp32\[4, 8\], found fp64\[4, 8\]",
    ),
    "out-number": (lambda: affine(X, X[0], out=3), "out: expected an array, found int"),
    "out-many": (lambda: affine(X, X[0], out=(X + 1, X + 1)), "out: expected 1 array, found 2"),
    "out-repeated": (
        lambda: affine(X, X[0], out=np.lib.stride_tricks.as_strided(X.copy(), (4, 8), (0, 4))),
        "out: expected memory for each element, found an array that repeats elements",
    ),
    "out-overlap": (lambda: affine(X, X[0], out=X[::-1]), "out: it overlaps an argument partly"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_arguments(name):
    call, message = WRONG_CALLS[name]
    with pytest.raises(tsr.ArgumentError, match=message) as caught:
        call()
    assert frames(caught.value)[-1][2] == "<lambda>"
    np.testing.assert_array_equal(affine(X, X[0]), X + X[0])  # still usable
