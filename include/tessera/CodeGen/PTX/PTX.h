//===- PTX.h - Placed Tile IR to PTX ---------------------------*- C++ -*-===//
//
// Our own road to NVIDIA's GPUs. A kernel's block is `warps` warps; a tile with a layout is held in
// the registers of its threads, and every operation is what one thread does with its part.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_PTX_PTX_H
#define TESSERA_CODEGEN_PTX_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tessera::ptx {

struct PtxOptions {
  std::string chip = "sm_90a";
  unsigned version = 80; // of PTX: 80 is 8.0
  int optimizationLevel = 3;
  bool lineInfo = false;
  /// Whether tensors may reach over more than 2^31 elements.
  bool wideIndices = true;
};

struct PtxKernel {
  std::string name;
  unsigned threads = 128;
  unsigned sharedBytes = 0; // dynamic: the launch gives it
  unsigned cluster = 1;     // blocks that share a program
};

struct PtxModule {
  std::string text;
  std::vector<PtxKernel> kernels;
};

/// Placed kernels (tile-place-barriers has run) as PTX. Parameters are the words of forEachWord (Conversion/TileToTarget),
/// 64 bits each; the grid's words only where the launch is a row (grid rank > 1 or the hint `persistent`).
mlir::FailureOr<PtxModule> lowerToPtx(mlir::ModuleOp module, const PtxOptions &options);

/// LLVM functions (Conversion/TargetToLLVM) as PTX; how they are launched stands in their attributes.
mlir::FailureOr<std::string> compileToPtx(mlir::ModuleOp functions, const PtxOptions &options);

} // namespace tessera::ptx

#endif
