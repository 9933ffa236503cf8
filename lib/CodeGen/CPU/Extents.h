//===- Extents.h - How much of a tile is wanted ----------------*- C++ -*-===//
//
// At the edge of a view only a part of a tile is ever stored, and contractions over padding add
// zeros. Going backwards from the stores, this analysis finds for each dimension of each tile which
// accesses bound what is wanted of it, so that loops can stop there: a matrix with one row, or a
// head size below the tile's, does not cost a whole tile.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_EXTENTS_H
#define TESSERA_LIB_CODEGEN_CPU_EXTENTS_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Support/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::cpu {

/// What is wanted of a tile along one dimension: everything, or as many elements as the largest of
/// the bounds (the valid elements of an access along one of its tile dimensions). Nothing at all is
/// an empty list.
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
  /// K loops run in steps of this many; what lies between the bound and the next multiple is
  /// padding.
  int64_t contractionStep() const { return step; }

private:
  bool visit(mlir::Operation *op);
  bool want(mlir::Value tile, unsigned dim, const Extent &extent);

  int64_t step;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Extent, 2>> extents;
};

} // namespace tessera::cpu

#endif
