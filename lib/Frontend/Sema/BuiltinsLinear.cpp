//===- BuiltinsLinear.cpp - Products, normalisations and losses -------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

static Value matmul(Args &args) {
  std::optional<Value> x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  return y ? args.emit().matmul(*x, *y, args.ranges[0], args.ranges[1]) : Value::error();
}

/// Products whose operands must have a certain rank.
static Value rankedProduct(Args &args, unsigned rank) {
  for (size_t i = 0; i < 2; ++i) {
    std::optional<Value> x = args.tensor(i);
    if (!x)
      return Value::error();
    if (x->rank() != rank)
      return args.error(i, "expected a tensor of " + std::to_string(rank) + " dimensions for '" +
                               std::string(args.builtin.name) + "', found " + describe(*x));
  }
  return matmul(args);
}

static Value bmm(Args &args) { return rankedProduct(args, 3); }
static Value mm(Args &args) { return rankedProduct(args, 2); }
static Value dot(Args &args) { return rankedProduct(args, 1); }

static Value outer(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  if (!y)
    return Value::error();
  for (size_t i = 0; i < 2; ++i)
    if ((i ? *y : *x).rank() != 1)
      return args.error(i, "expected a tensor of 1 dimension for 'outer', found " +
                               describe(i ? *y : *x));
  return emit.map(ScalarOp::Mul, {Value::ofTensor(emit.unsqueeze(x->tensor, {1})), *y});
}

/// x @ weight.T + bias
static Value linear(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0), weight = x ? args.tensor(1) : std::nullopt;
  if (!weight)
    return Value::error();
  if (weight->rank() > 2)
    return args.error(1, "expected a weight of 1 or 2 dimensions, found " + describe(*weight));
  Value turned = weight->rank() == 2 ? Value::ofTensor(emit.transpose(weight->tensor, {1, 0}))
                                     : *weight;
  Value product = emit.matmul(*x, turned, args.ranges[0], args.ranges[1]);
  if (product.isError() || args[2].is(Value::None))
    return product;
  return emit.map(ScalarOp::Add, {product, args[2]}, {args.range, args.ranges[2]});
}

namespace {
/// The operands of a normalisation over the last dimensions.
struct Norm {
  Value x;
  int64_t rank = 1;
  Value scale, shift;
  /// The type that the result is converted to.
  DType result = DType::FP32;
};
} // namespace

/// Reads x, normalized_shape, weight and, if there is one, bias. The shape may be left out (or be
/// the weight): it is then the weight's, or the last dimension.
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
    args.error(0, "expected a floating point tensor for '" + std::string(args.builtin.name) +
                      "', found " + describe(*x))
        .help("convert with .to(fp32)");
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
        args.in.sizeMismatch(args.ranges[1], "expected the last sizes of x, '" + have.str() +
                                                 "', in 'normalized_shape', found '" +
                                                 (*shape)[i].str() + "'",
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
  // Parameters of another type: everything is computed in the wider one and rounded at the end.
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
      args.error(parameter == &norm.scale ? 2 : 3, "expected a parameter of shape " +
                                                       shapeText(want) + ", found " +
                                                       describe(*parameter));
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
    switch (norm->result) {
    case DType::FP64:
      eps = 0x1p-52;
      break;
    case DType::FP16:
      eps = 0x1p-10;
      break;
    case DType::BF16:
      eps = 0x1p-7;
      break;
    case DType::FP8E4M3:
      eps = 0x1p-3;
      break;
    case DType::FP8E5M2:
      eps = 0x1p-2;
      break;
    default:
      eps = 0x1p-23;
      break;
    }
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

static Value mseLoss(Args &args) {
  Emitter &emit = args.emit();
  Value difference = emit.map(ScalarOp::Sub, {args[0], args[1]}, {args.ranges[0], args.ranges[1]});
  if (difference.isError())
    return difference;
  Value squares = emit.asTensor(emit.map(ScalarOp::Square, {difference}));
  std::string how = args[2].is(Value::Str) ? *args[2].text : "";
  if (how == "none")
    return squares;
  if (how != "mean" && how != "sum")
    return args.error(2, "expected 'mean', 'sum' or 'none' for 'reduction', found " +
                             describe(args[2]));
  if (!Emitter::isFloat(Emitter::dtype(squares)))
    return args.error(0, "expected floating point tensors for 'mse_loss'");
  if (squares.rank() == 0)
    return squares;
  llvm::SmallVector<int64_t> dims = allDims(squares.rank());
  if (how == "sum")
    return Value::ofTensor(gir::ReduceOp::create(emit.builder, emit.loc(), tessera::ReduceOp::Sum,
                                                 squares.tensor, dims)
                               .getResult());
  return Value::ofTensor(gir::MeanOp::create(emit.builder, emit.loc(),
                                             squares.type().withShape({}), squares.tensor, dims)
                             .getResult());
}

std::vector<Builtin> sema::linearBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method, function = Builtin::Function;
  return {
      {"matmul", "x, y", both, matmul, "matrix product, batched and broadcast"},
      {"bmm", "x, y", both, bmm, "matrix product of batches"},
      {"mm", "x, y", both, mm, "matrix product"},
      {"dot", "x, y", both, dot, "inner product of vectors"},
      {"outer", "x, y", both, outer, "all products of two vectors' elements"},
      {"linear", "x, weight, bias=None", function, linear, "x @ weight.T + bias"},
      {"layer_norm", "x, normalized_shape=None, weight=None, bias=None, eps=1e-5", function,
       layerNorm, "the last dimensions shifted to mean 0, scaled to variance 1"},
      {"rms_norm", "x, normalized_shape=None, weight=None, eps=None", function, rmsNorm,
       "the last dimensions scaled to root mean square 1"},
      {"mse_loss", "x, y, reduction='mean'", function, mseLoss, "mean of squared differences"},
  };
}
