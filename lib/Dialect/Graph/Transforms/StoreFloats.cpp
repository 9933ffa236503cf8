//===- StoreFloats.cpp - Stored f32 operands of contractions --------------===//
//
// wgmma rounds f32 to tf32 where a policy allows that, and reads it along K from memory.
//
// bf16 has the exponents of f32 and 8 of its 24 significant bits: three of them, each the rounded
// remainder of those before, hold a number but for rounding errors below 2^-24 of it. Products of
// parts are exact in f32, and those that are left out when two such sums are multiplied
// (tile-emulate-fp32-mma) are below 2^-24 of the product.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <map>

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSTOREFLOATS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// The elements of a k-step of bf16.
static constexpr int64_t kStep = 64;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static bool isView(Operation *op) {
  return isa_and_nonnull<gir::TransposeOp, gir::BroadcastOp, gir::WindowOp>(op);
}

/// What an operand is a view of.
static Value viewedBy(Value operand) {
  while (isView(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  return operand;
}

/// The same, before it is stored for this view alone.
static Value sourceOf(Value operand) {
  Value viewed = viewedBy(operand);
  auto copy = viewed.getDefiningOp<gir::MaterializeOp>();
  return copy && copy->hasOneUse() ? copy.getInput() : viewed;
}

/// Whether an operand shows windows of what is not stored as a matrix.
static bool showsWindows(Value operand) {
  bool hasWindows = false;
  for (; isView(operand.getDefiningOp()); operand = operand.getDefiningOp()->getOperand(0))
    hasWindows |= isa<gir::WindowOp>(operand.getDefiningOp());
  return hasWindows && !operand.getDefiningOp<gir::MaterializeOp>();
}

/// The dimension of a view that the last one of memory is; nothing if it is sliced or computed.
static std::optional<int64_t> contiguousDim(Value value, const SizeFacts &facts) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<gir::MaterializeOp>(op)) {
    constexpr int64_t piece = 16 / 4;
    gir::TensorType type = tensorType(value);
    auto copy = cast_or_null<gir::MaterializeOp>(op);
    auto argument = dyn_cast<BlockArgument>(value);
    bool isDense = copy || cast<func::FuncOp>(argument.getOwner()->getParentOp())
                               .getArgAttr(argument.getArgNumber(), gir::kContiguousAttr);
    int64_t last = int64_t(type.getRank()) - 1;
    while (last > 0 && type.getDim(last).isConstant(1))
      --last;
    bool isAligned = (copy && copy.getRowAlignment()) ||
                     (last >= 0 && facts.divisibleBy(type.getDim(last), piece));
    return isDense && isAligned ? std::optional(last) : std::nullopt;
  }
  if (!isa<gir::TransposeOp, gir::BroadcastOp, gir::WindowOp>(op))
    return std::nullopt;
  std::optional<int64_t> before = contiguousDim(op->getOperand(0), facts);
  if (!before)
    return std::nullopt;
  if (auto transpose = dyn_cast<gir::TransposeOp>(op))
    return llvm::find(transpose.getPermutation(), *before) - transpose.getPermutation().begin();
  if (auto broadcast = dyn_cast<gir::BroadcastOp>(op))
    return broadcast.getDims()[*before];
  return llvm::is_contained(cast<gir::WindowOp>(op).getDims(), *before) ? std::nullopt : before;
}

/// The values that a value is computed from element by element, and itself.
static llvm::SetVector<Value> computedFrom(Value value) {
  llvm::SetVector<Value> made;
  made.insert(value);
  for (unsigned i = 0; i < made.size(); ++i)
    if (Operation *op = made[i].getDefiningOp();
        op && !isa<gir::ContractOp, gir::ReduceOp, gir::MaterializeOp>(op))
      made.insert_range(op->getOperands());
  return made;
}

