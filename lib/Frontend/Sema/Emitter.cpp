//===- Emitter.cpp - Types, broadcasting and elementwise operations ---------------------------===//
#include "Emitter.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Locations
//===------------------------------------------------------------------------------------------===//

mlir::Location Emitter::loc(SourceRange range) const {
  mlir::MLIRContext *context = builder.getContext();
  if (!range.isValid())
    return mlir::UnknownLoc::get(context);
  LineColumn begin = diagnostics.sources.lineColumn(range);
  LineColumn end = diagnostics.sources.lineColumn(range.atEnd());
  std::string_view name = diagnostics.sources.buffer(range.file).name();
  return mlir::FileLineColRange::get(context, llvm::StringRef(name.data(), name.size()), begin.line,
                                     begin.column, end.line, end.column);
}

mlir::Location Emitter::loc() const {
  mlir::Location here = loc(current);
  for (const Frame *frame = in->frame; frame && frame->caller; frame = frame->caller)
    here = mlir::CallSiteLoc::get(here, loc(frame->callSite));
  return here;
}

//===------------------------------------------------------------------------------------------===//
// Types
//===------------------------------------------------------------------------------------------===//

DType Emitter::promote(DType a, DType b) {
  if (a == b)
    return a;
  // Neither type contains the other, as with fp16 and bf16.
  if (isFloat8(a) && isFloat8(b))
    return DType::FP32;
  if (isFloat8(a) || isFloat8(b)) {
    DType narrow = isFloat8(a) ? a : b, other = isFloat8(a) ? b : a;
    return isFloat(other) ? other : narrow;
  }
  if (a > b)
    std::swap(a, b);
  // From here on `a` comes first in the enumeration: wider, and floating point before integers.
  if (b == DType::Bool)
    return a;
  if (isFloat(a))
    return a == DType::BF16 && b == DType::FP16 ? DType::FP32 : a;
  if (b == DType::UInt8 && a == DType::Int8)
    return DType::Int16;
  return a;
}

Emitter::Common Emitter::commonType(llvm::ArrayRef<Value> operands) {
  // Tensors with dimensions, rank-0 tensors, and Python scalars, in decreasing priority.
  std::optional<DType> dim, zero, scalar;
  auto join = [](std::optional<DType> &into, DType type) {
    into = into ? promote(*into, type) : type;
  };
  for (const Value &operand : operands) {
    if (!operand.isTensor()) {
      join(scalar, operand.is(Value::Float) ? DType::FP64
                   : operand.is(Value::Int) ? DType::Int64
                                            : DType::Bool);
      continue;
    }
    join(operand.weak ? scalar : operand.rank() ? dim : zero, dtype(operand));
  }
  if (!dim && !zero)
    return {*scalar, true};
  // A Python float among tensors has the default type.
  if (scalar == DType::FP64)
    scalar = DType::FP32;
  auto combine = [](std::optional<DType> higher, std::optional<DType> lower) {
    if (!lower || !higher)
      return higher ? higher : lower;
    if (isFloat(*higher))
      return higher;
    if (*higher == DType::Bool || isFloat(*lower))
      return std::optional(promote(*higher, *lower));
    return higher;
  };
  return {*combine(combine(dim, zero), scalar), false};
}

//===------------------------------------------------------------------------------------------===//
// Materialisation
//===------------------------------------------------------------------------------------------===//

static mlir::TypedAttr numberAttr(const Value &number, mlir::Type type) {
  if (auto floatType = mlir::dyn_cast<mlir::FloatType>(type))
    return mlir::FloatAttr::get(floatType, number.asDouble());
  int64_t value = number.is(Value::Float) ? int64_t(number.real) : number.number.constantValue();
  if (type.isInteger(1))
    value = value != 0;
  unsigned width = type.getIntOrFloatBitWidth();
  llvm::APInt bits(width, uint64_t(value), /*isSigned=*/true, /*implicitTrunc=*/true);
  return mlir::IntegerAttr::get(type, bits);
}

