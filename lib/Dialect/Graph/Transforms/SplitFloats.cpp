//===- SplitFloats.cpp - Operands of contractions as sums of bf16 ---------===//
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

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSPLITFLOATS
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

/// The values that a value is computed from, and itself.
static llvm::SetVector<Value> computedFrom(Value value) {
  llvm::SetVector<Value> made;
  made.insert(value);
  for (unsigned i = 0; i < made.size(); ++i)
    if (Operation *op = made[i].getDefiningOp())
      made.insert_range(op->getOperands());
  return made;
}

/// Whether positions decide about elements, as in a triangle or a diagonal: blocks of zeros are
/// known only as long as nothing stores them.
static bool isMasked(Value value) {
  return llvm::any_of(computedFrom(value),
                      [](Value each) { return each.getDefiningOp<gir::IotaOp>() != nullptr; });
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
struct SplitFloats : gir::impl::GraphSplitFloatsBase<SplitFloats> {
  using GraphSplitFloatsBase::GraphSplitFloatsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    StringRef policy = gir::numericsOption(function, "matmul");
    bool isInvariant = gir::numericsOption(function, "batch_invariant") == "true";
    if (!side || function.isExternal() || policy == "tf32" || policy == "bf16" || isInvariant)
      return;
    SizeFacts facts(function);
    sizes = &facts;
    joined.clear();
    streamed.clear();
    auto products = llvm::to_vector(function.getOps<gir::ContractOp>());
    for (gir::ContractOp product : products)
      if (isStreamed(product))
        streamed.insert(product.getResult());
    for (gir::ContractOp product : products)
      if (canSplit(product) && pays(product))
        split(product);
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
  bool canSplit(gir::ContractOp product) const {
    if (streamed.contains(product.getResult()) || !tensorType(product).getElementType().isF32() ||
        terms(product) <= kStep)
      return false;
    auto isOperand = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> summed) {
      gir::TensorType type = tensorType(operand);
      int64_t free = 0;
      for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim)
        if (!llvm::is_contained(batch, dim) && !llvm::is_contained(summed, dim))
          free = std::max(free, sizes->hint(type.getDim(dim)));
      return type.getElementType().isF32() && free >= side && !showsWindows(operand) &&
             !isMasked(operand) && llvm::none_of(computedFrom(operand), [&](Value each) {
               return streamed.contains(each);
             });
    };
    return isOperand(product.getLhs(), product.getLhsBatch(), product.getLhsContract()) &&
           isOperand(product.getRhs(), product.getRhsBatch(), product.getRhsContract());
  }

  /// Whether the time of the copies is less than what is saved. Products are counted in those of
  /// 16-bit types in the same time: without parts, operands are split in registers and multiplied
  /// as tf32.
  bool pays(gir::ContractOp product) const {
    constexpr double inRegisters = 31, inParts = 9, bytesOfCopy = 4 + 3 * 2;
    double flop = 2, bytes = 0, launches = 0;
    for (SymExpr size : cast<gir::GraphOpInterface>(product.getOperation()).getIterationSizes())
      flop *= double(sizes->hint(size));
    for (Value operand : {product.getLhs(), product.getRhs()})
      if (Value source = sourceOf(operand); !joined.contains(source)) {
        bytes += bytesOfCopy * elements(tensorType(source).getShape());
        launches += 1;
      }
    return (inRegisters - inParts) * flop >= bytes * flopPerByte + launches * flopPerLaunch;
  }

  void split(gir::ContractOp product) {
    for (OpOperand &operand : product->getOpOperands()) {
      SmallVector<Operation *> views;
      Value value = operand.get();
      for (; isView(value.getDefiningOp()); value = views.back()->getOperand(0))
        views.push_back(value.getDefiningOp());
      Value whole = join(sourceOf(operand.get()));
      OpBuilder builder(product);
      for (Operation *view : llvm::reverse(views)) {
        Operation *clone = builder.clone(*view);
        clone->setOperand(0, whole);
        whole = clone->getResult(0);
      }
      operand.set(whole);
    }
    // What reduces the product reads it: beside parts, tiles leave no registers for more.
    if (!isReduced(product) || llvm::any_of(product->getUsers(), llvm::IsaPred<gir::MaterializeOp>))
      return;
    OpBuilder builder(product.getContext());
    builder.setInsertionPointAfter(product);
    auto copy = gir::MaterializeOp::create(
        builder, product.getLoc(), product.getType(), product.getResult(), UnitAttr(),
        IntegerAttr(), builder.getStringAttr("it is multiplied in parts, and reduced"));
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
  llvm::DenseMap<Value, Value> joined;
  llvm::DenseSet<Value> streamed;
};
} // namespace
