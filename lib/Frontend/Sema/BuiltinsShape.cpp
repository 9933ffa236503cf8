//===- BuiltinsShape.cpp - Views: shapes and permutations -------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

static Value tensorOf(mlir::Value value) { return Value::ofTensor(value); }

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

static Value shapeTuple(const Value &x) {
  std::vector<Value> sizes;
  for (SymExpr size : x.shape())
    sizes.push_back(Value::ofInt(size));
  return Value::ofTuple(std::move(sizes));
}

static Value shape(Args &args) { return shapeTuple(args[0]); }
static Value dtypeOf(Args &args) {
  return Value::ofDType(Emitter::dtype(args.emit().asTensor(args[0])));
}
static Value ndim(Args &args) { return Value::ofInt(SymExpr(int64_t(args[0].rank()))); }
static Value numel(Args &args) { return Value::ofInt(args[0].type().getNumElements()); }

static Value sizeOf(Args &args) {
  if (args[1].is(Value::None))
    return shapeTuple(args[0]);
  std::optional<int64_t> dim = args.dim(1, args[0].rank());
  return dim ? Value::ofInt(args[0].shape()[*dim]) : Value::error();
}

/// T reverses all dimensions, mT swaps the last two.
static Value reversed(Args &args) {
  llvm::SmallVector<int64_t> permutation;
  for (int64_t i = args[0].rank(); i-- > 0;)
    permutation.push_back(i);
  return tensorOf(args.emit().transpose(args[0].tensor, permutation));
}

static Value matrixTranspose(Args &args) {
  int64_t rank = args[0].rank();
  if (rank < 2)
    return args.in.error(args.range,
                         "'mT' needs at least two dimensions, found " + describe(args[0]));
  llvm::SmallVector<int64_t> permutation = allDims(rank);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return tensorOf(args.emit().transpose(args[0].tensor, permutation));
}

//===------------------------------------------------------------------------------------------===//
// Permutations and shapes
//===------------------------------------------------------------------------------------------===//

static Value transpose(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  int64_t rank = x->rank();
  llvm::SmallVector<int64_t> permutation = allDims(rank);
  if (args[1].is(Value::None) && args[2].is(Value::None)) {
    std::reverse(permutation.begin(), permutation.end());
    return tensorOf(args.emit().transpose(x->tensor, permutation));
  }
  if (args[1].isSequence())
    return args.in.error(args.ranges[1], "'transpose' swaps two dimensions")
        .help("use permute for a whole order")
        .fix(args.nameRange(), "permute");
  if (args[2].is(Value::None))
    return args.error(1, "'transpose' swaps two dimensions, found one");
  std::optional<int64_t> a = args.dim(1, rank, true), b = args.dim(2, rank, true);
  if (!a || !b)
    return Value::error();
  if (rank)
    std::swap(permutation[*a], permutation[*b]);
  return tensorOf(args.emit().transpose(x->tensor, permutation));
}

static Value permute(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  Value whole = args[1];
  llvm::SmallVector<int64_t> permutation;
  for (size_t k = 0; k < whole.elements->size(); ++k) {
    std::optional<int64_t> dim = args.dim((*whole.elements)[k], args.part(1, k), 1, x->rank());
    if (!dim)
      return Value::error();
    if (llvm::is_contained(permutation, *dim))
      return args.in.error(args.part(1, k),
                           "dimension " + std::to_string(*dim) + " is named twice");
    permutation.push_back(*dim);
  }
  if (permutation.size() != x->rank())
    return args.error(1, "expected all " + counted(x->rank(), "dimension") +
                             " for 'permute', found " + std::to_string(permutation.size()));
  return tensorOf(args.emit().transpose(x->tensor, permutation));
}

static SymExpr product(llvm::ArrayRef<SymExpr> shape) {
  SymExpr result(1);
  for (SymExpr size : shape)
    result = result * size;
  return result;
}