Value Emitter::constant(DType dtype, llvm::ArrayRef<SymExpr> shape, const Value &number) {
  auto tensorType = gir::TensorType::get(shape, type(dtype));
  mlir::TypedAttr attr = numberAttr(number, type(dtype));
  return Value::ofTensor(gir::ConstantOp::create(builder, loc(), tensorType, attr));
}

Value Emitter::cast(const Value &tensor, DType to, bool isExplicit) {
  if (dtype(tensor) == to)
    return Value::ofTensor(tensor.tensor);
  return Value::ofTensor(
      gir::CastOp::create(builder, loc(), tensor.tensor, type(to), isExplicit).getResult());
}

mlir::Value Emitter::materialise(const Value &value, DType dtype, llvm::ArrayRef<SymExpr> shape) {
  if (value.isStaticNumber())
    return constant(dtype, shape, value).tensor;
  Value tensor = value.isTensor() ? value : in->sizeAsTensor(value.number, false);
  return broadcastTo(cast(tensor, dtype, false).tensor, shape);
}

Value Emitter::asTensor(const Value &value) {
  if (value.isTensor() && !value.weak)
    return value;
  DType target = commonType({value}).dtype;
  if (target == DType::FP64)
    target = DType::FP32;
  return Value::ofTensor(materialise(value, target, {}));
}

//===------------------------------------------------------------------------------------------===//
// Broadcasting and maps
//===------------------------------------------------------------------------------------------===//

std::optional<Shape> Emitter::broadcastShape(llvm::ArrayRef<Value> operands,
                                             llvm::ArrayRef<SourceRange> ranges) {
  Shape result;
  std::vector<size_t> origin; // the operand that determines each size
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].isTensor())
      continue;
    llvm::ArrayRef<SymExpr> shape = operands[i].shape();
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), SymExpr(1));
      origin.insert(origin.begin(), result.size() - origin.size(), i);
    }
    size_t offset = result.size() - shape.size();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      SymExpr &have = result[offset + dim];
      SymExpr size = shape[dim];
      if (size == have || size.isConstant(1))
        continue;
      if (have.isConstant(1)) {
        have = size;
        origin[offset + dim] = i;
        continue;
      }
      // A computed size whose concrete value is 1 broadcasts too, by a guard.
      if (in->sizes.valueAtHand(size) == 1 && in->sizes.valueAtHand(have) != 1) {
        in->sizes.fix(size, current);
        continue;
      }
      if (in->sizes.valueAtHand(have) == 1 && in->sizes.valueAtHand(size) != 1) {
        in->sizes.fix(have, current);
        have = size;
        origin[offset + dim] = i;
        continue;
      }
      if (in->sizes.equal(have, size, current))
        continue;
      auto rangeOf = [&](size_t operand) {
        return operand < ranges.size() ? ranges[operand] : SourceRange();
      };
      size_t other = origin[offset + dim];
      in->sizeMismatch(place(),
                       "sizes do not match in dimension " +
                           std::to_string(int64_t(dim) - int64_t(shape.size())) + ": '" +
                           have.str() + "' and '" + size.str() + "'",
                       have, size, {operands[other], rangeOf(other)}, {operands[i], rangeOf(i)});
      return std::nullopt;
    }
  }
  return result;
}

/// Arithmetic of a 16-bit or 8-bit tensor with a Python scalar that the type cannot represent
/// exactly is done in fp32 and rounded once, as in PyTorch.
static bool needsWideScalar(const ScalarOpInfo &info, llvm::ArrayRef<Value> operands, DType dtype) {
  bool arithmetic = info.arity == 2 && info.op != ScalarOp::Maximum &&
                    info.op != ScalarOp::Minimum &&
                    (info.rule == TypeRule::Same || info.rule == TypeRule::Number ||
                     info.rule == TypeRule::Float);
  if (!arithmetic || !Emitter::isFloat(dtype) || dtypeInfo(dtype).bits > 16)
    return false;
  return llvm::any_of(operands, [&](const Value &operand) {
    if (!operand.isStaticNumber())
      return operand.is(Value::Int) || (operand.isTensor() && operand.weak);
    double number = operand.asDouble();
    return rt::decodeFloat(rt::encodeFloat(number, dtype), dtype) != number;
  });
}

