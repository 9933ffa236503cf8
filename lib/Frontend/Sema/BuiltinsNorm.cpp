//===- BuiltinsNorm.cpp - Lengths of vectors and normalisations
//--------------------------------===//
//
// Narrow types are computed in fp32 and rounded at the end, as in the composites of the graph.
//
//===------------------------------------------------------------------------------------------===//
#include "Reductions.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Norms
//===------------------------------------------------------------------------------------------===//

/// The order of a norm: a number, or 'fro', which is 2 for any dimensions.
static std::optional<double> readOrder(Args &args, size_t i) {
  if (args[i].is(Value::None))
    return 2;
  if (!args[i].is(Value::Str))
    return args.real(i);
  if (*args[i].text == "fro")
    return 2;
  if (*args[i].text == "inf" || *args[i].text == "-inf")
    return *args[i].text == "inf" ? INFINITY : -INFINITY;
  args.error(i, "expected a number or 'fro' for the order of a norm, found " + describe(args[i]));
  return std::nullopt;
}

/// (sum |x|^p)^(1/p), with its limits for p = 0, inf and -inf.
static Value norm(Args &args) {
  std::optional<Reduction> r = readReduction(args, 2, 3);
  std::optional<double> order = r ? readOrder(args, 1) : std::nullopt;
  std::optional<DType> type = order ? args.dtype(4, Emitter::dtype(r->x)) : std::nullopt;
  if (!type)
    return Value::error();
  if (!args[4].is(Value::None) && !Emitter::isFloat(*type))
    return args.error(4, "expected a floating point type for '" + std::string(args.builtin.name) +
                             "', found " + describe(args[4]));
  Emitter &emit = args.emit();
  r->x = emit.cast(r->x, *type, false);
  if (!requireFloat(args, r->x) || (*order < 0 && !checkNotEmpty(args, *r)) ||
      (std::isinf(*order) && !checkNotEmpty(args, *r)))
    return Value::error();
  r->x = emit.cast(r->x, accumulationType(*type), false);
  double p = *order;
  Value length;
  if (p == 2) {
    r->x = emit.map(ScalarOp::Square, {r->x});
    length = rootOf(emit, reduce(emit, tessera::ReduceOp::Sum, *r));
  } else if (p == 0) {
    Value isSome = emit.map(ScalarOp::Ne, {r->x, Value::ofFloat(0)});
    r->x = emit.cast(isSome, Emitter::dtype(r->x), false);
    length = reduce(emit, tessera::ReduceOp::Sum, *r);
  } else {
    r->x = emit.map(ScalarOp::Abs, {r->x});
    if (std::isinf(p)) {
      length = reduce(emit, p > 0 ? tessera::ReduceOp::Max : tessera::ReduceOp::Min, *r);
    } else if (p == 1) {
      length = reduce(emit, tessera::ReduceOp::Sum, *r);
    } else {
      r->x = emit.map(ScalarOp::Pow, {r->x, Value::ofFloat(p)});
      length = reduce(emit, tessera::ReduceOp::Sum, *r);
      length = emit.map(ScalarOp::Pow, {length, Value::ofFloat(1 / p)});
    }
  }
  return emit.cast(length, *type, false);
}

//===------------------------------------------------------------------------------------------===//
// Normalisation of the last dimensions
//===------------------------------------------------------------------------------------------===//

namespace {
/// The operands of a normalisation over the last dimensions.
struct Norm {
  Value x;
  int64_t rank = 1;
  Value scale, shift;
  /// The type of the result.
  DType result = DType::FP32;
};
} // namespace

