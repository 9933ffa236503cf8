//===- RoundMmaOperands.cpp - Round operands of contractions --------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/PtxTypes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEROUNDMMAOPERANDS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The operand in type `narrow`: the value that it was widened from, or rounded.
static Value narrowed(OpBuilder &builder, Value operand, Type narrow) {
  if (getElementTypeOrSelf(operand) == narrow)
    return operand;
  if (auto cast = operand.getDefiningOp<CastOp>())
    if (getElementTypeOrSelf(cast.getInput()) == narrow)
      return cast.getInput();
  auto type = llvm::cast<RankedTensorType>(operand.getType());
  return CastOp::create(builder, operand.getLoc(), type.clone(narrow), operand);
}

/// The type to which the operands of a function's contractions may be rounded, or null.
static Type operandType(func::FuncOp function) {
  if (auto type = function->getAttrOfType<TypeAttr>(gir::kProductTypeAttr))
    return type.getValue();
  MLIRContext *context = function.getContext();
  return llvm::StringSwitch<Type>(gir::numericsOption(function, "matmul"))
      .Case("tf32", FloatTF32Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Default(Type());
}

/// The bytes that an operand of 32-bit integers was widened from, or null.
static Value bytesOf(Value operand) {
  auto cast = operand.getDefiningOp<CastOp>();
  bool isWidened = cast && getElementTypeOrSelf(cast.getInput()).isInteger(8) &&
                   getElementTypeOrSelf(operand).isInteger(32);
  return isWidened ? cast.getInput() : Value();
}

/// MMAs of bytes are exact: their products and sums are 32-bit integers in any case.
static void narrowToBytes(MmaOp mma) {
  Value lhs = bytesOf(mma.getLhs()), rhs = bytesOf(mma.getRhs());
  if (!lhs || !rhs || getElementTypeOrSelf(lhs) != getElementTypeOrSelf(rhs) ||
      !getElementTypeOrSelf(mma.getResult()).isInteger(32))
    return;
  mma.getLhsMutable().assign(lhs);
  mma.getRhsMutable().assign(rhs);
}

namespace {
struct TileRoundMmaOperands : tile::impl::TileRoundMmaOperandsBase<TileRoundMmaOperands> {
  using TileRoundMmaOperandsBase::TileRoundMmaOperandsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    // Tensor cores that have bf16 compute the other types as f16 or tf32 where they lack them.
    auto isMultiplied = [&](Type type) {
      return gpu->has(GpuFeature::MmaBf16) || gpu->hasMma(ptxTypeName(type).str());
    };
    getOperation().walk(narrowToBytes);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Type type = operandType(function);
      if (!type || !isMultiplied(type))
        continue;
      function.walk([&](LaunchOp launch) {
        if (auto kernel = getOperation().lookupSymbol<KernelOp>(launch.getKernel()))
          narrow(kernel, type);
      });
    }
  }

  static void narrow(KernelOp kernel, Type type) {
    kernel.walk([&](MmaOp mma) {
      if (!getElementTypeOrSelf(mma.getResult()).isF32() ||
          !getElementTypeOrSelf(mma.getLhs()).isF32())
        return;
      OpBuilder builder(mma);
      Value lhs = narrowed(builder, mma.getLhs(), type),
            rhs = narrowed(builder, mma.getRhs(), type);
      mma.getLhsMutable().assign(lhs);
      mma.getRhsMutable().assign(rhs);
    });
  }
};
} // namespace
