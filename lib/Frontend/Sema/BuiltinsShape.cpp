//===- BuiltinsShape.cpp - Views: shapes, permutations, parts and joins -----------------------===//
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
    return args.in.error(args.range, "'mT' needs at least two dimensions, found " +
                                         describe(args[0]));
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
  if (args[1].isSequence() || args[2].is(Value::None))
    return args.in.error(args.range, "'transpose' swaps two dimensions")
        .help("use permute for a whole order");
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
  for (const Value &part : *whole.elements) {
    args[1] = part;
    std::optional<int64_t> dim = args.dim(1, x->rank());
    if (!dim)
      return Value::error();
    if (llvm::is_contained(permutation, *dim))
      return args.error(1, "dimension " + std::to_string(*dim) + " is named twice");
    permutation.push_back(*dim);
  }
  if (permutation.size() != x->rank())
    return args.error(1, "expected " + std::to_string(x->rank()) +
                             " dimensions for 'permute', found " +
                             std::to_string(permutation.size()));
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
        return in.error(range, "only one size can be -1");
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
      return in.sizeMismatch(range, "cannot reshape " + describe(x) + " to " + shapeText(shape) +
                                        ": '" + total.str() + "' is not a multiple of '" +
                                        known.str() + "'",
                             total, known);
    // Sizes that stay are no part of the quotient.
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
    // Divisible at hand: by what is known of the symbols, or by a guard.
    if (!remainder.isConstant(0) &&
        !(known.isConstant() && in.sizes.knownDivisor(total) % known.constantValue() == 0))
      in.sizes.guard(remainder, SymExpr(0), range);
    shape[*open] = total.floorDiv(known);
  } else if (!in.sizes.equal(total, known, range)) {
    return in.sizeMismatch(range, "cannot reshape " + describe(x) + " to " + shapeText(shape) +
                                      ": '" + total.str() + "' elements become '" + known.str() +
                                      "'",
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
    return args.error(1, "'start_dim' is behind 'end_dim'");
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
  auto dims = args.dims(1, x->rank());
  if (!dims)
    return Value::error();
  // A computed size may be 1 without showing it.
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
    return args.error(1, "expected at least " + std::to_string(x->rank()) + " sizes, found " +
                             std::to_string(shape->size()));
  size_t extra = shape->size() - x->rank();
  for (size_t i = 0; i < shape->size(); ++i) {
    SymExpr &size = (*shape)[i];
    SymExpr have = i < extra ? SymExpr(1) : x->shape()[i - extra];
    if (size.isConstant(-1)) {
      if (i < extra)
        return args.error(1, "-1 is not a size of a new dimension");
      size = have;
    }
    if (!args.checkSizes(1, size))
      return Value::error();
    if (!have.isConstant(1) && !args.in.sizes.equal(size, have, args.range))
      return args.in.sizeMismatch(args.ranges[1],
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

/// Copies side by side: each dimension becomes (copies, size) and is merged.
static Value repeat(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Shape> counts = x ? args.shape(1) : std::nullopt;
  if (!counts)
    return Value::error();
  if (counts->size() < x->rank())
    return args.error(1, "expected at least " + std::to_string(x->rank()) + " counts, found " +
                             std::to_string(counts->size()));
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

//===------------------------------------------------------------------------------------------===//
// Parts and joins
//===------------------------------------------------------------------------------------------===//

static mlir::Value part(Emitter &emit, const Value &x, int64_t dim, SymExpr start, SymExpr size) {
  Shape starts(x.rank(), SymExpr(0)), sizes(x.shape());
  starts[dim] = start;
  sizes[dim] = size;
  return emit.slice(x.tensor, starts, llvm::SmallVector<int64_t>(x.rank(), 1), sizes);
}

static Value flip(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  auto dims = args.dims(1, x->rank());
  if (!dims)
    return Value::error();
  Shape starts(x->rank(), SymExpr(0));
  llvm::SmallVector<int64_t> steps(x->rank(), 1);
  for (int64_t dim : *dims) {
    if (x->shape()[dim].isConstant(0))
      continue;
    starts[dim] = x->shape()[dim] - SymExpr(1);
    steps[dim] = -1;
  }
  return tensorOf(args.emit().slice(x->tensor, starts, steps, x->shape()));
}

/// Joins tensors of one type along a dimension.
static Value join(Args &args, std::vector<Value> parts, int64_t dim) {
  Emitter &emit = args.emit();
  DType common = Emitter::dtype(parts[0]);
  for (const Value &x : parts)
    common = Emitter::promote(common, Emitter::dtype(x));
  llvm::SmallVector<mlir::Value> inputs;
  for (const Value &x : parts) {
    for (unsigned i = 0; i < parts[0].rank(); ++i) {
      if (int64_t(i) == dim || args.in.sizes.equal(parts[0].shape()[i], x.shape()[i], args.range))
        continue;
      return args.in.sizeMismatch(args.ranges[0],
                                  "sizes do not match in dimension " + std::to_string(i) + ": '" +
                                      parts[0].shape()[i].str() + "' and '" + x.shape()[i].str() +
                                      "'",
                                  parts[0].shape()[i], x.shape()[i]);
    }
    Shape shape(parts[0].shape());
    shape[dim] = x.shape()[dim];
    inputs.push_back(emit.reshape(emit.cast(x, common, false).tensor, shape));
  }
  if (inputs.size() == 1)
    return tensorOf(inputs[0]);
  return tensorOf(
      gir::ConcatOp::create(emit.builder, emit.loc(), dim, mlir::ValueRange(inputs)).getResult());
}

static std::optional<std::vector<Value>> tensorList(Args &args) {
  std::optional<std::vector<Value>> parts =
      args.in.toSequence(args[0], args.ranges[0], "'" + std::string(args.builtin.name) + "'");
  if (!parts)
    return std::nullopt;
  if (parts->empty()) {
    args.error(0, "expected at least one tensor for '" + std::string(args.builtin.name) + "'");
    return std::nullopt;
  }
  for (Value &x : *parts) {
    if (x.isError())
      return std::nullopt;
    if (!x.isTensor()) {
      args.error(0, "expected tensors for '" + std::string(args.builtin.name) + "', found " +
                        describe(x));
      return std::nullopt;
    }
    x = args.emit().asTensor(x);
    if (x.rank() != (*parts)[0].rank()) {
      args.error(0, "expected tensors of equal rank for '" + std::string(args.builtin.name) +
                        "', found " + describe((*parts)[0]) + " and " + describe(x));
      return std::nullopt;
    }
  }
  return parts;
}

static Value concat(Args &args) {
  std::optional<std::vector<Value>> parts = tensorList(args);
  if (!parts)
    return Value::error();
  if ((*parts)[0].rank() == 0)
    return args.error(0, "tensors without dimensions cannot be joined").help("use stack");
  std::optional<int64_t> dim = args.dim(1, (*parts)[0].rank());
  return dim ? join(args, *parts, *dim) : Value::error();
}

static Value stack(Args &args) {
  std::optional<std::vector<Value>> parts = tensorList(args);
  if (!parts)
    return Value::error();
  std::optional<int64_t> dim = args.dim(1, (*parts)[0].rank() + 1);
  if (!dim)
    return Value::error();
  for (Value &x : *parts)
    x = tensorOf(args.emit().unsqueeze(x.tensor, {*dim}));
  return join(args, *parts, *dim);
}

/// split(x, size or sizes) and chunk(x, count): how many parts there are must be known.
static Value split(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<int64_t> dim = x ? args.dim(2, x->rank()) : std::nullopt;
  if (!dim)
    return Value::error();
  if (x->rank() == 0)
    return args.error(0, "a tensor without dimensions cannot be split");
  SymExpr size = x->shape()[*dim];
  std::vector<SymExpr> sizes;
  if (args[1].isSequence()) {
    std::optional<Shape> given = args.shape(1);
    if (!given)
      return Value::error();
    SymExpr total(0);
    if (!args.checkSizes(1, *given))
      return Value::error();
    for (SymExpr one : *given) {
      total = total + one;
      sizes.push_back(one);
    }
    if (!args.in.sizes.equal(total, size, args.range))
      return args.in.sizeMismatch(args.ranges[1], "expected parts of '" + size.str() +
                                                      "' in all, found '" + total.str() + "'",
                                  size, total);
  } else {
    std::optional<int64_t> number = args.integer(1);
    std::optional<int64_t> whole = number ? args.in.fix(size, args.ranges[1]) : std::nullopt;
    if (!whole)
      return Value::error();
    bool isChunk = args.builtin.name == "chunk";
    if (*number < 1)
      return args.error(1, "expected at least 1, found " + std::to_string(*number));
    int64_t step = isChunk ? std::max<int64_t>((*whole + *number - 1) / *number, 1) : *number;
    if (*whole / step > int64_t(Interpreter::maxElements))
      return args.error(1, "there are too many parts");
    for (int64_t at = 0; at < *whole; at += step)
      sizes.push_back(SymExpr(std::min(step, *whole - at)));
    if (sizes.empty())
      sizes.push_back(SymExpr(0));
  }
  std::vector<Value> parts;
  SymExpr start(0);
  for (SymExpr one : sizes) {
    parts.push_back(tensorOf(part(args.emit(), *x, *dim, start, one)));
    start = start + one;
  }
  return Value::ofTuple(std::move(parts));
}

/// Elements that leave at the end come back at the front.
static Value roll(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<int64_t> dim = x ? args.dim(2, x->rank()) : std::nullopt;
  std::optional<int64_t> shift = dim ? args.integer(1) : std::nullopt;
  if (!shift)
    return Value::error();
  SymExpr size = x->shape()[*dim];
  if (size.isConstant(0))
    return *x;
  SymExpr head = size.isConstant() || *shift != 0 ? SymExpr(*shift).mod(size) : SymExpr(0);
  if (!head.isConstant()) {
    // The shift is below the size for all but the smallest sizes.
    std::optional<bool> below = args.in.sizes.nonNegative(
        size - SymExpr(std::abs(*shift)), args.range);
    if (below != true) {
      std::optional<int64_t> value = args.in.fix(size, args.range);
      if (!value)
        return Value::error();
      head = SymExpr(*shift).mod(SymExpr(*value));
    } else {
      head = *shift >= 0 ? SymExpr(*shift) : size + SymExpr(*shift);
    }
  }
  if (head.isConstant(0))
    return *x;
  Value tail = tensorOf(part(args.emit(), *x, *dim, size - head, head));
  Value front = tensorOf(part(args.emit(), *x, *dim, SymExpr(0), size - head));
  return join(args, {tail, front}, *dim);
}

/// Pads the last dimensions, as PyTorch's `pad`: (left, right) pairs from the last one on.
static Value pad(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Shape> widths = x ? args.shape(1) : std::nullopt;
  if (!widths)
    return Value::error();
  if (widths->size() % 2 || widths->size() / 2 > x->rank())
    return args.error(1, "expected pairs of widths for at most " + std::to_string(x->rank()) +
                             " dimensions, found " + std::to_string(widths->size()) + " numbers");
  if (!args[2].isStaticNumber())
    return args.error(2, "expected a number that is known when the function is compiled");
  Value result = *x;
  for (size_t i = 0; i < widths->size(); ++i) {
    SymExpr width = (*widths)[i];
    if (width.isConstant(0))
      continue;
    if (args.in.sizes.nonNegative(width, args.range) != true)
      return args.error(1, "widths must not be negative");
    int64_t dim = x->rank() - 1 - i / 2;
    Shape shape(result.shape());
    shape[dim] = width;
    Value border = args.emit().constant(Emitter::dtype(*x), shape, args[2]);
    result = i % 2 ? join(args, {result, border}, dim) : join(args, {border, result}, dim);
  }
  return result;
}

/// tril and triu: elements on one side of a diagonal, zeros on the other.
static Value triangle(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (x->rank() < 2)
    return args.error(0, "expected at least two dimensions, found " + describe(*x));
  std::optional<SymExpr> diagonal = args.in.toSize(args[1], args.ranges[1], "'diagonal'");
  if (!diagonal)
    return Value::error();
  Emitter &emit = args.emit();
  Value i = emit.iota(x->shape(), x->rank() - 2, DType::Int64);
  Value j = emit.iota(x->shape(), x->rank() - 1, DType::Int64);
  Value edge = diagonal->isConstant(0) ? i : emit.map(ScalarOp::Add, {i, Value::ofInt(*diagonal)});
  bool lower = args.builtin.name == "tril";
  Value keep = emit.map(lower ? ScalarOp::Le : ScalarOp::Ge, {j, edge});
  Value zero = Emitter::dtype(*x) == DType::Bool ? Value::ofBool(false) : Value::ofInt(SymExpr(0));
  return emit.map(ScalarOp::Where, {keep, *x, zero});
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
      {"transpose", "x, dim0=None, dim1=None", both, transpose, "two dimensions swapped"},
      {"swapaxes", "x, dim0, dim1", both, transpose, "two dimensions swapped"},
      {"permute", "x, *dims", both, permute, "dimensions in another order"},
      {"reshape", "x, *shape", both, reshape,
       "the same elements in another shape; one size may be -1"},
      {"view", "x, *shape", method, reshape, "as reshape"},
      {"flatten", "x, start_dim=0, end_dim=-1", both, flatten, "dimensions merged into one"},
      {"unsqueeze", "x, dim", both, unsqueeze, "a new dimension of size 1"},
      {"squeeze", "x, dim=None", both, squeeze, "dimensions of size 1 removed"},
      {"expand", "x, *shape", method, expand, "dimensions of size 1 repeated; -1 keeps a size"},
      {"expand_as", "x, y", method, expandAs, "x repeated to the shape of y"},
      {"broadcast_to", "x, *shape", both, expand, "dimensions of size 1 repeated"},
      {"repeat", "x, *counts", method, repeat, "copies along each dimension"},
      {"flip", "x, *dims", both, flip, "elements in reverse order"},
      {"roll", "x, shifts, dims", both, roll, "elements moved along a dimension, around its end"},
      {"concat", "tensors, dim=0", Builtin::Function, concat, "tensors joined along a dimension"},
      {"cat", "tensors, dim=0", Builtin::Function, concat, "as concat"},
      {"concatenate", "tensors, dim=0", Builtin::Function, concat, "as concat"},
      {"stack", "tensors, dim=0", Builtin::Function, stack, "tensors joined along a new dimension"},
      {"split", "x, sizes, dim=0", both, split, "parts of a size, or of the sizes given"},
      {"chunk", "x, chunks, dim=0", both, split, "so many parts"},
      {"pad", "x, pad, value=0", both, pad, "the last dimensions extended by a constant"},
      {"tril", "x, diagonal=0", both, triangle, "zeros above a diagonal"},
      {"triu", "x, diagonal=0", both, triangle, "zeros below a diagonal"},
  };
}
