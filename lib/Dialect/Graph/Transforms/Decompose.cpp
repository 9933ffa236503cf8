//===- Decompose.cpp - Composites into basic operations -------------------===//
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
    // Sums at computed places are left to the scheduler, which knows how the machine adds them.
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
