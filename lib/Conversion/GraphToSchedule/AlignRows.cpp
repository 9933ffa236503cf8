//===- AlignRows.cpp - Copies of operands whose rows begin anywhere -------===//
//
// A matrix product reads an element once for every tile of the other side, through copies of whole
// tiles that need rows at multiples of some bytes. Where a row's length is not such a multiple, one
// pass that writes the rows further apart is cheap beside element-wise reads in the product.
//
//===----------------------------------------------------------------------===//
#include "AlignRows.h"
#include "Pull.h"

#include <numeric>

using namespace tessera;

/// How often an element has to be read, and how many multiplications there have to be, before a copy
/// pays: it moves each element twice and is one more launch.
static constexpr int64_t kFewestReads = 512, kFewestMultiplications = int64_t(1) << 31;

static int64_t rowBytes(gir::TensorType type, int64_t elements) {
  return elements * (type.getElementType().getIntOrFloatBitWidth() / 8);
}

static bool hasOddRows(mlir::BlockArgument argument, const SizeFacts &facts,
                       const MachineModel &machine) {
  auto type = llvm::cast<gir::TensorType>(argument.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  if (type.getRank() < 2 || bits < 8 || bits > 16 || !isContiguous(argument))
    return false;
  int64_t divisor = facts.divisor(type.getShape().back());
  return rowBytes(type, divisor) % machine.rowAlignment != 0;
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

llvm::SetVector<mlir::Value> tessera::copyOddRows(mlir::func::FuncOp function,
                                                  const SizeFacts &facts,
                                                  const MachineModel &machine) {
  llvm::SetVector<mlir::Value> arguments, copies;
  if (!machine.rowAlignment)
    return copies;
  function.walk([&](gir::ContractOp product) {
    for (unsigned i = 0; i < product->getNumOperands(); ++i)
      if (mlir::BlockArgument argument = argumentOf(product->getOperand(i)))
        if (hasOddRows(argument, facts, machine) && paysOff(product, i, facts))
          arguments.insert(argument);
  });
  mlir::OpBuilder builder(function.getBody());
  for (mlir::Value argument : arguments) {
    auto type = llvm::cast<gir::TensorType>(argument.getType());
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    auto copy = gir::TransposeOp::create(builder, argument.getLoc(), argument, order);
    // Linear positions are those of rows without gaps.
    argument.replaceUsesWithIf(copy.getResult(), [&](mlir::OpOperand &use) {
      return use.getOwner() != copy && !llvm::isa<gir::ReshapeOp>(use.getOwner());
    });
    copies.insert(copy.getResult());
  }
  return copies;
}

gir::TensorType tessera::withAlignedRows(gir::TensorType type, const MachineModel &machine) {
  int64_t unit = std::max<int64_t>(1, machine.rowAlignment / rowBytes(type, 1));
  llvm::SmallVector<SymExpr> shape(type.getShape());
  shape.back() = shape.back().ceilDiv(SymExpr(unit)) * SymExpr(unit);
  return gir::TensorType::get(shape, type.getElementType());
}
