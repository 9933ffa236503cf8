//===- CudaTileIR.h - Tile IR to CUDA Tile IR ------------------*- C++ -*-===//
//
// Each tile kernel becomes an entry of one CUDA Tile IR module. The parameters of an entry are the
// argument words of the kernel in the order of ArgumentWords.h: addresses are pointers, sizes and
// strides are integers, scalars are themselves. All backends share these 64-bit words; a narrower
// parameter reads the low bytes of its word.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_CUDATILEIR_H
#define TESSERA_CODEGEN_CUDATILEIR_CUDATILEIR_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Builder.h"

namespace tessera::cudatile {

struct LoweringOptions {
  Version version;
  /// Whether sizes, strides and coordinates have 64 bits; tensors of less than 2^31 elements need
  /// 32.
  bool wideIndices = false;
  /// Whether CUDA Tile IR has fp8 types on the chip; otherwise they are bytes, and f16 in MMA.
  bool hasFloat8 = true;
  /// Whether fp8 MMA accumulate in fp32; otherwise the operands are converted to f16.
  bool hasFloat8Mma = true;
  /// Whether MMA use the operands before widening casts, for tensor cores.
  bool tensorCores = true;
  /// Whether arguments may have negative strides, which views do not support.
  bool anyStrides = false;
};

/// The occupancy hint of a kernel, from its `min_ctas_per_sm`.
struct OccupancyHint {
  std::string kernel;
  int64_t ctas;
};

/// The module without occupancy hints, which are added to `dropped`; nothing if it has none.
/// tileiras rejects some kernels with a hint instead of using fewer registers.
std::optional<std::vector<uint8_t>> withoutOccupancy(llvm::ArrayRef<uint8_t> bytecode,
                                                     std::vector<OccupancyHint> &dropped);

/// Lowers every `tile.kernel` of the module. Launches in the module show which loads are in bounds
/// and what divides strides. Errors are diagnostics.
mlir::FailureOr<Module> lowerToCudaTile(mlir::ModuleOp module, const LoweringOptions &options);

} // namespace tessera::cudatile

#endif
