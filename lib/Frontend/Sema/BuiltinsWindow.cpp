//===- BuiltinsWindow.cpp - Convolutions ----------------------------------===//
//
// Windows slide along the last dimensions of a tensor (`gir.window`), and a convolution contracts
// them with weights. The scheduler sees nothing else, so that prologues, epilogues and tiles are
// those of any contraction.
//
//===----------------------------------------------------------------------===//
#include "Windows.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tessera;
using namespace tessera::sema;

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

namespace {

/// A transposed convolution along one dimension. Element k of the window that belongs to element i
/// of `x` is at i * step + k * dilation. The elements whose numbers are c modulo `residues` are at
/// positions of one residue modulo the step: that of c * dilation. With m = k / residues they are
/// at step * (i + m * spacing) + c * dilation: a convolution of stride 1, dilated by `spacing`.
struct Residues {
  Residues(int64_t step, int64_t dilation)
      : step(step), dilation(dilation), common(std::gcd(step, dilation)), residues(step / common),
        spacing(dilation / common), behind((residues - 1) * dilation / step) {}

  /// Whether the results of residue c are the elements n * step + c of the result.
  bool isInOrder() const { return common == 1 && behind == 0; }
  int64_t step, dilation;
  int64_t common, residues, spacing;
  int64_t behind; ///< by how many steps the last residue starts after the first one
};

} // namespace

/// Weights [in, out per group, elements..] of a transposed convolution as those of a convolution:
/// [out, residues.., in per group, elements..], with out and residues as one dimension. The
/// elements of a residue are those whose position is that number modulo `residues`, in reverse
/// order.
static mlir::Value weightsByResidue(Emitter &emit, const Convolution &conv, const Numbers &residues,
                                    const Numbers &taps) {
  mlir::Value weight = conv.weight.tensor;
  for (int64_t j = 0; j < conv.rank; ++j)
    weight =
        padded(emit, weight, 2 + j, SymExpr(0),
               SymExpr(taps[j] * residues[j] - conv.windows.sizes[j]), Value::ofInt(SymExpr(0)));
  weight = grouped(emit, weight, 0, conv.groups); // [group, in, out, elements..]
  Shape shape(llvm::cast<gir::TensorType>(weight.getType()).getShape());
  Shape split(shape.begin(), shape.begin() + 3), starts(3, SymExpr(0));
  Numbers steps(3, 1), order = {0, 2}, elements;
  for (int64_t j = 0; j < conv.rank; ++j) {
    elements.push_back(int64_t(split.size()));
    order.push_back(int64_t(split.size()) + 1);
    split.append({SymExpr(taps[j]), SymExpr(residues[j])});
    starts.append({SymExpr(taps[j] - 1), SymExpr(0)});
    steps.append({-1, 1});
  }
  order.push_back(1);
  llvm::append_range(order, elements);
  weight = emit.transpose(emit.slice(emit.reshape(weight, split), starts, steps, split), order);
  Shape merged{shape[0] * shape[2], shape[1]};
  for (int64_t j = 0; j < conv.rank; ++j) {
    merged[0] = merged[0] * SymExpr(residues[j]);
    merged.push_back(SymExpr(taps[j]));
  }
  return emit.reshape(weight, merged);
}

/// [batch, (out, residues..), positions..] to [batch, out, (position, residue)..].
static mlir::Value residuesToSpace(Emitter &emit, mlir::Value result, const Numbers &residues) {
  Shape shape(llvm::cast<gir::TensorType>(result.getType()).getShape());
  int64_t rank = residues.size(), all = 1;
  for (int64_t residue : residues)
    all *= residue;
  if (all == 1)
    return result;
  Shape split{shape[0], shape[1].floorDiv(SymExpr(all))}, merged(split);
  Numbers order{0, 1};
  for (int64_t j = 0; j < rank; ++j) {
    split.push_back(SymExpr(residues[j]));
    merged.push_back(shape[2 + j] * SymExpr(residues[j]));
    order.append({2 + rank + j, 2 + j});
  }
  split.append(shape.begin() + 2, shape.end());
  return emit.reshape(emit.transpose(emit.reshape(result, split), order), merged);
}

