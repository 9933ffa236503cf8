//===- CudaTileIR.h - From Tile IR to CUDA Tile IR -------------*- C++ -*-===//
//
// Each tile kernel becomes an entry of one CUDA Tile IR module. An entry's parameters are the
// kernel's argument words in the order of ArgumentWords.h, without the grid: addresses are
// pointers, sizes and strides integers, scalars themselves. So one row of 64-bit words serves every
// back end; a parameter that is narrower reads the low bytes of its word.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_CUDATILEIR_H
#define TESSERA_CODEGEN_CUDATILEIR_CUDATILEIR_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Builder.h"

namespace tessera::cudatile {

struct LoweringOptions {
  Version version;
  /// Sizes, strides and coordinates of 64 bits; narrower ones serve tensors of less than 2^31
  /// elements.
  bool wideIndices = false;
  /// The chip's CUDA Tile IR has types of 8 bits; where not they are bytes, and f16 in products.
  bool hasFloat8 = true;
  /// Products of floats of 8 bits are summed in fp32; where they are not, they are made as f16, which holds both types.
  bool sumsFloat8 = true;
  /// Operands of products that were widened are taken as they were before, for tensor cores.
  bool tensorCores = true;
  /// Arguments may be walked backward, which views cannot say.
  bool anyStrides = false;
};

/// Scalar operations beyond the primitive ones that the assembler computes well: what
/// `tile-expand-math` is told to keep.
llvm::ArrayRef<llvm::StringRef> nativeOperations();

/// The module without a word on how many blocks share a multiprocessor. The assembler refuses some kernels rather than
/// give them fewer registers.
std::optional<std::vector<uint8_t>> withoutOccupancy(llvm::ArrayRef<uint8_t> bytecode);

/// Lowers every `tile.kernel` of the module. Launches, where the module has them, tell which loads
/// lie inside their views and what divides strides. Errors are diagnostics.
mlir::FailureOr<Module> lowerToCudaTile(mlir::ModuleOp module, const LoweringOptions &options);

} // namespace tessera::cudatile

#endif
