//===- FastMath.cpp - Mark operations that may be approximate -------------===//
//
// A program in bf16 does not need functions that are accurate to the last bit of f32. The pass
// marks operations `fast` in functions whose type is narrow enough or whose numerics policy allows
// it.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/DebugStringHelper.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/StringExtras.h"

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
    FailureOr<ModuleMath> math = mathOf(getOperation());
    if (failed(math))
      return signalPassFailure();
    const NativeMath &table = *math->table;
    narrow.push_back(BFloat16Type::get(&getContext()));
    if (!table.approximatedF16.empty())
      narrow.push_back(Float16Type::get(&getContext()));
    WeightMath weights = math->table->weights;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool isApprox = allowsApproximations(function);
      std::span<const ScalarOp> approximated =
          isOfF16(function) ? table.approximatedF16 : table.approximated;
      if (!isApprox)
        remarkExactMath(function, approximated);
      if (!isApprox && weights == WeightMath::Fast)
        continue;
      function.walk([&](LaunchOp launch) {
        if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
          kernel.walk([&](MapOp map) {
            if (!llvm::is_contained(approximated, map.getScalarOp()))
              return;
            if (!isApprox && weights == WeightMath::Expanded && isWeight(map))
              expand(map);
            else
              map.setFast(isApprox);
          });
      });
    }
  }

private:
  static bool isWeight(MapOp map) {
    return map.getFast() && map.getScalarOp() == ScalarOp::Exp2 &&
           map.getType().getElementType().isF32();
  }

  static void expand(MapOp map) {
    ImplicitLocOpBuilder builder(map.getLoc(), map);
    map.getResult().replaceAllUsesWith(expandWeight(Term(builder, map.getInputs()[0])).get());
    map.erase();
  }

  /// Says why operations of a function keep their exact form.
  void remarkExactMath(func::FuncOp function, std::span<const ScalarOp> approximated) {
    if (!function.getContext()->getRemarkEngine())
      return;
    StringRef policy = gir::numericsOption(function, "fast_math");
    std::string narrowTypes =
        llvm::join(llvm::map_range(narrow, [](Type each) { return debugString(each); }), " or ");
    std::string cause = policy.empty()
                            ? "the values of the function are not all of type " + narrowTypes +
                                  ", or its numerics are strict"
                            : "the numerics policy has fast_math = \"" + policy.str() + "\"";
    function.walk([&](LaunchOp launch) {
      if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
        kernel.walk([&](MapOp map) {
          if (llvm::is_contained(approximated, map.getScalarOp()) &&
              isa<FloatType>(map.getType().getElementType()))
            missed(map, getArgument(), "ExactMath")
                << remark::reason("{0} is not approximated: {1}",
                                  std::string(stringifyScalarOp(map.getScalarOp())), cause);
        });
    });
  }

  /// Whether operations may be approximate: the policy decides; without one, the type of the
  /// function's values.
  bool allowsApproximations(func::FuncOp function) const {
    StringRef policy = gir::numericsOption(function, "fast_math");
    auto type = function->getAttrOfType<TypeAttr>(gir::kValueTypeAttr);
    return policy.empty() ? type && llvm::is_contained(narrow, type.getValue()) : policy == "true";
  }

  /// Whether the policy leaves it to the type, which is f16.
  static bool isOfF16(func::FuncOp function) {
    auto type = function->getAttrOfType<TypeAttr>(gir::kValueTypeAttr);
    return type && type.getValue().isF16() && gir::numericsOption(function, "fast_math").empty();
  }

  SmallVector<Type> narrow;
};
} // namespace
