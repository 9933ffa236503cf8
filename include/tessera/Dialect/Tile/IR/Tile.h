//===- Tile.h - The Tile IR dialect ----------------------------*- C++ -*-===//
//
// Kernels, views, and tiles as values; placed programs with layouts and shared memory. TileOps.td
// documents the operations.
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
#include "tessera/Dialect/Common/LaunchConfig.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Layout/SharedMatrix.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"
#include "tessera/Target/CudaLimits.h"

namespace tessera {
inline llvm::hash_code hash_value(const Layout &layout) {
  return llvm::hash_combine_range(layout.columns().begin(), layout.columns().end());
}
} // namespace tessera

namespace tessera::tile {

/// Whether `type` is a tile: a tensor of static shape with an element type of tensors in memory, or
/// tf32.
bool isTileType(mlir::Type type);

/// The divisors that a view type stores: a static size itself, else the given divisor, else 1.
llvm::SmallVector<int64_t> canonicalDivisors(llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<int64_t> divisors);

/// The value of `op` on scalar attributes of its operand types, as every backend computes it; null
/// for operations that targets expand or round differently.
mlir::TypedAttr foldScalarOp(ScalarOp op, llvm::ArrayRef<mlir::TypedAttr> operands);
/// The same for `tile.cast` and `tile.bitcast`.
mlir::TypedAttr foldCast(mlir::TypedAttr value, mlir::Type type);
mlir::TypedAttr foldBitcast(mlir::TypedAttr value, mlir::Type type);

/// What one instruction of a `tile.tma_load` copies. A tile consists of `count` spans along its
/// contiguous dimension.
struct Box {
  /// Limits of tensor maps: the dimensions of a view, and the elements of a box along each.
  static constexpr int64_t kMostDims = CudaLimits::tmaDims,
                           kMostElements = CudaLimits::tmaBoxElements;
  /// The span of a tile whose elements are in order.
  static constexpr int64_t kUnswizzled = 16;
  llvm::SmallVector<int64_t> dims;  // of the view, the contiguous one first
  llvm::SmallVector<int64_t> sizes; // of the box along these
  int64_t span;                     // bytes along the contiguous dimension: the swizzle's width
  int64_t count;                    // spans of the tile
  bool isWhole; // one instruction copies all spans, along an additional last dimension of the box
  /// With multicast, the index in `dims` of the dimension along which the CTAs of the cluster
  /// divide the tile; 0 divides the spans.
  std::optional<unsigned> multicastDim = std::nullopt;
  /// Bytes after which the swizzle pattern repeats; stages are aligned to them.
  int64_t alignment() const { return 8 * span; }
  bool operator==(const Box &) const = default;
};

/// How the CTAs of a cluster divide an accumulator: its rows (dim 0) or its columns (dim 1).
struct Spread {
  unsigned dim = 0, blocks = 1;
  /// The CTAs that hold different parts along a dimension.
  unsigned along(unsigned side) const { return side == dim ? blocks : 1; }
};

/// Argument attribute that keeps the SSA name of a kernel argument.
inline constexpr llvm::StringLiteral kNameAttr = "tile.name";

} // namespace tessera::tile

#include "tessera/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileAttrs.h.inc"

#include "tessera/Dialect/Tile/IR/TileInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Tile/IR/TileOps.h.inc"

namespace tessera::tile {

/// The layout of a placed tile; none for tiles without one.
std::optional<Layout> layoutOf(mlir::Value tile);
/// The tile's type with another layout.
mlir::RankedTensorType withLayout(mlir::Type tile, const Layout &layout);
/// The type of the partial results of `tile.warp_reduce`.
mlir::RankedTensorType partialType(mlir::RankedTensorType input, llvm::ArrayRef<int64_t> dims);
/// Marks an MMA that threads compute with FMAs, although tensor cores have its types.
inline constexpr llvm::StringLiteral kPlainAttr = "tile.plain";
/// Marks a loop of a placed kernel that only issues bulk loads: the first thread of the CTA runs it
/// alone.
inline constexpr llvm::StringLiteral kOneThreadAttr = "tile.one_thread";
/// The K of the tensor core instruction (m16n8kK) for this MMA; none if it runs without tensor
/// cores.
std::optional<unsigned> fragmentDepth(MmaOp mma);
/// The layouts of an accumulator, and of a left operand in registers, for warpgroups with `warps`
/// warps in all; none if `wgmma` does not support the shape. A shape of rank 3 (or `parts`) is a
/// split-K in which each CTA of a cluster has one split; `spread` divides rows or columns among
/// CTAs.
std::optional<Layout> groupSums(llvm::ArrayRef<int64_t> shape, unsigned warps, Spread spread = {});
std::optional<Layout> groupLeft(llvm::ArrayRef<int64_t> shape, unsigned bits, unsigned warps,
                                unsigned parts = 1, Spread spread = {});
/// How `wgmma` reads an operand from a stage, with `over` as the K dimension in `parts` splits;
/// none if it cannot.
std::optional<SharedMatrix> groupMatrix(BufferType buffer, unsigned over, unsigned parts,
                                        Spread spread = {});
/// How the CTAs of a cluster divide an accumulator without split-K.
Spread spreadOf(mlir::Value sums);
/// Whether an accumulator has the layout of `wgmma`.
bool areGroupSums(mlir::Value sums, unsigned warps);
/// The output space of layouts of a tile of this shape.
Space spaceOf(llvm::ArrayRef<int64_t> shape);

} // namespace tessera::tile

#endif
