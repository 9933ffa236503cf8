//===- Tuning.h - Measurements in the cache ---------------------*- C++ -*-===//
//
// `tuning-DEVICE.txt` in the cache's folder holds what was measured on a chip (`sm_90`) or on CPUs
// of an architecture (`aarch64`); each compilation reads it. Errors in it are reported once per
// process, and ignored.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_TUNING_H
#define TESSERA_LIB_PIPELINE_TUNING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace tessera {

/// The pass that gives kernels their measured choices; `via` is the backend of kernels that do not
/// name one.
std::unique_ptr<mlir::Pass> createTuningPass(const std::string &device, const std::string &via);

/// Whether any kernel of a schedule has a measured choice.
bool isTuned(mlir::ModuleOp module);

/// Warns that measured choices did not compile.
void tellUnusableTuning(const std::string &device);

} // namespace tessera

#endif