/// Whether the relation of two positions decides about elements, as in a triangle or a diagonal:
/// blocks of zeros are known only as long as nothing stores them.
static bool isMasked(Value value) {
  auto isPosition = [](Value operand) {
    return llvm::any_of(computedFrom(operand),
                        [](Value each) { return each.getDefiningOp<gir::IotaOp>() != nullptr; });
  };
  return llvm::any_of(computedFrom(value), [&](Value each) {
    auto map = each.getDefiningOp<gir::MapOp>();
    return map && scalarOpInfo(map.getScalarOp()).rule == TypeRule::Compare &&
           llvm::all_of(map->getOperands(), isPosition);
  });
}

/// The reductions that elementwise operations and views lead to.
static bool isReduced(Value value) {
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (unsigned i = 0; i < users.size(); ++i) {
    if (isa<gir::ReduceOp>(users[i]))
      return true;
    if (isa<gir::MapOp, gir::CastOp, gir::ReshapeOp, gir::TransposeOp, gir::SliceOp,
            gir::BroadcastOp>(users[i]))
      users.insert(users[i]->user_begin(), users[i]->user_end());
  }
  return false;
}

namespace {
struct StoreFloats : gir::impl::GraphStoreFloatsBase<StoreFloats> {
  using GraphStoreFloatsBase::GraphStoreFloatsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    StringRef policy = gir::numericsOption(function, "matmul");
    bool isInvariant = gir::numericsOption(function, "batch_invariant") == "true";
    if (!side || function.isExternal() || policy == "bf16" || isInvariant)
      return;
    SizeFacts facts(function);
    sizes = &facts;
    rounds = policy == "tf32";
    joined.clear();
    byRows.clear();
    streamed.clear();
    auto products = llvm::to_vector(function.getOps<gir::ContractOp>());
    for (gir::ContractOp product : products)
      if (isStreamed(product))
        streamed.insert(product.getResult());
    for (gir::ContractOp product : products)
      if (canStore(product) && pays(product))
        store(product);
  }

private:
  double elements(ArrayRef<SymExpr> shape) const {
    double count = 1;
    for (SymExpr size : shape)
      count *= double(sizes->hint(size));
    return count;
  }

  double terms(gir::ContractOp product) const {
    gir::TensorType type = tensorType(product.getLhs());
    double count = 1;
    for (int64_t dim : product.getLhsContract())
      count *= double(sizes->hint(type.getDim(dim)));
    return count;
  }

  /// Whether no tensor of the size of the product should be in memory: it is larger than all that
  /// are there, and cheap or needed as a whole by reductions.
  bool isStreamed(gir::ContractOp product) const {
    constexpr double cheapTerms = 256;
    return elements(tensorType(product).getShape()) >
               gir::largestElements(product->getParentOfType<func::FuncOp>(), *sizes) &&
           (terms(product) <= cheapTerms || isReduced(product));
  }

