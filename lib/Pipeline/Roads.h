//===- Roads.h - By which road a program goes to a GPU ----------*- C++ -*-===//
//
// Where nobody says, what was measured decides: `roads-sm_90.txt` in the cache's folder, which
// `tessera bench --compare ptx,tileir` fills, a line for each program:
//
//   tessera roads 1 sm_90
//   # program         road    ms      other   measured
//   5b2d0c1f9a3e7784  ptx     0.1312  0.1421  softmax, NVIDIA H200
//
// Without a line the cost model does, for each kernel (tessera/Analysis/KernelRoads.h): Schedule IR says in `sched.road` by which
// road it goes, where not all go by one.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_ROADS_H
#define TESSERA_LIB_PIPELINE_ROADS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// What names a program in tables of measurements: its Graph IR, whatever road it asks for.
std::string programSignature(mlir::ModuleOp graph);

/// What stands for both: each kernel says which is its own.
inline constexpr llvm::StringLiteral kBothRoads = "ptx+tileir";

/// The road of a program in Graph IR to a chip that has both, as it was measured; "" if it was not.
std::string measuredRoad(mlir::ModuleOp graph, const std::string &chip);

/// The roads that kernels of Schedule or Tile IR name: one, both, or "" where none does.
std::string roadsOf(mlir::ModuleOp module);

/// Leaves it to the program by which road its kernels go.
void forgetRoads(mlir::ModuleOp module);

} // namespace tessera

#endif
