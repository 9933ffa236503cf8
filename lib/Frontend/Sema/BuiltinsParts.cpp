//===- BuiltinsParts.cpp - Slices, concatenation and padding --------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

static Value tensorOf(mlir::Value value) { return Value::ofTensor(value); }

//===------------------------------------------------------------------------------------------===//
// Slices and concatenation
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
  // flip(x, ()) reverses nothing, flip(x) everything.
  bool isGiven = args.ranges[1].begin != args.range.begin;
  if (isGiven && args[1].elements->empty())
    return *x;
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

/// Concatenates tensors of one type along a dimension. `given` are the program's tensors if they
/// have one dimension less.
static Value join(Args &args, std::vector<Value> parts, int64_t dim,
                  llvm::ArrayRef<Value> given = {}) {
  Emitter &emit = args.emit();
  DType common = Emitter::dtype(parts[0]);
  for (const Value &x : parts)
    common = Emitter::promote(common, Emitter::dtype(x));
  llvm::SmallVector<mlir::Value> inputs;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Value &x = parts[k];
    for (unsigned i = 0; i < parts[0].rank(); ++i) {
      if (int64_t(i) == dim || args.in.sizes.equal(parts[0].shape()[i], x.shape()[i], args.range))
        continue;
      unsigned shown = given.empty() || int64_t(i) < dim ? i : i - 1;
      bool written = !args.parts.empty() && k < args.parts[0].size();
      auto operand = [&](size_t which) -> Interpreter::Operand {
        return {given.empty() ? parts[which] : given[which],
                written ? args.part(0, which) : SourceRange()};
      };
      return args.in.sizeMismatch(args.ranges[0],
                                  "sizes do not match in dimension " + std::to_string(shown) +
                                      ": '" + parts[0].shape()[i].str() + "' and '" +
                                      x.shape()[i].str() + "'",
                                  parts[0].shape()[i], x.shape()[i], operand(0), operand(k));
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

/// The tensors of a sequence, which have one rank. With `skipEmpty`, tensors of shape [0]
/// contribute only their type, as in PyTorch.
static std::optional<std::vector<Value>> tensorList(Args &args, bool skipEmpty = false) {
  if (args[0].isTensor() && args.call) {
    ErrorBuilder report =
        args.error(0, "expected a tuple or a list for '" + std::string(args.builtin.name) +
                          "', found " + describe(args[0]));
    report.help("put the tensors in a list");
    // All positional arguments belong to it.
    report.fix(args.call->args.front()->range.atBegin(), "[")
        .fix(args.call->args.back()->range.atEnd(), "]");
    return std::nullopt;
  }
  std::optional<std::vector<Value>> parts =
      args.in.toSequence(args[0], args.ranges[0], "'" + std::string(args.builtin.name) + "'");
  if (!parts)
    return std::nullopt;
  if (parts->empty()) {
    args.error(0, "expected at least one tensor for '" + std::string(args.builtin.name) + "'");
    return std::nullopt;
  }
  for (size_t k = 0; k < parts->size(); ++k) {
    Value &x = (*parts)[k];
    if (x.isError())
      return std::nullopt;
    if (!x.isTensor()) {
      args.in.error(args.part(0, k), "expected tensors for '" + std::string(args.builtin.name) +
                                         "', found " + describe(x));
      return std::nullopt;
    }
    x = args.emit().asTensor(x);
  }
  auto isEmpty = [](const Value &x) { return x.rank() == 1 && x.shape()[0].isConstant(0); };
  if (skipEmpty && !llvm::all_of(*parts, isEmpty) && llvm::any_of(*parts, isEmpty)) {
    DType common = Emitter::dtype((*parts)[0]);
    for (const Value &x : *parts)
      common = Emitter::promote(common, Emitter::dtype(x));
    std::erase_if(*parts, isEmpty);
    (*parts)[0] = args.emit().cast((*parts)[0], common, false);
  }
  for (size_t k = 0; k < parts->size(); ++k) {
    const Value &x = (*parts)[k];
    if (x.rank() != (*parts)[0].rank()) {
      args.in
          .error(args.part(0, k), "expected tensors of equal rank for '" +
                                      std::string(args.builtin.name) + "', found " +
                                      describe((*parts)[0]) + " and " + describe(x))
          .note(args.part(0, 0), "the first tensor is here");
      return std::nullopt;
    }
  }
  return parts;
}

static Value concat(Args &args) {
  std::optional<std::vector<Value>> parts = tensorList(args, /*skipEmpty=*/true);
  if (!parts)
    return Value::error();
  for (const Value &x : *parts)
    if (x.rank() == 0)
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
  std::vector<Value> given = *parts;
  for (Value &x : *parts)
    x = tensorOf(args.emit().unsqueeze(x.tensor, {*dim}));
  return join(args, *parts, *dim, given);
}

/// split(x, size or sizes) and chunk(x, count): the number of parts must be known.
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
      return args.in.sizeMismatch(args.ranges[1],
                                  "expected parts of '" + size.str() + "' in all, found '" +
                                      total.str() + "'",
                                  size, total);
  } else {
    std::optional<int64_t> number = args.integer(1);
    std::optional<int64_t> whole = number ? args.in.fix(size, args.ranges[1]) : std::nullopt;
    if (!whole)
      return Value::error();
    bool isChunk = args.builtin.name == "chunk";
    if (*number < 1)
      return args.error(1, "expected at least 1 for '" + std::string(args.builtin.params[1].name) +
                               "' of '" + std::string(args.builtin.name) + "', found " +
                               std::to_string(*number));
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

/// Elements that are shifted out at the end of a dimension reenter at its front.
static Value rollDim(Args &args, const Value &x, int64_t dim, int64_t shift) {
  SymExpr size = x.shape()[dim];
  if (size.isConstant(0))
    return x;
  SymExpr head = size.isConstant() || shift != 0 ? SymExpr(shift).mod(size) : SymExpr(0);
  if (!head.isConstant()) {
    // The shift is below the size for all but the smallest sizes.
    std::optional<bool> below =
        args.in.sizes.nonNegative(size - SymExpr(std::abs(shift)), args.range);
    if (below != true) {
      std::optional<int64_t> value = args.in.fix(size, args.range);
      if (!value)
        return Value::error();
      head = SymExpr(shift).mod(SymExpr(*value));
    } else {
      head = shift >= 0 ? SymExpr(shift) : size + SymExpr(shift);
    }
  }
  if (head.isConstant(0))
    return x;
  Value tail = tensorOf(part(args.emit(), x, dim, size - head, head));
  Value front = tensorOf(part(args.emit(), x, dim, SymExpr(0), size - head));
  return join(args, {tail, front}, dim);
}

/// One shift per dimension; without dimensions, of the flattened tensor.
static Value roll(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  auto listOf = [](const Value &value) {
    return value.isSequence() ? *value.elements : std::vector<Value>{value};
  };
  std::vector<Value> shifts = listOf(args[1]);
  bool flat = args[2].is(Value::None) || (args[2].isSequence() && args[2].elements->empty());
  std::vector<Value> dims = flat ? std::vector<Value>{Value::ofInt(SymExpr(0))} : listOf(args[2]);
  if (shifts.size() != dims.size())
    return args.error(1, "expected as many shifts as dimensions, " + std::to_string(dims.size()) +
                             ", found " + std::to_string(shifts.size()));
  Emitter &emit = args.emit();
  Shape shape(x->shape());
  if (flat)
    x = tensorOf(emit.reshape(x->tensor, {x->type().getNumElements()}));
  for (size_t i = 0; i < dims.size(); ++i) {
    args[1] = shifts[i];
    args[2] = dims[i];
    std::optional<int64_t> dim = args.dim(2, x->rank());
    std::optional<int64_t> shift = dim ? args.integer(1) : std::nullopt;
    if (!shift)
      return Value::error();
    x = rollDim(args, *x, *dim, *shift);
    if (x->isError())
      return *x;
  }
  return flat ? tensorOf(emit.reshape(x->tensor, shape)) : *x;
}

//===------------------------------------------------------------------------------------------===//
// Padding
//===------------------------------------------------------------------------------------------===//

namespace {
enum class PadMode { Constant, Reflect, Replicate, Circular };

/// One side of a dimension that is padded: its width, and which side.
struct Border {
  int64_t dim;
  bool isLeft;
  SymExpr width;
};
} // namespace

static Value flipped(Emitter &emit, const Value &x, int64_t dim) {
  Shape starts(x.rank(), SymExpr(0));
  llvm::SmallVector<int64_t> steps(x.rank(), 1);
  starts[dim] = x.shape()[dim] - SymExpr(1);
  steps[dim] = -1;
  return tensorOf(emit.slice(x.tensor, starts, steps, x.shape()));
}

/// The padding of `x` on one side; `x` has the whole dimension.
static Value borderOf(Args &args, const Value &x, PadMode mode, Border border) {
  Emitter &emit = args.emit();
  auto [dim, isLeft, width] = border;
  SymExpr size = x.shape()[dim], one(1);
  Shape shape(x.shape());
  shape[dim] = width;
  switch (mode) {
  case PadMode::Constant: {
    Value fill = args[3].is(Value::None) ? Value::ofInt(SymExpr(0)) : args[3];
    return emit.constant(Emitter::dtype(x), shape, fill);
  }
  case PadMode::Replicate: {
    mlir::Value edge = part(emit, x, dim, isLeft ? SymExpr(0) : size - one, one);
    return tensorOf(emit.broadcastTo(edge, shape));
  }
  case PadMode::Reflect:
  case PadMode::Circular: {
    // A reflection excludes the edge itself.
    bool mirror = mode == PadMode::Reflect;
    std::optional<bool> fits =
        args.in.sizes.nonNegative(size - width - SymExpr(int64_t(mirror)), args.ranges[1]);
    if (fits != true)
      return args.error(1, "expected widths " + std::string(mirror ? "below" : "of at most") +
                               " the size '" + size.str() + "' of dimension " +
                               std::to_string(dim) + ", found '" + width.str() + "'");
    SymExpr start =
        isLeft == mirror ? SymExpr(int64_t(mirror)) : size - width - SymExpr(int64_t(mirror));
    Value taken = tensorOf(part(emit, x, dim, start, width));
    return mirror ? flipped(emit, taken, dim) : taken;
  }
  }
  llvm_unreachable("a mode of padding");
}

/// Pads a dimension on both sides; negative widths crop it.
static Value padDim(Args &args, const Value &x, PadMode mode, int64_t dim, SymExpr left,
                    SymExpr right) {
  Emitter &emit = args.emit();
  SymExpr zero(0), start(0), size = x.shape()[dim];
  SymExpr *widths[] = {&left, &right};
  for (SymExpr *width : widths) {
    std::optional<bool> positive = args.in.sizes.nonNegative(*width, args.ranges[1]);
    if (!positive)
      return args.error(1, "the sign of the width '" + width->str() + "' must be known");
    if (*positive)
      continue;
    if (width == &left)
      start = zero - *width;
    size = size + *width;
    *width = zero;
  }
  // One side may crop more than the size if the other side pads enough.
  std::optional<bool> some = args.in.sizes.nonNegative(size, args.ranges[1]);
  if (some != true) {
    SymExpr &other = left.isConstant(0) ? right : left;
    other = other + size;
    size = start = zero;
    if (args.in.sizes.nonNegative(other, args.ranges[1]) != true)
      return args.error(1, "the widths leave nothing of dimension " + std::to_string(dim) + " of " +
                               describe(x));
  }
  // Circular padding reads elements that the other side has not cropped.
  Value middle = tensorOf(part(emit, x, dim, start, size));
  const Value &source = mode == PadMode::Circular ? middle : x;
  std::vector<Value> pieces;
  auto add = [&](bool isLeft, SymExpr width) {
    if (!width.isConstant(0))
      pieces.push_back(borderOf(args, source, mode, {dim, isLeft, width}));
  };
  add(true, left);
  pieces.push_back(middle);
  add(false, right);
  for (const Value &piece : pieces)
    if (piece.isError())
      return piece;
  return join(args, pieces, dim);
}

/// Pads the last dimensions, like PyTorch's `pad`: (left, right) pairs from the last one on.
static Value pad(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Shape> widths = x ? args.shape(1) : std::nullopt;
  if (!widths)
    return Value::error();
  // pad(x, widths, value)
  if (args[2].isNumber() && args[3].is(Value::None)) {
    args[3] = args[2];
    args[2] = Value::ofStr("constant");
  }
  std::string text = args[2].is(Value::Str) ? *args[2].text : "";
  static constexpr std::pair<std::string_view, PadMode> modes[] = {
      {"constant", PadMode::Constant},
      {"reflect", PadMode::Reflect},
      {"replicate", PadMode::Replicate},
      {"circular", PadMode::Circular}};
  auto mode = llvm::find_if(modes, [&](const auto &one) { return one.first == text; });
  if (mode == std::end(modes))
    return args.error(2, "expected 'constant', 'reflect', 'replicate' or 'circular' for 'mode', "
                         "found " +
                             describe(args[2]));
  if (widths->size() % 2 || widths->size() / 2 > x->rank())
    return args.error(1, "expected pairs of widths for at most " + std::to_string(x->rank()) +
                             " dimensions, found " + std::to_string(widths->size()) + " numbers");
  if (!args[3].is(Value::None) && !args[3].isStaticNumber())
    return args.error(3, "expected a number that is known when the function is compiled");
  Value result = *x;
  for (size_t i = 0; i + 1 < widths->size() && !result.isError(); i += 2)
    if (!(*widths)[i].isConstant(0) || !(*widths)[i + 1].isConstant(0))
      result =
          padDim(args, result, mode->second, x->rank() - 1 - i / 2, (*widths)[i], (*widths)[i + 1]);
  return result;
}

/// tril and triu: elements on one side of a diagonal, zeros on the other.
static Value triangle(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (x->rank() < 2)
    return args.error(0, "expected at least two dimensions for '" + std::string(args.builtin.name) +
                             "', found " + describe(*x));
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

std::vector<Builtin> sema::partBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method, function = Builtin::Function;
  return {
      {"flip", "x, *dims", both, flip, "elements in reverse order"},
      {"roll", "x, shifts, dims=None", both, roll,
       "elements moved along dimensions, around their ends"},
      {"concat", "tensors, dim=0", function, concat, "tensors joined along a dimension"},
      {"cat", "tensors, dim=0", function, concat, "as concat"},
      {"concatenate", "tensors, dim=0", function, concat, "as concat"},
      {"stack", "tensors, dim=0", function, stack, "tensors joined along a new dimension"},
      {"split", "x, sizes, dim=0", both, split, "parts of a size, or of the sizes given"},
      {"chunk", "x, chunks, dim=0", both, split, "a given number of parts"},
      {"pad", "x, pad, mode='constant', value=None", both, pad,
       "the last dimensions extended: by a constant, 'reflect', 'replicate' or 'circular'"},
      {"tril", "x, diagonal=0", both, triangle, "zeros above a diagonal"},
      {"triu", "x, diagonal=0", both, triangle, "zeros below a diagonal"},
  };
}