/// [batch, (out, numbers..), positions..] to [batch, (out, residues..), positions..]: residues of
/// positions modulo the steps instead of the numbers c from which they follow. Each is selected
/// from slices, whose gradients are slices. No window has elements at other residues.
static mlir::Value inOrder(Emitter &emit, mlir::Value result, llvm::ArrayRef<Residues> all) {
  Shape shape(llvm::cast<gir::TensorType>(result.getType()).getShape()), split(shape);
  for (const Residues &how : llvm::reverse(all)) {
    split[1] = split[1].floorDiv(SymExpr(how.residues));
    split.insert(split.begin() + 2, SymExpr(how.residues));
  }
  result = emit.reshape(result, split);
  for (auto [j, how] : llvm::enumerate(all)) {
    if (how.isInOrder())
      continue;
    int64_t dim = 2 + int64_t(j), along = dim + int64_t(all.size());
    Shape part(llvm::cast<gir::TensorType>(result.getType()).getShape());
    part[dim] = SymExpr(1);
    part[along] = part[along] - SymExpr(how.behind);
    Shape whole(part), starts(split.size(), SymExpr(0));
    whole[dim] = SymExpr(how.step);
    Value residue = emit.iota(whole, dim, DType::Int64), chosen = Value::ofInt(SymExpr(0));
    for (int64_t number = 0; number < how.residues; ++number) {
      int64_t at = number * how.dilation;
      starts[dim] = SymExpr(number);
      starts[along] = SymExpr(how.behind - at / how.step);
      Value own = Value::ofTensor(emit.slice(result, starts, Numbers(split.size(), 1), part));
      Value isOwn = emit.map(ScalarOp::Eq, {residue, Value::ofInt(SymExpr(at % how.step))});
      chosen = emit.map(ScalarOp::Where, {isOwn, own, chosen});
    }
    result = chosen.tensor;
  }
  Shape sizes(llvm::cast<gir::TensorType>(result.getType()).getShape()), merged{sizes[0], sizes[1]};
  for (size_t j = 0; j < all.size(); ++j)
    merged[1] = merged[1] * sizes[2 + j];
  merged.append(sizes.begin() + 2 + all.size(), sizes.end());
  return emit.reshape(result, merged);
}

/// The transposed convolution: the result's element is a sum over the windows that contain it.
/// Elements of the result whose position has the same residue modulo the stride are multiplied with
/// the same weights. They are channels of a convolution of stride 1, which multiplies no zeros.
static std::optional<mlir::Value> convolveTransposed(Args &args, Convolution &conv,
                                                     const Numbers &padding,
                                                     const Numbers &outputPadding) {
  Emitter &emit = args.emit();
  Windows windows = conv.windows;
  llvm::SmallVector<Residues> all;
  Numbers residues, taps;
  Shape sizes;
  for (int64_t j = 0; j < conv.rank; ++j) {
    int64_t step = windows.steps[j], extent = windows.extent(j);
    SymExpr size = conv.x.shape()[2 + j];
    sizes.push_back((size - SymExpr(1)) * SymExpr(step) +
                    SymExpr(extent - 2 * padding[j] + outputPadding[j]));
    if (args.in.sizes.nonNegative(sizes.back() - SymExpr(1), args.range) != true) {
      args.error(0, "expected at least one element of the result in dimension " +
                        std::to_string(2 + j) + ", found " + sizes.back().str());
      return std::nullopt;
    }
    Residues how(step, windows.dilations[j]);
    residues.push_back(how.residues);
    taps.push_back(llvm::divideCeil(windows.sizes[j], how.residues));
    windows.sizes[j] = taps[j];
    windows.steps[j] = 1;
    windows.dilations[j] = how.spacing;
    // What follows the first element that belongs to the last element of `x`.
    int64_t rest = extent - padding[j] + outputPadding[j];
    windows.before.push_back(windows.extent(j) - 1 - padding[j] / step + how.behind);
    windows.after.push_back(llvm::divideCeilSigned(rest, step) - 1);
    all.push_back(how);
  }
  mlir::Value weight = weightsByResidue(emit, conv, residues, taps);
  std::optional<mlir::Value> result = convolve(args, conv.x, weight, conv.groups, windows);
  if (!result)
    return std::nullopt;
  if (!llvm::all_of(all, [](const Residues &each) { return each.isInOrder(); }))
    result = inOrder(emit, *result, all);
  mlir::Value spread = residuesToSpace(emit, *result, conv.windows.steps);
  Shape shape(llvm::cast<gir::TensorType>(spread.getType()).getShape()), starts(shape.size());
  for (int64_t j = 0; j < conv.rank; ++j) {
    starts[2 + j] = SymExpr(padding[j] % conv.windows.steps[j]);
    shape[2 + j] = sizes[j];
  }
  return emit.slice(spread, starts, Numbers(shape.size(), 1), shape);
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

std::vector<Builtin> sema::windowBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  constexpr const char *conv = "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1";
  constexpr const char *transposed =
      "x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1";
  constexpr const char *gradient =
      "x, weight_size, grad, stride=1, padding=0, dilation=1, groups=1";
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
  };
}
