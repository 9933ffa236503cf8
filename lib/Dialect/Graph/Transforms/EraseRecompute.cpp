//===- EraseRecompute.cpp - Erases the marks of recomputed values ---------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHERASERECOMPUTE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {
struct EraseRecompute : gir::impl::GraphEraseRecomputeBase<EraseRecompute> {
  void runOnOperation() override {
    getOperation().walk([](gir::RecomputeOp op) {
      op.getResult().replaceAllUsesWith(op.getInput());
      op.erase();
    });
  }
};
} // namespace
