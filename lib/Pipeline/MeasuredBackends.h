//===- MeasuredBackends.h - By which backend a program goes to a GPU ----------*- C++ -*-===//
//
// Where nobody says, what was measured decides: `backends-sm_90.txt` in the cache's folder, which
// `tessera bench --compare ptx,tileir` fills, a line for each program:
//
//   tessera backends 1 sm_90
//   # program         backend    ms      other   measured
//   5b2d0c1f9a3e7784  ptx     0.1312  0.1421  softmax, NVIDIA H200
//
// Without a line the cost model does, for each kernel (tessera/CostModel/BackendChoice.h): Schedule
// IR says in `sched.backend` by which backend it goes, where not all go by one.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_MEASUREDBACKENDS_H
#define TESSERA_LIB_PIPELINE_MEASUREDBACKENDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// What names a program in tables of measurements: its Graph IR, whatever backend it asks for.
std::string programSignature(mlir::ModuleOp graph);

/// What stands for both: each kernel says which is its own.
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

/// Leaves it to the program by which backend its kernels go.
void forgetBackends(mlir::ModuleOp module);

} // namespace tessera

#endif
