//===- MeasuredBackends.h - The measured backend of a GPU program *- C++ -*-===//
//
// Without an explicit choice, a measurement decides: `backends-sm_90.txt` in the cache's folder,
// which `tessera bench --compare ptx,tileir` fills, has a line for each program:
//
//   tessera backends 1 sm_90
//   # program         backend    ms      other   measured
//   5b2d0c1f9a3e7784  ptx     0.1312  0.1421  softmax, NVIDIA H200
//
// Without a line the cost model decides for each kernel (tessera/CostModel/BackendChoice.h). If not
// all kernels use the same backend, `sched.backend` in Schedule IR names it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_MEASUREDBACKENDS_H
#define TESSERA_LIB_PIPELINE_MEASUREDBACKENDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// The key of a program in tables of measurements: its Graph IR, without the requested backend.
std::string programSignature(mlir::ModuleOp graph);

/// Both backends: each kernel names its own.
inline constexpr llvm::StringLiteral kBothBackends = "ptx+tileir";

/// The backend of a program in Graph IR to a chip that has both, as it was measured; "" if it was
/// not.
std::string measuredBackend(mlir::ModuleOp graph, const std::string &chip);

/// A backend of Schedule or Tile IR ("ptx", "cuda_tile") as users write it in `via` ("ptx",
/// "tileir").
llvm::StringRef viaName(llvm::StringRef backend);

/// The backends that kernels of Schedule or Tile IR name, as users write them: one, both, or ""
/// where none does.
std::string viaOf(mlir::ModuleOp module);

/// Removes the kernels' own choice of a backend.
void forgetBackends(mlir::ModuleOp module);

} // namespace tessera

#endif
