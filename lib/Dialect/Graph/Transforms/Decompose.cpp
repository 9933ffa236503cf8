//===- Decompose.cpp - Decomposes composites into basic operations --------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHDECOMPOSE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {
struct Decompose : gir::impl::GraphDecomposeBase<Decompose> {
  void runOnOperation() override {
    SmallVector<gir::CompositeOpInterface> composites;
    // scatter_add is left to the scheduler, which chooses the form for the target.
    getOperation()->walk([&](gir::CompositeOpInterface op) {
      if (!isa<gir::ScatterAddOp>(op))
        composites.push_back(op);
    });
    for (gir::CompositeOpInterface op : composites) {
      OpBuilder builder(op);
      op->getResult(0).replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  }
};
} // namespace
