//===- StoreWindows.cpp - Stored windows of contractions ------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "WindowMatrices.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
static constexpr double kLargestCopy = double(int64_t(1) << 30);

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

/// The dimensions in the order of the stored copy, where positions are summed or elements are not.
/// Elements of a window are behind a dimension of the same role, if possible before the positions,
/// so that the copy's rows are those of the tensor. Sums are behind all others if bulk copies could
/// not read these rows.
static SmallVector<int64_t> storedOrder(const gir::Side &side, const gir::Windows &windows,
                                        const SizeFacts &facts, int64_t rowAlignment) {
  gir::TensorType type = side.getType();
  auto isSummed = [&](int64_t dim) { return llvm::is_contained(side.contract, dim); };
  int64_t after = -1;
  SmallVector<int64_t> rest;
  for (int64_t dim = 0; dim < windows.firstElement; ++dim) {
    if (llvm::is_contained(side.batch, dim))
      continue;
    rest.push_back(dim);
    if (isSummed(dim) == isSummed(windows.firstElement) &&
        (after < 0 || dim < windows.firstPosition || after >= windows.firstPosition))
      after = dim;
  }
  SmallVector<int64_t> elements =
      llvm::to_vector(llvm::seq<int64_t>(windows.firstElement, type.getRank()));
  rest.insert(after < 0 ? rest.begin() : llvm::find(rest, after) + 1, elements.begin(),
              elements.end());
  int64_t bits = type.getElementType().getIntOrFloatBitWidth(), last = 1;
  for (int64_t dim : llvm::reverse(rest)) {
    if (isSummed(dim) != isSummed(rest.back()))
      break;
    last *= facts.divisor(type.getDim(dim));
  }
  if (bits <= 16 && last * bits / 8 % rowAlignment)
    std::stable_sort(rest.begin(), rest.end(),
                     [&](int64_t a, int64_t b) { return isSummed(a) < isSummed(b); });
  SmallVector<int64_t> order(side.batch);
  order.append(rest);
  return order;
}

namespace {
/// A contraction, of which an operand shows windows.
class WindowProduct {
public:
  WindowProduct(gir::ContractOp product, const SizeFacts &facts, gir::MatrixRules rules,
                int64_t sms)
      : product(product), facts(facts), rules(rules), wordSide(rules.groupSide), sms(sms),
        builder(product), loc(product.getLoc()),
        lhs(product.getLhs(), product.getLhsBatch(), product.getLhsContract()),
        rhs(product.getRhs(), product.getRhsBatch(), product.getRhsContract()) {}

  void rewrite() {
    for (auto [side, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)})
      if (Value result = stored(*side, *other)) {
        replace(result);
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

  /// The product with stored windows; null if they are not stored.
  Value stored(gir::Side &side, gir::Side &other) {
    std::optional<gir::Windows> windows = gir::windowsOf(side.value);
    double terms = side.size(side.contract, facts);
    bool isMatrix = side.size(side.free, facts) >= kSide && terms >= kSide &&
                    other.size(other.free, facts) >= kSide;
    if (!windows || (!isMatrix && gir::isUnrolled(terms, isOfElements(side, *windows))))
      return {};
    rules.sumsLast = areWords(side, other) || areBytes(side);
    gir::WindowMatrices matrices(product, side, other, facts, rules);
    if (matrices.isPossible())
      return matrices.build();
    if (side.bytes(facts) > rules.largestBytes)
      return {};
    storeView(side, other);
    SmallVector<int64_t> order = storedOrder(side, *windows, facts, rules.rowAlignment);
    store(side, order, "its windows overlap, and tensor cores are fed from memory");
    auto result = gir::ContractOp::create(builder, loc, lhs.value, rhs.value, lhs.batch, rhs.batch,
                                          lhs.contract, rhs.contract);
    result->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    // Sums may have another type than the operands.
    result.getResult().setType(
        gir::TensorType::get(tensorType(result).getShape(), tensorType(product).getElementType()));
    return result;
  }

  /// Whether wgmma can multiply the operands as tf32: sides are long enough, or one is so long that
  /// its tiles fill a device.
  bool areWords(const gir::Side &side, const gir::Side &other) const {
    auto function = product->getParentOfType<func::FuncOp>();
    double rows = side.size(side.free, facts), columns = other.size(other.free, facts);
    return wordSide && side.getType().getElementType().isF32() &&
           other.getType().getElementType().isF32() &&
           gir::numericsOption(function, "matmul") == "tf32" && rows >= double(wordSide) &&
           (columns >= double(wordSide) || rows >= double(sms * wordSide));
  }

  bool areBytes(const gir::Side &side) const {
    return side.getType().getElementType().getIntOrFloatBitWidth() == 8;
  }

  /// Whether only elements of windows are summed.
  bool isOfElements(const gir::Side &side, const gir::Windows &windows) {
    return llvm::all_of(side.contract, [&](int64_t dim) {
      return dim >= windows.firstElement || side.getType().getDim(dim).isConstant(1);
    });
  }

  /// Views have their sums elsewhere; those of a weight are small.
  void storeView(const gir::Side &side, gir::Side &other) {
    if (!other.value.getDefiningOp() || other.value.getDefiningOp<gir::MaterializeOp>() ||
        4 * other.bytes(facts) >= side.bytes(facts))
      return;
    SmallVector<int64_t> rows(other.batch);
    rows.append(other.free);
    rows.append(other.contract);
    store(other, rows, "its rows are multiplied with stored windows");
  }

  void store(gir::Side &side, ArrayRef<int64_t> order, StringRef reason) {
    Value rows = builder.createOrFold<gir::TransposeOp>(loc, side.value, order);
    side.value =
        gir::MaterializeOp::create(builder, loc, rows.getType(), rows, builder.getUnitAttr(),
                                   IntegerAttr(), builder.getStringAttr(reason));
    auto at = [&](int64_t dim) { return int64_t(llvm::find(order, dim) - order.begin()); };
    side.batch = llvm::map_to_vector(side.batch, at);
    side.contract = llvm::map_to_vector(side.contract, at);
  }

  gir::ContractOp product;
  const SizeFacts &facts;
  gir::MatrixRules rules;
  int64_t wordSide, sms;
  OpBuilder builder;
  Location loc;
  gir::Side lhs, rhs;
};

struct StoreWindows : gir::impl::GraphStoreWindowsBase<StoreWindows> {
  using GraphStoreWindowsBase::GraphStoreWindowsBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SizeFacts facts(getOperation());
    gir::MatrixRules rules{rowAlignment,       flopPerByte,  flopPerLaunch,
                           /*sumsLast=*/false, kLargestCopy, wordSide};
    for (gir::ContractOp product : llvm::to_vector(getOperation().getOps<gir::ContractOp>()))
      WindowProduct(product, facts, rules, sms).rewrite();
  }
};
} // namespace
