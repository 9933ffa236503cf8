//===- DistributeConcat.cpp - Distributes operations over the parts of a concatenation -===//
//
// A reduction along a concatenated dimension combines the reductions of the parts, maps apply to
// each part separately, and a slice inside one part is a slice of that part. If no user needs the
// whole concatenation it is never materialized: all operations between it and the operations that
// remove the dimension are done once per part.
//
// All affected values are found first (`collectAffected`); a value with another use keeps the
// concatenation. Then each affected operation is cloned once per part, in program order.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/Pieces.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHDISTRIBUTECONCAT
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {
gir::TensorType tensorType(Value value) { return llvm::cast<gir::TensorType>(value.getType()); }

int64_t positionOf(ArrayRef<int64_t> dims, int64_t dim) {
  const int64_t *found = llvm::find(dims, dim);
  return found == dims.end() ? -1 : found - dims.begin();
}

/// One concatenation and the operations on it that keep its dimension.
class Distribution {
public:
  Distribution(gir::ConcatOp concat) : concat(concat) {
    SymExpr offset(0);
    for (Value input : concat.getInputs()) {
      offsets.push_back(offset);
      sizes.push_back(tensorType(input).getDim(concat.getDim()));
      offset = offset + sizes.back();
    }
  }

  /// One part is long and the others have few elements: they need no separate loop.
  bool isWorthwhile(const SizeFacts &facts) {
    unsigned longest = 0;
    for (unsigned i = 1; i < sizes.size(); ++i)
      if (facts.hint(sizes[i]) > facts.hint(sizes[longest]))
        longest = i;
    int64_t others = 0;
    for (unsigned i = 0; i < sizes.size(); ++i) {
      if (i == longest)
        continue;
      int64_t most = facts.max(sizes[i]);
      if (most > kShort)
        return false;
      others += most;
    }
    return others <= kShort && 2 * others <= facts.hint(sizes[longest]);
  }

  /// Finds everything that has the concatenated dimension; returns false if an operation needs it
  /// whole.
  bool collectAffected() {
    dimOf[concat] = concat.getDim();
    for (Operation *op = concat->getNextNode(); op; op = op->getNextNode()) {
      if (llvm::none_of(op->getOperands(), [&](Value v) { return dimOf.contains(v); }))
        continue;
      if (!collectThrough(op))
        return false;
      way.push_back(op);
    }
    return !way.empty();
  }

  void rewrite() {
    llvm::append_range(partsOf[concat], concat.getInputs());
    for (Operation *op : way) {
      OpBuilder builder(op);
      rewrite(builder, op);
    }
    for (Operation *op : llvm::reverse(way))
      op->erase();
    concat.erase();
  }

private:
  /// The maximum number of elements of all short parts together.
  static constexpr int64_t kShort = 16;

  bool collectThrough(Operation *op) {
    auto carry = [&](int64_t dim) {
      dimOf[op->getResult(0)] = dim;
      return true;
    };
    if (llvm::isa<gir::MapOp, gir::CastOp>(op)) {
      std::optional<int64_t> dim;
      for (Value operand : op->getOperands()) {
        auto it = dimOf.find(operand);
        if (it == dimOf.end())
          continue;
        if (dim && *dim != it->second)
          return false;
        dim = it->second;
      }
      return carry(*dim);
    }
    if (auto contract = llvm::dyn_cast<gir::ContractOp>(op))
      return summedPosition(contract) >= 0;
    int64_t dim = dimOf.lookup(op->getOperand(0));
    if (auto transpose = llvm::dyn_cast<gir::TransposeOp>(op))
      return carry(positionOf(transpose.getPermutation(), dim));
    if (auto broadcast = llvm::dyn_cast<gir::BroadcastOp>(op))
      return carry(broadcast.getDims()[dim]);
    if (auto reduce = llvm::dyn_cast<gir::ReduceOp>(op)) {
      if (tensorType(reduce.getInput()).isBool() &&
          reduce.getReduceOp() != tessera::ReduceOp::Any &&
          reduce.getReduceOp() != tessera::ReduceOp::All)
        return false;
      if (positionOf(reduce.getDims(), dim) >= 0)
        return true;
      return carry(dim - llvm::count_if(reduce.getDims(), [&](int64_t d) { return d < dim; }));
    }
    if (auto slice = llvm::dyn_cast<gir::SliceOp>(op))
      return coversWholeDim(slice, dim) ? carry(dim) : partOf(slice, dim) >= 0;
    return false;
  }

  /// Which of the contracted dimensions is the concatenated one; -1 if the operands disagree.
  int64_t summedPosition(gir::ContractOp contract) {
    int64_t position = -1;
    for (auto [operand, dims] : {std::pair(contract.getLhs(), contract.getLhsContract()),
                                 std::pair(contract.getRhs(), contract.getRhsContract())}) {
      auto it = dimOf.find(operand);
      if (it == dimOf.end())
        continue;
      int64_t mine = positionOf(dims, it->second);
      if (mine < 0 || (position >= 0 && position != mine))
        return -1;
      position = mine;
    }
    return position;
  }

  static bool coversWholeDim(gir::SliceOp slice, int64_t dim) {
    return slice.getStart(dim).isConstant(0) && slice.getSteps()[dim] == 1 &&
           tensorType(slice.getResult()).getDim(dim) == tensorType(slice.getInput()).getDim(dim);
  }

  /// The part that contains the slice; -1 if that is not certain.
  int64_t partOf(gir::SliceOp slice, int64_t dim) {
    if (slice.getSteps()[dim] != 1)
      return -1;
    auto atLeast = [](SymExpr a, SymExpr b) {
      SymExpr difference = a - b;
      return difference.isConstant() && difference.constantValue() >= 0;
    };
    SymExpr start = slice.getStart(dim), end = start + tensorType(slice.getResult()).getDim(dim);
    for (unsigned i = 0; i < sizes.size(); ++i)
      if (atLeast(start, offsets[i]) && atLeast(offsets[i] + sizes[i], end))
        return i;
    return -1;
  }

  static SmallVector<SymExpr> startsOf(gir::SliceOp slice) {
    SmallVector<SymExpr> starts;
    for (unsigned i = 0; i < slice.getSteps().size(); ++i)
      starts.push_back(slice.getStart(i));
    return starts;
  }

  /// Part `i` of an operand whose dimension `dim` is the concatenated one.
  Value partOf(OpBuilder &builder, Location loc, Value value, int64_t dim, unsigned i) {
    if (auto it = partsOf.find(value); it != partsOf.end())
      return it->second[i];
    gir::TensorType type = tensorType(value);
    if (auto other = value.getDefiningOp<gir::ConcatOp>();
        other && int64_t(other.getDim()) == dim && other.getInputs().size() == sizes.size() &&
        llvm::all_of(llvm::zip(other.getInputs(), sizes), [&](auto pair) {
          return tensorType(std::get<0>(pair)).getDim(dim) == std::get<1>(pair);
        }))
      return other.getInputs()[i];
    SmallVector<SymExpr> starts(type.getRank(), SymExpr(0)), shape(type.getShape());
    starts[dim] = offsets[i];
    shape[dim] = sizes[i];
    return builder.createOrFold<gir::SliceOp>(loc, value, starts,
                                              SmallVector<int64_t>(type.getRank(), 1), shape);
  }

  /// The operation on part `i`, with elements of type `element`.
  Value onPart(OpBuilder &builder, Operation *op, ArrayRef<int64_t> dims, unsigned i,
               Type element) {
    IRMapping mapping;
    for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), dims))
      mapping.map(operand, partOf(builder, op->getLoc(), operand, dim, i));
    Operation *part = builder.clone(*op, mapping);
    SmallVector<SymExpr> shape(tensorType(op->getResult(0)).getShape());
    if (auto it = dimOf.find(op->getResult(0)); it != dimOf.end())
      shape[it->second] = sizes[i];
    part->getResult(0).setType(gir::TensorType::get(shape, element));
    return part->getResult(0);
  }

  void rewrite(OpBuilder &builder, Operation *op) {
    Value result = op->getResult(0);
    SmallVector<int64_t> dims;
    for (Value operand : op->getOperands())
      dims.push_back(dimOf.contains(operand) ? dimOf.lookup(operand) : -1);
    auto contract = llvm::dyn_cast<gir::ContractOp>(op);
    if (contract) {
      int64_t position = summedPosition(contract);
      dims = {contract.getLhsContract()[position], contract.getRhsContract()[position]};
    } else {
      llvm::replace(dims, int64_t(-1), *llvm::max_element(dims));
    }
    Type element = tensorType(result).getElementType();
    if (dimOf.contains(result)) {
      SmallVector<Value> parts;
      for (unsigned i = 0; i < sizes.size(); ++i)
        parts.push_back(onPart(builder, op, dims, i, element));
      partsOf[result] = parts;
      return;
    }
    if (auto slice = llvm::dyn_cast<gir::SliceOp>(op)) {
      int64_t part = partOf(slice, dims[0]);
      SmallVector<SymExpr> starts = startsOf(slice);
      starts[dims[0]] = starts[dims[0]] - offsets[part];
      result.replaceAllUsesWith(
          builder.createOrFold<gir::SliceOp>(op->getLoc(), partsOf[slice.getInput()][part], starts,
                                             slice.getSteps(), tensorType(result).getShape()));
      return;
    }
    // Sums are combined before they are rounded.
    tessera::ReduceOp kind =
        contract ? tessera::ReduceOp::Sum : llvm::cast<gir::ReduceOp>(op).getReduceOp();
    bool isSum = kind == tessera::ReduceOp::Sum || kind == tessera::ReduceOp::Prod;
    Type joinedElement = isSum ? gir::accumulationType(element) : element;
    Value joined;
    for (unsigned i = 0; i < sizes.size(); ++i) {
      Value part = onPart(builder, op, dims, i, joinedElement);
      joined = joined ? gir::MapOp::create(builder, op->getLoc(), reduceOpCombiner(kind),
                                           ValueRange{joined, part})
                      : part;
    }
    if (joinedElement != element)
      joined = gir::CastOp::create(builder, op->getLoc(), joined, element, false);
    result.replaceAllUsesWith(joined);
  }

  gir::ConcatOp concat;
  SmallVector<SymExpr> sizes, offsets;
  llvm::DenseMap<Value, int64_t> dimOf; ///< values that have the dimension, and its position
  llvm::DenseMap<Value, SmallVector<Value>> partsOf;
  SmallVector<Operation *> way; ///< the operations on them, in program order
};

