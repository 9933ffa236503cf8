//===- Promotions.h - Matrix products in a wider type than expected -------===//
#ifndef TESSERA_LIB_PIPELINE_PROMOTIONS_H
#define TESSERA_LIB_PIPELINE_PROMOTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Support/Diagnostics.h"

#include "llvm/Support/JSON.h"

#include <string>

namespace tessera {

/// Says of each contraction in a module of Graph IR that promotion made one of fp32 or fp64, though
/// it has operands of a narrower type: where that happened, what caused it, and the cure. Empty
/// where there is none.
std::string explainPromotions(mlir::ModuleOp module, const SourceManager &sources);

/// The same as objects: {"line", "column", "text", "narrow": "bf16"}, "argument" where one has the
/// wide type, and "at": the line where a narrow value became wide.
llvm::json::Array reportPromotions(mlir::ModuleOp module, const SourceManager &sources);

} // namespace tessera

#endif
