//===- ComputedOperands.cpp - Computed operands of contractions -----------===//
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"

#include "llvm/ADT/DenseMap.h"

using namespace tessera;

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

/// Whether an element is computed from many elements of one tensor, as in pooling: tensor cores
/// would wait for loads of single elements.
static bool isStencil(mlir::Value value, const llvm::SetVector<mlir::Value> &stored) {
  constexpr unsigned many = 4;
  llvm::SetVector<mlir::Value> made;
  made.insert(value);
  llvm::DenseMap<mlir::Value, unsigned> slices;
  for (unsigned i = 0; i < made.size(); ++i) {
    mlir::Operation *op = made[i].getDefiningOp();
    if (!op || stored.contains(made[i]) || llvm::isa<gir::ContractOp>(op))
      continue;
    auto indexed = llvm::dyn_cast<gir::GraphOpInterface>(op);
    if (llvm::isa<gir::SliceOp>(op) && ++slices[op->getOperand(0)] >= many)
      return true;
    if (indexed && indexed.getReduction())
      continue;
    made.insert_range(op->getOperands());
  }
  return false;
}

static double bytesOf(gir::TensorType type) {
  return double(type.getElementType().getIntOrFloatBitWidth()) / 8;
}

bool gir::paysToStore(gir::ContractOp product, unsigned operand, const SizeFacts &facts,
                      const CopyRates &rates) {
  constexpr double timesLost = 2;
  auto indexed = llvm::cast<gir::GraphOpInterface>(product.getOperation());
  auto type = llvm::cast<gir::TensorType>(product->getOperand(operand).getType());
  auto function = product->getParentOfType<mlir::func::FuncOp>();
  bool batchInvariant = gir::numericsOption(function, "batch_invariant") == "true";
  // One row is computed as one of many.
  auto sizeOf = [&](SymExpr size) {
    return double(batchInvariant && size.isConstant(1) ? SizeFact().hint : facts.hint(size));
  };
  double flop = 2, bytesMoved = 2 * bytesOf(type);
  for (SymExpr size : indexed.getIterationSizes())
    flop *= sizeOf(size);
  for (SymExpr size : type.getShape())
    bytesMoved *= sizeOf(size);
  return timesLost * flop >= bytesMoved * rates.flopPerByte + rates.flopPerLaunch;
}

std::optional<int64_t> gir::alignmentOfCopy(gir::TensorType type, const SizeFacts &facts,
                                            int64_t rowAlignment) {
  constexpr int64_t line = 128, linesOfRow = 8;
  if (type.getRank() < 2)
    return std::nullopt;
  SymExpr row = type.getDim(type.getRank() - 1);
  if (int64_t(facts.divisor(row) * bytesOf(type)) % rowAlignment == 0)
    return std::nullopt;
  bool isLong = double(facts.hint(row)) * bytesOf(type) >= linesOfRow * line;
  return isLong ? std::max(line, rowAlignment) : rowAlignment;
}

mlir::Value gir::endOfMaps(mlir::Value value) {
  mlir::Value best = value;
  auto bits = [](mlir::Value each) {
    return llvm::cast<gir::TensorType>(each.getType()).getElementType().getIntOrFloatBitWidth();
  };
  while (value.hasOneUse() && llvm::isa<gir::MapOp, gir::CastOp>(*value.user_begin())) {
    value = value.user_begin()->getResult(0);
    if (bits(value) <= bits(best))
      best = value;
  }
  return best;
}

unsigned gir::passesOver(mlir::Value value) {
  constexpr unsigned several = 2;
  unsigned passes = 0;
  llvm::SetVector<mlir::Operation *> users(value.user_begin(), value.user_end());
  for (unsigned i = 0; i < users.size(); ++i) {
    mlir::Operation *op = users[i];
    if (llvm::isa<gir::MapOp, gir::CastOp, gir::ReshapeOp, gir::TransposeOp, gir::SliceOp>(op))
      users.insert(op->user_begin(), op->user_end());
    else
      passes += llvm::isa<gir::ContractOp, gir::BroadcastOp, gir::WindowOp>(op) ? several : 1;
  }
  return passes;
}

double gir::largestElements(mlir::func::FuncOp function, const SizeFacts &facts) {
  double elements = 0;
  auto add = [&](mlir::Type type) {
    if (auto tensor = llvm::dyn_cast<gir::TensorType>(type))
      elements = std::max(elements, double(facts.hint(tensor.getNumElements())));
  };
  llvm::for_each(function.getArgumentTypes(), add);
  llvm::for_each(function.getResultTypes(), add);
  return elements;
}

mlir::Value gir::computedOperand(mlir::func::FuncOp function, const SizeFacts &facts,
                                 const llvm::SetVector<mlir::Value> &stored,
                                 const CopyRates &rates) {
  Makings makings(stored);
  for (gir::ContractOp product : function.getOps<gir::ContractOp>())
    for (unsigned i = 0; i < product->getNumOperands(); ++i) {
      mlir::Value operand = product->getOperand(i);
      mlir::Type element = llvm::cast<gir::TensorType>(operand.getType()).getElementType();
      // What is wider is split in registers in any case.
      if (element.getIntOrFloatBitWidth() > 16 || makings.of(operand) != Making::Arithmetic ||
          !(isStencil(operand, stored) || paysToStore(product, i, facts, rates)))
        continue;
      // A view is read as well as what it shows.
      while (llvm::isa<gir::TransposeOp, gir::BroadcastOp>(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      return operand;
    }
  return {};
}
