#!/usr/bin/env python3
"""Seeds for the fuzzers, taken from the tree's own tests, so that there is no second corpus to keep.

    fuzz/seeds.py FUZZER FOLDER [--build DIR]

source        the functions of test/Frontend, each with what it uses, below a line with the arguments, and the
              example of each operation (docs/operations.toml)
ir            the pieces of the .mlir files of test, also in generic form
expressions   the sizes and layouts that occur in those files
bytecode      the files of unittests/CodeGen/CudaTileIR/Inputs
bundle        bundles of a few functions, their host programs alone, and entries of a cache
"""

import argparse
import ast
import hashlib
import re
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LONGEST = 6000  # bytes of a text: longer ones are slow, and mutations get lost in them

BUNDLED = """
@tsr.function
def add(x, y):
    return x + y

@tsr.function
def rows(x, n: int):
    return tsr.softmax(x, dim=-1) * n

@tsr.function
def pick(w, i):
    return w[i]
"""
BUNDLED_ARGUMENTS = {
    "add": ["x=fp32[8]", "y=fp32[8]"],
    "rows": ["x=fp32[8,16]", "n=3"],
    "pick": ["w=fp32[8,4]", "i=int64[5]"],
}


def wrong_programs(text: str) -> Iterator[str]:
    """The programs of a file of test/Frontend/Errors, without the messages."""
    for part in re.split(r"^(?=#--- )", text, flags=re.M)[1:]:
        yield re.sub(r"^#\|.*\n", "", part, flags=re.M)


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def with_uses(text: str, function: str) -> str:
    """The statements of a file that a function needs."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return text
    wanted, chosen = {function.split(".")[0]}, set()
    while True:
        more = {
            i
            for i, node in enumerate(body)
            if getattr(node, "name", None) in wanted
            or isinstance(node, ast.Assign)
            and any(names_in(t) & wanted for t in node.targets)
            or isinstance(node, (ast.Import, ast.ImportFrom))
        }
        if more <= chosen:
            break
        chosen |= more
        wanted |= set().union(*(names_in(body[i]) for i in chosen))
    return "\n".join(ast.unparse(body[i]) for i in sorted(chosen)) + "\n"


def argument(name: str, value: object) -> str:
    """A value of an example as the command line names its type: x=fp32[2,3], n=3."""
    sizes = []
    while isinstance(value, list):
        sizes.append(str(len(value)))
        value = value[0] if value else 0.0
    types = {bool: "bool", int: "int64", float: "fp32"}
    return f"{name}={types[type(value)]}[{','.join(sizes)}]" if sizes else f"{name}={value}".lower()


def examples() -> Iterator[str]:
    """The operations' examples as programs."""
    table = tomllib.loads((TOP / "docs" / "operations.toml").read_text())
    known = {name: f"tsr.{name}(x)" for section in table["section"] for name in section["names"]}
    for name in known | table["example"]:
        entry = table["example"].get(name) or {"code": known[name], **table["default"]}
        values = {"nan": float("nan"), "inf": float("inf")}
        try:
            arguments = {k: eval(v, values) for k, v in entry.items() if k != "code"}
            types = " ".join(argument(k, v) for k, v in arguments.items())
        except (KeyError, NameError, SyntaxError):
            continue  # a type or a helper that only the pages have
        yield f"#--- {name}::f {types}\n@tsr.function\ndef f({', '.join(arguments)}):\n    return {entry['code']}\n"


def programs() -> Iterator[str]:
    yield from examples()
    for path in sorted((TOP / "test" / "Frontend").rglob("*")):
        if path.suffix not in (".py", ".tsr"):
            continue
        text = path.read_text()
        yield from wrong_programs(text)
        for line in re.findall(r"^# RUN:.* compile (%s.*)$", text, re.M):
            function = (re.match(r"%s::([\w.]+)", line) or [None, ""])[1]
            arguments = " ".join(re.findall(r"--arg (\S+)", line))
            if not function:
                function = (re.findall(r"^def (\w+)", text, re.M) or [""])[-1]
            yield f"#--- seed::{function} {arguments}\n{with_uses(text, function)}"


