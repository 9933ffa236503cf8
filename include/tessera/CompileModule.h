//===- CompileModule.h - Compiling an in-memory module ----------*- C++ -*-===//
//
// For programs that use MLIR and build Graph IR (or any later stage) themselves. The module is
// passed as text, so that it may come from another build of MLIR than the compiler's.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COMPILEMODULE_H
#define TESSERA_COMPILEMODULE_H

#include "tessera/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

inline Compilation compileModule(mlir::ModuleOp module, const TargetLoweringOptions &options = {},
                                 const std::vector<std::string> &stages = {}, bool code = true) {
  Program program;
  llvm::raw_string_ostream(program.source) << module;
  program.file = "module.mlir";
  program.isModule = true;
  return compile(program, options, stages, code);
}

} // namespace tessera

#endif // TESSERA_COMPILEMODULE_H
