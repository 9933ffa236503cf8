//===- ExplainPartition.h - What forward saves for backward -----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_EXPLAINPARTITION_H
#define TESSERA_LIB_PIPELINE_EXPLAINPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace tessera {

/// Whether a function of the module is to be split into forward and backward.
bool isJoint(mlir::ModuleOp module);

/// What `gir-partition` decided: {"residuals", "bytes", "tuple", "saved": [{"value", "type",
/// "bytes", "again", "result"}], "inputs": […], "recomputed": […]}; nothing if it split nothing.
std::optional<llvm::json::Object> reportPartition(mlir::ModuleOp module);

/// The same in words, with times where the rate of the memory is known.
std::string explainPartition(mlir::ModuleOp module, double bytesPerSecond);

} // namespace tessera

#endif
