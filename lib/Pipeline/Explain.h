//===- Explain.h - What the scheduler decided, for people and programs ----===//
#ifndef TESSERA_LIB_PIPELINE_EXPLAIN_H
#define TESSERA_LIB_PIPELINE_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace tessera {

/// The decisions in a module of Schedule IR, in words.
std::string explainSchedule(mlir::ModuleOp module);

/// One object per kernel: {"name", "dims": [{"name", "role", "size", "tile"}], "notes": […]}.
llvm::json::Array reportSchedule(mlir::ModuleOp module);

} // namespace tessera

#endif
