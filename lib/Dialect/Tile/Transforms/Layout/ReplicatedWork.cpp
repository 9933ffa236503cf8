//===- ReplicatedWork.cpp - Elementwise work that threads repeat ----------===//
//
// A layout in which several threads hold an element makes each of them compute it. A conversion
// after the work is cheaper where the work is long.
//
//===----------------------------------------------------------------------===//
#include "ReplicatedWork.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

bool tile::hasOwnLayout(Value tile) {
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (isa_and_nonnull<MmaOp, tile::ReduceOp, ScanOp, SortOp>(op))
      return true;
    if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(op))
      made.insert_range(op->getOperands());
  }
  return false;
}

/// Whether a load reads no contiguous elements.
static bool isScattered(Operation *op) {
  auto load = dyn_cast_or_null<LoadOp>(op);
  return load && llvm::none_of(load.getDims(), [&](int64_t dim) {
           return load.getView().getType().hasUnitStride(dim);
         });
}

/// The elementwise operations that compute a tile, from loads and operations with a layout of their
/// own.
static llvm::SetVector<Operation *> elementwiseWork(Value tile) {
  llvm::SetVector<Operation *> work;
  auto add = [&](Value value) {
    if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(value.getDefiningOp()))
      work.insert(value.getDefiningOp());
  };
  add(tile);
  for (unsigned i = 0; i < work.size(); ++i)
    llvm::for_each(work[i]->getOperands(), add);
  return work;
}

bool tile::replicatesCode(Value tile, const Layout &layout, unsigned threads) {
  constexpr int64_t maxReplicated = 2048; // instructions of a thread
  int64_t held = int64_t(1) << layout.columnsOf({Dim::Register}).size(),
          own = llvm::divideCeil(cast<RankedTensorType>(tile.getType()).getNumElements(), threads);
  return held > own && int64_t(elementwiseWork(tile).size()) * (held - own) > maxReplicated;
}

bool tile::replicatesWork(Value tile, const Layout &layout) {
  constexpr int64_t maxReplicated = 32; // instructions per element, about the cost of a conversion
  if (llvm::is_contained(layout.columnsOf({Dim::Lane}), 0u) && hasOwnLayout(tile))
    return true;
  int64_t times = 1;
  for (uint64_t column : layout.columnsOf({Dim::Warp}))
    times *= column ? 1 : 2;
  if (times == 1)
    return false;
  llvm::SetVector<Operation *> work = elementwiseWork(tile);
  bool loadsSlowly = isScattered(tile.getDefiningOp()) || llvm::any_of(work, [](Operation *op) {
                       return llvm::any_of(op->getOperands(), [](Value operand) {
                         return isScattered(operand.getDefiningOp());
                       });
                     });
  return loadsSlowly || int64_t(work.size()) * (times - 1) > maxReplicated;
}