/// Reads x, normalized_shape, weight and, if there is one, bias. If the shape is omitted (or the
/// weight is in its place), it is the weight's shape, or the last dimension.
static std::optional<Norm> readNorm(Args &args, bool hasBias) {
  Norm norm;
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return std::nullopt;
  if (args[1].isTensor()) {
    if (hasBias && !args[2].is(Value::None))
      args[3] = args[2];
    args[2] = args[1];
    args.ranges[2] = args.ranges[1];
    args[1] = Value::none();
  }
  norm.x = *x;
  norm.result = Emitter::dtype(*x);
  if (!Emitter::isFloat(norm.result)) {
    args.needsFloat(0, *x);
    return std::nullopt;
  }
  llvm::SmallVector<size_t> parameters = {2};
  if (hasBias)
    parameters.push_back(3);
  bool mixed = false;
  for (size_t i : parameters) {
    if (args[i].is(Value::None))
      continue;
    std::optional<Value> parameter = args.tensor(i);
    if (!parameter)
      return std::nullopt;
    (i == 2 ? norm.scale : norm.shift) = *parameter;
    norm.rank = parameter->rank();
    mixed |= Emitter::dtype(*parameter) != norm.result;
  }
  if (!args[1].is(Value::None)) {
    std::optional<Shape> shape = args.shape(1);
    if (!shape)
      return std::nullopt;
    norm.rank = shape->size();
    for (size_t i = 0; i < shape->size() && norm.rank <= int64_t(x->rank()); ++i) {
      SymExpr have = x->shape()[x->rank() - norm.rank + i];
      if (!args.in.sizes.equal((*shape)[i], have, args.ranges[1])) {
        args.in.sizeMismatch(args.ranges[1],
                             "expected the last sizes of x, '" + have.str() +
                                 "', in 'normalized_shape', found '" + (*shape)[i].str() + "'",
                             have, (*shape)[i]);
        return std::nullopt;
      }
    }
  }
  if (norm.rank < 1 || norm.rank > int64_t(x->rank())) {
    args.error(0, "expected at least " + std::to_string(std::max<int64_t>(norm.rank, 1)) +
                      " dimensions for '" + std::string(args.builtin.name) + "', found " +
                      describe(*x));
    return std::nullopt;
  }
  // Parameters of another type: the computation uses the wider one and rounds at the end.
  for (Value *parameter : {&norm.scale, &norm.shift}) {
    if (!parameter->isTensor())
      continue;
    llvm::ArrayRef<SymExpr> want = x->shape().take_back(norm.rank);
    bool fits = parameter->rank() == norm.rank;
    for (size_t i = 0; fits && i < want.size(); ++i)
      fits = args.in.sizes.equal(want[i], parameter->shape()[i], args.range);
    if (fits)
      *parameter = Value::ofTensor(args.emit().reshape(parameter->tensor, want));
    if (!fits) {
      args.wrongShape(parameter == &norm.scale ? 2 : 3, want, *parameter);
      return std::nullopt;
    }
  }
  if (mixed) {
    DType wide = norm.result;
    for (Value *value : {&norm.scale, &norm.shift})
      if (value->isTensor())
        wide = Emitter::promote(wide, Emitter::dtype(*value));
    for (Value *value : {&norm.x, &norm.scale, &norm.shift})
      if (value->isTensor())
        *value = args.emit().cast(*value, wide, false);
  }
  return norm;
}

static Value layerNorm(Args &args) {
  std::optional<Norm> norm = readNorm(args, true);
  std::optional<double> eps = norm ? args.real(4) : std::nullopt;
  if (!eps)
    return Value::error();
  Emitter &emit = args.emit();
  auto op = gir::LayerNormOp::create(emit.builder, emit.loc(), norm->x.type(), norm->x.tensor,
                                     norm->scale.tensor, norm->shift.tensor, uint64_t(norm->rank),
                                     llvm::APFloat(*eps));
  return emit.cast(Value::ofTensor(op.getResult()), norm->result, false);
}

