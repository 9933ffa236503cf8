//===- Pieces.cpp - Sums of concatenations with zeros ---------------------===//
#include "tessera/Dialect/Graph/IR/Pieces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

namespace {
/// A concatenation as the parts that are not zeros, and where they start and end.
struct Pieces {
  int64_t dim;
  struct Piece {
    Value value;
    SymExpr start, end;
  };
  SmallVector<Piece> pieces;
};
} // namespace

static bool isZeros(Value value) {
  auto constant = value.getDefiningOp<gir::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValue().isZero();
}

static std::optional<Pieces> piecesOf(Value value) {
  auto concat = value.getDefiningOp<gir::ConcatOp>();
  if (!concat)
    return std::nullopt;
  Pieces result{int64_t(concat.getDim()), {}};
  SymExpr start(0);
  for (Value part : concat.getInputs()) {
    SymExpr end = start + tensorType(part).getDim(result.dim);
    if (!isZeros(part))
      result.pieces.push_back({part, start, end});
    start = end;
  }
  return result;
}

Value gir::joinPieces(OpBuilder &builder, Value sum, Value added) {
  std::optional<Pieces> first = piecesOf(sum), second = piecesOf(added);
  if (!first || !second || first->dim != second->dim || first->pieces.empty() ||
      second->pieces.empty())
    return {};
  auto distance = [](const Pieces &before, const Pieces &after) {
    return after.pieces.front().start - before.pieces.back().end;
  };
  auto isBefore = [&](const Pieces &before, const Pieces &after) {
    SymExpr gap = distance(before, after);
    return gap.isConstant() && gap.constantValue() >= 0;
  };
  if (!isBefore(*first, *second))
    std::swap(first, second);
  if (!isBefore(*first, *second))
    return {};
  llvm::append_range(first->pieces, second->pieces);
  gir::TensorType type = tensorType(sum);
  SmallVector<Value> parts;
  SymExpr at(0);
  auto fill = [&](SymExpr until) {
    if (until == at)
      return;
    SmallVector<SymExpr> shape(type.getShape());
    shape[first->dim] = until - at;
    parts.push_back(gir::ConstantOp::create(builder, added.getLoc(), type.withShape(shape), 0.0));
  };
  for (const Pieces::Piece &piece : first->pieces) {
    fill(piece.start);
    parts.push_back(piece.value);
    at = piece.end;
  }
  fill(type.getDim(first->dim));
  return gir::ConcatOp::create(builder, added.getLoc(), first->dim, parts);
}
