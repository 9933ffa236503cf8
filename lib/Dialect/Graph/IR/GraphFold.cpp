//===- GraphFold.cpp - Folding of graph operations ------------------------===//
//
// Only rewrites that preserve every value under IEEE arithmetic: x + 0 loses the sign of -0, so it
// is kept, while x - 0 and x + (-0) fold. A splat tensor folds like its number, whatever its shape
// is.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "tessera/Support/ScalarEval.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static bool isIdentityPermutation(ArrayRef<int64_t> dims) {
  return llvm::all_of(llvm::enumerate(dims),
                      [](auto entry) { return int64_t(entry.index()) == entry.value(); });
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static IntegerFormat formatOf(Type type) {
  return {type.getIntOrFloatBitWidth(), !type.isInteger(1) && !type.isUnsignedInteger()};
}

static int64_t integerOf(IntegerAttr attr) {
  return formatOf(attr.getType()).isSigned ? attr.getValue().getSExtValue()
                                           : attr.getValue().getZExtValue();
}

static TypedAttr integerAttr(Type type, int64_t value) {
  return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), uint64_t(value), false, true));
}

static bool isNumber(Attribute attr, double value, bool negativeZero = false) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return number.getValueAsDouble() == value &&
           number.getValue().isNegative() == (value < 0 || negativeZero);
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  return integer && double(integerOf(integer)) == value;
}

static TypedAttr convertNumber(TypedAttr value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    double v = number.getValueAsDouble();
    if (isa<FloatType>(type))
      return FloatAttr::get(type, v);
    if (type.isInteger(1))
      return integerAttr(type, v != 0);
    // Outside the integer's range the result is target-dependent.
    APSInt result(type.getIntOrFloatBitWidth(), !formatOf(type).isSigned);
    bool isExact;
    if (number.getValue().convertToInteger(result, APFloat::rmTowardZero, &isExact) ==
        APFloat::opInvalidOp)
      return {};
    return IntegerAttr::get(type, result);
  }
  int64_t v = integerOf(cast<IntegerAttr>(value));
  if (isa<FloatType>(type)) {
    APFloat result(cast<FloatType>(type).getFloatSemantics());
    result.convertFromAPInt(APInt(64, uint64_t(v), true), true, APFloat::rmNearestTiesToEven);
    return FloatAttr::get(type, result);
  }
  return integerAttr(type, type.isInteger(1) ? v != 0 : formatOf(type).wrap(v));
}

