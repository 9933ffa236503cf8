//===- RelaxMath.cpp - No more digits than the program's type has ---------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILERELAXMATH
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static bool hasQuickForm(ScalarOp op) {
  switch (op) {
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
  case ScalarOp::Tanh:
  case ScalarOp::Sigmoid:
  case ScalarOp::Silu:
  case ScalarOp::GeluErf:
    return true;
  default:
    return false;
  }
}

/// The policy decides; without one, functions that keep no more digits take quick forms.
static bool takesQuickForms(func::FuncOp function) {
  StringRef policy = gir::numericsOption(function, "fast_math");
  auto type = function->getAttrOfType<TypeAttr>(gir::kValueTypeAttr);
  return policy.empty() ? type && type.getValue().isBF16() : policy == "true";
}

namespace {
struct TileRelaxMath : tile::impl::TileRelaxMathBase<TileRelaxMath> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!takesQuickForms(function))
        continue;
      function.walk([&](LaunchOp launch) {
        if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
          kernel.walk([](MapOp map) {
            if (hasQuickForm(map.getScalarOp()))
              map.setFast(true);
          });
      });
    }
  }
};
} // namespace
