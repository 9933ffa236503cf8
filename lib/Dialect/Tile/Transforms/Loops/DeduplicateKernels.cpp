//===- DeduplicateKernels.cpp - Merge equal kernels -----------------------===//
//
// A program that repeats an operation, like the passes of a radix sort, has the same kernel several
// times.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/OperationSupport.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEDEDUPLICATEKERNELS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether two kernels are equal but for their names and the notes of changed fields.
static bool areEqual(KernelOp a, KernelOp b) {
  NamedAttrList left(a->getAttrs()), right(b->getAttrs());
  for (NamedAttrList *attributes : {&left, &right}) {
    attributes->erase(a.getSymNameAttrName());
    attributes->erase(KernelOp::kChangedAttr);
  }
  return left.getDictionary(a.getContext()) == right.getDictionary(a.getContext()) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// Whether two launches differ only in their kernels and in temporary tensors. Tensors of the
/// caller and temporary tensors have different properties.
static bool areInterchangeable(LaunchOp a, LaunchOp b) {
  auto isTemporary = [](Value tensor) { return bool(tensor.getDefiningOp<EmptyOp>()); };
  return a->getParentOp() == b->getParentOp() && a.getGrid() == b.getGrid() &&
         a.getViews() == b.getViews() && a.getSizes() == b.getSizes() &&
         a.getScalars() == b.getScalars() &&
         llvm::equal(a.getTensors(), b.getTensors(), [&](Value x, Value y) {
           return x.getType() == y.getType() && (x == y || (isTemporary(x) && isTemporary(y)));
         });
}

namespace {
struct TileDeduplicateKernels : tile::impl::TileDeduplicateKernelsBase<TileDeduplicateKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> kept;
    SmallVector<KernelOp> unused;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      for (LaunchOp other : kept) {
        auto known = symbols.lookup<KernelOp>(other.getKernel());
        if (kernel == known || !areInterchangeable(launch, other) || !areEqual(kernel, known))
          continue;
        launch.setKernel(other.getKernel());
        unused.push_back(kernel);
        return;
      }
      kept.push_back(launch);
    });
    for (KernelOp kernel : unused)
      if (SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
        symbols.erase(kernel);
  }
};
} // namespace
