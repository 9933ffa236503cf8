//===- PrintAccesses.cpp - The instructions of accesses to memory ---------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Analysis/Accesses.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPRINTACCESSES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The first tile without a layout; the accesses of such a kernel are not known yet.
static Operation *findUnplaced(KernelOp kernel) {
  Operation *found = nullptr;
  kernel.walk([&](Operation *op) {
    auto isUnplaced = [](Value value) {
      return isa<RankedTensorType>(value.getType()) && !layoutOf(value);
    };
    if (llvm::any_of(op->getResults(), isUnplaced))
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

namespace {
struct TilePrintAccesses : tile::impl::TilePrintAccessesBase<TilePrintAccesses> {
  using TilePrintAccessesBase::TilePrintAccessesBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (Operation *unplaced = findUnplaced(kernel)) {
        unplaced->emitOpError("expected a tile with a layout");
        return signalPassFailure();
      }
      printAccesses(kernel, *gpu, llvm::outs());
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
