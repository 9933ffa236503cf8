//===- TileFold.cpp - Folding of tile operations --------------------------===//
//
// Constants, neutral operands, and chains of operations that only move elements. Every fold keeps
// the value bit by bit (NaN payloads aside): x + 0.0 does not fold, since -0.0 + 0.0 is 0.0.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static TypedAttr typed(Attribute attr) { return dyn_cast_or_null<TypedAttr>(attr); }

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  int64_t size = getView().getType().getShape()[getDim()];
  if (ShapedType::isDynamic(size))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), size);
}

OpFoldResult tile::ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  return foldCast(typed(adaptor.getScalar()), elementType(getResult()));
}

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  if (auto splat = getTile().getDefiningOp<SplatOp>())
    if (splat.getScalar().getType() == getResult().getType())
      return splat.getScalar();
  return foldCast(typed(adaptor.getTile()), getResult().getType());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static bool isInteger(TypedAttr attr, int64_t value) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  return integer &&
         integer.getValue() == APInt(integer.getValue().getBitWidth(), value, true, true);
}

/// Whether the operation yields its other operand when operand `i` is `attr`.
static bool isNeutral(ScalarOp op, unsigned i, TypedAttr attr) {
  auto number = dyn_cast_or_null<FloatAttr>(attr);
  auto isFloat = [&](double value) { return number && number.getValue().isExactlyValue(value); };
  switch (op) {
  case ScalarOp::Add:
    return isInteger(attr, 0) || isFloat(-0.0);
  case ScalarOp::Sub:
    return i == 1 && (isInteger(attr, 0) || isFloat(0.0));
  case ScalarOp::Mul:
    return isInteger(attr, 1) || isFloat(1.0);
  case ScalarOp::Div:
    return i == 1 && isFloat(1.0);
  case ScalarOp::FloorDiv:
    return i == 1 && isInteger(attr, 1);
  case ScalarOp::Or:
  case ScalarOp::Xor:
    return isInteger(attr, 0);
  case ScalarOp::And:
    return isInteger(attr, -1);
  case ScalarOp::Shl:
  case ScalarOp::Shr:
    return i == 1 && isInteger(attr, 0);
  default:
    return false;
  }
}

/// Whether the operation yields `attr` when an operand is `attr`, whatever the other one is.
static bool isAbsorbing(ScalarOp op, TypedAttr attr) {
  switch (op) {
  case ScalarOp::Mul:
  case ScalarOp::And:
    return isInteger(attr, 0);
  case ScalarOp::Or:
    return isInteger(attr, -1);
  case ScalarOp::Add:
    return attr && attr.getType().isInteger(1) && isInteger(attr, -1);
  default:
    return false;
  }
}

static bool isIdempotent(ScalarOp op) {
  return op == ScalarOp::Maximum || op == ScalarOp::Minimum || op == ScalarOp::And ||
         op == ScalarOp::Or;
}

static bool isInvolution(ScalarOp op) { return op == ScalarOp::Neg || op == ScalarOp::Not; }

OpFoldResult MapOp::fold(FoldAdaptor adaptor) {
  SmallVector<TypedAttr> constants;
  for (Attribute input : adaptor.getInputs())
    constants.push_back(typed(input));
  ScalarOp op = getScalarOp();
  if (TypedAttr value = foldScalarOp(op, constants))
    return value;

  ValueRange inputs = getInputs();
  if (op == ScalarOp::Where) {
    if (constants[0])
      return inputs[isInteger(constants[0], 0) ? 2 : 1];
    if (inputs[1] == inputs[2])
      return inputs[1];
    bool isBool = elementType(inputs[1]).isInteger(1);
    if (isBool && isInteger(constants[1], -1) && isInteger(constants[2], 0))
      return inputs[0];
  }
  if (inputs.size() == 2) {
    for (unsigned i : {0, 1}) {
      if (isNeutral(op, i, constants[i]))
        return inputs[1 - i];
      if (isAbsorbing(op, constants[i]))
        return constants[i];
    }
    if (inputs[0] == inputs[1] && isIdempotent(op))
      return inputs[0];
  }
  if (isInvolution(op))
    if (auto inner = inputs[0].getDefiningOp<MapOp>(); inner && inner.getScalarOp() == op)
      return inner.getInputs()[0];
  return {};
}

/// Whether every value of `narrow` is a value of `wide`.
static bool holdsAll(Type wide, Type narrow) {
  auto wideFloat = dyn_cast<FloatType>(wide), narrowFloat = dyn_cast<FloatType>(narrow);
  if (narrowFloat)
    return wideFloat && wideFloat.getFPMantissaWidth() > narrowFloat.getFPMantissaWidth() &&
           wideFloat.getWidth() > narrowFloat.getWidth();
  if (wideFloat)
    return wideFloat.getFPMantissaWidth() >= narrow.getIntOrFloatBitWidth();
  return wide.getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth();
}

OpFoldResult tile::CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<tile::CastOp>())
    if (inner.getInput().getType() == getResult().getType() &&
        holdsAll(elementType(getInput()), elementType(getResult())))
      return inner.getInput();
  return foldCast(typed(adaptor.getInput()), elementType(getResult()));
}

OpFoldResult BitcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<BitcastOp>())
    if (inner.getInput().getType() == getResult().getType())
      return inner.getInput();
  return foldBitcast(typed(adaptor.getInput()), elementType(getResult()));
}

//===----------------------------------------------------------------------===//
// Data movement: constants stay constants, chains become one operation
//===----------------------------------------------------------------------===//

/// `outer` after `inner`: entry i is outer[inner[i]].
static SmallVector<int64_t> compose(ArrayRef<int64_t> outer, ArrayRef<int64_t> inner) {
  SmallVector<int64_t> result;
  for (int64_t dim : inner)
    result.push_back(outer[dim]);
  return result;
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (adaptor.getInput())
    return adaptor.getInput();
  if (getInput().getType() == getResult().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  setDims(compose(getDims(), inner.getDims()));
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (adaptor.getInput())
    return adaptor.getInput();
  if (llvm::is_sorted(getPermutation()))
    return getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  setPermutation(compose(inner.getPermutation(), getPermutation()));
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (adaptor.getInput())
    return adaptor.getInput();
  if (getInput().getType() == getResult().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

/// The maximum of consecutive integers is the last one, the minimum the first.
LogicalResult tile::ReduceOp::canonicalize(tile::ReduceOp op, PatternRewriter &rewriter) {
  auto iota = op.getInput().getDefiningOp<IotaOp>();
  tessera::ReduceOp kind = op.getReduceOp();
  if (!iota || (kind != tessera::ReduceOp::Max && kind != tessera::ReduceOp::Min))
    return failure();
  Value found = iota.getStart();
  if (kind == tessera::ReduceOp::Max) {
    int64_t steps = iota.getType().getDimSize(0) - 1;
    Value last = arith::ConstantIndexOp::create(rewriter, op.getLoc(), steps);
    found = arith::AddIOp::create(rewriter, op.getLoc(), found, last);
  }
  rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), found);
  return success();
}
