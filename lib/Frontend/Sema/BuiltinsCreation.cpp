//===- BuiltinsCreation.cpp - Creation of tensors -------------------------===//
#include "Builtins.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

/// Returns false after an error: the shape has a negative size, or this is a module-level constant.
static bool checkShape(Args &args, const Shape &shape, size_t index) {
  if (!args.in.emitter) {
    args.in.error(args.range, "a tensor cannot be a module-level constant of a @tsr.function")
        .help("make it inside the function");
    return false;
  }
  return args.checkSizes(index, shape);
}

static Value filled(Args &args, const Shape &shape, const Value &value, DType dtype) {
  if (value.isStaticNumber())
    return args.emit().constant(dtype, shape, value);
  return Value::ofTensor(args.emit().materialise(value, dtype, shape));
}

static DType defaultType(const Value &value) {
  DType type = Emitter::commonType({value}).dtype;
  bool number = !value.isTensor() || value.weak;
  return number && type == DType::FP64 ? DType::FP32 : type;
}

static Value full(Args &args) {
  std::optional<Shape> shape = args.shape(0);
  if (!shape || !checkShape(args, *shape, 0))
    return Value::error();
  if (!args[1].isNumber() && !(args[1].isTensor() && args[1].rank() == 0))
    return args.error(1, "expected a number for 'full', found " + describe(args[1]));
  std::optional<DType> dtype = args.dtype(2, defaultType(args[1]));
  return dtype ? filled(args, *shape, args[1], *dtype) : Value::error();
}

static Value zerosOrOnes(Args &args) {
  std::optional<Shape> shape = args.shape(0);
  std::optional<DType> dtype = shape ? args.dtype(1, DType::FP32) : std::nullopt;
  if (!dtype || !checkShape(args, *shape, 0))
    return Value::error();
  return filled(args, *shape, Value::ofInt(SymExpr(args.builtin.name == "ones")), *dtype);
}

static Value filledLike(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  bool isFull = args.builtin.name == "full_like";
  std::optional<DType> dtype = args.dtype(isFull ? 2 : 1, Emitter::dtype(*x));
  if (!dtype)
    return Value::error();
  Value value = isFull ? args[1] : Value::ofInt(SymExpr(args.builtin.name == "ones_like"));
  if (!value.isNumber() && !(value.isTensor() && value.rank() == 0))
    return args.error(1, "expected a number, found " + describe(value));
  return filled(args, Shape(x->shape()), value, *dtype);
}

static Value iota(Args &args) {
  std::optional<Shape> shape = args.shape(0);
  std::optional<DType> dtype = shape ? args.dtype(2, DType::Int64) : std::nullopt;
  if (!dtype || !checkShape(args, *shape, 0))
    return Value::error();
  if (*dtype == DType::Bool)
    return args.error(2, "indices cannot be bools");
  if (shape->empty())
    return args.error(0, "'iota' needs at least one dimension");
  std::optional<int64_t> dim = args.dim(1, shape->size());
  if (!dim)
    return Value::error();
  Emitter &emit = args.emit();
  // Positions are integers; other types are converted from them.
  return Emitter::isFloat(*dtype) ? emit.cast(emit.iota(*shape, *dim, DType::Int64), *dtype, false)
                                  : emit.iota(*shape, *dim, *dtype);
}

