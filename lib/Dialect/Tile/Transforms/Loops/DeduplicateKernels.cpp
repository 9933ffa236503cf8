//===- DeduplicateKernels.cpp - Equal kernels become one ------------------------===//
//
// A program that repeats a step, like the passes of a sort, has the same kernels again and again.
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

/// Whether two kernels do the same; attributes are all but the name.
static bool areEqual(KernelOp a, KernelOp b) {
  NamedAttrList left(a->getAttrs()), right(b->getAttrs());
  left.erase(a.getSymNameAttrName());
  right.erase(b.getSymNameAttrName());
  return left.getDictionary(a.getContext()) == right.getDictionary(a.getContext()) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// Whether two launches differ in their kernels and in the memory of their tensors only. Memory of
/// a caller is of another kind than memory of the program.
static bool areAlike(LaunchOp a, LaunchOp b) {
  auto isOwn = [](Value tensor) { return bool(tensor.getDefiningOp<EmptyOp>()); };
  return a->getParentOp() == b->getParentOp() && a.getGrid() == b.getGrid() &&
         a.getViews() == b.getViews() && a.getSizes() == b.getSizes() &&
         a.getScalars() == b.getScalars() &&
         llvm::equal(a.getTensors(), b.getTensors(), [&](Value x, Value y) {
           return x.getType() == y.getType() && (x == y || (isOwn(x) && isOwn(y)));
         });
}

namespace {
struct ShareKernels : tile::impl::TileDeduplicateKernelsBase<ShareKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> kept;
    SmallVector<KernelOp> unused;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      for (LaunchOp other : kept) {
        auto known = symbols.lookup<KernelOp>(other.getKernel());
        if (kernel == known || !areAlike(launch, other) || !areEqual(kernel, known))
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
