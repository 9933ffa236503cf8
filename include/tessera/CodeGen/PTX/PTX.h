//===- PTX.h - Placed Tile IR to PTX ---------------------------*- C++ -*-===//
//
// The PTX backend for NVIDIA GPUs. A CTA has `num_warps` warps. The registers of its threads hold
// the tiles as their layouts say, and the code of an operation is what one thread does with its
// part.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_PTX_PTX_H
#define TESSERA_CODEGEN_PTX_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Target/GpuDescription.h"
#include <string>
#include <vector>

namespace tessera::ptx {

struct PtxOptions {
  unsigned version = 0; ///< of PTX: 80 is 8.0; 0: the one of the chip
  int optimizationLevel = 3;
  bool lineInfo = false;
  /// Whether indices have 64 bits; tensors of at most 2^31 elements need 32.
  bool wideIndices = true;
  /// Whether a product may go into the sum that takes it without being rounded.
  bool fusesArithmetic = true;
};

struct PtxKernel {
  std::string name;
  unsigned threads = 128;
  unsigned sharedBytes = 0; ///< dynamic shared memory, which the launch requests
  unsigned cluster = 1;     ///< CTAs of a cluster
};

struct PtxModule {
  std::string text;
  std::vector<PtxKernel> kernels;
};

/// Compiles placed kernels (after tile-place-barriers) to PTX for the chip of the module. The
/// parameters are the 64-bit words of forEachWord (Conversion/TileToTarget). The words of the grid
/// are parameters only where the launch has fewer dimensions than the grid, or with
/// `persistent_ctas`.
mlir::FailureOr<PtxModule> lowerToPtx(mlir::ModuleOp module, const PtxOptions &options);

/// Compiles LLVM functions (Conversion/TargetToLLVM) to PTX; their attributes say how they are
/// launched.
mlir::FailureOr<std::string> compileToPtx(mlir::ModuleOp functions, const GpuDescription &gpu,
                                          const PtxOptions &options);

} // namespace tessera::ptx

#endif