/// The operation as written in programs.
static std::string operatorName(ScalarOp op) {
  switch (op) {
  case ScalarOp::Neg:
  case ScalarOp::Sub:
    return "-";
  case ScalarOp::And:
    return "&";
  case ScalarOp::Or:
    return "|";
  case ScalarOp::Xor:
    return "^";
  case ScalarOp::Not:
    return "~";
  case ScalarOp::Shl:
    return "<<";
  case ScalarOp::Shr:
    return ">>";
  default:
    return std::string(scalarOpInfo(op).name);
  }
}

Value Emitter::map(ScalarOp op, llvm::ArrayRef<Value> operands,
                   llvm::ArrayRef<SourceRange> ranges) {
  for (const Value &operand : operands)
    if (operand.isError())
      return operand;
  const ScalarOpInfo &info = scalarOpInfo(op);
  bool isSelect = info.rule == TypeRule::Select;
  std::string name = operatorName(op);
  auto rangeOf = [&](size_t i) { return i < ranges.size() ? ranges[i] : current; };
  for (size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].isTensor() && !operands[i].isNumber())
      return in->error(rangeOf(i), "expected a tensor or a number for '" + name + "', found " +
                                       describe(operands[i]));
  Common common = commonType(operands.drop_front(isSelect));

  if (isSelect) {
    Common condition = commonType(operands.take_front(1));
    if (condition.dtype != DType::Bool)
      return in
          ->error(rangeOf(0),
                  "expected a bool condition of '" + name + "', found " + describe(operands[0]))
          .help("compare it, for example with '!= 0'")
          .fix(rangeOf(0).atEnd(), " != 0");
    if (common.weak && !condition.weak) {
      common.weak = false;
      if (common.dtype == DType::FP64)
        common.dtype = DType::FP32;
    }
  }
  DType dtype = common.dtype;
  switch (info.rule) {
  case TypeRule::Float:
  case TypeRule::Test:
    if (!isFloat(dtype))
      dtype = common.weak ? DType::FP64 : DType::FP32;
    break;
  case TypeRule::Number:
    if (dtype != DType::Bool)
      break;
    if (op == ScalarOp::Sub || op == ScalarOp::Neg)
      return in->error(place(), "'" + name + "' is not defined for bools")
          .help(op == ScalarOp::Sub ? "use '^', or convert with .to(int32)"
                                    : "use '~', or convert with .to(int32)")
          .fix(this->op, op == ScalarOp::Sub ? "^" : "~");
    dtype = DType::Int64;
    break;
  case TypeRule::Integer:
    if (isFloat(dtype)) {
      for (size_t i = 0; i < operands.size(); ++i)
        if (isFloat(commonType({operands[i]}).dtype))
          return in->error(rangeOf(i), "expected integers or bools for '" + name + "', found " +
                                           describe(operands[i]));
    }
    break;
  default:
    break;
  }

  // A Python int must fit the integer type of the tensors.
  unsigned width = isFloat(dtype) ? 0 : dtypeInfo(dtype).bits;
  for (size_t i = isSelect; i < operands.size(); ++i) {
    bool narrow = width > 1 && width < 64;
    if (!narrow || !operands[i].is(Value::Int) || !operands[i].number.isConstant())
      continue;
    int64_t value = operands[i].number.constantValue();
    int64_t high = dtype == DType::UInt8 ? 256 : int64_t(1) << (width - 1);
    int64_t low = dtype == DType::UInt8 ? 0 : -high;
    if (value < low || value >= high)
      return in->error(rangeOf(i), "the int " + std::to_string(value) + " does not fit " +
                                       std::string(dtypeName(dtype)) + ", which holds " +
                                       std::to_string(low) + " to " + std::to_string(high - 1));
  }

  std::optional<Shape> shape = broadcastShape(operands, ranges);
  if (!shape)
    return Value::error();
  DType wide = needsWideScalar(info, operands, dtype) ? DType::FP32 : dtype;
  llvm::SmallVector<mlir::Value> inputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(materialise(operands[i], isSelect && i == 0 ? DType::Bool : wide, *shape));
  Value result = Value::ofTensor(gir::MapOp::create(builder, loc(), op, inputs).getResult());
  if (wide != dtype)
    result = cast(result, dtype, false);
  result.weak = common.weak;
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Views
//===------------------------------------------------------------------------------------------===//

