//===- StoreWindows.cpp - Stored windows of contractions ------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/Analysis/Windows.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSTOREWINDOWS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// The side of the smallest matrix that tensor cores multiply.
static constexpr double kSide = 16;
/// The largest copy in bytes.
static constexpr double kLargestCopy = double(int64_t(1) << 32);

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
  /// tensor. Sums are behind all others, if bulk copies could not read these rows.
  SmallVector<int64_t> storedOrder(const gir::Windows &windows, const Side &other,
                                   const SizeFacts &facts, int64_t rowAlignment) const {
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
    if (bits <= 16 && last * bits / 8 % rowAlignment)
      llvm::stable_sort(rest, [&](int64_t a, int64_t b) { return isSummed(a) < isSummed(b); });
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

struct StoreWindows : gir::impl::GraphStoreWindowsBase<StoreWindows> {
  using GraphStoreWindowsBase::GraphStoreWindowsBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SizeFacts facts(getOperation());
    for (gir::ContractOp product : llvm::to_vector(getOperation().getOps<gir::ContractOp>())) {
      Side lhs(product.getLhs(), product.getLhsBatch(), product.getLhsContract());
      Side rhs(product.getRhs(), product.getRhsBatch(), product.getRhsContract());
      OpBuilder builder(product);
      bool isStored = storeIfWindows(builder, product.getLoc(), facts, lhs, rhs);
      isStored |= storeIfWindows(builder, product.getLoc(), facts, rhs, lhs);
      if (!isStored)
        continue;
      auto copy = gir::ContractOp::create(builder, product.getLoc(), lhs.value, rhs.value,
                                          lhs.batch, rhs.batch, lhs.contract, rhs.contract);
      copy->setDiscardableAttrs(product->getDiscardableAttrDictionary());
      copy.getResult().setType(cast<gir::TensorType>(product.getType()));
      product.replaceAllUsesWith(copy.getResult());
      product.erase();
    }
  }

  bool storeIfWindows(OpBuilder &builder, Location loc, const SizeFacts &facts, Side &side,
                      Side &other) {
    gir::TensorType type = tensorType(side.value);
    double bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
    std::optional<gir::Windows> windows = gir::windowsOf(side.value);
    double terms = side.size(side.contract, facts);
    bool isMatrix = side.size(side.free, facts) >= kSide && terms >= kSide &&
                    other.size(other.free, facts) >= kSide;
    if (!windows || (!isMatrix && terms <= gir::kMostUnrolled) ||
        side.size(all, facts) * bytes > kLargestCopy)
      return false;
    side.store(builder, loc, side.storedOrder(*windows, other, facts, rowAlignment),
               "its windows overlap, and tensor cores are fed from memory");
    // Views have their sums elsewhere; those of a weight are small.
    if (other.value.getDefiningOp() && !other.value.getDefiningOp<gir::MaterializeOp>() &&
        4 * other.size(llvm::to_vector(llvm::seq<int64_t>(tensorType(other.value).getRank())),
                       facts) <
            side.size(all, facts)) {
      SmallVector<int64_t> order = other.batch;
      order.append(other.free);
      order.append(other.contract);
      other.store(builder, loc, order, "its rows are multiplied with stored windows");
    }
    return true;
  }
};
} // namespace