static Value reshapeTo(Args &args, const Value &x, Shape shape, SourceRange range) {
  Interpreter &in = args.in;
  SymExpr total = x.type().getNumElements();
  std::optional<size_t> open;
  SymExpr known(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].isConstant(-1)) {
      if (open)
        return in.error(args.part(1, i), "only one size can be -1");
      open = i;
      continue;
    }
    if (!args.checkSizes(1, shape[i]))
      return Value::error();
    known = known * shape[i];
  }
  if (known.str().size() > Interpreter::maxSizeText)
    return in.error(range, "the size expression is too complex");
  if (open) {
    std::optional<int64_t> have = in.sizes.valueAtHand(total);
    std::optional<int64_t> divisor = in.sizes.valueAtHand(known);
    if (known.isConstant(0) || (have && divisor && (*divisor == 0 || *have % *divisor != 0)))
      return in.sizeMismatch(range,
                             "cannot reshape " + describe(x) + " to " + shapeText(shape) + ": '" +
                                 total.str() + "' is not a multiple of '" + known.str() + "'",
                             total, known);
    // Unchanged sizes are not part of the quotient.
    Shape rest(x.shape());
    known = SymExpr(1);
    for (size_t i = 0; i < shape.size(); ++i) {
      auto same = i == *open ? rest.end() : llvm::find(rest, shape[i]);
      if (same != rest.end())
        rest.erase(same);
      else if (i != *open)
        known = known * shape[i];
    }
    total = product(rest);
    SymExpr remainder = total.mod(known);
    // Divisibility is known from the symbols, or assumed by a guard.
    if (!remainder.isConstant(0) &&
        !(known.isConstant() && in.sizes.knownDivisor(total) % known.constantValue() == 0))
      in.sizes.guard(remainder, SymExpr(0), range);
    shape[*open] = total.floorDiv(known);
  } else if (!in.sizes.equal(total, known, range)) {
    return in.sizeMismatch(range,
                           "cannot reshape " + describe(x) + " to " + shapeText(shape) + ": '" +
                               total.str() + "' elements become '" + known.str() + "'",
                           total, known);
  }
  return tensorOf(args.emit().reshape(x.tensor, shape));
}

static Value reshape(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (args[1].is(Value::DType))
    return args.error(1, "'view' with a type is not supported by this compiler");
  std::optional<Shape> shape = args.shape(1);
  return shape ? reshapeTo(args, *x, *shape, args.ranges[1]) : Value::error();
}

static Value flatten(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  std::optional<int64_t> from = args.dim(1, x->rank(), true), to = args.dim(2, x->rank(), true);
  if (!from || !to)
    return Value::error();
  if (*from > *to)
    return args.error(1, "expected 'start_dim' not after 'end_dim', found " +
                             std::to_string(*from) + " and " + std::to_string(*to));
  Shape shape(x->shape().take_front(*from));
  shape.push_back(product(x->shape().slice(*from, x->rank() ? *to - *from + 1 : 0)));
  if (x->rank())
    llvm::append_range(shape, x->shape().drop_front(*to + 1));
  return tensorOf(args.emit().reshape(x->tensor, shape));
}

static Value unsqueeze(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  std::optional<int64_t> dim = args.dim(1, x->rank() + 1);
  return dim ? tensorOf(args.emit().unsqueeze(x->tensor, {*dim})) : Value::error();
}

static Value squeeze(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (args[1].isSequence() && args[1].elements->empty())
    return *x;
  auto dims = args.dims(1, x->rank());
  if (!dims)
    return Value::error();
  // A computed size may be 1 without being a constant.
  llvm::SmallVector<int64_t> dropped;
  for (int64_t dim : *dims) {
    SymExpr size = x->shape()[dim];
    if (!size.isConstant() && args.in.sizes.valueAtHand(size) == 1)
      args.in.sizes.fix(size, args.range);
    if (size.isConstant(1))
      dropped.push_back(dim);
  }
  return tensorOf(args.emit().dropDims(x->tensor, dropped));
}