static llvm::ArrayRef<SymExpr> shapeOf(mlir::Value value) {
  return mlir::cast<gir::TensorType>(value.getType()).getShape();
}

mlir::Value Emitter::broadcastTo(mlir::Value value, llvm::ArrayRef<SymExpr> shape) {
  llvm::ArrayRef<SymExpr> from = shapeOf(value);
  if (from == shape)
    return value;
  llvm::SmallVector<int64_t> dims;
  Shape same(from);
  for (size_t i = 0; i < from.size(); ++i) {
    size_t dim = shape.size() - from.size() + i;
    dims.push_back(dim);
    if (!from[i].isConstant(1))
      same[i] = shape[dim];
  }
  // Equal sizes with different expressions get the same expression.
  value = reshape(value, same);
  if (same == shape)
    return value;
  return gir::BroadcastOp::create(builder, loc(), value, shape, dims);
}

mlir::Value Emitter::reshape(mlir::Value value, llvm::ArrayRef<SymExpr> shape) {
  if (shapeOf(value) == shape)
    return value;
  return gir::ReshapeOp::create(builder, loc(), value, shape);
}

mlir::Value Emitter::transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation) {
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i)
    identity &= permutation[i] == int64_t(i);
  return identity ? value
                  : gir::TransposeOp::create(builder, loc(), value, permutation).getResult();
}

mlir::Value Emitter::unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> resultDims) {
  if (resultDims.empty())
    return value;
  llvm::ArrayRef<SymExpr> from = shapeOf(value);
  Shape shape;
  llvm::SmallVector<int64_t> dims;
  size_t next = 0;
  for (size_t i = 0; i < from.size() + resultDims.size(); ++i) {
    if (llvm::is_contained(resultDims, int64_t(i))) {
      shape.push_back(SymExpr(1));
      continue;
    }
    dims.push_back(i);
    shape.push_back(from[next++]);
  }
  return gir::BroadcastOp::create(builder, loc(), value, shape, dims);
}

mlir::Value Emitter::dropDims(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  Shape shape;
  for (auto [i, size] : llvm::enumerate(shapeOf(value)))
    if (!llvm::is_contained(dims, int64_t(i)))
      shape.push_back(size);
  return reshape(value, shape);
}

mlir::Value Emitter::slice(mlir::Value value, llvm::ArrayRef<SymExpr> starts,
                           llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<SymExpr> sizes) {
  bool identity = shapeOf(value) == sizes;
  for (size_t i = 0; identity && i < sizes.size(); ++i)
    identity = starts[i].isConstant(0) && steps[i] == 1;
  return identity ? value
                  : gir::SliceOp::create(builder, loc(), value, starts, steps, sizes).getResult();
}

Value Emitter::iota(llvm::ArrayRef<SymExpr> shape, int64_t dim, DType dtype) {
  return Value::ofTensor(
      gir::IotaOp::create(builder, loc(), gir::TensorType::get(shape, type(dtype)), dim));
}

//===------------------------------------------------------------------------------------------===//
// Contractions
//===------------------------------------------------------------------------------------------===//

