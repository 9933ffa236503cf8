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

namespace {
struct TileRelaxMath : tile::impl::TileRelaxMathBase<TileRelaxMath> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto type = function->getAttrOfType<TypeAttr>(gir::kValueTypeAttr);
      if (!type || !type.getValue().isBF16())
        continue;
      function.walk([&](LaunchOp launch) {
        if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
          kernel.walk([](MapOp map) {
            if (map.getScalarOp() == ScalarOp::Tanh || map.getScalarOp() == ScalarOp::Div)
              map.setFast(true);
          });
      });
    }
  }
};
} // namespace