static Value rmsNorm(Args &args) {
  std::optional<Norm> norm = readNorm(args, false);
  if (!norm)
    return Value::error();
  double eps = 0;
  if (args[3].is(Value::None)) {
    // The type's own roundoff, as in PyTorch.
    DType dtype = Emitter::isFloat(norm->result) ? norm->result : DType::FP32;
    eps = std::ldexp(1, -dtypeInfo(dtype).fractionBits);
  } else {
    std::optional<double> given = args.real(3);
    if (!given)
      return Value::error();
    eps = *given;
  }
  Emitter &emit = args.emit();
  auto op = gir::RmsNormOp::create(emit.builder, emit.loc(), norm->x.type(), norm->x.tensor,
                                   norm->scale.tensor, uint64_t(norm->rank), llvm::APFloat(eps));
  return emit.cast(Value::ofTensor(op.getResult()), norm->result, false);
}

//===------------------------------------------------------------------------------------------===//
// Normalisation of channels
//===------------------------------------------------------------------------------------------===//

namespace {
/// The operands of a normalisation by channels, which are dimension 1.
struct Channels {
  Value x;
  DType result = DType::FP32;
  /// The computation type.
  DType wide = DType::FP32;
};
} // namespace

static std::optional<Channels> readChannels(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x || !requireFloat(args, *x))
    return std::nullopt;
  if (x->rank() < 2) {
    args.error(0, "expected at least 2 dimensions, (N, C, …), for '" +
                      std::string(args.builtin.name) + "', found " + describe(*x));
    return std::nullopt;
  }
  return Channels{*x, Emitter::dtype(*x), accumulationType(Emitter::dtype(*x))};
}

/// A parameter with one number per channel, reshaped to broadcast with x.
static std::optional<Value> perChannel(Args &args, size_t i, const Channels &channels) {
  std::optional<Value> parameter = args.tensor(i);
  if (!parameter)
    return std::nullopt;
  SymExpr count = channels.x.shape()[1];
  if (parameter->rank() != 1 ||
      !args.in.sizes.equal(parameter->shape()[0], count, args.ranges[i])) {
    args.wrongShape(i, count, *parameter);
    return std::nullopt;
  }
  Shape shape(channels.x.rank() - 1, SymExpr(1));
  shape[0] = count;
  mlir::Value wide = args.emit().cast(*parameter, channels.wide, false).tensor;
  return Value::ofTensor(args.emit().reshape(wide, shape));
}

/// Scales and shifts by the given parameters, and rounds.
static Value finishChannels(Args &args, Value y, const Channels &channels, size_t weight,
                            size_t bias) {
  for (auto [i, op] : {std::pair(weight, ScalarOp::Mul), std::pair(bias, ScalarOp::Add)}) {
    if (args[i].is(Value::None))
      continue;
    std::optional<Value> parameter = perChannel(args, i, channels);
    if (!parameter)
      return Value::error();
    y = args.emit().map(op, {y, *parameter});
  }
  return y.isError() ? y : args.emit().cast(y, channels.result, false);
}

/// Groups of channels are normalised together: a layer_norm over (channels of a group, …).
static Value groupNorm(Args &args) {
  std::optional<Channels> channels = readChannels(args);
  std::optional<int64_t> groups = channels ? args.integer(1) : std::nullopt;
  std::optional<double> eps = groups ? args.real(4) : std::nullopt;
  if (!eps)
    return Value::error();
  const Value &x = channels->x;
  SymExpr count = x.shape()[1];
  if (*groups < 1)
    return args.error(1, "expected at least one group, found " + std::to_string(*groups));
  SymExpr remainder = count.mod(SymExpr(*groups));
  if (!remainder.isConstant(0)) {
    std::optional<int64_t> atHand = args.in.sizes.valueAtHand(remainder);
    if (atHand != 0)
      return args.error(1, "expected a number of groups that divides the '" + count.str() +
                               "' channels, found " + std::to_string(*groups));
    args.in.sizes.guard(remainder, SymExpr(0), args.ranges[1]);
  }
  Emitter &emit = args.emit();
  Shape grouped{x.shape()[0], SymExpr(*groups), count.floorDiv(SymExpr(*groups))};
  grouped.append(x.shape().drop_front(2).begin(), x.shape().drop_front(2).end());
  if (llvm::any_of(llvm::ArrayRef(grouped).drop_front(2),
                   [](SymExpr size) { return size.isConstant(0); }))
    return args.error(0, "expected channels that are not empty for 'group_norm', found " +
                             describe(x));
  mlir::Value rows = emit.reshape(emit.cast(x, channels->wide, false).tensor, grouped);
  mlir::Value y =
      gir::LayerNormOp::create(emit.builder, emit.loc(), rows.getType(), rows, mlir::Value(),
                               mlir::Value(), grouped.size() - 2, llvm::APFloat(*eps));
  return finishChannels(args, Value::ofTensor(emit.reshape(y, x.shape())), *channels, 2, 3);
}

