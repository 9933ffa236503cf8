//===- WidenMmaTypes.cpp - Contractions of narrow types on CUDA cores -----===//
//
// Contractions that tensor cores do not have, or may not compute, become contractions of f32 (bytes
// of deep tiles: of f64), in which their products are exact.
//
//===----------------------------------------------------------------------===//
#include "MathBuilder.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/PtxTypes.h"
#include "tessera/Dialect/Common/Remarks.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEWIDENMMATYPES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// 256 products of two bytes, with or without a sign, stay below 2^24.
static constexpr int64_t kExactDepth = 256;

static void widenFloats(MmaOp mma) {
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  Type wide = builder.getF32Type();
  Value lhs = Term(builder, mma.getLhs()).cast(wide).get();
  Value rhs = Term(builder, mma.getRhs()).cast(wide).get();
  Term acc = Term(builder, mma.getAcc());
  Term sum(builder, MmaOp::create(builder, lhs, rhs, acc.cast(wide).get()));
  mma.replaceAllUsesWith(sum.cast(acc.element()).get());
  mma.erase();
}

static bool isByte(Value operand) {
  Type element = getElementTypeOrSelf(operand);
  return element.isInteger() && element.getIntOrFloatBitWidth() == 8;
}

/// The byte that an integer was widened from, or the value itself.
static Value narrowest(Value operand) {
  auto cast = operand.getDefiningOp<CastOp>();
  return cast && isByte(cast.getInput()) ? cast.getInput() : operand;
}

static void widenBytes(MmaOp mma) {
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  Term lhs(builder, narrowest(mma.getLhs())), rhs(builder, narrowest(mma.getRhs()));
  Term acc(builder, mma.getAcc());
  Type wide = lhs.type().getDimSize(1) <= kExactDepth ? Type(builder.getF32Type())
                                                      : Type(builder.getF64Type());
  Term zero = acc.cast(wide).number(0);
  Term sum(builder, MmaOp::create(builder, lhs.cast(wide).get(), rhs.cast(wide).get(), zero.get()));
  mma.replaceAllUsesWith((acc + sum.cast(acc.element())).get());
  mma.erase();
}

namespace {
struct TileWidenMmaTypes : tile::impl::TileWidenMmaTypesBase<TileWidenMmaTypes> {
  using TileWidenMmaTypesBase::TileWidenMmaTypesBase;

  /// Whether tensor cores multiply elements of a type, and may be used.
  bool hasMma(Type element) { return tensorCores && gpu.hasMma(ptxTypeName(element).str()); }

  /// Whether tensor cores compute a contraction as it is.
  bool isKept(MmaOp mma) {
    int64_t fewestColumns = gpu.multipliesByQuadPairs() ? 16 : 8;
    Type lhs = getElementTypeOrSelf(mma.getLhs());
    return lhs == getElementTypeOrSelf(mma.getRhs()) && hasMma(lhs) && fragmentDepth(mma) &&
           mma.getType().getShape()[1] >= fewestColumns;
  }

  /// Says why a contraction does not run on tensor cores.
  void remarkCudaCores(MmaOp mma, Type element) {
    if (!mma.getContext()->getRemarkEngine())
      return;
    ArrayRef<int64_t> shape = mma.getType().getShape();
    if (!hasMma(element))
      missed(mma, getArgument(), "NoTensorCores") << remark::reason(
          "the contraction runs on CUDA cores: the target has no tensor cores for {0}, or the "
          "compilation does not use them",
          element);
    else
      missed(mma, getArgument(), "TileTooSmall") << remark::reason(
          "the contraction runs on CUDA cores: a tile of {0} x {1} is smaller than a tensor core "
          "instruction, or its operands have different types",
          shape[0], shape[1]);
  }

  void runOnOperation() override {
    FailureOr<GpuDescription> target = gpuOf(getOperation());
    if (failed(target))
      return signalPassFailure();
    gpu = *target;
    SmallVector<MmaOp> floats, bytes;
    getOperation().walk([&](MmaOp mma) {
      if (isKept(mma))
        return;
      Type element = getElementTypeOrSelf(mma.getLhs());
      if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
        floats.push_back(mma);
      else if (element.isInteger() && isByte(narrowest(mma.getLhs())) &&
               isByte(narrowest(mma.getRhs())))
        bytes.push_back(mma);
      else
        return;
      remarkCudaCores(mma, element);
    });
    llvm::for_each(floats, widenFloats);
    llvm::for_each(bytes, widenBytes);
  }

  GpuDescription gpu;
};
} // namespace
