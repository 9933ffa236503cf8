//===- Registers.h - Registers that MMAs in flight take ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_WARPGROUP_REGISTERS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_WARPGROUP_REGISTERS_H

#include "mlir/IR/BuiltinTypes.h"
#include "tessera/Target/CudaLimits.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace tessera::tile {

/// The registers of a thread for addresses and elementwise work beside MMAs.
inline constexpr int64_t kRegistersBeside = 48;

/// The registers of each of `threads` for a tile; none for other values.
inline int64_t registersOf(mlir::Value value, int64_t threads) {
  auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tile ? int64_t(llvm::divideCeil(tile.getNumElements() * tile.getElementTypeBitWidth(),
                                         32 * threads))
              : 0;
}

/// The registers that a thread may have where an SM holds as many CTAs of `threads`.
inline int64_t registersOfThread(int64_t threads, int64_t residents) {
  return std::min<int64_t>(CudaLimits::registersPerThread,
                           CudaLimits::registersPerSm / (threads * residents));
}

} // namespace tessera::tile

#endif