struct DistributeConcat : gir::impl::GraphDistributeConcatBase<DistributeConcat> {
  /// Sums of concatenations with zeros at different places are one concatenation. The sign of a
  /// zero may change.
  static void joinSums(func::FuncOp function) {
    SmallVector<gir::MapOp> sums;
    function.walk([&](gir::MapOp map) {
      if (map.getScalarOp() == ScalarOp::Add)
        sums.push_back(map);
    });
    for (gir::MapOp sum : sums) {
      OpBuilder builder(sum);
      Value joined = gir::joinPieces(builder, sum.getInputs()[0], sum.getInputs()[1]);
      if (!joined || joined.getType() != sum.getType())
        continue;
      sum.replaceAllUsesWith(joined);
      sum.erase();
    }
  }

  /// A concatenation of which only a transposition is read is stored in that order.
  static void transposeParts(func::FuncOp function) {
    for (auto concat : llvm::to_vector(function.getOps<gir::ConcatOp>())) {
      auto transpose =
          concat->hasOneUse() ? dyn_cast<gir::TransposeOp>(*concat->user_begin()) : nullptr;
      if (!transpose)
        continue;
      ArrayRef<int64_t> order = transpose.getPermutation();
      OpBuilder builder(concat);
      SmallVector<Value> parts;
      for (Value part : concat.getInputs())
        parts.push_back(builder.createOrFold<gir::TransposeOp>(part.getLoc(), part, order));
      Value whole = gir::ConcatOp::create(builder, concat.getLoc(),
                                          positionOf(order, int64_t(concat.getDim())), parts);
      transpose.replaceAllUsesWith(whole);
      transpose.erase();
      concat.erase();
    }
  }

  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      if (gir::numericsOption(function, "numerics") != "strict")
        joinSums(function);
      SizeFacts facts(function);
      SmallVector<gir::ConcatOp> concats;
      function.walk([&](gir::ConcatOp op) { concats.push_back(op); });
      for (gir::ConcatOp concat : concats) {
        Distribution distribution(concat);
        if (distribution.isWorthwhile(facts) && distribution.collectAffected())
          distribution.rewrite();
      }
      transposeParts(function);
    });
  }
};
} // namespace
