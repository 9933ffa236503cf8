//===- AlignOperands.cpp - Copies of operands with unaligned rows ---------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"

using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHALIGNOPERANDS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static int64_t rowBytes(gir::TensorType type, int64_t elements) {
  return elements * (type.getElementType().getIntOrFloatBitWidth() / 8);
}

static bool isContiguous(mlir::BlockArgument argument) {
  auto function = llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  return function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr) != nullptr;
}

static bool hasUnalignedRows(mlir::Value source, unsigned joined, const SizeFacts &facts,
                             int64_t rowAlignment) {
  auto type = llvm::cast<gir::TensorType>(source.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  if (type.getRank() < 2 || bits < 8 || bits > 16)
    return false;
  int64_t divisor = 1;
  for (SymExpr size : type.getShape().take_back(joined))
    divisor *= facts.divisor(size);
  return rowBytes(type, divisor) % rowAlignment != 0;
}

/// The number of last dimensions that are one row: several if all of them are summed.
static unsigned joinedDims(gir::ContractOp product, unsigned operand, mlir::Value source) {
  llvm::ArrayRef<int64_t> summed = operand ? product.getRhsContract() : product.getLhsContract();
  mlir::Value value = product->getOperand(operand);
  int64_t rank = llvm::cast<gir::TensorType>(value.getType()).getRank();
  unsigned count = 0;
  while (value == source && int64_t(count) < rank && llvm::is_contained(summed, rank - 1 - count))
    ++count;
  return std::max(1u, count);
}

/// The contiguous argument that an operand is, or a reshape of it, seen through other views.
static mlir::Value sourceOf(mlir::Value operand) {
  while (mlir::Operation *op = operand.getDefiningOp()) {
    mlir::Value input = op->getNumOperands() ? op->getOperand(0) : mlir::Value();
    if (llvm::isa<gir::ReshapeOp>(op)) {
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(input);
      return argument && isContiguous(argument) ? operand : mlir::Value();
    }
    if (!llvm::isa<gir::TransposeOp, gir::BroadcastOp, gir::SliceOp>(op) || !operand.hasOneUse())
      return {};
    operand = input;
  }
  return isContiguous(llvm::cast<mlir::BlockArgument>(operand)) ? operand : mlir::Value();
}

/// Puts a copy with aligned rows between an argument, or a reshape of one, and its users.
static void copySource(mlir::OpBuilder &builder, mlir::Value source, const SizeFacts &facts,
                       int64_t rowAlignment) {
  auto type = llvm::cast<gir::TensorType>(source.getType());
  builder.setInsertionPointAfterValue(source);
  int64_t alignment = gir::alignmentOfCopy(type, facts, rowAlignment).value_or(rowAlignment);
  auto copy = gir::MaterializeOp::create(
      builder, source.getLoc(), type, source, builder.getUnitAttr(),
      builder.getI64IntegerAttr(alignment),
      builder.getStringAttr("its rows are unaligned, and a contraction reads them many times"));
  // Linear positions are those of rows without gaps.
  source.replaceUsesWithIf(copy.getResult(), [&](mlir::OpOperand &use) {
    return use.getOwner() != copy && !llvm::isa<gir::ReshapeOp>(use.getOwner());
  });
}

namespace {
struct AlignOperands : gir::impl::GraphAlignOperandsBase<AlignOperands> {
  using GraphAlignOperandsBase::GraphAlignOperandsBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SizeFacts facts(function);
    llvm::SetVector<mlir::Value> sources;
    function.walk([&](gir::ContractOp product) {
      for (unsigned i = 0; i < product->getNumOperands(); ++i)
        if (mlir::Value source = sourceOf(product->getOperand(i)))
          if (hasUnalignedRows(source, joinedDims(product, i, source), facts, rowAlignment) &&
              gir::paysToStore(product, i, facts, {flopPerByte, flopPerLaunch}))
            sources.insert(source);
    });
    mlir::OpBuilder builder(function.getContext());
    for (mlir::Value source : llvm::reverse(sources))
      copySource(builder, source, facts, rowAlignment);
  }
};
} // namespace