/// arange(end), arange(start, end, step)
static Value arange(Args &args) {
  Value start = args[0], end = args[1], step = args[2];
  if (end.is(Value::None)) {
    end = start;
    start = Value::ofInt(SymExpr(0));
  }
  bool isFloat = start.is(Value::Float) || end.is(Value::Float) || step.is(Value::Float);
  std::optional<DType> dtype = args.dtype(3, isFloat ? DType::FP32 : DType::Int64);
  if (!dtype || !checkShape(args, {}, 0))
    return Value::error();
  if (*dtype == DType::Bool)
    return args.error(3, "indices cannot be bools");
  Interpreter &in = args.in;
  Emitter &emit = args.emit();
  SymExpr count;
  if (isFloat) {
    std::optional<double> from = in.toDouble(start, args.ranges[0], "'start'");
    std::optional<double> to = in.toDouble(end, args.ranges[1], "'end'");
    std::optional<double> by = in.toDouble(step, args.ranges[2], "'step'");
    if (!from || !to || !by)
      return Value::error();
    double number = std::ceil((*to - *from) / *by);
    if (*by == 0 || !(number >= 0) || number > 1e15)
      return in.error(args.range, "'arange' needs a step that leads from start to end");
    count = SymExpr(int64_t(number));
    // Integer elements are computed from integer start and step, as in PyTorch.
    if (!Emitter::isFloat(*dtype)) {
      if (!(std::abs(*from) < 0x1p63 && std::abs(*by) < 0x1p63))
        return in.error(args.range,
                        "expected a start and a step that int64 holds for 'arange' of integers");
      start = Value::ofInt(SymExpr(int64_t(*from)));
      step = Value::ofInt(SymExpr(int64_t(*by)));
      isFloat = false;
    }
  } else {
    std::optional<SymExpr> from = in.toSize(start, args.ranges[0], "'start'");
    std::optional<SymExpr> to = from ? in.toSize(end, args.ranges[1], "'end'") : std::nullopt;
    std::optional<int64_t> by = to ? args.integer(2) : std::nullopt;
    if (!by)
      return Value::error();
    if (*by == 0)
      return args.error(2, "the step must not be 0");
    SymExpr length = *by > 0 ? *to - *from : *from - *to;
    std::optional<bool> some = in.sizes.nonNegative(length, args.range);
    if (!some)
      return in.error(args.range, "the order of start and end must be known");
    if (!*some)
      return in.error(args.range, "'arange' needs a step that leads from start to end, found " +
                                      std::to_string(*by) + " from " + from->str() + " to " +
                                      to->str());
    count = length.ceilDiv(SymExpr(*by > 0 ? *by : -*by));
  }
  // Computed in int64 or fp64 and rounded once.
  Value result =
      emit.cast(emit.iota({count}, 0, DType::Int64), isFloat ? DType::FP64 : DType::Int64, false);
  if (!(step.isStaticNumber() && step.asDouble() == 1))
    result = emit.map(ScalarOp::Mul, {result, step});
  if (!(start.isStaticNumber() && start.asDouble() == 0))
    result = emit.map(ScalarOp::Add, {result, start});
  return result.isError() ? result : emit.cast(result, *dtype, false);
}

static Value eye(Args &args) {
  std::optional<SymExpr> rows = args.in.toSize(args[0], args.ranges[0], "'n'");
  std::optional<SymExpr> columns =
      args[1].is(Value::None) ? rows : args.in.toSize(args[1], args.ranges[1], "'m'");
  std::optional<DType> dtype = args.dtype(2, DType::FP32);
  if (!rows || !columns || !dtype || !checkShape(args, {*rows, *columns}, 0))
    return Value::error();
  Emitter &emit = args.emit();
  Shape shape = {*rows, *columns};
  Value same = emit.map(ScalarOp::Eq,
                        {emit.iota(shape, 0, DType::Int64), emit.iota(shape, 1, DType::Int64)});
  return emit.cast(same, *dtype, false);
}

std::vector<Builtin> sema::creationBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  return {
      {"iota", "shape, dim, dtype=None", function, iota, "the index along a dimension"},
      {"arange", "start, end=None, step=1, dtype=None", function, arange, "equally spaced numbers"},
      {"full", "shape, value, dtype=None", function, full, "one number everywhere"},
      {"zeros", "shape, dtype=None", function, zerosOrOnes, "zeros"},
      {"ones", "shape, dtype=None", function, zerosOrOnes, "ones"},
      {"zeros_like", "x, dtype=None", function, filledLike, "zeros in the shape and type of x"},
      {"ones_like", "x, dtype=None", function, filledLike, "ones in the shape and type of x"},
      {"full_like", "x, value, dtype=None", function, filledLike, "one number in the shape of x"},
      {"eye", "n, m=None, dtype=None", function, eye, "ones on the diagonal"},
  };
}
