//===- Roads.h - By which road a program goes to a GPU ----------*- C++ -*-===//
//
// Where nobody says, what was measured decides: `roads-sm_90.txt` in the cache's folder, which
// `tessera bench --compare ptx,tileir` fills, a line for each program:
//
//   tessera roads 1 sm_90
//   # program         road    ms      other   measured
//   5b2d0c1f9a3e7784  ptx     0.1312  0.1421  softmax, NVIDIA H200
//
// Without a line the cost model does: products are faster by NVIDIA's tile compiler, but for those of
// tensors as they lie in memory that groups of four warps make by our own PTX, and a small one alone
// that the blocks of clusters share; what is bound by memory is faster by our own PTX, and needs no
// assembler that a machine may lack.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_ROADS_H
#define TESSERA_LIB_PIPELINE_ROADS_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Support/GpuDescription.h"

#include <string>

namespace tessera {

/// What names a program in tables of measurements: its Graph IR, whatever road it asks for.
std::string programSignature(mlir::ModuleOp graph);

/// The road of a program in Graph IR to a chip that has both.
std::string chooseRoad(mlir::ModuleOp graph, const GpuDescription &gpu);

} // namespace tessera

#endif
