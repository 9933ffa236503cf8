//===- SplitScans.cpp - Long scans in parts -------------------------------===//
//
// A program walks a row or some columns for their running sums, element by element in order. Few long ones leave most of a GPU
// idle. Cut into equal parts, each part's running sums wait only for the sum of all parts before it, which a first kernel
// adds up for all parts at once.
//
//===----------------------------------------------------------------------===//
#include "SplitScans.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/ValueType.h"

using namespace mlir;
using namespace tessera;

/// Sizes are often known to be multiples of it.
static constexpr int64_t kParts = 64;

static gir::TensorType typeOf(Value value) { return cast<gir::TensorType>(value.getType()); }

/// Whether few programs would walk long for it.
static bool isLong(gir::ScanOp scan, const SizeFacts &facts, const MachineModel &machine) {
  constexpr int64_t together = 32, long_ = 1 << 20; // columns of a program; bytes for each
  gir::TensorType type = typeOf(scan.getInput());
  int64_t dim = scan.getDim(), programs = 1, columns = 1;
  if (scan.getKey() || scan.getReduceOp() != tessera::ReduceOp::Sum || facts.divisor(type.getDim(dim)) % kParts != 0)
    return false;
  for (int64_t d = 0; d < int64_t(type.getRank()); ++d)
    if (d != dim)
      (d < dim ? programs : columns) *= std::max<int64_t>(1, facts.hint(type.getDim(d)));
  int64_t bytes = programs * columns * facts.hint(type.getDim(dim)) * std::max(8u, type.getElementType().getIntOrFloatBitWidth()) / 8;
  programs *= llvm::divideCeil(columns, together);
  return 4 * programs <= machine.cores && bytes > programs * long_;
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
  Value others = gir::BroadcastOp::create(builder, loc, gir::TransposeOp::create(builder, loc, sums, order), pairs, kept);
  auto numbers = gir::TensorType::get(pairs, builder.getI32Type());
  Value other = gir::IotaOp::create(builder, loc, numbers, rank), own = gir::IotaOp::create(builder, loc, numbers, dim);
  Value isBefore = gir::MapOp::create(builder, loc, ScalarOp::Lt, ValueRange{other, own});
  Value zero = gir::ConstantOp::create(builder, loc, typeOf(others), 0.0);
  Value before = gir::MapOp::create(builder, loc, ScalarOp::Where, ValueRange{isBefore, others, zero});
  return gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, before, {rank});
}

llvm::SetVector<Value> tessera::splitScans(func::FuncOp function, const SizeFacts &facts, const MachineModel &machine) {
  llvm::SetVector<Value> stored;
  for (gir::ScanOp scan : llvm::to_vector(function.getOps<gir::ScanOp>())) {
    if (!isLong(scan, facts, machine))
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
    Value before = sumsBefore(builder, loc, sums, dim);
    stored.insert(sums);
    stored.insert(before);
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
  return stored;
}
