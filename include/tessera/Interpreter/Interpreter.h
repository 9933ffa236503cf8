//===- Interpreter.h - Graph IR as a program of ready kernels --*- C++ -*-===//
//
// The interpreter compiles nothing: it writes a host program whose launches run kernels that were
// compiled with the package. The runtime binds calls of it, checks its guards and launches its
// kernels as it does those of compiled code; arguments, guards and results are the same.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_INTERPRETER_INTERPRETER_H
#define TESSERA_INTERPRETER_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera::interpreter {

/// The option of the function's numerics policy that fixes more of a result than its bound; empty
/// if there is none. The interpreter only keeps to bounds.
llvm::StringRef exactOption(mlir::func::FuncOp function);

/// Builds the program of a graph function at the builder's insertion point. The function is
/// changed: its composites are decomposed. Reports what the interpreter does not support as an
/// error.
mlir::FailureOr<target::ProgramOp> interpret(mlir::func::FuncOp function, mlir::OpBuilder &builder);

} // namespace tessera::interpreter

#endif
