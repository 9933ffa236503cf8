//===- FastMath.cpp - No more digits than the program's type has ---------===//
#include "MathExpansions.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEFASTMATH
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
struct TileFastMath : tile::impl::TileFastMathBase<TileFastMath> {
  using TileFastMathBase::TileFastMathBase;

  void runOnOperation() override {
    if (failed(readOptions()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool isQuick = takesQuickForms(function);
      if (!isQuick && !exclusive && !weights)
        continue;
      function.walk([&](LaunchOp launch) {
        if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
          kernel.walk([&](MapOp map) {
            if (!llvm::is_contained(quick, map.getScalarOp()))
              return;
            if (!isQuick && weights && isWeight(map))
              expand(map);
            else
              map.setFast(isQuick);
          });
      });
    }
  }

private:
  LogicalResult readOptions() {
    narrow = {BFloat16Type::get(&getContext())};
    quick = {ScalarOp::Div,     ScalarOp::Sqrt, ScalarOp::Tanh,
             ScalarOp::Sigmoid, ScalarOp::Silu, ScalarOp::GeluErf};
    if (!types.empty())
      narrow.clear();
    for (const std::string &name : types) {
      Type type = parseType(name, &getContext());
      if (!type)
        return failure();
      narrow.push_back(type);
    }
    if (!operations.empty())
      quick.clear();
    for (const std::string &name : operations) {
      std::optional<ScalarOp> op = scalarOpByName(name);
      if (!op)
        return emitError(getOperation()->getLoc())
               << "expected operations of the scalar vocabulary in 'operations', got '" << name
               << "'";
      quick.push_back(*op);
    }
    return success();
  }

  static bool isWeight(MapOp map) {
    return map.getFast() && map.getScalarOp() == ScalarOp::Exp2 &&
           map.getType().getElementType().isF32();
  }

  static void expand(MapOp map) {
    ImplicitLocOpBuilder builder(map.getLoc(), map);
    map.getResult().replaceAllUsesWith(expandWeight(Term(builder, map.getInputs()[0])).get());
    map.erase();
  }

  /// The policy decides; without one, functions that keep no more digits take quick forms.
  bool takesQuickForms(func::FuncOp function) const {
    StringRef policy = gir::numericsOption(function, "fast_math");
    auto type = function->getAttrOfType<TypeAttr>(gir::kValueTypeAttr);
    return policy.empty() ? type && llvm::is_contained(narrow, type.getValue()) : policy == "true";
  }

  SmallVector<Type> narrow;
  SmallVector<ScalarOp> quick;
};
} // namespace
