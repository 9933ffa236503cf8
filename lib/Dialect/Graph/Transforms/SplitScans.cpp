//===- SplitScans.cpp - Long scans in parts -------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/ValueType.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSPLITSCANS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// Sizes are often known to be multiples of it.
static constexpr int64_t kParts = 64;

static gir::TensorType typeOf(Value value) { return cast<gir::TensorType>(value.getType()); }

/// Whether few CTAs would work long on a scan.
static bool isLong(gir::ScanOp scan, const SizeFacts &facts, int64_t sms) {
  constexpr int64_t together = 32, long_ = 1 << 20; // columns of a CTA; bytes for each CTA
  gir::TensorType type = typeOf(scan.getInput());
  int64_t dim = scan.getDim(), programs = 1, columns = 1;
  if (scan.getKey() || scan.getReduceOp() != tessera::ReduceOp::Sum ||
      facts.divisor(type.getDim(dim)) % kParts != 0)
    return false;
  for (int64_t d = 0; d < int64_t(type.getRank()); ++d)
    if (d != dim)
      (d < dim ? programs : columns) *= std::max<int64_t>(1, facts.hint(type.getDim(d)));
  int64_t bytes = programs * columns * facts.hint(type.getDim(dim)) *
                  std::max(8u, type.getElementType().getIntOrFloatBitWidth()) / 8;
  programs *= llvm::divideCeil(columns, together);
  return 4 * programs <= sms && bytes > programs * long_;
}

/// The sum of the parts before each part, of sums along the dimension.
static Value sumsBefore(OpBuilder &builder, Location loc, Value sums, int64_t dim) {
  gir::TensorType type = typeOf(sums);
  int64_t rank = type.getRank();
  SmallVector<int64_t> order, kept;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim)
      order.push_back(d);
  kept = order;
  order.push_back(dim);
  kept.push_back(rank);
  SmallVector<SymExpr> pairs(type.getShape());
  pairs.push_back(SymExpr(kParts));
  Value others = gir::BroadcastOp::create(
      builder, loc, gir::TransposeOp::create(builder, loc, sums, order), pairs, kept);
  auto numbers = gir::TensorType::get(pairs, builder.getI32Type());
  Value other = gir::IotaOp::create(builder, loc, numbers, rank),
        own = gir::IotaOp::create(builder, loc, numbers, dim);
  Value isBefore = gir::MapOp::create(builder, loc, ScalarOp::Lt, ValueRange{other, own});
  Value zero = gir::ConstantOp::create(builder, loc, typeOf(others), 0.0);
  Value before =
      gir::MapOp::create(builder, loc, ScalarOp::Where, ValueRange{isBefore, others, zero});
  return gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, before, {rank});
}

static Value materialize(OpBuilder &builder, Value value) {
  return gir::MaterializeOp::create(
      builder, value.getLoc(), value.getType(), value, UnitAttr(), IntegerAttr(),
      builder.getStringAttr("few CTAs would compute the scan, and its parts start from it"));
}

static void splitScans(func::FuncOp function, const SizeFacts &facts, int64_t sms) {
  for (gir::ScanOp scan : llvm::to_vector(function.getOps<gir::ScanOp>())) {
    if (!isLong(scan, facts, sms))
      continue;
    OpBuilder builder(scan);
    Location loc = scan.getLoc();
    gir::TensorType type = typeOf(scan.getInput());
    int64_t dim = scan.getDim();
    SmallVector<SymExpr> shape(type.getShape());
    shape[dim] = shape[dim].floorDiv(SymExpr(kParts));
    shape.insert(shape.begin() + dim, SymExpr(kParts));
    Type wide = gir::accumulationType(type.getElementType());
    Value input = scan.getInput();
    if (wide != type.getElementType())
      input = gir::CastOp::create(builder, loc, input, wide, false);
    Value parts = gir::ReshapeOp::create(builder, loc, input, shape);
    Value sums = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, parts, {dim + 1});
    sums = materialize(builder, sums);
    Value before = materialize(builder, sumsBefore(builder, loc, sums, dim));
    SmallVector<int64_t> kept;
    for (int64_t d = 0; d < int64_t(shape.size()); ++d)
      if (d != dim + 1)
        kept.push_back(d);
    Value all = gir::BroadcastOp::create(builder, loc, before, shape, kept);
    Value own = gir::ScanOp::create(builder, loc, tessera::ReduceOp::Sum, parts, dim + 1);
    Value sum = gir::MapOp::create(builder, loc, ScalarOp::Add, ValueRange{own, all});
    if (wide != type.getElementType())
      sum = gir::CastOp::create(builder, loc, sum, type.getElementType(), false);
    scan.getResult().replaceAllUsesWith(gir::ReshapeOp::create(builder, loc, sum, type.getShape()));
    scan.erase();
  }
}

namespace {
struct SplitScans : gir::impl::GraphSplitScansBase<SplitScans> {
  using GraphSplitScansBase::GraphSplitScansBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool keepsOrder = gir::numericsOption(function, "numerics") == "strict" ||
                      gir::numericsOption(function, "batch_invariant") == "true";
    if (!function.isExternal() && !keepsOrder)
      splitScans(function, SizeFacts(function), sms);
  }
};
} // namespace
