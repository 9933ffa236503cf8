//===- Extents.h - Which part of a tile is demanded -------------*- C++ -*-===//
//
// At the edge of a view only a part of a tile is stored, contractions over padding add zeros, and
// reductions combine the elements past an edge as their identity. This backward analysis from the
// stores finds, for each dimension of each tile, the accesses that bound the demanded elements.
// Loops stop there: a matrix with one row, or a row shorter than the tile, does not cost a whole
// tile. Elements past the bound are undefined; loops run in whole steps, and their results past the
// bound are discarded.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_EXTENTS_H
#define TESSERA_LIB_CODEGEN_CPU_EXTENTS_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::cpu {

/// A mask of the elements before an edge: `iota(start) < limit`.
struct EdgeMask {
  tile::IotaOp index;
  tile::SplatOp limit;
  mlir::Value value;
  /// Whether `tile` is such a mask that varies along `dim` only.
  bool match(mlir::Value tile, unsigned dim);
};

/// The demand on a tile along one dimension: all elements, or as many as the largest of the bounds
/// (the valid elements of an access along one of its tile dimensions, or those that an edge mask
/// selects). An empty list demands nothing.
struct Extent {
  struct Bound {
    mlir::Operation *access;
    unsigned dim;
    bool operator==(const Bound &other) const { return access == other.access && dim == other.dim; }
  };
  bool all = false;
  llvm::SmallVector<Bound, 2> bounds;

  /// Adds the demand of `other`; returns whether this changed.
  bool join(const Extent &other);
};

class Extents {
public:
  Extents(tile::KernelOp kernel, const CpuDescription &cpu);

  const Extent &of(mlir::Value tile, unsigned dim) const;
  /// The bound of a contraction's K loop: a load that pads with zeros.
  std::optional<Extent::Bound> contracted(tile::MmaOp op) const;
  /// The bound of a reduction along rows that are processed in a loop: the elements past it are the
  /// reduction's identity.
  std::optional<Extent::Bound> reduced(tile::ReduceOp op) const;
  /// The step of K loops; the elements between the bound and the next multiple are padding.
  int64_t contractionStep() const { return step; }
  /// Prints the tiles of which not all elements are demanded: per dimension, the accesses or masks
  /// that bound the demand.
  void print(tile::KernelOp kernel, llvm::raw_ostream &os) const;

private:
  bool visit(mlir::Operation *op);
  bool demand(mlir::Value tile, unsigned dim, const Extent &extent);

  const CpuDescription &cpu;
  int64_t step;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Extent, 2>> extents;
};

} // namespace tessera::cpu

#endif
