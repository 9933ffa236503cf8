//===- DropChecks.cpp - Erases checks that nobody can receive ----------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHDROPCHECKS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {
struct DropChecks : gir::impl::GraphDropChecksBase<DropChecks> {
  void runOnOperation() override {
    for (gir::CheckOp check : llvm::to_vector(getOperation().getOps<gir::CheckOp>()))
      check.erase();
  }
};
} // namespace