/// The result of an elementwise operation on these numbers.
static TypedAttr evaluateMap(ScalarOp op, ArrayRef<Attribute> inputs, Type resultElement) {
  SmallVector<double> floats;
  SmallVector<int64_t> integers;
  bool isFloat = false;
  for (Attribute input : inputs) {
    auto number = dyn_cast<FloatAttr>(input);
    isFloat |= bool(number);
    integers.push_back(number ? 0 : integerOf(cast<IntegerAttr>(input)));
    floats.push_back(number ? number.getValueAsDouble() : double(integers.back()));
  }
  if (op == ScalarOp::OrderKey)
    return integerAttr(resultElement,
                       orderKey(floats[0], cast<FloatAttr>(inputs[0]).getType().isF64()));
  if (isFloat) {
    double result = evaluateFloat(op, floats.data());
    return isa<FloatType>(resultElement) ? TypedAttr(FloatAttr::get(resultElement, result))
                                         : integerAttr(resultElement, result != 0);
  }
  Type operand = cast<IntegerAttr>(inputs.back()).getType();
  return integerAttr(resultElement, evaluateInteger(op, integers.data(), formatOf(operand)));
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

OpFoldResult SizeOp::fold(FoldAdaptor) {
  SymExpr size = getExpr();
  return size.isConstant()
             ? OpFoldResult(Builder(getContext()).getI64IntegerAttr(size.constantValue()))
             : OpFoldResult();
}

OpFoldResult IotaOp::fold(FoldAdaptor) {
  gir::TensorType type = tensorType(getResult());
  if (!type.getDim(getDim()).isConstant(1))
    return {};
  return convertNumber(Builder(getContext()).getI64IntegerAttr(0), type.getElementType());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The operand of `value` if `op` defines it.
static Value operandOf(ScalarOp op, Value value) {
  auto map = value.getDefiningOp<MapOp>();
  return map && map.getScalarOp() == op ? map.getInputs()[0] : Value();
}

/// The operand that `map` returns unchanged, if there is one. `constants` holds the constant
/// operands.
static Value foldToOperand(MapOp map, ArrayRef<Attribute> constants) {
  OperandRange x = map.getInputs();
  auto operandBeside = [&](double value, bool negativeZero = false) -> Value {
    if (isNumber(constants[1], value, negativeZero))
      return x[0];
    return isNumber(constants[0], value, negativeZero) ? x[1] : Value();
  };
  bool isFloat = tensorType(map.getResult()).isFloat(),
       isBool = tensorType(map.getResult()).isBool();
  switch (map.getScalarOp()) {
  case ScalarOp::Add:
  case ScalarOp::Or:
  case ScalarOp::Xor:
    return operandBeside(0, isFloat);
  case ScalarOp::Sub:
    return isNumber(constants[1], 0) ? x[0] : Value();
  case ScalarOp::Mul:
    return operandBeside(1);
  case ScalarOp::And:
    return operandBeside(isBool                                                             ? 1
                         : tensorType(map.getResult()).getElementType().isUnsignedInteger() ? 255
                                                                                            : -1);
  case ScalarOp::Div:
  case ScalarOp::Pow:
    return isNumber(constants[1], 1) ? x[0] : Value();
  case ScalarOp::FloorDiv:
    return !isFloat && isNumber(constants[1], 1) ? x[0] : Value();
  case ScalarOp::Maximum:
  case ScalarOp::Minimum:
    return x[0] == x[1] ? x[0] : Value();
  case ScalarOp::Neg:
  case ScalarOp::Not:
    return operandOf(map.getScalarOp(), x[0]);
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return !isFloat || operandOf(map.getScalarOp(), x[0]) ? x[0] : Value();
  case ScalarOp::Abs:
  case ScalarOp::Relu:
    return operandOf(map.getScalarOp(), x[0]) ? x[0] : Value();
  case ScalarOp::Where:
    if (x[1] == x[2])
      return x[1];
    if (auto condition = dyn_cast_or_null<IntegerAttr>(constants[0]))
      return condition.getValue().isZero() ? x[2] : x[1];
    return {};
  default:
    return {};
  }
}

OpFoldResult MapOp::fold(FoldAdaptor adaptor) {
  ArrayRef<Attribute> constants = adaptor.getInputs();
  if (llvm::all_of(constants,
                   [](Attribute a) { return isa_and_nonnull<FloatAttr, IntegerAttr>(a); }))
    return evaluateMap(getScalarOp(), constants, tensorType(getResult()).getElementType());
  return foldToOperand(*this, constants);
}

namespace {
/// pow(x, 2) = square(x) and pow(x, -1) = reciprocal(x).
struct SimplifyPower : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    Attribute exponent;
    if (map.getScalarOp() != ScalarOp::Pow ||
        !matchPattern(map.getInputs()[1], m_Constant(&exponent)))
      return failure();
    Value base = map.getInputs()[0];
    if (isNumber(exponent, 2))
      rewriter.replaceOpWithNewOp<MapOp>(map, ScalarOp::Square, base);
    else if (isNumber(exponent, -1) && tensorType(base).isFloat())
      rewriter.replaceOpWithNewOp<MapOp>(map, ScalarOp::Reciprocal, base);
    else
      return failure();
    return success();
  }
};
} // namespace

void MapOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyPower>(context);
}

namespace {
/// Whether any element is not -inf: the largest one is not. Softmax needs that, too.
struct AnyIsMaximum : OpRewritePattern<gir::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(gir::ReduceOp reduce, PatternRewriter &rewriter) const override {
    if (reduce.getReduceOp() != tessera::ReduceOp::Any)
      return failure();
    Value negated = operandOf(ScalarOp::Not, reduce.getInput());
    auto compare = (negated ? negated : reduce.getInput()).getDefiningOp<MapOp>();
    Attribute bound;
    if (!compare || compare.getScalarOp() != (negated ? ScalarOp::Eq : ScalarOp::Ne) ||
        !matchPattern(compare.getInputs()[1], m_Constant(&bound)))
      return failure();
    auto number = dyn_cast<FloatAttr>(bound);
    if (!number || !number.getValue().isInfinity() || !number.getValue().isNegative())
      return failure();
    Value input = compare.getInputs()[0];
    Type wide = accumulationType(tensorType(input).getElementType());
    if (wide != tensorType(input).getElementType())
      input = CastOp::create(rewriter, reduce.getLoc(), input, wide);
    auto largest = gir::ReduceOp::create(rewriter, reduce.getLoc(), tessera::ReduceOp::Max, input,
                                         reduce.getDims());
    Value infinite =
        ConstantOp::create(rewriter, reduce.getLoc(), tensorType(largest),
                           rewriter.getFloatAttr(wide, -std::numeric_limits<double>::infinity()));
    rewriter.replaceOpWithNewOp<MapOp>(reduce, ScalarOp::Ne, ValueRange{largest, infinite});
    return success();
  }
};
} // namespace