/// (x - mean) / sqrt(variance + eps) by channel, with the given statistics, or with those of the
/// batch in training. Running statistics are not updated: a function has no side effects.
static Value batchNorm(Args &args) {
  // An empty tensor needs no channels.
  if (args[0].isTensor() && args[0].rank() == 1 && args[0].shape()[0].isConstant(0))
    return args[0];
  std::optional<Channels> channels = readChannels(args);
  std::optional<bool> training = channels ? args.boolean(5) : std::nullopt;
  std::optional<double> eps = training ? args.real(7) : std::nullopt;
  if (!eps)
    return Value::error();
  if (args[1].is(Value::None) != args[2].is(Value::None))
    return args.error(args[1].is(Value::None) ? 2 : 1,
                      "'batch_norm' takes 'running_mean' and 'running_var' or none of them");
  Emitter &emit = args.emit();
  Value x = emit.cast(channels->x, channels->wide, false);
  Value mean, variance;
  if (!args[1].is(Value::None)) {
    std::optional<Value> first = perChannel(args, 1, *channels);
    std::optional<Value> second = first ? perChannel(args, 2, *channels) : std::nullopt;
    if (!second)
      return Value::error();
    mean = *first;
    variance = *second;
  } else if (!*training) {
    return args.error(1, "'batch_norm' needs 'running_mean' and 'running_var'")
        .help("training=True takes the batch's own");
  }
  if (*training) {
    Reduction r{x, {}, true};
    for (int64_t dim = 0; dim < int64_t(x.rank()); ++dim)
      if (dim != 1)
        r.dims.push_back(dim);
    mean = meanOver(emit, x, r.dims, true);
    auto op = gir::VarOp::create(emit.builder, emit.loc(), r.type(), x.tensor, r.dims,
                                 llvm::APFloat(0.0));
    variance = withKeptDims(emit, op.getResult(), r);
  }
  Value scale =
      emit.map(ScalarOp::Rsqrt, {emit.map(ScalarOp::Add, {variance, Value::ofFloat(*eps)})});
  Value y = emit.map(ScalarOp::Mul, {emit.map(ScalarOp::Sub, {x, mean}), scale});
  return finishChannels(args, y, *channels, 3, 4);
}

std::vector<Builtin> sema::normBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method, function = Builtin::Function;
  return {
      {"norm", "x, p='fro', dim=None, keepdim=False, dtype=None", both, norm,
       "the p-norm of the elements: sum(|x|^p)^(1/p)"},
      {"vector_norm", "x, ord=2, dim=None, keepdim=False, *, dtype=None", function, norm,
       "as norm"},
      {"layer_norm", "x, normalized_shape=None, weight=None, bias=None, eps=1e-5", function,
       layerNorm, "the last dimensions shifted to mean 0, scaled to variance 1"},
      {"rms_norm", "x, normalized_shape=None, weight=None, eps=None", function, rmsNorm,
       "the last dimensions scaled to root mean square 1"},
      {"group_norm", "x, num_groups, weight=None, bias=None, eps=1e-5", function, groupNorm,
       "groups of channels, dimension 1, shifted to mean 0, scaled to variance 1"},
      {"batch_norm",
       "x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
       "eps=1e-5",
       function, batchNorm, "channels, dimension 1, shifted and scaled by their statistics"},
  };
}
