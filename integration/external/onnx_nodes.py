"""The node tests of the package onnx as judges of `tsr.from_onnx`.

Every test is imported, run on the CPU, and compared with the outputs that the test expects, within
onnx's tolerances (bf16: within two units in the last place). Workers run the tests, so that one that crashes or hangs is only one result.

    python integration/external/onnx_nodes.py --table integration/external/onnx_results.md
"""

from __future__ import annotations

import argparse
import sys
import warnings

import pool

SECONDS = 60  # that one test may take


def cases() -> dict:
    warnings.simplefilter("ignore")
    from onnx.backend.test import loader

    return {case.name: case for case in loader.load_model_tests(kind="node")}


def operator_of(name: str, known: dict) -> str:
    """The operator of a test, also of one that has the operator's definition in its place."""
    base = name.partition("_expanded")[0]
    nodes = known[base if base in known else name].model.graph.node
    operator = nodes[0].op_type if len(nodes) == 1 else "several"
    return f"{operator}, expanded" if "_expanded" in name else operator


# -- one test -------------------------------------------------------------------------------------


def compare(case, expected, found) -> str:
    """What is wrong; empty if nothing is."""
    import numpy as np

    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(expected):
        return f"{len(expected)} outputs expected, {len(found)} found"
    for index, (want, got) in enumerate(zip(expected, found)):
        if not isinstance(want, (np.ndarray, np.generic)):
            return "the expected output is not a tensor"
        want, got = np.asarray(want), np.asarray(got)
        if want.dtype != got.dtype:
            return f"output {index}: type {want.dtype} expected, {got.dtype} found"
        if want.shape != got.shape:
            return f"output {index}: shape {want.shape} expected, {got.shape} found"
        if want.dtype.kind not in "fc" and want.dtype.name != "bfloat16":
            if not np.array_equal(want, got):
                return f"output {index}: elements differ"
            continue
        wide, near = want.astype(np.float64), got.astype(np.float64)
        # The expected values of bf16 are rounded after each operation, ours at the end.
        rtol = 2**-6 if want.dtype.name == "bfloat16" else case.rtol
        if not np.allclose(near, wide, rtol=rtol, atol=case.atol, equal_nan=True):
            if not np.array_equal(np.isnan(wide), np.isnan(near)):
                return f"output {index}: nan at other elements"
            with np.errstate(invalid="ignore"):
                return f"output {index}: differs by {np.nanmax(np.abs(wide - near)):.3g}"
    return ""


def fixable(case, values) -> list[dict]:
    """Inputs that are shapes, axes and the like: those behind the first, then all of them."""
    import numpy as np

    names = [one.name for one in case.model.graph.input]
    small = {
        name: np.asarray(value)
        for name, value in zip(names, values)
        if isinstance(value, (np.ndarray, np.generic))
        and (value.ndim == 0 or value.ndim == 1 and (value.dtype.kind in "iub" or value.size <= 8))
        and value.size <= 64
    }
    later = {name: value for name, value in small.items() if name != names[0]}
    # Something must be left to compute.
    return [one for one in (later, small) if one and len(one) < len(names)]


def arrays(values) -> list:
    import onnx

    return [
        onnx.numpy_helper.to_array(one) if isinstance(one, onnx.TensorProto) else one
        for one in values
    ]


def imported(case, inputs):
    """The model, and the inputs that had to be fixed."""
    import tessera as tsr

    try:
        return tsr.from_onnx(case.model), {}
    except tsr.CompileError as first:
        for fixed in fixable(case, inputs):
            try:
                return tsr.from_onnx(case.model, constants=fixed), fixed
            except tsr.CompileError:
                pass
        raise first


def run(case) -> tuple[str, str]:
    import tessera as tsr

    kind = "right"
    for inputs, expected in case.data_sets:
        inputs, expected = arrays(inputs), arrays(expected)
        try:
            model, fixed = imported(case, inputs)
        except (tsr.CompileError, tsr.ArgumentError) as error:
            lines = str(error).splitlines()
            return "refused", (lines[1] if len(lines) > 1 else lines[0]).strip()
        kind = "fixed" if fixed else kind
        names = [one.name for one in case.model.graph.input]
        try:
            found = model(*[value for name, value in zip(names, inputs) if name not in fixed])
        except (tsr.CompileError, tsr.ArgumentError) as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            text = next((line for line in lines if "error" in line), lines[0])
            return "rejected", text.strip()[:160]
        if note := compare(case, expected, found):
            return "wrong", note
    return kind, ""


def work() -> None:
    known = cases()
    pool.serve(sys.stdin, lambda name: run(known[name]))


# -- all tests ------------------------------------------------------------------------------------


KINDS = ("right", "fixed", "refused", "rejected", "wrong", "crash", "hang")
MEANING = """\
| | |
| --- | --- |
| right | the outputs are those that the test expects, within onnx's tolerances; bf16 within two units in the last place |
| fixed | the same, with inputs such as shapes and axes fixed at import (`constants=`) |
| refused | `from_onnx` lists what is not supported |
| rejected | the call is an error of the compiler or of an argument |
| wrong, crash, hang | a finding |
"""


def text_of(results: dict[str, tuple[str, str]], operators: dict[str, str]) -> str:
    import onnx

    what = f"{len(results)} tests of onnx {onnx.__version__}"
    text = pool.head("ONNX node tests", "onnx_nodes.py", what, results, KINDS) + MEANING + "\n"
    return text + pool.table(results, operators.__getitem__, KINDS, good=("right", "fixed"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name contains this text")
    pool.add_options(parser)
    options = parser.parse_args()
    if options.worker:
        work()
        return 0
    known = cases()
    operators = {name: operator_of(name, known) for name in known}
    names = [name for name in operators if options.only in name]
    command = [sys.executable, __file__, "--worker"]
    results = pool.run_all(names, options.jobs, command, SECONDS)
    return pool.report(results, KINDS, options, lambda: text_of(results, operators))


if __name__ == "__main__":
    sys.exit(main())