void gir::ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AnyIsMaximum>(context);
}

/// Whether every value of `from` is a value of `to`.
static bool isExactCast(Type from, Type to) {
  if (from == to || from.isInteger(1))
    return true;
  if (auto source = dyn_cast<FloatType>(from)) {
    auto target = dyn_cast<FloatType>(to);
    return target &&
           APFloat::isRepresentableBy(source.getFloatSemantics(), target.getFloatSemantics());
  }
  unsigned digits = formatOf(from).width - formatOf(from).isSigned;
  if (auto target = dyn_cast<FloatType>(to))
    return digits <= target.getFPMantissaWidth();
  return !to.isInteger(1) && digits <= formatOf(to).width - formatOf(to).isSigned &&
         formatOf(from).isSigned <= formatOf(to).isSigned;
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  Type to = tensorType(getResult()).getElementType();
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto value = dyn_cast_or_null<TypedAttr>(adaptor.getInput()))
    return convertNumber(value, to);
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner)
    return {};
  Value source = inner.getInput();
  if (!isExactCast(tensorType(source).getElementType(), tensorType(getInput()).getElementType()))
    return {};
  if (source.getType() == getResult().getType())
    return source;
  getInputMutable().assign(source);
  return getResult();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType() && isIdentityPermutation(getDims()))
    return getInput();
  if (adaptor.getInput())
    return adaptor.getInput();
  auto inner = getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(getDims()[dim]);
  setDims(dims);
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentityPermutation(getPermutation()))
    return getInput();
  if (adaptor.getInput())
    return adaptor.getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> permutation;
  for (int64_t dim : getPermutation())
    permutation.push_back(inner.getPermutation()[dim]);
  setPermutation(permutation);
  getInputMutable().assign(inner.getInput());
  return getResult();
}

/// Whether a broadcast adds dimensions of one element, and nothing else.
static bool addsUnitDims(BroadcastOp broadcast) {
  auto type = tensorType(broadcast.getResult());
  for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim)
    if (!llvm::is_contained(broadcast.getDims(), dim) && !type.getDim(dim).isConstant(1))
      return false;
  for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
    if (tensorType(broadcast.getInput()).getDim(from) != type.getDim(to))
      return false;
  return llvm::is_sorted(broadcast.getDims());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (adaptor.getInput())
    return adaptor.getInput();
  Operation *inner = getInput().getDefiningOp();
  auto broadcast = dyn_cast_or_null<BroadcastOp>(inner);
  if (!isa_and_nonnull<ReshapeOp>(inner) && !(broadcast && addsUnitDims(broadcast)))
    return {};
  getInputMutable().assign(inner->getOperand(0));
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  unsigned rank = tensorType(getInput()).getRank();
  bool isWhole = getInput().getType() == getResult().getType();
  for (unsigned dim = 0; dim < rank; ++dim)
    isWhole &= getStart(dim).isConstant(0) && getSteps()[dim] == 1;
  if (isWhole)
    return getInput();
  if (adaptor.getInput())
    return adaptor.getInput();
  auto inner = getInput().getDefiningOp<SliceOp>();
  if (!inner)
    return {};
  SmallVector<Attribute> starts;
  SmallVector<int64_t> steps;
  for (unsigned dim = 0; dim < rank; ++dim) {
    SymExpr start = inner.getStart(dim) + getStart(dim) * SymExpr(inner.getSteps()[dim]);
    starts.push_back(StringAttr::get(getContext(), start.str()));
    steps.push_back(getSteps()[dim] * inner.getSteps()[dim]);
  }
  setStartsAttr(ArrayAttr::get(getContext(), starts));
  setSteps(steps);
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  ArrayRef<Attribute> constants = adaptor.getInputs();
  if (constants.front() && llvm::all_equal(constants))
    return constants.front();
  if (getInputs().size() == 1)
    return getInputs().front();
  for (unsigned i = 0; i < getInputs().size(); ++i)
    if (tensorType(getInputs()[i]).getDim(getDim()).isConstant(0)) {
      getInputsMutable().erase(i);
      return getResult();
    }
  return {};
}

OpFoldResult ScanOp::fold(FoldAdaptor) {
  return tensorType(getInput()).getDim(getDim()).isConstant(1) ? getInput() : OpFoldResult();
}

OpFoldResult gir::ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() && getInput().getType() == getResult().getType() ? getInput()
                                                                            : OpFoldResult();
}
