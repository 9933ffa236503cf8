//===- StoreWindows.cpp - Stored windows of contractions ------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/Analysis/Windows.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSTOREWINDOWS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// The side of the smallest matrix that tensor cores multiply.
static constexpr double kSide = 16;
/// The largest copy in bytes.
static constexpr double kLargestCopy = double(int64_t(1) << 30);

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

namespace {
/// An operand of a contraction: its dimensions by their roles.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contract, free;

  Side(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : value(value), batch(batch), contract(contract) {
    for (int64_t dim = 0; dim < tensorType(value).getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        free.push_back(dim);
  }

  double size(ArrayRef<int64_t> dims, const SizeFacts &facts) const {
    double product = 1;
    for (int64_t dim : dims)
      product *= double(facts.hint(tensorType(value).getDim(dim)));
    return product;
  }

  /// The dimensions in the order of the stored copy. Elements of a window are behind a dimension of
  /// the same role, if possible before the positions, so that the copy's rows are those of the
  /// tensor. Sums are behind all others, if bulk copies could not read these rows, or with
  /// `sumsLast`.
  SmallVector<int64_t> storedOrder(const gir::Windows &windows, const SizeFacts &facts,
                                   int64_t rowAlignment, bool sumsLast) const {
    auto isSummed = [&](int64_t dim) { return llvm::is_contained(contract, dim); };
    int64_t after = -1;
    SmallVector<int64_t> rest;
    for (int64_t dim = 0; dim < windows.firstElement; ++dim) {
      if (llvm::is_contained(batch, dim))
        continue;
      rest.push_back(dim);
      if (isSummed(dim) == isSummed(windows.firstElement) &&
          (after < 0 || dim < windows.firstPosition || after >= windows.firstPosition))
        after = dim;
    }
    SmallVector<int64_t> elements;
    for (int64_t dim = windows.firstElement; dim < tensorType(value).getRank(); ++dim)
      elements.push_back(dim);
    rest.insert(after < 0 ? rest.begin() : llvm::find(rest, after) + 1, elements.begin(),
                elements.end());
    int64_t bits = tensorType(value).getElementType().getIntOrFloatBitWidth(), last = 1;
    for (int64_t dim : llvm::reverse(rest)) {
      if (isSummed(dim) != isSummed(rest.back()))
        break;
      last *= facts.divisor(tensorType(value).getDim(dim));
    }
    if (sumsLast || (bits <= 16 && last * bits / 8 % rowAlignment))
      std::stable_sort(rest.begin(), rest.end(),
                       [&](int64_t a, int64_t b) { return isSummed(a) < isSummed(b); });
    SmallVector<int64_t> order = batch;
    order.append(rest);
    return order;
  }

  void store(OpBuilder &builder, Location loc, ArrayRef<int64_t> order, StringRef reason) {
    Value rows = builder.createOrFold<gir::TransposeOp>(loc, value, order);
    value = gir::MaterializeOp::create(builder, loc, rows.getType(), rows, builder.getUnitAttr(),
                                       IntegerAttr(), builder.getStringAttr(reason));
    auto at = [&](int64_t dim) { return int64_t(llvm::find(order, dim) - order.begin()); };
    batch = llvm::map_to_vector(batch, at);
    contract = llvm::map_to_vector(contract, at);
  }
};

/// A contraction, and the order in which an operand's windows are stored.
class WindowProduct {
public:
  WindowProduct(gir::ContractOp product, const SizeFacts &facts, int64_t rowAlignment,
                int64_t wordSide)
      : product(product), facts(facts), rowAlignment(rowAlignment), wordSide(wordSide),
        builder(product), loc(product.getLoc()),
        lhs(product.getLhs(), product.getLhsBatch(), product.getLhsContract()),
        rhs(product.getRhs(), product.getRhsBatch(), product.getRhsContract()) {}

  void rewrite() {
    for (auto [side, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)})
      if (std::optional<SmallVector<int64_t>> order = storedOrder(*side, *other)) {
        replace(stored(*side, *other, *order));
        return;
      }
  }

private:
  /// Replaces the contraction. What is put together from parts is stored in any case.
  void replace(Value result) {
    auto user = product->hasOneUse() ? dyn_cast<gir::MaterializeOp>(*product->user_begin())
                                     : gir::MaterializeOp();
    if (user && !user.getRowAlignment() && result.getDefiningOp<gir::ConcatOp>()) {
      user.replaceAllUsesWith(result);
      user.erase();
    }
    product.replaceAllUsesWith(result);
    product.erase();
  }

  static SmallVector<int64_t> allDims(const Side &side) {
    return llvm::to_vector(llvm::seq<int64_t>(tensorType(side.value).getRank()));
  }

  double bytes(const Side &side) {
    return side.size(allDims(side), facts) *
           (tensorType(side.value).getElementType().getIntOrFloatBitWidth() / 8);
  }

  /// The order in which the windows of an operand are stored, if they are.
  std::optional<SmallVector<int64_t>> storedOrder(const Side &side, const Side &other) {
    std::optional<gir::Windows> windows = gir::windowsOf(side.value);
    double terms = side.size(side.contract, facts);
    bool isMatrix = side.size(side.free, facts) >= kSide && terms >= kSide &&
                    other.size(other.free, facts) >= kSide;
    if (!windows || (!isMatrix && gir::isUnrolled(terms, isOfElements(side, *windows))))
      return std::nullopt;
    if (bytes(side) > kLargestCopy &&
        (side.free.empty() || !tensorType(side.value).getDim(side.free[0]).isConstant()))
      return std::nullopt;
    return side.storedOrder(*windows, facts, rowAlignment, areWords(side, other));
  }

  /// Whether wgmma can multiply the operands as tf32: sides are long enough, and rows of what is
  /// summed are aligned.
  bool areWords(const Side &side, const Side &other) const {
    auto function = product->getParentOfType<func::FuncOp>();
    auto isWord = [](const Side &each) { return tensorType(each.value).getElementType().isF32(); };
    int64_t terms = 1;
    for (int64_t dim : side.contract)
      terms *= facts.divisor(tensorType(side.value).getDim(dim));
    constexpr int64_t bytes = 4;
    return wordSide && isWord(side) && isWord(other) && terms * bytes % rowAlignment == 0 &&
           gir::numericsOption(function, "matmul") == "tf32" &&
           side.size(side.free, facts) >= double(wordSide) &&
           other.size(other.free, facts) >= double(wordSide);
  }

  /// Whether only elements of windows are summed.
  bool isOfElements(const Side &side, const gir::Windows &windows) {
    return llvm::all_of(side.contract, [&](int64_t dim) {
      return dim >= windows.firstElement || tensorType(side.value).getDim(dim).isConstant(1);
    });
  }

  Value stored(Side &side, Side &other, ArrayRef<int64_t> order) {
    // Views have their sums elsewhere; those of a weight are small.
    if (other.value.getDefiningOp() && !other.value.getDefiningOp<gir::MaterializeOp>() &&
        4 * bytes(other) < bytes(side)) {
      SmallVector<int64_t> rows = other.batch;
      rows.append(other.free);
      rows.append(other.contract);
      other.store(builder, loc, rows, "its rows are multiplied with stored windows");
    }
    double parts = std::ceil(bytes(side) / kLargestCopy);
    if (parts <= 1)
      return multiplied(side, order);
    // The first dimension that only this operand has is divided.
    int64_t dim = side.free[0];
    int64_t size = tensorType(side.value).getDim(dim).constantValue();
    int64_t step = std::max(int64_t(1), int64_t(double(size) / parts));
    Value whole = side.value;
    SmallVector<Value> results;
    Side before = side;
    for (int64_t begin = 0; begin < size; begin += step) {
      SmallVector<SymExpr> starts(tensorType(whole).getRank(), SymExpr(0));
      SmallVector<SymExpr> shape(tensorType(whole).getShape());
      starts[dim] = SymExpr(begin);
      shape[dim] = SymExpr(std::min(step, size - begin));
      side = before;
      side.value = builder.createOrFold<gir::SliceOp>(
          loc, whole, starts, SmallVector<int64_t>(starts.size(), 1), shape);
      results.push_back(multiplied(side, order));
    }
    size_t place = lhs.batch.size() + (&side == &rhs ? lhs.free.size() : 0);
    return gir::ConcatOp::create(builder, loc, int64_t(place), results);
  }

  Value multiplied(Side &side, ArrayRef<int64_t> order) {
    side.store(builder, loc, order, "its windows overlap, and tensor cores are fed from memory");
    auto result = gir::ContractOp::create(builder, loc, lhs.value, rhs.value, lhs.batch, rhs.batch,
                                          lhs.contract, rhs.contract);
    result->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    // Sums may have another type than the operands.
    result.getResult().setType(
        gir::TensorType::get(tensorType(result).getShape(), tensorType(product).getElementType()));
    return result;
  }

  gir::ContractOp product;
  const SizeFacts &facts;
  int64_t rowAlignment, wordSide;
  OpBuilder builder;
  Location loc;
  Side lhs, rhs;
};

struct StoreWindows : gir::impl::GraphStoreWindowsBase<StoreWindows> {
  using GraphStoreWindowsBase::GraphStoreWindowsBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SizeFacts facts(getOperation());
    for (gir::ContractOp product : llvm::to_vector(getOperation().getOps<gir::ContractOp>()))
      WindowProduct(product, facts, rowAlignment, wordSide).rewrite();
  }
};
} // namespace