def operations(text: str) -> Iterator[str]:
    """The top-level operations of a piece of IR, each with the aliases that it uses."""
    text = re.sub(r"^\s*//.*\n|\s*// (CHECK|expected).*$", "", text, flags=re.M)
    aliases = dict(re.findall(r"^([#!][\w]+) = (.*)$", text, re.M))
    block: list[str] = []
    depth = 0
    for line in text.splitlines():
        if re.match(r"[#!]\w+ = ", line) or (not block and not line.strip()):
            continue
        block.append(line)
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            body, needed = "\n".join(block) + "\n", ""
            for name, value in aliases.items():
                if re.search(re.escape(name) + r"\b", body):
                    needed += f"{name} = {value}\n"
            yield needed + body
            block, depth = [], 0
    if block:
        yield "\n".join(block) + "\n"


def pieces() -> Iterator[str]:
    for path in sorted((TOP / "test").rglob("*.mlir")):
        for piece in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
            whole = re.sub(r"^\s*//.*\n", "", piece, flags=re.M).strip() + "\n"
            yield whole
            yield from operations(piece)


def tool(build: Path, name: str) -> Path:
    """A program of the build; one of the plain build where it has only fuzzers."""
    path = build / "bin" / name
    return path if path.exists() else TOP / "build" / "bin" / name


def ir(build: Path) -> Iterator[str]:
    opt = tool(build, "tessera-opt")
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder) / "all.mlir"
        texts = list(dict.fromkeys(t for t in pieces() if len(t) <= LONGEST))
        yield from texts
        together.write_text("// -----\n".join(texts))
        # Wrong pieces give no text; the others come out again in generic form.
        command = [opt, together, "--split-input-file", "--mlir-print-op-generic", "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True)
        yield from re.split(r"^// -----.*$", done.stdout, flags=re.M)


def expressions() -> Iterator[str]:
    found: dict[str, None] = {}
    for path in sorted((TOP / "test").rglob("*.mlir")):
        for text in re.findall(r'"([^"\n]*)"', path.read_text()):
            found[text] = None
        for text in re.findall(
            r"(?:layout)?<((?:register|lane|warp|offset)\[[^>]*-> [^>]*)>", path.read_text()
        ):
            found[text] = None
    yield from found
    for test in ("Support/SymExprTest.cpp", "Layout/LayoutTest.cpp", "Layout/FamiliesTest.cpp"):
        yield from re.findall(r'"([^"\n]+)"', (TOP / "unittests" / test).read_text())


def bytecode() -> Iterator[bytes]:
    for path in sorted((TOP / "unittests/CodeGen/CudaTileIR/Inputs").glob("*.tileirbc")):
        yield path.read_bytes()


def bundles(build: Path) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "functions.tsr"
        source.write_text(BUNDLED)
        for function, arguments in BUNDLED_ARGUMENTS.items():
            out = Path(folder) / f"{function}.tsb"
            command = [tool(build, "tessera"), "compile", f"{source}::{function}", "-o", out]
            for argument in arguments:
                command += ["--arg", argument]
            subprocess.run([*command, "--emit", "bundle"], check=True, capture_output=True)
            data = out.read_bytes()
            yield data
            # CacheFiles.h: an entry with its key; the fuzzer puts the checksum right.
            key = f'["entry","{function}"]'.encode()
            yield struct.pack("<4sIQIIQQ", b"TSRC", 2, 0, 0, 0, len(key), len(data)) + key + data
            # bundle.h: the table of sections; those of kind 3 hold a name, an image, no further ones and a program.
            for i in range(struct.unpack_from("<I", data, 16)[0]):
                kind, _, offset, length = struct.unpack_from("<IIQQ", data, 32 + 32 * i)
                if kind == 3:
                    name = struct.unpack_from("<I", data, offset)[0]
                    yield data[offset + 4 + name + 4 + 4 + 8 : offset + length]


def seeds(fuzzer: str, build: Path) -> Iterator[bytes]:
    texts = {"source": programs, "ir": lambda: ir(build), "expressions": expressions}
    if fuzzer in texts:
        for text in texts[fuzzer]():
            if text.strip() and len(text) <= LONGEST and not re.search(r"range\(\d{6,}\)", text):
                yield text.encode()
    elif fuzzer == "bytecode":
        yield from bytecode()
    else:
        yield from bundles(build)


def write(fuzzer: str, folder: Path, build: Path) -> int:
    """Writes the seeds as files named by their content; returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {hashlib.sha1(seed).hexdigest(): seed for seed in seeds(fuzzer, build)}
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, seed in wanted.items():
        (folder / name).write_bytes(seed)
    return len(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("fuzzer", choices=["source", "ir", "expressions", "bytecode", "bundle"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, default=TOP / "build", help="where the programs are")
    arguments = parser.parse_args()
    print(write(arguments.fuzzer, arguments.folder, arguments.build), "seeds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
