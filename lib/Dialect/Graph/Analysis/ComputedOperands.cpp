//===- ComputedOperands.cpp - Computed operands of contractions -----------===//
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/DenseMap.h"

using namespace tessera;

/// How often an element has to be read, and how many multiplications there have to be, before it
/// pays.
static constexpr double kFewestReads = 512, kFewestMultiplications = double(int64_t(1) << 31);

namespace {
/// What a value is made by.
enum class Making { Memory, Arithmetic, Product };

class Makings {
public:
  explicit Makings(const llvm::SetVector<mlir::Value> &stored) : stored(stored) {}

  Making of(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || stored.contains(value))
      return Making::Memory;
    auto [it, isNew] = known.try_emplace(value, Making::Memory);
    if (!isNew)
      return it->second;
    Making making = llvm::isa<gir::ContractOp>(op) ? Making::Product : Making::Memory;
    auto indexed = llvm::dyn_cast<gir::GraphOpInterface>(op);
    bool computes =
        !indexed || indexed.getReduction() || indexed.getScalarBody().kind == gir::ScalarBody::Map;
    if (making == Making::Memory && computes && op->getNumOperands())
      making = Making::Arithmetic;
    for (mlir::Value operand : op->getOperands())
      making = std::max(making, of(operand));
    return known[value] = making;
  }

private:
  const llvm::SetVector<mlir::Value> &stored;
  llvm::DenseMap<mlir::Value, Making> known;
};
} // namespace

static bool paysOff(gir::ContractOp product, mlir::Value operand, const SizeFacts &facts) {
  auto indexed = llvm::cast<gir::GraphOpInterface>(product.getOperation());
  auto function = product->getParentOfType<mlir::func::FuncOp>();
  bool batchInvariant = gir::numericsOption(function, "batch_invariant") == "true";
  // One row is computed as one of many.
  auto sizeOf = [&](SymExpr size) {
    return double(batchInvariant && size.isConstant(1) ? SizeFact().hint : facts.hint(size));
  };
  double multiplications = 1, elements = 1;
  for (SymExpr size : indexed.getIterationSizes())
    multiplications *= sizeOf(size);
  for (SymExpr size : llvm::cast<gir::TensorType>(operand.getType()).getShape())
    elements *= sizeOf(size);
  return multiplications >= kFewestMultiplications && multiplications >= kFewestReads * elements;
}

mlir::Value gir::computedOperand(mlir::func::FuncOp function, const SizeFacts &facts,
                                 const llvm::SetVector<mlir::Value> &stored) {
  Makings makings(stored);
  for (gir::ContractOp product : function.getOps<gir::ContractOp>())
    for (mlir::Value operand : product->getOperands()) {
      mlir::Type element = llvm::cast<gir::TensorType>(operand.getType()).getElementType();
      // What is wider is split in registers in any case.
      if (element.getIntOrFloatBitWidth() > 16 || makings.of(operand) != Making::Arithmetic ||
          !paysOff(product, operand, facts))
        continue;
      // A view is read as well as what it shows.
      while (llvm::isa<gir::TransposeOp, gir::BroadcastOp>(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      return operand;
    }
  return {};
}
