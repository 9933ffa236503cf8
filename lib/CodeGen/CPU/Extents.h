//===- Extents.h - How much of a tile is wanted ----------------*- C++ -*-===//
//
// At the edge of a view only a part of a tile is ever stored, contractions over padding add zeros,
// and reductions join what lies beyond an edge as their unit. Going backwards from the stores, this
// analysis finds for each dimension of each tile which accesses bound what is wanted of it, so that
// loops can stop there: a matrix with one row, or a row shorter than the tile, does not cost a whole
// tile. What lies beyond is not defined; whoever passes over it (loops take whole steps) drops it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_EXTENTS_H
#define TESSERA_LIB_CODEGEN_CPU_EXTENTS_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Support/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::cpu {

/// A mask of the elements before an edge: `iota(start) < limit`.
struct EdgeMask {
  tile::IotaOp index;
  tile::SplatOp limit;
  mlir::Value value;
  /// Whether `tile` is such a mask, spread along `dim` alone.
  bool match(mlir::Value tile, unsigned dim);
};

/// What is wanted of a tile along one dimension: everything, or as many elements as the largest of
/// the bounds (the valid elements of an access along one of its tile dimensions, or those that an
/// edge mask lets through). Nothing at all is an empty list.
struct Extent {
  struct Bound {
    mlir::Operation *access;
    unsigned dim;
    bool operator==(const Bound &other) const { return access == other.access && dim == other.dim; }
  };
  bool all = false;
  llvm::SmallVector<Bound, 2> bounds;

  /// Grows by `other`; returns whether that changed anything.
  bool join(const Extent &other);
};

class Extents {
public:
  Extents(tile::KernelOp kernel, const CpuDescription &cpu);

  const Extent &of(mlir::Value tile, unsigned dim) const;
  /// The bound of a contraction's K loop: a load that pads with zeros.
  std::optional<Extent::Bound> contracted(tile::MmaOp op) const;
  /// The bound of a reduction along rows that are walked in a loop: beyond it lie units.
  std::optional<Extent::Bound> reduced(tile::ReduceOp op) const;
  /// K loops run in steps of this many; what lies between the bound and the next multiple is
  /// padding.
  int64_t contractionStep() const { return step; }

private:
  bool visit(mlir::Operation *op);
  bool want(mlir::Value tile, unsigned dim, const Extent &extent);

  const CpuDescription &cpu;
  int64_t step;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Extent, 2>> extents;
};

} // namespace tessera::cpu

#endif
