"""Bytecode and pretty text as generic text, through jaxlib."""

from __future__ import annotations

import math
import os
import re
from typing import Any

import numpy as np

from ..errors import ArgumentError, CompileError

BYTECODE = b"ML\xefR"
_HOW = (
    "needs the package jaxlib, which is not installed: pip install jaxlib, or give generic text "
    "(mlir-opt --mlir-print-op-generic)"
)


def read(source: Any) -> bytes:
    """The bytes of text, bytes, a path, or what `jax.export` returns."""
    if isinstance(source, str):
        return source.encode(errors="surrogateescape")
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, os.PathLike):
        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise ArgumentError(
                f"from_stablehlo: cannot read {path!r}: {error.strerror or error}"
            ) from None
    module = getattr(source, "mlir_module_serialized", None)  # jax.export.Exported
    if isinstance(module, bytes):
        return module
    raise ArgumentError(
        f"from_stablehlo: expected text, bytes or a path, got {type(source).__name__}"
    )


def _context(what: str) -> Any:
    """jaxlib's `ir` and a context with the dialects of JAX's modules."""
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo
    except ImportError:
        raise ArgumentError(f"from_stablehlo: {what} {_HOW}") from None
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in (
        stablehlo.register_dialect,
        chlo.register_dialect,
        sdy.register_dialect,
        mhlo.register_mhlo_dialect,
    ):
        register(context)
    context.allow_unregistered_dialects = True
    return ir, stablehlo, context


def _parsed(ir: Any, stablehlo: Any, context: Any, data: bytes) -> Any:
    if data.startswith(BYTECODE):
        try:
            return stablehlo.deserialize_portable_artifact(context, data)
        except Exception:
            return ir.Module.parse(data, context)  # bytecode that is not a portable artifact
    return ir.Module.parse(data.decode(), context)


def generic(data: bytes, expands: bool = False) -> bytes:
    """A module in generic form.

    expands: operations of CHLO are replaced by their definitions in StableHLO.
    """
    what = "bytecode" if data.startswith(BYTECODE) else "pretty text"
    ir, stablehlo, context = _context(what)
    with context:
        try:
            module = _parsed(ir, stablehlo, context, data)
            if expands:
                from jaxlib.mlir import passmanager

                stablehlo.register_stablehlo_passes()
                passmanager.PassManager.parse(
                    "builtin.module(func.func(chlo-legalize-to-stablehlo))"
                ).run(module.operation)
            return module.operation.get_asm(
                print_generic_op_form=True, enable_debug_info=True, binary=True
            )
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "error:" in line]
            text = (lines or [str(error) or type(error).__name__])[0].strip()
            raise CompileError(f"the module is not valid: {text}") from None


# Large constants of bools are a byte for each element, or a bit in other versions of MLIR.
_BOOLS = re.compile(rb'dense<"0x([0-9A-Fa-f]+)"> *: *tensor<([\dx]+)xi1>')


def packed(text: bytes) -> bytes:
    """The text with a bit for each element of such a constant."""
    return _BOOLS.sub(_packed, text)


def _packed(match: re.Match[bytes]) -> bytes:
    data = match[1]
    count = math.prod(int(size) for size in match[2].split(b"x") if size)
    if len(data) != 2 * count or count <= 8:
        return match[0]
    elements = np.frombuffer(bytes.fromhex(data.decode()), np.uint8) != 0
    bits = np.packbits(elements, bitorder="little").tobytes()
    return match[0].replace(data, bits.hex().upper().encode())


def is_installed() -> bool:
    try:
        import jaxlib.mlir.ir  # noqa: F401
    except ImportError:
        return False
    return True
