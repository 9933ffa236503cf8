//===- Tile.h - The Tile IR dialect ----------------------------*- C++ -*-===//
//
// Whole-tile programs: kernels, views, tiles as values. TileOps.td says what each operation means.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILE_H
#define TESSERA_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Layout/SharedMatrix.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"

namespace tessera {
inline llvm::hash_code hash_value(const Layout &layout) {
  return llvm::hash_combine_range(layout.columns().begin(), layout.columns().end());
}
} // namespace tessera

namespace tessera::tile {

/// Whether `type` is a tile: a tensor of static shape whose elements tensors in memory can have,
/// too.
bool isTileType(mlir::Type type);

/// The divisors that a view type keeps: a static size itself, else what is given, else 1.
llvm::SmallVector<int64_t> canonicalDivisors(llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<int64_t> divisors);

/// The value of `op` on scalar attributes of its operand types, computed exactly as every back end
/// computes it; null for operations that are expanded or rounded differently by targets.
mlir::TypedAttr foldScalarOp(ScalarOp op, llvm::ArrayRef<mlir::TypedAttr> operands);
/// The same for `tile.cast` and `tile.bitcast`.
mlir::TypedAttr foldCast(mlir::TypedAttr value, mlir::Type type);
mlir::TypedAttr foldBitcast(mlir::TypedAttr value, mlir::Type type);

/// What a tensor copy moves at once of a view. A tile is as many boxes as it has spans.
struct Box {
  /// The most dimensions of a view, and elements of a box along each.
  static constexpr int64_t kMostDims = 5, kMostElements = 256;
  llvm::SmallVector<int64_t> dims;  // of the view, the neighbours in memory first
  llvm::SmallVector<int64_t> sizes; // along these
  int64_t span;                     // bytes of neighbours, which swizzles stay within
  int64_t count;                    // of the tile's spans
  bool isWhole;                     // all of them are one copy, along one more dimension behind the others
  /// Of `dims`: the one of which each block of a cluster brings a part to all; along the neighbours, some of the spans.
  std::optional<unsigned> shared = std::nullopt;
  /// What divides the addresses of slots: where a swizzle begins again.
  int64_t alignment() const { return 8 * span; }
  bool operator==(const Box &) const = default;
};

/// The side of a product's sums of which each block of a cluster has a part: rows (0) or columns (1).
struct Spread {
  unsigned dim = 0, blocks = 1;
  /// The blocks that have different parts of a side.
  unsigned along(unsigned side) const { return side == dim ? blocks : 1; }
};

/// Name of the argument attribute that keeps a kernel argument's SSA name.
inline constexpr llvm::StringLiteral kNameAttr = "tile.name";

} // namespace tessera::tile

#include "tessera/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Tile/IR/TileOps.h.inc"

namespace tessera::tile {

/// The layout of a placed tile.
std::optional<Layout> layoutOf(mlir::Value tile);
/// The tile's type with another layout.
mlir::RankedTensorType withLayout(mlir::Type tile, const Layout &layout);
/// The type of what `tile.partial` leaves of a placed tile.
mlir::RankedTensorType partialType(mlir::RankedTensorType input, llvm::ArrayRef<int64_t> dims);
/// How many elements deep the instruction of tensor cores is that makes this product (m16n8kN); none: there is none.
std::optional<unsigned> fragmentDepth(MmaOp mma);
/// How groups of four warps, of so many warps in all, hold a product's sums, or its left operand of so many bits; none: they
/// cannot. Of sums in parts, each block of a cluster has one, and as much of what it sums over; of sums that are spread, and of
/// their operands, each has its rows or columns.
std::optional<Layout> groupSums(llvm::ArrayRef<int64_t> shape, unsigned warps, Spread spread = {});
std::optional<Layout> groupLeft(llvm::ArrayRef<int64_t> shape, unsigned bits, unsigned warps, unsigned parts = 1, Spread spread = {});
/// How they find an operand in a slot, of which `over` is summed over in so many parts; none: they cannot.
std::optional<SharedMatrix> groupMatrix(BufferType buffer, unsigned over, unsigned parts, Spread spread = {});
/// How blocks share sums of a layout, of one part.
Spread spreadOf(mlir::Value sums);
/// Whether groups of four warps hold sums.
bool areGroupSums(mlir::Value sums, unsigned warps);
/// The elements of a tile as the outputs of layouts.
Space spaceOf(llvm::ArrayRef<int64_t> shape);

} // namespace tessera::tile

#endif
