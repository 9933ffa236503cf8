"""The tests of StableHLO as judges of `tsr.from_stablehlo`.

FOLDER is `stablehlo` of a checkout of openxla/stablehlo: its `testdata` and `tests/interpret` are
read. Each function that checks its results is imported with its constants as inputs, run on the
CPU, and compared with what it expects. Needs jaxlib, which reads the pretty form.

    python integration/external/stablehlo_tests.py FOLDER --table integration/external/stablehlo_results.md
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np
import pool

SECONDS = 60  # that one test may take
#: Differences relative to the largest expected element, by type.
BOUNDS = {"float64": 1e-9, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}
CHECK = re.compile(r"^( *)check\.(expect_(?:almost_)?eq_const) (%[\w#]+), *\n? *", re.MULTILINE)

# -- cases ----------------------------------------------------------------------------------------


def parts(folder: Path) -> dict[str, str]:
    """The modules by name."""
    found = {}
    for path in sorted((folder / "testdata").glob("*.mlir")):
        found[f"testdata/{path.name}"] = path.read_text()
    for path in sorted((folder / "tests/interpret").rglob("*.mlir")):
        name = str(path.relative_to(folder / "tests"))
        for index, text in enumerate(path.read_text().split("// -----")):
            # check.mlir tests the checks.
            if "check." in text and path.stem != "check":
                found[f"{name}:{index}"] = text
    return found


def operator_of(text: str, name: str) -> str:
    """The operator of a test: that of the file's name in `interpret`, or the first one that is not
    about moving operands."""
    if name.startswith("interpret/"):
        return Path(name.partition(":")[0]).stem
    own = text.split("func.func private")[0]
    names = re.findall(r"(?:stablehlo|chlo)\.(\w+)", own + text.split("@expected()", 2)[-1])
    plain = (
        "constant",
        "custom_call",
        "return",
        "broadcast_in_dim",
        "convert",
        "reshape",
        "compare",
    )
    for one in names:
        if one not in plain:
            return one
    return next((one for one in names if one not in plain[:3]), "other")


def registered(text: str) -> str:
    """The checks of constants in generic form: their dialect is not in jaxlib."""
    pieces, last = [], 0
    for match in CHECK.finditer(text):
        end = depth = 0
        for end in range(match.end(), len(text)):
            depth += text[end] in "<[" and 1 or (text[end] in ">]" and -1)
            if text[end] == "\n" and depth == 0:
                break
        value = text[match.end() : end].strip()
        kind = value.rpartition(" : ")[2]
        pieces += [
            text[last : match.start()],
            f'{match[1]}"check.{match[2]}"({match[3]}) {{value = {value}}} : ({kind}) -> ()',
        ]
        last = end
    return "".join(pieces) + text[last:]


# -- one test -------------------------------------------------------------------------------------


class Foreign(Exception):
    """A type that the language does not have."""


def value_of(operation):
    try:
        return operation.attributes["value"]
    except TypeError:  # jaxlib cannot read constants of complex numbers
        raise Foreign("the language has no type complex") from None


def array_of(attribute) -> np.ndarray:
    element = str(attribute.type).rpartition("x")[2].strip(">").removeprefix("tensor<")
    element = "complex" if "complex" in str(attribute.type) else element
    if not re.fullmatch(r"f64|f32|f16|bf16|i1|i8|i16|i32|i64|ui8", element):
        raise Foreign(f"the language has no type {element}")
    try:
        return np.array(attribute)
    except TypeError:  # bf16 has no buffer
        import ml_dtypes

        text = str(attribute)
        body, _, kind = text.removeprefix("dense<").rpartition("> : tensor<")
        shape = [int(one) for one in re.findall(r"(\d+)x", kind)]
        dtype = ml_dtypes.bfloat16
        if body.startswith('"0x'):
            return np.frombuffer(bytes.fromhex(body[3:-1]), dtype).reshape(shape).copy()
        numbers = re.findall(r"0x[0-9A-F]{4}|[-+.\deE]+", body)
        values = [
            np.array(int(one, 16), np.uint16).view(dtype)
            if one.startswith("0x")
            else dtype(float(one))
            for one in numbers
        ]
        full = np.array(values, dtype)
        return np.broadcast_to(full, shape).copy() if full.size == 1 else full.reshape(shape)


class Case:
    """One function: its constants become inputs, what it checks becomes its results."""

    def __init__(self, ir, module, function, fixes: bool):
        self.ir, self.module = ir, module
        self.block = function.regions[0].blocks[0]
        self.inputs, self.expected = [], []
        self.near = []  # whether a test expects only 1e-4
        symbols = {op.attributes["sym_name"].value: op for op in module.body.operations}
        self._inline(symbols)
        results = self._checks()
        if not fixes:
            self._parameters()
        for op in list(self.block.operations):
            if op.operation.name in ("func.return", "stablehlo.return"):
                op.operation.erase()
        with ir.InsertionPoint(self.block), ir.Location.unknown():
            ir.Operation.create("func.return", operands=results)
        kinds = [one.type for one in self.block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(kinds, [one.type for one in results])
        )
        for name in ("arg_attrs", "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]
        function.attributes["sym_name"] = ir.StringAttr.get("main")
        if "sym_visibility" in function.attributes:
            del function.attributes["sym_visibility"]
        self.text = module.operation.get_asm(print_generic_op_form=True)

    def _inline(self, symbols: dict) -> None:
        """Constants of functions without operands."""
        for op in list(self.block.operations):
            operation = op.operation
            if operation.name != "func.call" or len(operation.operands):
                continue
            callee = symbols[operation.attributes["callee"].value].regions[0].blocks[0]
            returned = list(callee.operations)[-1].operation.operands
            if any(one.owner.name != "stablehlo.constant" for one in returned):
                continue
            name = operation.attributes["callee"].value
            for result, one in zip(operation.results, returned):
                with self.ir.InsertionPoint(operation), self.ir.Location.unknown():
                    attributes = {"value": value_of(one.owner)}
                    if name == "inputs":
                        attributes["input"] = self.ir.UnitAttr.get()
                    made = self.ir.Operation.create(
                        "stablehlo.constant", results=[one.type], attributes=attributes
                    )
                result.replace_all_uses_with(made.results[0])
            operation.erase()

    def _checks(self) -> list:
        results = []
        for op in list(self.block.operations):
            operation = op.operation
            called = operation.name == "stablehlo.custom_call" and str(
                operation.attributes["call_target_name"]
            ).strip('"').startswith("check.")
            if not called and not operation.name.startswith("check."):
                continue
            holder = operation if operation.name.endswith("_const") else operation.operands[1].owner
            value = None
            if holder is operation or holder.name == "stablehlo.constant":
                value = value_of(holder)
            self.near.append("almost" in str(operation))
            if value is None:
                raise ValueError("what is expected is computed")
            results.append(operation.operands[0])
            self.expected.append(array_of(value))
            operation.erase()
        return results

    def _parameters(self) -> None:
        constants = [
            op.operation
            for op in self.block.operations
            if op.operation.name == "stablehlo.constant"
        ]
        chosen = [one for one in constants if "input" in one.attributes] or constants
        for one in chosen:
            if not list(one.results[0].uses):
                continue
            self.inputs.append(array_of(value_of(one)))
            argument = self.block.add_argument(one.results[0].type, self.ir.Location.unknown())
            one.results[0].replace_all_uses_with(argument)


def compare(expected: list, near_ones: list, found) -> str:
    """What is wrong; empty if nothing is."""
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(expected):
        return f"{len(expected)} outputs expected, {len(found)} found"
    for index, (want, got) in enumerate(zip(expected, found)):
        got = np.asarray(got)
        if want.dtype != got.dtype:
            return f"output {index}: type {want.dtype} expected, {got.dtype} found"
        if want.shape != got.shape:
            return f"output {index}: shape {want.shape} expected, {got.shape} found"
        if want.dtype.name not in BOUNDS:
            if not np.array_equal(want, got):
                return f"output {index}: elements differ"
            continue
        wide, near = want.astype(np.float64), got.astype(np.float64)
        bound = max(BOUNDS[want.dtype.name], 1e-4 if near_ones[index] else 0)
        if not np.array_equal(np.isnan(wide), np.isnan(near)):
            return f"output {index}: nan at other elements"
        finite = np.abs(wide[np.isfinite(wide)])
        scale = bound * min(finite.max(initial=0), 1e300)
        if not np.allclose(near, wide, rtol=bound, atol=scale, equal_nan=True):
            with np.errstate(invalid="ignore"):
                return f"output {index}: differs by {np.nanmax(np.abs(wide - near)):.3g}"
    return ""


def reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    titles = ("cannot be imported", "Unable to parse")
    text = lines[1] if len(lines) > 1 and any(one in lines[0] for one in titles) else lines[0]
    text = re.sub(r'^error: "-":\d+:\d+: ', "", text)
    return re.sub(r" \(line \d+\)", "", text.strip())[:140]


def run(text: str) -> tuple[str, str]:
    import tessera as tsr
    from tessera.stablehlo.convert import _context

    ir, _, context = _context("the judge")
    kind = "right"
    text = registered(text)
    with context:
        try:
            names = [
                op.attributes["sym_name"].value
                for op in ir.Module.parse(text).body.operations
                if "sym_name" in op.attributes and "check." in str(op)
            ]
        except Exception as error:
            return "unread", reason(error)
        for name in names:
            for fixes in (False, True):
                module = ir.Module.parse(text)
                function = next(
                    op for op in module.body.operations if op.attributes["sym_name"].value == name
                )
                try:
                    case = Case(ir, module, function.operation, fixes)
                except Foreign as error:
                    return "refused", str(error)
                except ValueError as error:
                    return "unread", str(error)
                try:
                    model = tsr.from_stablehlo(case.text)
                except tsr.CompileError as error:
                    if fixes:
                        return "refused", reason(error)
                    continue
                try:
                    found = model(*case.inputs)
                except tsr.TesseraError as error:
                    if fixes:
                        return "rejected", reason(error)
                    continue
                if note := compare(case.expected, case.near, found):
                    return "wrong", note
                kind = "constant" if fixes else kind
                break
    return (kind, "") if names else ("unread", "nothing is checked")


# -- all tests ------------------------------------------------------------------------------------

KINDS = ("right", "constant", "refused", "rejected", "unread", "wrong", "crash", "hang")
MEANING = """\
| | |
| --- | --- |
| right | the results are those that the test expects: integers and bools exactly, floats within 1e-9 (`fp64`), 3e-5 (`fp32`), 4e-3 (`fp16`) or 3e-2 (`bf16`) of the largest element, or 1e-4 where the test says `almost` |
| constant | the same, but only with the operands as constants of the module |
| refused | `from_stablehlo` lists what is not supported |
| rejected | the call is an error of the compiler |
| unread | jaxlib cannot read the test, or it checks nothing that is a constant |
| wrong, crash, hang | a finding |
"""


def text_of(results: dict[str, tuple[str, str]], texts: dict[str, str]) -> str:
    what = f"{len(results)} of {len(texts)} tests of openxla/stablehlo"
    text = pool.head("StableHLO tests", "stablehlo_tests.py", what, results, KINDS) + MEANING + "\n"
    return text + pool.table(
        results, lambda name: operator_of(texts[name], name), KINDS, good=("right", "constant")
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="stablehlo of a checkout of openxla/stablehlo")
    parser.add_argument("--only", default="", help="tests whose name matches this expression")
    parser.add_argument("--every", type=int, default=1, help="only each n-th test")
    pool.add_options(parser)
    options = parser.parse_args()
    texts = parts(options.folder)
    if options.worker:
        pool.serve(sys.stdin, lambda name: run(texts[name]))
        return 0
    names = [name for name in texts if re.search(options.only, name)][:: options.every]
    command = [sys.executable, __file__, str(options.folder), "--worker"]
    results = pool.run_all(names, options.jobs, command, SECONDS)
    return pool.report(results, KINDS, options, lambda: text_of(results, texts))


if __name__ == "__main__":
    sys.exit(main())
