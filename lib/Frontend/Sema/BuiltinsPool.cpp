//===- BuiltinsPool.cpp - Pooling ------------------------------------------===//
//
// Pooling reduces the elements of windows (`gir.window`), and is scheduled as any reduction.
//
//===----------------------------------------------------------------------===//
#include "Windows.h"

#include <limits>

using namespace tessera;
using namespace tessera::sema;

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

std::vector<Builtin> sema::poolBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  constexpr const char *largest = "x, kernel_size, stride=None, padding=0, dilation=1, "
                                  "ceil_mode=False, return_indices=False";
  constexpr const char *mean = "x, kernel_size, stride=None, padding=0, ceil_mode=False, "
                               "count_include_pad=True, divisor_override=None";
  return {
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
