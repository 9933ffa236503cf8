//===- BuiltinsWindow.cpp - Convolutions and pooling
//--------------------------------------------===//
//
// Windows slide along the last dimensions of a tensor (`gir.window`). A convolution contracts them
// with weights, and pooling reduces them. The scheduler sees nothing else, so that prologues,
// epilogues and tiles are those of any contraction or reduction.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

#include <limits>

using namespace tessera;
using namespace tessera::sema;

namespace {

using Numbers = llvm::SmallVector<int64_t>;

/// How windows slide along the spatial dimensions.
struct Windows {
  Numbers sizes, steps, dilations, before, after; ///< before, after: the padding

  /// The extent of a window along a dimension.
  int64_t extent(size_t j) const { return dilations[j] * (sizes[j] - 1) + 1; }
};

} // namespace

/// The digit in the operation's name: conv2d has two spatial dimensions.
static int64_t spatialRank(const Args &args) {
  for (char c : args.builtin.name)
    if (c >= '1' && c <= '3')
      return c - '0';
  return 1;
}

static std::string nameOf(const Args &args, size_t i) {
  return "'" + std::string(args.builtin.params[i].name) + "' of '" +
         std::string(args.builtin.name) + "'";
}

/// A number for each spatial dimension: one for all, or a sequence.
static std::optional<Numbers> perDim(Args &args, size_t i, int64_t count, int64_t least) {
  Numbers numbers;
  std::vector<Value> given =
      args[i].isSequence() ? *args[i].elements : std::vector<Value>(count, args[i]);
  if (given.size() == 1)
    given.resize(count, given[0]);
  if (int64_t(given.size()) != count) {
    args.error(i, "expected a number or " + std::to_string(count) + " numbers for " +
                      nameOf(args, i) + ", found " + std::to_string(given.size()));
    return std::nullopt;
  }
  for (size_t k = 0; k < given.size(); ++k) {
    std::optional<int64_t> number = args.in.toInt(given[k], args.part(i, k), nameOf(args, i));
    if (!number)
      return std::nullopt;
    if (*number < least) {
      args.in.error(args.part(i, k), "expected at least " + std::to_string(least) + " for " +
                                         nameOf(args, i) + ", found " + std::to_string(*number));
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// Extends a dimension by a number; a negative width removes elements.
static mlir::Value padded(Emitter &emit, mlir::Value x, int64_t dim, SymExpr before, SymExpr after,
                          const Value &number) {
  auto type = llvm::cast<gir::TensorType>(x.getType());
  auto isNegative = [](SymExpr width) { return width.isConstant() && width.constantValue() < 0; };
  if (isNegative(before) || isNegative(after)) {
    Shape starts(type.getRank(), SymExpr(0)), sizes(type.getShape());
    SymExpr front = isNegative(before) ? SymExpr(0) - before : SymExpr(0);
    SymExpr back = isNegative(after) ? SymExpr(0) - after : SymExpr(0);
    starts[dim] = front;
    sizes[dim] = sizes[dim] - front - back;
    x = emit.slice(x, starts, Numbers(type.getRank(), 1), sizes);
    type = llvm::cast<gir::TensorType>(x.getType());
  }
  llvm::SmallVector<mlir::Value> parts;
  auto addPart = [&](SymExpr width) {
    if (width.isConstant(0) || isNegative(width))
      return;
    Shape shape(type.getShape());
    shape[dim] = width;
    parts.push_back(emit.constant(*dtypeFromMlir(type.getElementType()), shape, number).tensor);
  };
  addPart(before);
  parts.push_back(x);
  addPart(after);
  if (parts.size() == 1)
    return x;
  return gir::ConcatOp::create(emit.builder, emit.loc(), dim, mlir::ValueRange(parts));
}

/// The windows over the last dimensions: [.., positions.., elements..]. Nothing after an error.
static std::optional<mlir::Value> windowsOf(Args &args, const Value &x, const Windows &windows,
                                            const Value &padding) {
  Emitter &emit = args.emit();
  int64_t count = windows.sizes.size(), first = int64_t(x.rank()) - count;
  mlir::Value tensor = x.tensor;
  Numbers dims;
  for (int64_t j = 0; j < count; ++j) {
    dims.push_back(first + j);
    tensor = padded(emit, tensor, first + j, SymExpr(windows.before[j]), SymExpr(windows.after[j]),
                    padding);
    SymExpr size = llvm::cast<gir::TensorType>(tensor.getType()).getDim(first + j);
    if (args.in.sizes.nonNegative(size - SymExpr(windows.extent(j)), args.range) != true) {
      args.error(0, "expected at least " + std::to_string(windows.extent(j)) +
                        " elements with padding in dimension " + std::to_string(first + j) +
                        " for '" + std::string(args.builtin.name) + "', found " + size.str());
      return std::nullopt;
    }
  }
  return gir::WindowOp::create(emit.builder, emit.loc(), tensor, dims, windows.sizes, windows.steps,
                               windows.dilations)
      .getResult();
}

/// x.unfold(dim, size, step)
static Value unfold(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<int64_t> dim = x ? args.dim(1, x->rank()) : std::nullopt;
  std::optional<Numbers> size = dim ? perDim(args, 2, 1, 1) : std::nullopt;
  std::optional<Numbers> step = size ? perDim(args, 3, 1, 1) : std::nullopt;
  if (!step)
    return Value::error();
  SymExpr room = x->shape()[*dim] - SymExpr((*size)[0]);
  if (args.in.sizes.nonNegative(room, args.range) != true)
    return args.error(2, "expected at most " + x->shape()[*dim].str() + " for " + nameOf(args, 2) +
                             ", found " + std::to_string((*size)[0]));
  Numbers dims{*dim}, ones{1};
  return Value::ofTensor(gir::WindowOp::create(args.emit().builder, args.emit().loc(), x->tensor,
                                               dims, *size, *step, ones)
                             .getResult());
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

namespace {

/// The operands of a convolution, with a batch dimension.
struct Convolution {
  Value x, weight;
  std::optional<Value> bias;
  int64_t rank, groups;
  bool isSingle; ///< there was no batch dimension
  Windows windows;
};

} // namespace

static mlir::Value withBatch(Emitter &emit, const Value &x, int64_t rank) {
  return int64_t(x.rank()) == rank + 1 ? emit.unsqueeze(x.tensor, {0}) : x.tensor;
}

/// Splits the dimension of channels into groups.
static mlir::Value grouped(Emitter &emit, mlir::Value x, int64_t dim, int64_t groups) {
  Shape shape(llvm::cast<gir::TensorType>(x.getType()).getShape());
  SymExpr channels = shape[dim].floorDiv(SymExpr(groups));
  shape[dim] = SymExpr(groups);
  shape.insert(shape.begin() + dim + 1, channels);
  return emit.reshape(x, shape);
}

static Numbers range(int64_t first, int64_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Contracts windows with weights [out, in per group, elements..], stride and padding included.
static std::optional<mlir::Value> convolve(Args &args, const Value &x, mlir::Value weight,
                                           int64_t groups, const Windows &windows) {
  Emitter &emit = args.emit();
  int64_t rank = windows.sizes.size();
  std::optional<mlir::Value> view = windowsOf(args, x, windows, Value::ofInt(SymExpr(0)));
  if (!view)
    return std::nullopt;
  SymExpr outputs = llvm::cast<gir::TensorType>(weight.getType()).getDim(0);
  // [batch, (group), channels, positions.., elements..] with [(group), out, channels, elements..]
  bool hasGroups = groups > 1;
  mlir::Value left = *view, right = weight;
  Numbers leftBatch, rightBatch;
  if (hasGroups) {
    left = grouped(emit, left, 1, groups);
    right = grouped(emit, right, 0, groups);
    leftBatch = {1}, rightBatch = {0};
  }
  int64_t shift = hasGroups;
  Numbers leftOver = range(2 + shift + rank, rank), rightOver = range(2 + shift, rank);
  leftOver.insert(leftOver.begin(), 1 + shift);
  rightOver.insert(rightOver.begin(), 1 + shift);
  mlir::Value product = gir::ContractOp::create(emit.builder, emit.loc(), left, right, leftBatch,
                                                rightBatch, leftOver, rightOver);
  // [(group), batch, positions.., out] to [batch, (group), out, positions..]
  Numbers order{shift};
  if (hasGroups)
    order.push_back(0);
  order.push_back(1 + shift + rank);
  llvm::append_range(order, range(1 + shift, rank));
  mlir::Value result = emit.transpose(product, order);
  if (hasGroups) {
    Shape shape(llvm::cast<gir::TensorType>(result.getType()).getShape());
    shape.erase(shape.begin() + 1);
    shape[1] = outputs;
    result = emit.reshape(result, shape);
  }
  return result;
}

/// Tensors, groups and windows of conv and conv_transpose; the padding is the caller's.
static std::optional<Convolution> readConvolution(Args &args, bool isTransposed, size_t stride,
                                                  size_t dilation, size_t groups) {
  std::optional<Value> x = args.tensor(0), weight = x ? args.tensor(1) : std::nullopt;
  if (!weight)
    return std::nullopt;
  int64_t rank = spatialRank(args);
  if (int64_t(x->rank()) != rank + 2 && int64_t(x->rank()) != rank + 1) {
    args.error(0, "expected a tensor of " + std::to_string(rank + 1) + " or " +
                      std::to_string(rank + 2) + " dimensions for '" +
                      std::string(args.builtin.name) + "', found " + describe(*x));
    return std::nullopt;
  }
  if (int64_t(weight->rank()) != rank + 2) {
    args.error(1, "expected weights of " + std::to_string(rank + 2) + " dimensions for '" +
                      std::string(args.builtin.name) + "', found " + describe(*weight));
    return std::nullopt;
  }
  Convolution conv;
  conv.rank = rank;
  conv.isSingle = int64_t(x->rank()) == rank + 1;
  std::optional<Numbers> steps = perDim(args, stride, rank, 1);
  std::optional<Numbers> dilations = steps ? perDim(args, dilation, rank, 1) : std::nullopt;
  std::optional<int64_t> count = dilations ? args.integer(groups) : std::nullopt;
  if (!count)
    return std::nullopt;
  conv.groups = *count;
  conv.windows.steps = *steps;
  conv.windows.dilations = *dilations;
  DType common = Emitter::promote(Emitter::dtype(*x), Emitter::dtype(*weight));
  conv.x = Value::ofTensor(withBatch(args.emit(), args.emit().cast(*x, common, false), rank));
  conv.weight = args.emit().cast(*weight, common, false);
  for (int64_t j = 0; j < rank; ++j) {
    std::optional<int64_t> size = args.in.fix(weight->shape()[2 + j], args.ranges[1]);
    if (!size)
      return std::nullopt;
    if (*size < 1) {
      args.error(1, "expected windows of at least one element, found " + describe(*weight));
      return std::nullopt;
    }
    conv.windows.sizes.push_back(*size);
  }
  SymExpr channels = conv.x.shape()[1];
  SymExpr expected = isTransposed ? channels : channels.floorDiv(SymExpr(*count));
  SymExpr found = weight->shape()[isTransposed ? 0 : 1];
  std::optional<int64_t> outer = args.in.fix(weight->shape()[0], args.ranges[1]);
  std::optional<int64_t> inner = args.in.fix(channels, args.ranges[0]);
  if (!outer || !inner)
    return std::nullopt;
  if (*count < 1 || *inner % *count || *outer % *count) {
    args.error(groups, "expected a divisor of " + std::to_string(*inner) + " and " +
                           std::to_string(*outer) + " channels for " + nameOf(args, groups) +
                           ", found " + std::to_string(*count));
    return std::nullopt;
  }
  if (!args.in.sizes.equal(expected, found, args.range)) {
    args.error(1, "expected weights for " + expected.str() + " channels, found " +
                      describe(conv.weight))
        .note(args.ranges[0], "'x' is " + describe(*x));
    return std::nullopt;
  }
  if (!args[2].is(Value::None)) {
    conv.bias = args.tensor(2);
    if (!conv.bias)
      return std::nullopt;
    SymExpr outputs = isTransposed ? weight->shape()[1] * SymExpr(*count) : SymExpr(*outer);
    if (conv.bias->rank() != 1 ||
        !args.in.sizes.equal(conv.bias->shape()[0], outputs, args.range)) {
      args.wrongShape(2, {outputs}, *conv.bias, "a bias");
      return std::nullopt;
    }
  }
  return conv;
}

/// Adds the bias, and removes a batch dimension that was added.
static Value finish(Args &args, const Convolution &conv, mlir::Value result) {
  Emitter &emit = args.emit();
  Value y = Value::ofTensor(result);
  if (conv.bias) {
    Shape shape(conv.rank + 1, SymExpr(1));
    shape[0] = conv.bias->shape()[0];
    Value bias = Value::ofTensor(emit.reshape(conv.bias->tensor, shape));
    y = emit.cast(emit.map(ScalarOp::Add, {y, bias}), Emitter::dtype(conv.x), false);
  }
  return conv.isSingle ? Value::ofTensor(emit.dropDims(y.tensor, {0})) : y;
}

/// Padding by numbers, 'valid' or 'same'. Nothing after an error.
static bool readPadding(Args &args, size_t i, Windows &windows) {
  int64_t rank = windows.sizes.size();
  if (!args[i].is(Value::Str)) {
    std::optional<Numbers> widths = perDim(args, i, rank, 0);
    if (widths)
      windows.before = windows.after = *widths;
    return widths.has_value();
  }
  if (*args[i].text != "same" && *args[i].text != "valid") {
    args.error(i, "expected numbers, 'same' or 'valid' for " + nameOf(args, i) + ", found " +
                      describe(args[i]));
    return false;
  }
  bool isSame = *args[i].text == "same";
  for (int64_t j = 0; j < rank; ++j) {
    if (isSame && windows.steps[j] != 1) {
      args.error(i, "padding 'same' needs a stride of 1");
      return false;
    }
    int64_t width = isSame ? windows.extent(j) - 1 : 0;
    windows.before.push_back(width / 2);
    windows.after.push_back(width - width / 2);
  }
  return true;
}

/// conv(x, weight, bias, stride, padding, dilation, groups)
static Value convolution(Args &args) {
  std::optional<Convolution> conv = readConvolution(args, false, 3, 5, 6);
  if (!conv || !readPadding(args, 4, conv->windows))
    return Value::error();
  std::optional<mlir::Value> result =
      convolve(args, conv->x, conv->weight.tensor, conv->groups, conv->windows);
  return result ? finish(args, *conv, *result) : Value::error();
}

/// Puts zeros between the elements along a dimension.
static mlir::Value interleaved(Emitter &emit, mlir::Value x, int64_t dim, int64_t step) {
  if (step == 1)
    return x;
  Shape shape(llvm::cast<gir::TensorType>(x.getType()).getShape()), single(shape);
  single.insert(single.begin() + dim + 1, SymExpr(1));
  mlir::Value pairs = padded(emit, emit.reshape(x, single), dim + 1, SymExpr(0), SymExpr(step - 1),
                             Value::ofInt(SymExpr(0)));
  shape[dim] = shape[dim] * SymExpr(step);
  return padded(emit, emit.reshape(pairs, shape), dim, SymExpr(0), SymExpr(1 - step),
                Value::ofInt(SymExpr(0)));
}

/// The transposed convolution: the result's element is a sum over the windows that contain it.
static std::optional<mlir::Value> convolveTransposed(Args &args, Convolution &conv,
                                                     const Numbers &padding,
                                                     const Numbers &outputPadding) {
  Emitter &emit = args.emit();
  Windows windows = conv.windows;
  mlir::Value x = conv.x.tensor, weight = conv.weight.tensor;
  // Weights [in, out per group, elements..] to [out, in per group, elements in reverse order..].
  Shape starts(conv.rank + 2, SymExpr(0));
  Numbers steps(conv.rank + 2, 1);
  for (int64_t j = 0; j < conv.rank; ++j) {
    x = interleaved(emit, x, 2 + j, windows.steps[j]);
    starts[2 + j] = SymExpr(windows.sizes[j] - 1);
    steps[2 + j] = -1;
    windows.before.push_back(windows.extent(j) - 1 - padding[j]);
    windows.after.push_back(windows.extent(j) - 1 - padding[j] + outputPadding[j]);
    windows.steps[j] = 1;
  }
  weight = emit.slice(weight, starts, steps, conv.weight.shape());
  weight = grouped(emit, weight, 0, conv.groups);
  Numbers order = {0, 2, 1};
  llvm::append_range(order, range(3, conv.rank));
  weight = emit.transpose(weight, order);
  Shape shape(llvm::cast<gir::TensorType>(weight.getType()).getShape());
  shape[1] = shape[0] * shape[1];
  shape.erase(shape.begin());
  weight = emit.reshape(weight, shape);
  return convolve(args, Value::ofTensor(x), weight, conv.groups, windows);
}

/// conv_transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
static Value transposedConvolution(Args &args) {
  std::optional<Convolution> conv = readConvolution(args, true, 3, 7, 6);
  if (!conv)
    return Value::error();
  std::optional<Numbers> padding = perDim(args, 4, conv->rank, 0);
  std::optional<Numbers> more = padding ? perDim(args, 5, conv->rank, 0) : std::nullopt;
  if (!more)
    return Value::error();
  for (int64_t j = 0; j < conv->rank; ++j)
    if ((*more)[j] >= std::max(conv->windows.steps[j], conv->windows.dilations[j]))
      return args.error(5, "expected " + nameOf(args, 5) +
                               " below the stride or the dilation, found " +
                               std::to_string((*more)[j]));
  std::optional<mlir::Value> result = convolveTransposed(args, *conv, *padding, *more);
  return result ? finish(args, *conv, *result) : Value::error();
}

/// conv_weight(x, weight_size, grad, stride, padding, dilation, groups): the gradient of a
/// convolution's weights, as in torch.nn.grad.
static Value weightGradient(Args &args) {
  std::optional<Value> x = args.tensor(0), gradient = x ? args.tensor(2) : std::nullopt;
  std::optional<Shape> size = gradient ? args.shape(1) : std::nullopt;
  int64_t rank = spatialRank(args);
  if (!size)
    return Value::error();
  if (int64_t(size->size()) != rank + 2 || int64_t(x->rank()) != rank + 2 ||
      int64_t(gradient->rank()) != rank + 2)
    return args.error(1, "expected tensors and a shape of " + std::to_string(rank + 2) +
                             " dimensions for '" + std::string(args.builtin.name) + "'");
  Windows windows;
  for (int64_t j = 0; j < rank; ++j) {
    std::optional<int64_t> one = args.in.fix((*size)[2 + j], args.ranges[1]);
    if (!one)
      return Value::error();
    windows.sizes.push_back(*one);
  }
  std::optional<Numbers> steps = perDim(args, 3, rank, 1);
  std::optional<Numbers> padding = steps ? perDim(args, 4, rank, 0) : std::nullopt;
  std::optional<Numbers> dilations = padding ? perDim(args, 5, rank, 1) : std::nullopt;
  std::optional<int64_t> groups = dilations ? args.integer(6) : std::nullopt;
  if (!groups)
    return Value::error();
  windows.steps = *steps, windows.dilations = *dilations;
  windows.before = windows.after = *padding;
  Emitter &emit = args.emit();
  auto withChannels = [&](Value &tensor, SymExpr channels, size_t i) {
    Shape shape(tensor.shape());
    if (!args.in.sizes.equal(shape[1], channels, args.range)) {
      args.error(i, "expected " + channels.str() + " channels for " + nameOf(args, i) + ", found " +
                        describe(tensor));
      return false;
    }
    shape[1] = channels;
    tensor = Value::ofTensor(emit.reshape(tensor.tensor, shape));
    return true;
  };
  if (!withChannels(*x, (*size)[1] * SymExpr(*groups), 0) ||
      !withChannels(*gradient, (*size)[0], 2))
    return Value::error();
  std::optional<mlir::Value> view = windowsOf(args, *x, windows, Value::ofInt(SymExpr(0)));
  if (!view)
    return Value::error();
  // Sums over the batch and the positions.
  mlir::Value left = gradient->tensor, right = *view;
  Numbers batch;
  int64_t shift = *groups > 1;
  if (shift) {
    left = grouped(emit, left, 1, *groups);
    right = grouped(emit, right, 1, *groups);
    batch = {1};
  }
  Shape positions(llvm::cast<gir::TensorType>(right.getType()).getShape());
  Shape shape(llvm::cast<gir::TensorType>(left.getType()).getShape());
  Numbers over = range(2 + shift, rank);
  over.insert(over.begin(), 0);
  for (int64_t dim : over) {
    if (!args.in.sizes.equal(shape[dim], positions[dim], args.range))
      return args.error(2, "expected a gradient with size " + positions[dim].str() +
                               " in dimension " + std::to_string(dim ? dim - shift : 0) +
                               ", found " + describe(*gradient));
    shape[dim] = positions[dim];
  }
  left = emit.reshape(left, shape);
  // [(group), out, in, elements..]
  mlir::Value result =
      gir::ContractOp::create(emit.builder, emit.loc(), left, right, batch, batch, over, over);
  return Value::ofTensor(emit.reshape(result, *size));
}

//===------------------------------------------------------------------------------------------===//
// Pooling
//===------------------------------------------------------------------------------------------===//

/// The windows of a pooling operation; `dilation` is the number of its argument, if it has one.
static std::optional<Windows> poolWindows(Args &args, const Value &x,
                                          std::optional<size_t> dilation, size_t ceilMode) {
  int64_t rank = spatialRank(args), first = int64_t(x.rank()) - rank;
  if (int64_t(x.rank()) != rank + 2 && int64_t(x.rank()) != rank + 1) {
    args.error(0, "expected a tensor of " + std::to_string(rank + 1) + " or " +
                      std::to_string(rank + 2) + " dimensions for '" +
                      std::string(args.builtin.name) + "', found " + describe(x));
    return std::nullopt;
  }
  Windows windows;
  std::optional<Numbers> sizes = perDim(args, 1, rank, 1);
  bool isWhole = args[2].is(Value::None) || (args[2].isSequence() && args[2].elements->empty());
  std::optional<Numbers> steps = sizes && !isWhole ? perDim(args, 2, rank, 1) : sizes;
  std::optional<Numbers> padding = steps ? perDim(args, 3, rank, 0) : std::nullopt;
  std::optional<Numbers> dilations = padding ? Numbers(rank, 1) : std::optional<Numbers>();
  if (dilations && dilation)
    dilations = perDim(args, *dilation, rank, 1);
  std::optional<bool> isCeil = dilations ? args.boolean(ceilMode) : std::nullopt;
  if (!isCeil)
    return std::nullopt;
  windows.sizes = *sizes, windows.steps = *steps, windows.dilations = *dilations;
  windows.before = windows.after = *padding;
  for (int64_t j = 0; j < rank; ++j) {
    if (2 * (*padding)[j] > (*sizes)[j]) {
      args.error(3, "expected at most half of the window for " + nameOf(args, 3) + ", found " +
                        std::to_string((*padding)[j]));
      return std::nullopt;
    }
    if (!*isCeil)
      continue;
    // The last window may reach past the end, but starts inside.
    std::optional<int64_t> size = args.in.fix(x.shape()[first + j], args.ranges[0]);
    if (!size)
      return std::nullopt;
    int64_t step = (*steps)[j], room = *size + 2 * (*padding)[j] - windows.extent(j);
    int64_t count = (room + step - 1) / step + 1;
    if ((count - 1) * step >= *size + (*padding)[j])
      --count;
    windows.after[j] += std::max<int64_t>(0, (count - 1) * step - room);
  }
  return windows;
}

/// The last `count` dimensions.
static Numbers lastDims(mlir::Value x, int64_t count) {
  return range(int64_t(llvm::cast<gir::TensorType>(x.getType()).getRank()) - count, count);
}

static mlir::Value reduced(Emitter &emit, ReduceOp op, mlir::Value x,
                           llvm::ArrayRef<int64_t> dims) {
  return gir::ReduceOp::create(emit.builder, emit.loc(), op, x, dims);
}

/// max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
static Value maxPool(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Windows> windows = x ? poolWindows(args, *x, 4, 5) : std::nullopt;
  std::optional<bool> withIndices = windows ? args.boolean(6) : std::nullopt;
  if (!withIndices)
    return Value::error();
  Emitter &emit = args.emit();
  bool isFloat = Emitter::isFloat(Emitter::dtype(*x));
  const DTypeInfo &info = dtypeInfo(Emitter::dtype(*x));
  Value lowest = isFloat
                     ? Value::ofFloat(-std::numeric_limits<double>::infinity())
                     : Value::ofInt(SymExpr(info.isSigned ? -(int64_t(1) << (info.bits - 1)) : 0));
  std::optional<mlir::Value> view = windowsOf(args, *x, *windows, lowest);
  if (!view)
    return Value::error();
  int64_t rank = windows->sizes.size();
  mlir::Value best = reduced(emit, ReduceOp::Max, *view, lastDims(*view, rank));
  if (!*withIndices)
    return Value::ofTensor(best);
  // The first element of the window that is the largest, as its place in the unpadded plane.
  auto type = llvm::cast<gir::TensorType>((*view).getType());
  Shape shape(type.getShape());
  Value place = Value::ofInt(SymExpr(0));
  int64_t first = int64_t(x->rank()) - rank;
  for (int64_t j = 0; j < rank; ++j) {
    auto scaled = [&](int64_t dim, int64_t factor) {
      return emit.map(ScalarOp::Mul,
                      {emit.iota(shape, dim, DType::Int64), Value::ofInt(SymExpr(factor))});
    };
    Value at = emit.map(ScalarOp::Add, {scaled(first + j, windows->steps[j]),
                                        scaled(int64_t(x->rank()) + j, windows->dilations[j])});
    at = emit.map(ScalarOp::Sub, {at, Value::ofInt(SymExpr(windows->before[j]))});
    place = emit.map(ScalarOp::Mul, {place, Value::ofInt(x->shape()[first + j])});
    place = emit.map(ScalarOp::Add, {place, at});
  }
  Numbers elements = range(x->rank(), rank);
  Value largest = Value::ofTensor(emit.unsqueeze(best, elements));
  Value isBest = emit.map(ScalarOp::Eq, {Value::ofTensor(*view), largest});
  if (isFloat)
    isBest = emit.map(ScalarOp::Or, {isBest, emit.map(ScalarOp::IsNan, {Value::ofTensor(*view)})});
  Value candidates = emit.map(
      ScalarOp::Where, {isBest, place, Value::ofInt(SymExpr(std::numeric_limits<int64_t>::max()))});
  mlir::Value indices = reduced(emit, ReduceOp::Min, candidates.tensor, elements);
  return Value::ofTuple({Value::ofTensor(best), Value::ofTensor(indices)});
}

/// The number of elements of each window, as a tensor that broadcasts over the positions.
static Value windowCounts(Emitter &emit, const Value &x, const Windows &windows,
                          llvm::ArrayRef<SymExpr> positions, bool withPadding) {
  int64_t rank = windows.sizes.size(), first = int64_t(x.rank()) - rank;
  Value all = Value::ofInt(SymExpr(1));
  Shape shape(positions.begin() + first, positions.begin() + first + rank);
  for (int64_t j = 0; j < rank; ++j) {
    SymExpr size = x.shape()[first + j];
    // The padding before is that on both sides; what was added for the last window is not counted.
    SymExpr padding(windows.before[j]);
    Value start =
        emit.map(ScalarOp::Sub, {emit.map(ScalarOp::Mul, {emit.iota(shape, j, DType::Int64),
                                                          Value::ofInt(SymExpr(windows.steps[j]))}),
                                 Value::ofInt(padding)});
    Value end = emit.map(ScalarOp::Add, {start, Value::ofInt(SymExpr(windows.sizes[j]))});
    end = emit.map(ScalarOp::Minimum, {end, Value::ofInt(withPadding ? size + padding : size)});
    if (!withPadding)
      start = emit.map(ScalarOp::Maximum, {start, Value::ofInt(SymExpr(0))});
    all = emit.map(ScalarOp::Mul, {all, emit.map(ScalarOp::Sub, {end, start})});
  }
  return all;
}

/// avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
static Value avgPool(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Windows> windows = x ? poolWindows(args, *x, std::nullopt, 4) : std::nullopt;
  std::optional<bool> withPadding = windows ? args.boolean(5) : std::nullopt;
  if (!withPadding)
    return Value::error();
  Emitter &emit = args.emit();
  std::optional<mlir::Value> view = windowsOf(args, *x, *windows, Value::ofInt(SymExpr(0)));
  if (!view)
    return Value::error();
  int64_t rank = windows->sizes.size(), elements = 1;
  bool isRegular = true;
  for (int64_t j = 0; j < rank; ++j) {
    elements *= windows->sizes[j];
    bool isCut = windows->after[j] != windows->before[j];
    isRegular &= !isCut && (*withPadding || windows->before[j] == 0);
  }
  Value sum = Value::ofTensor(reduced(emit, ReduceOp::Sum, *view, lastDims(*view, rank)));
  Value count = Value::ofFloat(double(elements));
  if (!args[6].is(Value::None)) {
    std::optional<int64_t> given = args.integer(6);
    if (!given)
      return Value::error();
    if (*given == 0)
      return args.error(6, "expected a divisor other than 0");
    count = Value::ofFloat(double(*given));
  } else if (!isRegular) {
    count = emit.cast(windowCounts(emit, *x, *windows, sum.shape(), *withPadding),
                      Emitter::dtype(*x), false);
  }
  if (Emitter::isFloat(Emitter::dtype(*x)))
    return emit.map(ScalarOp::Div, {sum, count});
  // The mean of integers is rounded towards zero.
  Value mean = emit.map(ScalarOp::Div, {emit.cast(sum, DType::FP64, false), count});
  return emit.cast(emit.map(ScalarOp::Trunc, {mean}), Emitter::dtype(*x), true);
}

/// adaptive_avg_pool(x, output_size): means of parts that cover each dimension.
static Value adaptiveAvgPool(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  int64_t rank = spatialRank(args), first = int64_t(x->rank()) - rank;
  if (first != 1 && first != 2)
    return args.error(0, "expected a tensor of " + std::to_string(rank + 1) + " or " +
                             std::to_string(rank + 2) + " dimensions for '" +
                             std::string(args.builtin.name) + "', found " + describe(*x));
  if (!Emitter::isFloat(Emitter::dtype(*x))) {
    args.needsFloat(0, *x);
    return Value::error();
  }
  std::vector<Value> wanted =
      args[1].isSequence() ? *args[1].elements : std::vector<Value>(rank, args[1]);
  if (int64_t(wanted.size()) != rank)
    return args.error(1, "expected a number or " + std::to_string(rank) + " numbers for " +
                             nameOf(args, 1) + ", found " + std::to_string(wanted.size()));
  Emitter &emit = args.emit();
  DType dtype = Emitter::dtype(*x);
  Value y = *x;
  for (int64_t j = 0; j < rank; ++j) {
    if (wanted[j].is(Value::None))
      continue;
    std::optional<SymExpr> count = args.in.toSize(wanted[j], args.part(1, j), nameOf(args, 1));
    if (!count || !args.checkSizes(1, {*count}))
      return Value::error();
    SymExpr size = y.shape()[first + j];
    if (size == *count)
      continue;
    if (count->isConstant(1)) {
      Numbers dim{first + j};
      mlir::Value sum = reduced(emit, ReduceOp::Sum, y.tensor, dim);
      Value mean = emit.map(ScalarOp::Div, {Value::ofTensor(sum), Value::ofInt(size)});
      y = Value::ofTensor(emit.unsqueeze(mean.tensor, dim));
      continue;
    }
    // Part `o` has the elements from floor(o * size / count) to ceil((o + 1) * size / count). Its
    // mean is a product with weights.
    Shape shape{*count, size};
    Value o = emit.iota(shape, 0, DType::Int64), i = emit.iota(shape, 1, DType::Int64);
    Value whole = Value::ofInt(*count), length = Value::ofInt(size), one = Value::ofInt(SymExpr(1));
    Value start = emit.map(ScalarOp::FloorDiv, {emit.map(ScalarOp::Mul, {o, length}), whole});
    Value next = emit.map(ScalarOp::Mul, {emit.map(ScalarOp::Add, {o, one}), length});
    next = emit.map(ScalarOp::Sub, {emit.map(ScalarOp::Add, {next, whole}), one});
    Value end = emit.map(ScalarOp::FloorDiv, {next, whole});
    Value isInside = emit.map(
        ScalarOp::And, {emit.map(ScalarOp::Ge, {i, start}), emit.map(ScalarOp::Lt, {i, end})});
    Value share = emit.map(ScalarOp::Div,
                           {Value::ofFloat(1.0),
                            emit.cast(emit.map(ScalarOp::Sub, {end, start}), DType::FP32, false)});
    Value weights =
        emit.cast(emit.map(ScalarOp::Where, {isInside, share, Value::ofFloat(0.0)}), dtype, false);
    mlir::Value product =
        gir::ContractOp::create(emit.builder, emit.loc(), y.tensor, weights.tensor, Numbers(),
                                Numbers(), Numbers{first + j}, Numbers{1});
    Numbers order = range(0, y.rank() - 1);
    order.insert(order.begin() + first + j, int64_t(y.rank()) - 1);
    y = Value::ofTensor(emit.transpose(product, order));
  }
  return y;
}

std::vector<Builtin> sema::windowBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  constexpr const char *conv = "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1";
  constexpr const char *transposed =
      "x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1";
  constexpr const char *gradient =
      "x, weight_size, grad, stride=1, padding=0, dilation=1, groups=1";
  constexpr const char *largest = "x, kernel_size, stride=None, padding=0, dilation=1, "
                                  "ceil_mode=False, return_indices=False";
  constexpr const char *mean = "x, kernel_size, stride=None, padding=0, ceil_mode=False, "
                               "count_include_pad=True, divisor_override=None";
  return {
      {"unfold", "x, dim, size, step", Builtin::Method, unfold,
       "windows along a dimension, in a new last one"},
      {"conv1d", conv, function, convolution, "convolution of [batch, channels, length]"},
      {"conv2d", conv, function, convolution, "convolution of [batch, channels, height, width]"},
      {"conv3d", conv, function, convolution, "convolution with three spatial dimensions"},
      {"conv_transpose1d", transposed, function, transposedConvolution,
       "transposed convolution of [batch, channels, length]"},
      {"conv_transpose2d", transposed, function, transposedConvolution,
       "transposed convolution of [batch, channels, height, width]"},
      {"conv_transpose3d", transposed, function, transposedConvolution,
       "transposed convolution with three spatial dimensions"},
      {"conv1d_weight", gradient, function, weightGradient,
       "the gradient of the weights of conv1d"},
      {"conv2d_weight", gradient, function, weightGradient,
       "the gradient of the weights of conv2d"},
      {"conv3d_weight", gradient, function, weightGradient,
       "the gradient of the weights of conv3d"},
      {"max_pool1d", largest, function, maxPool, "the largest element of each window"},
      {"max_pool2d", largest, function, maxPool, "the largest element of each window"},
      {"max_pool3d", largest, function, maxPool, "the largest element of each window"},
      {"avg_pool1d", mean, function, avgPool, "the mean of each window"},
      {"avg_pool2d", mean, function, avgPool, "the mean of each window"},
      {"avg_pool3d", mean, function, avgPool, "the mean of each window"},
      {"adaptive_avg_pool1d", "x, output_size", function, adaptiveAvgPool,
       "means of as many parts as wanted"},
      {"adaptive_avg_pool2d", "x, output_size", function, adaptiveAvgPool,
       "means of as many parts as wanted"},
      {"adaptive_avg_pool3d", "x, output_size", function, adaptiveAvgPool,
       "means of as many parts as wanted"},
  };
}