  /// Whether warpgroups can multiply the operands once they are stored, and nothing is known of
  /// them that storing would lose.
  bool canStore(gir::ContractOp product) const {
    if (streamed.contains(product.getResult()) || !tensorType(product).getElementType().isF32() ||
        terms(product) <= double(rounds ? kStep / 2 : kStep))
      return false;
    auto isOperand = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> summed) {
      gir::TensorType type = tensorType(operand);
      int64_t free = 1;
      for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim)
        if (!llvm::is_contained(batch, dim) && !llvm::is_contained(summed, dim))
          free *= sizes->hint(type.getDim(dim));
      return type.getElementType().isF32() && free >= side && !showsWindows(operand) &&
             !isMasked(operand) && llvm::none_of(computedFrom(operand), [&](Value each) {
               return streamed.contains(each);
             });
    };
    return isOperand(product.getLhs(), product.getLhsBatch(), product.getLhsContract()) &&
           isOperand(product.getRhs(), product.getRhsBatch(), product.getRhsContract());
  }

  /// Whether an operand is in memory as wgmma reads it.
  bool isStored(gir::ContractOp product, unsigned operand) const {
    Value value = product->getOperand(operand);
    if (!rounds)
      return joined.contains(sourceOf(value));
    std::optional<int64_t> dim = contiguousDim(value, *sizes);
    return dim &&
           llvm::is_contained(operand ? product.getRhsContract() : product.getLhsContract(), *dim);
  }

  /// Whether the time of the copies is less than what is saved. Times are in FLOP of 16-bit MMAs.
  /// Of operands that are not stored, warps round or split the elements that they load, and
  /// multiply them as tf32.
  bool pays(gir::ContractOp product) const {
    constexpr double wordBytes = 4;
    // Measured on an H200, beside 800 TFLOP/s of 16-bit MMAs: 26 TFLOP/s of f32 and 35 of tf32 by
    // warps, 90 and 270 by wgmma.
    const double inRegisters = rounds ? 23 : 31, inMemory = rounds ? 3 : 9,
                 storedBytes = rounds ? wordBytes : 3 * 2;
    double flop = 2, result = wordBytes * elements(tensorType(product).getShape());
    for (SymExpr size : cast<gir::GraphOpInterface>(product.getOperation()).getIterationSizes())
      flop *= double(sizes->hint(size));
    double before = result, after = result, copied = 0, launches = 0;
    for (unsigned i : {0, 1}) {
      double count = elements(tensorType(sourceOf(product->getOperand(i))).getShape());
      before += wordBytes * count;
      after += storedBytes * count;
      if (!isStored(product, i)) {
        copied += (wordBytes + storedBytes) * count;
        launches += 1;
      }
    }
    return std::max(inRegisters * flop, before * flopPerByte) >=
           std::max(inMemory * flop, after * flopPerByte) + copied * flopPerByte +
               launches * flopPerLaunch;
  }

  void store(gir::ContractOp product) {
    bool areStored = isStored(product, 0) && isStored(product, 1);
    for (unsigned i : {0, 1})
      if (!rounds)
        storeParts(product->getOpOperand(i));
      else if (!isStored(product, i))
        storeRows(product, i);
    if (!rounds || !areStored)
      storeReduced(product);
  }

  /// Stores an operand with what is summed in rows.
  void storeRows(gir::ContractOp product, unsigned operand) {
    Value value = product->getOperand(operand);
    ArrayRef<int64_t> batch = operand ? product.getRhsBatch() : product.getLhsBatch(),
                      summed = operand ? product.getRhsContract() : product.getLhsContract();
    SmallVector<int64_t> order(batch), inverse(tensorType(value).getRank());
    for (int64_t dim = 0; dim < int64_t(inverse.size()); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(summed, dim))
        order.push_back(dim);
    for (bool isLong : {false, true}) // dimensions of one element would be rows
      for (int64_t dim : summed)
        if (tensorType(value).getDim(dim).isConstant(1) != isLong)
          order.push_back(dim);
    for (auto [place, dim] : llvm::enumerate(order))
      inverse[dim] = place;
    Value &rows = byRows[{value.getAsOpaquePointer(), order}];
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    if (!rows) {
      Value turned = builder.createOrFold<gir::TransposeOp>(value.getLoc(), value, order);
      std::optional<int64_t> alignment =
          gir::alignmentOfCopy(tensorType(turned), *sizes, rowAlignment);
      rows = gir::MaterializeOp::create(
          builder, value.getLoc(), turned.getType(), turned, builder.getUnitAttr(),
          alignment ? builder.getI64IntegerAttr(*alignment) : IntegerAttr(),
          builder.getStringAttr("tensor cores read it along what is summed"));
    }
    builder.setInsertionPoint(product);
    product->setOperand(operand,
                        builder.createOrFold<gir::TransposeOp>(value.getLoc(), rows, inverse));
  }

  void storeParts(OpOperand &operand) {
    SmallVector<Operation *> views;
    Value value = operand.get();
    for (; isView(value.getDefiningOp()); value = views.back()->getOperand(0))
      views.push_back(value.getDefiningOp());
    Value whole = join(sourceOf(operand.get()));
    OpBuilder builder(operand.getOwner());
    for (Operation *view : llvm::reverse(views)) {
      Operation *clone = builder.clone(*view);
      clone->setOperand(0, whole);
      whole = clone->getResult(0);
    }
    operand.set(whole);
  }

  /// Stores a product that is reduced: beside its operands, tiles leave no registers for more.
  static void storeReduced(gir::ContractOp product) {
    if (!isReduced(product) || llvm::any_of(product->getUsers(), llvm::IsaPred<gir::MaterializeOp>))
      return;
    OpBuilder builder(product.getContext());
    builder.setInsertionPointAfter(product);
    auto copy = gir::MaterializeOp::create(
        builder, product.getLoc(), product.getType(), product.getResult(), UnitAttr(),
        IntegerAttr(), builder.getStringAttr("it is a product of stored operands, and reduced"));
    product.getResult().replaceAllUsesExcept(copy, copy);
  }

  /// The value as a sum of stored parts. The first part is finite, and keeps the sign of an
  /// infinity, which is in the last part: multiplied with the parts of a finite number, an infinity
  /// stays one.
  Value join(Value source) {
    Value &known = joined[source];
    if (known)
      return known;
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfterValue(source);
    Location loc = source.getLoc();
    gir::TensorType type = tensorType(source);
    Type bf16 = builder.getBF16Type(), f32 = builder.getF32Type();
    auto map = [&](ScalarOp op, ValueRange x) -> Value {
      return gir::MapOp::create(builder, loc, op, x);
    };
    auto number = [&](double value) -> Value {
      return gir::ConstantOp::create(builder, loc, type, value);
    };
    auto finite = [&](Value x, Value other) {
      // Rounding must not make it infinite.
      constexpr double largest = 0x1.FEp127;
      Value clamped =
          map(ScalarOp::Minimum, {map(ScalarOp::Maximum, {x, number(-largest)}), number(largest)});
      return map(ScalarOp::Where, {map(ScalarOp::IsFinite, {x}), clamped, other});
    };
    std::optional<int64_t> alignment =
        gir::alignmentOfCopy(type.withElementType(bf16), *sizes, rowAlignment);
    IntegerAttr rows = alignment ? builder.getI64IntegerAttr(*alignment) : IntegerAttr();
    Value first = finite(source, map(ScalarOp::Sign, {source})), rest = source;
    SmallVector<Value> parts;
    for (int i = 0; i < 3; ++i) {
      Value next = i == 0 ? first : i == 1 ? finite(rest, number(0)) : rest;
      Value part = gir::CastOp::create(builder, loc, next, bf16, /*isExplicit=*/true);
      if (i < 2)
        rest = map(ScalarOp::Sub, {rest, gir::CastOp::create(builder, loc, part, f32)});
      parts.push_back(part);
    }
    for (auto [i, part] : llvm::enumerate(parts)) {
      StringAttr reason =
          i ? StringAttr()
            : builder.getStringAttr("tensor cores multiply it as a sum of three bf16");
      Value stored = gir::MaterializeOp::create(builder, loc, part.getType(), part,
                                                builder.getUnitAttr(), rows, reason);
      part = gir::CastOp::create(builder, loc, stored, f32);
    }
    return joined[source] = map(ScalarOp::Join, parts);
  }

  const SizeFacts *sizes = nullptr;
  bool rounds = false;                                             ///< operands are rounded to tf32
  llvm::DenseMap<Value, Value> joined;                             ///< sums of stored parts
  std::map<std::pair<void *, SmallVector<int64_t>>, Value> byRows; ///< copies, by their order
  llvm::DenseSet<Value> streamed;
};
} // namespace
