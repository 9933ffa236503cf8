//===- BuiltinsLinear.cpp - Matrix products -------------------------------===//
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
      return args.error(i, "expected a tensor of " + counted(rank, "dimension") + " for '" +
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
  Value turned =
      weight->rank() == 2 ? Value::ofTensor(emit.transpose(weight->tensor, {1, 0})) : *weight;
  if (x->rank() && weight->rank()) {
    SymExpr have = x->shape().back(), want = weight->shape().back();
    if (!args.in.sizes.equal(have, want, args.range))
      return args.in.sizeMismatch(args.range,
                                  "the last sizes of 'x' and 'weight' of 'linear' do not match: '" +
                                      have.str() + "' and '" + want.str() + "'",
                                  have, want, {*x, args.ranges[0]}, {*weight, args.ranges[1]});
  }
  Value product = emit.matmul(*x, turned, args.ranges[0], args.ranges[1], "linear");
  if (product.isError() || args[2].is(Value::None))
    return product;
  std::optional<Value> bias = args.tensor(2);
  if (!bias)
    return Value::error();
  Value sum = emit.map(ScalarOp::Add, {product, args[2]}, {args.range, args.ranges[2]});
  if (sum.isTensor() && sum.shape() != product.shape()) {
    args.wrongShape(2, weight->shape().drop_back(weight->rank() ? 1 : 0), *bias, "a bias");
    return Value::error();
  }
  return sum;
}

std::vector<Builtin> sema::linearBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method, function = Builtin::Function;
  return {
      {"matmul", "x, y", both, matmul, "matrix product, batched and broadcast"},
      {"bmm", "x, y", both, bmm, "matrix product of batches"},
      {"mm", "x, y", both, mm, "matrix product"},
      {"dot", "x, y", both, dot, "inner product of vectors"},
      {"outer", "x, y", both, outer, "all products of two vectors' elements"},
      {"ger", "x, y", both, outer, "as outer"},
      {"linear", "x, weight, bias=None", function, linear, "x @ weight.T + bias"},
      {"einsum", "equation, *operands", function, einsum,
       "sums of products by the names of dimensions: 'bik,bkj->bij'"},
  };
}
