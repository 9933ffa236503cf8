"""Hashes of the compiler's code for every program of the CPU suite, for every target.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p hashed integration/cpu[/test_….py]

As a pytest plugin it replaces the suite's `check`. Each function is compiled once for the types of
its arguments, for each of TARGETS, and hashed with its symbols numbered in order of appearance, so
that renamed symbols do not change the hash. hashes.txt has the hashes; TESSERA_WRITE_HASHES=1
writes it.
"""

from __future__ import annotations

import hashlib
import re

import pytest
from kernels import CHIPS
from suite import Listing, Names, Suite, pytest_collection_modifyitems  # noqa: F401

import tessera as tsr

CPUS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")
AMX = "x86_64:avx,avx2,avx512bw,avx512cd,avx512dq,avx512f,avx512vl,avx512bf16,fma,f16c,bmi,bmi2,amx-tile,amx-bf16"
TARGETS = [
    *((cpu, "llvm") for cpu in (*CPUS, AMX, "aarch64:neon,bf16,fp16fml")),
    *((f"{chip}:ptx", "ptx") for chip in CHIPS),
    ("sm_90:tileir", "tileir"),
]
HASHES = Listing("hashes.txt", "TESSERA_WRITE_HASHES")

# Names and locations, which do not affect the code.
_COMMENT = re.compile(
    r"^\s*(;|//|source_filename|target triple|target datalayout|!|\.loc|\.file).*$|, !dbg !\d+|\s+;.*$",
    re.MULTILINE,
)
_SYMBOL = re.compile(
    r"[@%]\"[^\"]*\"|[@%][-A-Za-z$._0-9]+|\b[A-Za-z_$][\w$]*_\d+\b|\b_*shared\w*\b"
)


def fingerprint(text: str) -> str:
    """The hash of code without comments, its symbols numbered in the order in which they appear."""
    numbers: dict[str, str] = {}
    text = _SYMBOL.sub(
        lambda m: numbers.setdefault(m[0], f"@{len(numbers)}"), _COMMENT.sub("", text)
    )
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Hashed(Suite):
    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.names = Names()
        self.hashes: dict[str, str] = {}

    def visit(self, function, arguments: tuple) -> None:
        program = self.program(function, arguments)
        if program in self.names:
            return
        name = self.names.of(program)
        hashes = []
        for target, stage in TARGETS:
            try:
                hashes.append(fingerprint(function.inspect_ir(stage, *arguments, target=target)))
                self.counts["compiled"] += 1
            except tsr.TesseraError as error:
                self.refuse(error)
        self.hashes[name] = " ".join(hashes)


def pytest_configure(config) -> None:
    config.hashed = Hashed()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not HASHES.holds(session, session.config.hashed.hashes):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for line in config.hashed.lines():
        terminalreporter.write_line(line)