/// -1 keeps a size; a size of 1 is repeated.
static Value expand(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Shape> shape = x ? args.shape(1) : std::nullopt;
  if (!shape)
    return Value::error();
  if (shape->size() < x->rank())
    return args.error(1, "expected at least " + counted(x->rank(), "size") + " for '" +
                             std::string(args.builtin.name) + "', found " +
                             std::to_string(shape->size()));
  size_t extra = shape->size() - x->rank();
  for (size_t i = 0; i < shape->size(); ++i) {
    SymExpr &size = (*shape)[i];
    SymExpr have = i < extra ? SymExpr(1) : x->shape()[i - extra];
    if (size.isConstant(-1)) {
      if (i < extra)
        return args.in.error(args.part(1, i), "-1 is not a size of a new dimension");
      size = have;
    }
    if (!args.checkSizes(1, size))
      return Value::error();
    if (!have.isConstant(1) && !args.in.sizes.equal(size, have, args.range))
      return args.in.sizeMismatch(args.part(1, i),
                                  "cannot expand size '" + have.str() + "' of dimension " +
                                      std::to_string(i - extra) + " to '" + size.str() + "'",
                                  have, size);
  }
  return tensorOf(args.emit().broadcastTo(x->tensor, *shape));
}

static Value expandAs(Args &args) {
  if (!args[1].isTensor())
    return args.error(1, "expected a tensor, found " + describe(args[1]));
  args[1] = shapeTuple(args[1]);
  return expand(args);
}

/// Repeats: each dimension becomes (copies, size) and is merged.
static Value repeat(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Shape> counts = x ? args.shape(1) : std::nullopt;
  if (!counts)
    return Value::error();
  if (counts->size() < x->rank())
    return args.error(1, "expected at least " + counted(x->rank(), "count") +
                             " for 'repeat', found " + std::to_string(counts->size()));
  if (!args.checkSizes(1, *counts))
    return Value::error();
  Emitter &emit = args.emit();
  size_t extra = counts->size() - x->rank();
  Shape wide, merged;
  llvm::SmallVector<int64_t> inserted;
  for (size_t i = 0; i < counts->size(); ++i) {
    SymExpr size = i < extra ? SymExpr(1) : x->shape()[i - extra];
    inserted.push_back(wide.size());
    wide.push_back((*counts)[i]);
    if (i >= extra)
      wide.push_back(size);
    merged.push_back((*counts)[i] * size);
  }
  mlir::Value value = emit.broadcastTo(emit.unsqueeze(x->tensor, inserted), wide);
  return tensorOf(emit.reshape(value, merged));
}

static Value identity(Args &args) {
  std::optional<Value> x = args.tensor(0);
  return x ? *x : Value::error();
}

std::vector<Builtin> sema::shapeBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  constexpr uint8_t method = Builtin::Method, property = Builtin::Property;
  return {
      {"shape", "x", property, shape, "the sizes as a tuple"},
      {"dtype", "x", property, dtypeOf, "the element type"},
      {"ndim", "x", property, ndim, "the number of dimensions"},
      {"T", "x", property, reversed, "all dimensions reversed"},
      {"mT", "x", property, matrixTranspose, "the last two dimensions swapped"},
      {"size", "x, dim=None", method, sizeOf, "a size, or all as a tuple"},
      {"dim", "x", method, ndim, "the number of dimensions"},
      {"numel", "x", method, numel, "the number of elements"},
      {"contiguous", "x", method, identity, "x itself: layouts are the compiler's"},
      {"clone", "x", method, identity, "x itself: tensors are values"},
      {"transpose", "x, dim0=None, dim1=None", both, transpose, "two dimensions swapped"},
      {"swapaxes", "x, dim0, dim1", both, transpose, "two dimensions swapped"},
      {"swapdims", "x, dim0, dim1", both, transpose, "two dimensions swapped"},
      {"permute", "x, *dims", both, permute, "dimensions in another order"},
      {"reshape", "x, *shape", both, reshape,
       "the same elements in another shape; one size may be -1"},
      {"view", "x, *shape", both, reshape, "as reshape"},
      {"flatten", "x, start_dim=0, end_dim=-1", both, flatten, "dimensions merged into one"},
      {"unsqueeze", "x, dim", both, unsqueeze, "a new dimension of size 1"},
      {"squeeze", "x, dim=None", both, squeeze, "dimensions of size 1 removed"},
      {"expand", "x, *shape", both, expand, "dimensions of size 1 repeated; -1 keeps a size"},
      {"expand_as", "x, y", both, expandAs, "x repeated to the shape of y"},
      {"broadcast_to", "x, *shape", both, expand, "dimensions of size 1 repeated"},
      {"repeat", "x, *counts", both, repeat, "copies along each dimension"},
  };
}