/// Batch dimensions that both operands have stay batch dimensions. One that only one of them has
/// (or that is 1 in the other) is a free dimension of that operand, so that nothing is broadcast; a
/// transpose of the result moves it to its position in PyTorch.
Value Emitter::matmul(const Value &left, const Value &right, SourceRange leftRange,
                      SourceRange rightRange, std::string_view name) {
  if (left.isError() || right.isError())
    return Value::error();
  std::string quoted = op.isValid() ? "'@'" : "'" + std::string(name) + "'";
  auto fail = [&](const Value &value, SourceRange range) -> Value {
    return in
        ->error(range, "expected a tensor of at least one dimension for " + quoted + ", found " +
                           describe(value))
        .help("use '*' to scale")
        .fix(op, "*");
  };
  if (!left.isTensor() || left.rank() == 0)
    return fail(left, leftRange);
  if (!right.isTensor() || right.rank() == 0)
    return fail(right, rightRange);
  DType common = promote(dtype(left), dtype(right));
  if (common == DType::Bool)
    return in->error(place(), quoted + " is not defined for bools").help("convert with .to(int32)");
  mlir::Value a = cast(left, common, false).tensor, b = cast(right, common, false).tensor;
  int64_t leftRank = left.rank(), rightRank = right.rank();
  int64_t leftOver = leftRank - 1, rightOver = rightRank > 1 ? rightRank - 2 : 0;
  SymExpr overA = shapeOf(a)[leftOver], overB = shapeOf(b)[rightOver];
  if (!in->sizes.equal(overA, overB, current))
    return in->sizeMismatch(place(),
                            "the contracted sizes of " + quoted + " do not match: '" + overA.str() +
                                "' and '" + overB.str() + "'",
                            overA, overB, {left, leftRange}, {right, rightRange});

  // Batch dimensions, aligned at the end.
  int64_t leftBatches = std::max<int64_t>(leftRank - 2, 0);
  int64_t rightBatches = std::max<int64_t>(rightRank - 2, 0);
  int64_t batches = std::max(leftBatches, rightBatches);
  llvm::SmallVector<int64_t> leftBatch, rightBatch, leftUnit, rightUnit;
  enum Owner { Both, Left, Right };
  llvm::SmallVector<Owner> owners;
  for (int64_t i = 0; i < batches; ++i) {
    int64_t l = i - (batches - leftBatches), r = i - (batches - rightBatches);
    if (l < 0 || r < 0) {
      owners.push_back(l < 0 ? Right : Left);
      continue;
    }
    SymExpr sizeL = shapeOf(a)[l], sizeR = shapeOf(b)[r];
    if (sizeR.isConstant(1) && !sizeL.isConstant(1)) {
      rightUnit.push_back(r);
      owners.push_back(Left);
    } else if (sizeL.isConstant(1) && !sizeR.isConstant(1)) {
      leftUnit.push_back(l);
      owners.push_back(Right);
    } else if (in->sizes.equal(sizeL, sizeR, current)) {
      leftBatch.push_back(l);
      rightBatch.push_back(r);
      owners.push_back(Both);
    } else {
      return in->sizeMismatch(place(),
                              "the batch sizes of " + quoted + " do not match: '" + sizeL.str() +
                                  "' and '" + sizeR.str() + "'",
                              sizeL, sizeR, {left, leftRange}, {right, rightRange});
    }
  }
  auto shifted = [](llvm::SmallVector<int64_t> dims, llvm::ArrayRef<int64_t> dropped) {
    for (int64_t &dim : dims)
      dim -= llvm::count_if(dropped, [&](int64_t d) { return d < dim; });
    return dims;
  };
  // Paired sizes become the same expression.
  Shape paired(shapeOf(b));
  paired[rightOver] = overA;
  for (auto [l, r] : llvm::zip_equal(leftBatch, rightBatch))
    paired[r] = shapeOf(a)[l];
  b = reshape(b, paired);
  a = dropDims(a, leftUnit);
  b = dropDims(b, rightUnit);
  int64_t overLeft = leftOver - leftUnit.size(), overRight = rightOver - rightUnit.size();
  mlir::Value result =
      gir::ContractOp::create(builder, loc(), a, b, shifted(leftBatch, leftUnit),
                              shifted(rightBatch, rightUnit), {overLeft}, {overRight});

  // The result has common batches, then the left operand's free dimensions, then the right's.
  int64_t common0 = 0, left0 = leftBatch.size();
  int64_t leftFree = llvm::count(owners, Left) + (leftRank > 1);
  int64_t right0 = left0 + leftFree;
  llvm::SmallVector<int64_t> permutation;
  for (Owner owner : owners)
    permutation.push_back(owner == Both ? common0++ : owner == Left ? left0++ : right0++);
  if (leftRank > 1)
    permutation.push_back(left0);
  if (rightRank > 1)
    permutation.push_back(right0);
  return Value::ofTensor(transpose(result, permutation));
}
