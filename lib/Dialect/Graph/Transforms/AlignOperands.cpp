//===- AlignOperands.cpp - Copies of operands with unaligned rows ---------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHALIGNOPERANDS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// How often an element has to be read, and how many multiplications there have to be, before a
/// copy pays: it moves each element twice and is one more launch.
static constexpr int64_t kFewestReads = 512, kFewestMultiplications = int64_t(1) << 31;

static int64_t rowBytes(gir::TensorType type, int64_t elements) {
  return elements * (type.getElementType().getIntOrFloatBitWidth() / 8);
}

static bool isContiguous(mlir::BlockArgument argument) {
  auto function = llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  return function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr) != nullptr;
}

static bool hasUnalignedRows(mlir::BlockArgument argument, unsigned joined, const SizeFacts &facts,
                             int64_t rowAlignment) {
  auto type = llvm::cast<gir::TensorType>(argument.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  if (type.getRank() < 2 || bits < 8 || bits > 16 || !isContiguous(argument))
    return false;
  int64_t divisor = 1;
  for (SymExpr size : type.getShape().take_back(joined))
    divisor *= facts.divisor(size);
  return rowBytes(type, divisor) % rowAlignment != 0;
}

/// The number of last dimensions that are one row: several if all of them are summed.
static unsigned joinedDims(gir::ContractOp product, unsigned operand) {
  llvm::ArrayRef<int64_t> summed = operand ? product.getRhsContract() : product.getLhsContract();
  mlir::Value value = product->getOperand(operand);
  int64_t rank = llvm::cast<gir::TensorType>(value.getType()).getRank();
  unsigned count = 0;
  while (llvm::isa<mlir::BlockArgument>(value) && int64_t(count) < rank &&
         llvm::is_contained(summed, rank - 1 - count))
    ++count;
  return std::max(1u, count);
}

/// The argument that an operand is, seen through views of it.
static mlir::BlockArgument argumentOf(mlir::Value operand) {
  while (mlir::Operation *op = operand.getDefiningOp()) {
    if (!llvm::isa<gir::TransposeOp, gir::BroadcastOp, gir::SliceOp>(op) || !operand.hasOneUse())
      return {};
    operand = op->getOperand(0);
  }
  return llvm::cast<mlir::BlockArgument>(operand);
}

static bool paysOff(gir::ContractOp product, unsigned operand, const SizeFacts &facts) {
  auto indexed = llvm::cast<gir::GraphOpInterface>(product.getOperation());
  double multiplications = 1, elements = 1;
  for (SymExpr size : indexed.getIterationSizes())
    multiplications *= double(facts.hint(size));
  auto type = llvm::cast<gir::TensorType>(product->getOperand(operand).getType());
  for (SymExpr size : type.getShape())
    elements *= double(facts.hint(size));
  return multiplications >= double(kFewestMultiplications) &&
         multiplications >= double(kFewestReads) * elements;
}

/// Puts a copy with aligned rows between the argument and its users.
static void copyArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument,
                         int64_t rowAlignment) {
  auto copy = gir::MaterializeOp::create(
      builder, argument.getLoc(), argument.getType(), argument, builder.getUnitAttr(),
      builder.getI64IntegerAttr(rowAlignment),
      builder.getStringAttr("its rows are unaligned, and a contraction reads them many times"));
  // Linear positions are those of rows without gaps.
  argument.replaceUsesWithIf(copy.getResult(), [&](mlir::OpOperand &use) {
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
    llvm::SetVector<mlir::BlockArgument> arguments;
    function.walk([&](gir::ContractOp product) {
      for (unsigned i = 0; i < product->getNumOperands(); ++i)
        if (mlir::BlockArgument argument = argumentOf(product->getOperand(i)))
          if (hasUnalignedRows(argument, joinedDims(product, i), facts, rowAlignment) &&
              paysOff(product, i, facts))
            arguments.insert(argument);
    });
    mlir::OpBuilder builder(function.getBody());
    for (mlir::BlockArgument argument : arguments)
      copyArgument(builder, argument, rowAlignment);
  }
};
} // namespace
