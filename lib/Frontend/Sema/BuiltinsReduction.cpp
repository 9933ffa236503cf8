//===- BuiltinsReduction.cpp - Reductions, statistics and softmax -----------------------------===//
#include "Reductions.h"

#include <limits>

using namespace tessera;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Common parts
//===------------------------------------------------------------------------------------------===//

gir::TensorType Reduction::type() const {
  Shape shape;
  for (auto [i, size] : llvm::enumerate(x.shape()))
    if (!llvm::is_contained(dims, int64_t(i)))
      shape.push_back(size);
  return x.type().withShape(shape);
}

std::optional<Reduction> sema::readReduction(Args &args, size_t dimIndex, size_t keepIndex) {
  Reduction result;
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return std::nullopt;
  result.x = *x;
  auto dims = args.dims(dimIndex, x->rank());
  std::optional<bool> keep = args.boolean(keepIndex);
  if (!dims || !keep)
    return std::nullopt;
  result.dims = *dims;
  result.keep = *keep;
  return result;
}

Value sema::withKeptDims(Emitter &emit, mlir::Value value, const Reduction &r) {
  return Value::ofTensor(r.keep ? emit.unsqueeze(value, r.dims) : value);
}

Value sema::reduce(Emitter &emit, tessera::ReduceOp op, const Reduction &r) {
  if (r.dims.empty())
    return r.x;
  mlir::Value value = gir::ReduceOp::create(emit.builder, emit.loc(), op, r.x.tensor, r.dims);
  return withKeptDims(emit, value, r);
}

Value sema::sumOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep) {
  return reduce(emit, tessera::ReduceOp::Sum, {x, llvm::SmallVector<int64_t>(dims), keep});
}

Value sema::meanOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep) {
  Reduction r{x, llvm::SmallVector<int64_t>(dims), keep};
  if (dims.empty())
    return x;
  auto op = gir::MeanOp::create(emit.builder, emit.loc(), r.type(), x.tensor, dims);
  return withKeptDims(emit, op.getResult(), r);
}

bool sema::checkNotEmpty(Args &args, const Reduction &r) {
  for (int64_t dim : r.dims) {
    if (r.x.shape()[dim].isConstant(0)) {
      args.error(0, "'" + std::string(args.builtin.name) + "' over dimension " +
                        std::to_string(dim) + " of size 0 has no value");
      return false;
    }
  }
  return true;
}

Value sema::rootOf(Emitter &emit, const Value &x) {
  Value root = emit.map(ScalarOp::Sqrt, {x});
  if (auto op = root.isTensor() ? root.tensor.getDefiningOp<gir::MapOp>() : gir::MapOp())
    op->setAttr(gir::kZeroAtZeroAttr, emit.builder.getUnitAttr());
  return root;
}

bool sema::requireFloat(Args &args, const Value &x) {
  if (Emitter::isFloat(Emitter::dtype(x)))
    return true;
  args.needsFloat(0, x);
  return false;
}

DType sema::accumulationType(DType type) {
  return Emitter::isFloat(type) && type != DType::FP64 ? DType::FP32 : type;
}

//===------------------------------------------------------------------------------------------===//
// Sums, extrema and tests
//===------------------------------------------------------------------------------------------===//

/// sum and prod: integers and bools accumulate in int64, as in PyTorch.
static Value sum(Args &args) {
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r)
    return Value::error();
  DType own = Emitter::dtype(r->x);
  std::optional<DType> type = args.dtype(3, Emitter::isFloat(own) ? own : DType::Int64);
  if (!type)
    return Value::error();
  r->x = args.emit().cast(r->x, *type, false);
  tessera::ReduceOp op = args.builtin.reduce;
  if (*type == DType::Bool)
    op = op == tessera::ReduceOp::Sum ? tessera::ReduceOp::Any : tessera::ReduceOp::All;
  return reduce(args.emit(), op, *r);
}

/// cumsum and cumprod: types as for sum and prod.
static Value cumulative(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<int64_t> dim = x ? args.dim(1, x->rank(), true) : std::nullopt;
  if (!dim)
    return Value::error();
  DType own = Emitter::dtype(*x);
  std::optional<DType> type = args.dtype(2, Emitter::isFloat(own) ? own : DType::Int64);
  if (!type)
    return Value::error();
  Value converted = args.emit().cast(*x, *type, false);
  if (x->rank() == 0)
    return converted;
  tessera::ReduceOp op = args.builtin.reduce;
  if (*type == DType::Bool)
    op = op == tessera::ReduceOp::Sum ? tessera::ReduceOp::Any : tessera::ReduceOp::All;
  Emitter &emit = args.emit();
  return Value::ofTensor(
      gir::ScanOp::create(emit.builder, emit.loc(), op, converted.tensor, *dim).getResult());
}

static Value extreme(Args &args) {
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r || !checkNotEmpty(args, *r))
    return Value::error();
  return reduce(args.emit(), args.builtin.reduce, *r);
}

