//===- Tuning.h - Measurements in the cache ---------------------*- C++ -*-===//
//
// `tuning-sm_90.txt` in the cache's folder holds what was measured on that chip; each compilation
// reads it. Errors in it are reported once per process, and ignored.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_TUNING_H
#define TESSERA_LIB_PIPELINE_TUNING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace tessera {

/// The pass that gives kernels for a chip their measured choices.
std::unique_ptr<mlir::Pass> createTuningPass(const std::string &chip);

/// Whether any kernel of a schedule has a measured choice.
bool isTuned(mlir::ModuleOp module);

/// Warns that measured choices did not compile.
void tellUnusableTuning(const std::string &chip);

} // namespace tessera

#endif