/// The index of the first element equal to the extremum; NaN counts as extremum. Other elements
/// have the identity of a minimum, so that an element and its index are carried together in one
/// pass.
static Value indexOfExtreme(Emitter &emit, tessera::ReduceOp op, const Reduction &r) {
  Reduction kept = r;
  kept.keep = true;
  Value best = reduce(emit, op, kept);
  Value hit = emit.map(ScalarOp::Eq, {r.x, best});
  if (Emitter::isFloat(Emitter::dtype(r.x)))
    hit = emit.map(ScalarOp::Or, {hit, emit.map(ScalarOp::IsNan, {r.x})});
  int64_t dim = r.dims.empty() ? 0 : r.dims[0];
  if (r.x.rank() == 0)
    return emit.constant(DType::Int64, {}, Value::ofInt(SymExpr(0)));
  Value position = emit.iota(r.x.shape(), dim, DType::Int64);
  Reduction first = r;
  Value none = Value::ofInt(SymExpr(std::numeric_limits<int64_t>::max()));
  first.x = emit.map(ScalarOp::Where, {hit, position, none});
  Value index = reduce(emit, tessera::ReduceOp::Min, first);
  emit.indexEnds.try_emplace(index.tensor, r.x.shape()[dim]);
  return index;
}

/// max and min: of all elements; (values, indices) along a dimension; of two tensors.
static Value maxOrMin(Args &args) {
  Emitter &emit = args.emit();
  bool isMax = args.builtin.reduce == tessera::ReduceOp::Max;
  if (args[1].isTensor())
    return emit.map(isMax ? ScalarOp::Maximum : ScalarOp::Minimum, {args[0], args[1]},
                    {args.ranges[0], args.ranges[1]});
  bool all = args[1].is(Value::None);
  if (args[1].isSequence())
    return args.error(1, "'" + std::string(args.builtin.name) + "' takes one dimension")
        .help(isMax ? "use amax for several" : "use amin for several")
        .fix(args.nameRange(), isMax ? "amax" : "amin");
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r || !checkNotEmpty(args, *r))
    return Value::error();
  Value values = reduce(emit, args.builtin.reduce, *r);
  if (all)
    return values;
  // The gradient goes to the element at the index.
  mlir::Operation *op = r->dims.empty() ? nullptr : values.tensor.getDefiningOp();
  while (op && !mlir::isa<gir::ReduceOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (op)
    op->setAttr(gir::kFirstTieAttr, emit.builder.getUnitAttr());
  return Value::ofTuple({values, indexOfExtreme(emit, args.builtin.reduce, *r)});
}

static Value argExtreme(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r || !checkNotEmpty(args, *r))
    return Value::error();
  if (args[1].is(Value::None) && r->x.rank() != 1) {
    // Over all elements: the flattened tensor.
    r->x = Value::ofTensor(emit.reshape(r->x.tensor, {r->x.type().getNumElements()}));
    r->dims = {0};
    r->keep = false;
  }
  return indexOfExtreme(emit, args.builtin.reduce, *r);
}

static Value anyOrAll(Args &args) {
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r)
    return Value::error();
  // The result for uint8 is uint8, as in PyTorch.
  DType result = Emitter::dtype(r->x) == DType::UInt8 ? DType::UInt8 : DType::Bool;
  r->x = args.emit().cast(r->x, DType::Bool, false);
  return args.emit().cast(reduce(args.emit(), args.builtin.reduce, *r), result, false);
}

//===------------------------------------------------------------------------------------------===//
// Statistics and softmax
//===------------------------------------------------------------------------------------------===//

static Value mean(Args &args) {
  std::optional<Reduction> r = readReduction(args, 1, 2);
  std::optional<DType> type;
  if (r)
    type = args.dtype(3, Emitter::dtype(r->x));
  if (!type)
    return Value::error();
  r->x = args.emit().cast(r->x, *type, false);
  if (!requireFloat(args, r->x))
    return Value::error();
  return meanOver(args.emit(), r->x, r->dims, r->keep);
}

static Value variance(Args &args) {
  // PyTorch's older forms: var(x, unbiased) and var(x, dim, unbiased).
  if (args[1].is(Value::Bool)) {
    args[2] = args[1];
    args[1] = Value::none();
  }
  if (args[2].is(Value::None))
    args[2] = Value::ofInt(SymExpr(1));
  std::optional<Reduction> r = readReduction(args, 1, 3);
  std::optional<double> correction = args.real(2);
  if (!r || !correction || !requireFloat(args, r->x))
    return Value::error();
  if (!args[4].is(Value::None)) {
    std::optional<bool> unbiased = args.boolean(4);
    if (!unbiased)
      return Value::error();
    correction = *unbiased;
  }
  Emitter &emit = args.emit();
  auto op = gir::VarOp::create(emit.builder, emit.loc(), r->type(), r->x.tensor, r->dims,
                               llvm::APFloat(*correction));
  return withKeptDims(emit, op.getResult(), *r);
}

static Value standardDeviation(Args &args) {
  Value var = variance(args);
  return var.isError() ? var : rootOf(args.emit(), var);
}

static Value logsumexp(Args &args) {
  std::optional<Reduction> r = readReduction(args, 1, 2);
  if (!r)
    return Value::error();
  if (!Emitter::isFloat(Emitter::dtype(r->x)))
    r->x = args.emit().cast(r->x, DType::FP32, false);
  if (r->dims.empty())
    return r->x;
  Emitter &emit = args.emit();
  auto op = gir::LogSumExpOp::create(emit.builder, emit.loc(), r->type(), r->x.tensor, r->dims);
  return withKeptDims(emit, op.getResult(), *r);
}

/// softmax and log_softmax; a rank-0 tensor is one element.
template <typename MakeOp> static Value softmaxOf(Args &args, size_t dtypeIndex, MakeOp make) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  std::optional<DType> type = args.dtype(dtypeIndex, Emitter::dtype(*x));
  std::optional<int64_t> dim = type ? args.dim(1, x->rank(), true) : std::nullopt;
  if (!dim)
    return Value::error();
  Emitter &emit = args.emit();
  x = emit.cast(*x, *type, false);
  if (!requireFloat(args, *x))
    return Value::error();
  Shape shape(x->shape());
  if (shape.empty())
    x = Value::ofTensor(emit.reshape(x->tensor, {SymExpr(1)}));
  return Value::ofTensor(emit.reshape(make(*x, *dim), shape));
}

static Value softmax(Args &args) {
  std::optional<bool> safe = args.boolean(2);
  if (!safe)
    return Value::error();
  return softmaxOf(args, 3, [&](const Value &x, int64_t dim) {
    Emitter &emit = args.emit();
    return gir::SoftmaxOp::create(emit.builder, emit.loc(), x.type(), x.tensor, uint64_t(dim),
                                  *safe)
        .getResult();
  });
}

static Value logSoftmax(Args &args) {
  return softmaxOf(args, 2, [&](const Value &x, int64_t dim) {
    Emitter &emit = args.emit();
    return gir::LogSoftmaxOp::create(emit.builder, emit.loc(), x.type(), x.tensor, uint64_t(dim))
        .getResult();
  });
}

std::vector<Builtin> sema::reductionBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  using R = tessera::ReduceOp;
  auto entry = [](std::string_view name, std::string_view signature, Builtin::Handler handler,
                  std::string_view meaning, R reduce = R::Sum) {
    return Builtin{name, signature, both, handler, meaning, ScalarOp::Add, reduce};
  };
  return {
      entry("sum", "x, dim=None, keepdim=False, *, dtype=None", sum, "sum of elements", R::Sum),
      entry("prod", "x, dim=None, keepdim=False, *, dtype=None", sum, "product of elements",
            R::Prod),
      entry("cumsum", "x, dim, *, dtype=None", cumulative, "sums of all elements up to each",
            R::Sum),
      entry("cumprod", "x, dim, *, dtype=None", cumulative, "products of all elements up to each",
            R::Prod),
      entry("amax", "x, dim=None, keepdim=False", extreme, "largest element", R::Max),
      entry("amin", "x, dim=None, keepdim=False", extreme, "smallest element", R::Min),
      entry("max", "x, dim=None, keepdim=False", maxOrMin,
            "largest element; with dim, values and indices", R::Max),
      entry("min", "x, dim=None, keepdim=False", maxOrMin,
            "smallest element; with dim, values and indices", R::Min),
      entry("argmax", "x, dim=None, keepdim=False", argExtreme, "index of the largest element",
            R::Max),
      entry("argmin", "x, dim=None, keepdim=False", argExtreme, "index of the smallest element",
            R::Min),
      entry("any", "x, dim=None, keepdim=False", anyOrAll, "whether some element is non-zero",
            R::Any),
      entry("all", "x, dim=None, keepdim=False", anyOrAll, "whether all elements are non-zero",
            R::All),
      entry("mean", "x, dim=None, keepdim=False, *, dtype=None", mean, "mean of elements"),
      entry("var", "x, dim=None, correction=1, keepdim=False, unbiased=None", variance,
            "variance of elements"),
      entry("std", "x, dim=None, correction=1, keepdim=False, unbiased=None", standardDeviation,
            "standard deviation of elements"),
      entry("logsumexp", "x, dim, keepdim=False", logsumexp, "log of the sum of exponentials"),
      entry("softmax", "x, dim, safe=False, dtype=None", softmax,
            "exponentials divided by their sum; safe gives zeros for rows of -inf"),
      entry("log_softmax", "x, dim, dtype=None", logSoftmax, "logarithm of the softmax"),
  };
}
