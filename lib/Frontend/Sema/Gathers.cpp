//===- Gathers.cpp - Indexing by tensors ----------------------------------===//
//
// All reads become `gir.gather`, with indices broadcast to the result's shape. A `gir.check`
// reports indices out of range; independently of it the operation clamps indices, so that it never
// reads out of bounds.
//
//===------------------------------------------------------------------------------------------===//
#include "Gathers.h"
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

static bool isEmpty(llvm::ArrayRef<SymExpr> shape) {
  return llvm::any_of(shape, [](SymExpr size) { return size.isConstant(0); });
}

static Value zeros(Emitter &emit, DType dtype, llvm::ArrayRef<SymExpr> shape) {
  return emit.constant(dtype, shape,
                       dtype == DType::Bool ? Value::ofBool(false) : Value::ofInt(SymExpr(0)));
}

/// Indices in a type that holds every size.
static Value widened(Emitter &emit, const Value &index) {
  DType dtype = Emitter::dtype(index);
  bool isWide = dtype == DType::Int64 || dtype == DType::Int32;
  return isWide ? index : emit.cast(index, DType::Int32, false);
}

std::optional<Value> sema::listedIndices(Emitter &emit, const Value &list) {
  constexpr size_t most = 64;
  size_t count = list.elements->size();
  auto isKnown = [](const Value &number) {
    return number.is(Value::Int) && number.number.isConstant();
  };
  if (count == 0 || count > most || !llvm::all_of(*list.elements, isKnown))
    return std::nullopt;
  // A selection by position, which needs no memory access.
  Value position = emit.iota(SymExpr(int64_t(count)), 0, DType::Int64);
  Value result = emit.constant(DType::Int64, SymExpr(int64_t(count)), list.elements->back());
  for (size_t i = count - 1; i-- > 0;) {
    Value isHere = emit.map(ScalarOp::Eq, {position, Value::ofInt(SymExpr(int64_t(i)))});
    result = emit.map(ScalarOp::Where, {isHere, (*list.elements)[i], result});
  }
  return result;
}

/// The tensor whose elements a view contains.
static mlir::Value withoutViews(mlir::Value tensor) {
  mlir::Operation *op = tensor.getDefiningOp();
  bool isView = op && llvm::isa<gir::BroadcastOp, gir::ReshapeOp, gir::TransposeOp>(op);
  return isView ? withoutViews(op->getOperand(0)) : tensor;
}

/// Whether all elements of an integer tensor are known to be at least 0 and below `size`.
static bool isWithin(Emitter &emit, mlir::Value tensor, SymExpr size) {
  auto fits = [&](SymExpr end) { return end == size || (size - end).isNonNegative(); };
  if (auto known = emit.indexEnds.find(tensor); known != emit.indexEnds.end())
    return fits(known->second);
  mlir::Operation *op = tensor.getDefiningOp();
  if (auto iota = llvm::dyn_cast_or_null<gir::IotaOp>(op))
    return fits(iota.getType().getDim(iota.getDim()));
  bool isSame =
      op && llvm::isa<gir::BroadcastOp, gir::ReshapeOp, gir::TransposeOp, gir::SliceOp>(op);
  return isSame && isWithin(emit, op->getOperand(0), size);
}

void sema::checkIndex(Emitter &emit, const Value &index, SymExpr size, bool mayCountFromEnd,
                      std::string_view message, SourceRange range) {
  if (isEmpty(index.shape()) || isWithin(emit, index.tensor, size))
    return;
  Value places = emit.cast(Value::ofTensor(withoutViews(index.tensor)), DType::Int64, false);
  Value holds = emit.map(ScalarOp::Lt, {places, Value::ofInt(size)});
  if (Emitter::dtype(index) != DType::UInt8) {
    SymExpr least = mayCountFromEnd ? SymExpr(0) - size : SymExpr(0);
    Value isAbove = emit.map(ScalarOp::Ge, {places, Value::ofInt(least)});
    holds = emit.map(ScalarOp::And, {isAbove, holds});
  }
  mlir::Builder &build = emit.builder;
  mlir::StringAttr excerpt;
  if (range.isValid())
    excerpt = build.getStringAttr(tessera::excerpt(emit.diagnostics.sources, range));
  auto failure =
      gir::FailureAttr::get(build.getContext(), build.getStringAttr("index"),
                            build.getStringAttr(llvm::StringRef(message.data(), message.size())),
                            build.getStrArrayAttr({size.str()}), excerpt);
  gir::CheckOp::create(emit.builder, emit.loc(), holds.tensor, places.tensor, failure);
}

/// The error message for an index along a dimension, naming the function if there is one.
static std::string outOfRange(int64_t dim, std::string_view function = "") {
  std::string of = function.empty() ? "" : " of '" + std::string(function) + "'";
  return "index {0}" + of + " is out of range for dimension " + std::to_string(dim) +
         " of size {1}";
}

/// The same for argument `i` of a call, which indexes `x` along `dim`.
static void checkIndex(Args &args, size_t i, const Value &index, const Value &x, int64_t dim,
                       bool mayCountFromEnd = false) {
  sema::checkIndex(args.emit(), index, x.shape()[dim], mayCountFromEnd,
                   outOfRange(dim, args.builtin.name), args.ranges[i]);
}

Value sema::fromEnd(Emitter &emit, const Value &index, SymExpr size) {
  if (Emitter::dtype(index) == DType::UInt8)
    return index;
  Value wide = widened(emit, index);
  Value below = emit.map(ScalarOp::Lt, {wide, Value::ofInt(SymExpr(0))});
  Value moved = emit.map(ScalarOp::Add, {wide, Value::ofInt(size)});
  return emit.map(ScalarOp::Where, {below, moved, wide});
}

Value sema::gatherAlong(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<Value> indices, int64_t at, SourceRange range) {
  Shape others, shape;
  for (int64_t dim : allDims(x.rank()))
    if (!llvm::is_contained(dims, dim))
      others.push_back(x.shape()[dim]);
  llvm::ArrayRef<SymExpr> inserted = indices.front().shape();
  int64_t count = inserted.size();
  shape.append(others.begin(), others.begin() + at);
  shape.append(inserted.begin(), inserted.end());
  shape.append(others.begin() + at, others.end());
  if (isEmpty(shape))
    return zeros(emit, Emitter::dtype(x), shape);
  for (int64_t dim : dims)
    if (x.shape()[dim].isConstant(0))
      return emit.in->error(range, "there is no element to read: dimension " + std::to_string(dim) +
                                       " of " + describe(x) + " has size 0");
  llvm::SmallVector<int64_t> rest, own;
  for (int64_t i = 0; i < int64_t(others.size()); ++i)
    rest.push_back(i < at ? i : i + count);
  for (int64_t i = 0; i < count; ++i)
    own.push_back(at + i);
  llvm::SmallVector<mlir::Value> places;
  for (const Value &index : indices) {
    mlir::Value place = index.tensor;
    if (count != int64_t(shape.size()))
      place = gir::BroadcastOp::create(emit.builder, emit.loc(), place, shape, own);
    places.push_back(place);
  }
  return Value::ofTensor(
      gir::GatherOp::create(emit.builder, emit.loc(), x.tensor, places, dims, rest).getResult());
}

Value sema::indexByTensors(Emitter &emit, const Value &x, llvm::ArrayRef<const Value *> indices,
                           llvm::ArrayRef<SourceRange> ranges) {
  // A rank-0 tensor acts like an integer: its dimension is removed and separates nothing.
  for (size_t dim = 0; dim < indices.size(); ++dim)
    if (indices[dim] && indices[dim]->rank() == 0) {
      sema::checkIndex(emit, *indices[dim], x.shape()[dim], true, outOfRange(dim), ranges[dim]);
      Value index = fromEnd(emit, *indices[dim], x.shape()[dim]);
      Value rest = gatherAlong(emit, x, {int64_t(dim)}, {index}, dim, ranges[dim]);
      if (rest.isError())
        return rest;
      llvm::SmallVector<const Value *> others(indices);
      llvm::SmallVector<SourceRange> otherRanges(ranges);
      others.erase(others.begin() + dim);
      otherRanges.erase(otherRanges.begin() + dim);
      return indexByTensors(emit, rest, others, otherRanges);
    }
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<Value> places;
  llvm::SmallVector<SourceRange> placeRanges;
  for (size_t dim = 0; dim < indices.size(); ++dim)
    if (indices[dim]) {
      dims.push_back(dim);
      sema::checkIndex(emit, *indices[dim], x.shape()[dim], true, outOfRange(dim), ranges[dim]);
      places.push_back(fromEnd(emit, *indices[dim], x.shape()[dim]));
      placeRanges.push_back(ranges[dim]);
    }
  if (dims.empty())
    return x;
  std::optional<Shape> shape = emit.broadcastShape(places, placeRanges);
  if (!shape)
    return Value::error();
  for (Value &place : places)
    place = Value::ofTensor(emit.broadcastTo(place.tensor, *shape));
  bool together = dims.back() - dims.front() + 1 == int64_t(dims.size());
  return gatherAlong(emit, x, dims, places, together ? dims.front() : 0, placeRanges.front());
}

//===------------------------------------------------------------------------------------------===//
// Functions
//===------------------------------------------------------------------------------------------===//

/// Argument `i` as an integer tensor.
static std::optional<Value> indexArgument(Args &args, size_t i) {
  std::optional<Value> index = args.tensor(i);
  if (!index || isIndexType(Emitter::dtype(*index)))
    return index;
  args.error(i, "expected integers for the index of '" + std::string(args.builtin.name) +
                    "', found " + describe(*index));
  return std::nullopt;
}

static Value withDims(Args &args, const Value &x, Shape shape) {
  return Value::ofTensor(args.emit().reshape(x.tensor, shape));
}

/// Whether `index` is at most as large as `x` along every dimension but `dim`; reports an error if
/// not.
static bool fitsInto(Args &args, size_t which, const Value &index, const Value &x, int64_t dim) {
  for (int64_t d : allDims(x.rank())) {
    SymExpr have = index.shape()[d], most = x.shape()[d];
    if (d == dim || have == most)
      continue;
    if (args.in.sizes.nonNegative(most - have, args.ranges[which]) == true)
      continue;
    args.in.sizeMismatch(args.ranges[which],
                         "expected at most size '" + most.str() + "' in dimension " +
                             std::to_string(d) + " of the index of '" +
                             std::string(args.builtin.name) + "', found '" + have.str() + "'",
                         most, have);
    return false;
  }
  return true;
}

static bool sameRank(Args &args, size_t i, const Value &value, const Value &x) {
  if (value.rank() == x.rank())
    return true;
  args.error(i, "expected as many dimensions as " + describe(x) + " has for '" +
                    std::string(args.builtin.name) + "', found " + describe(value));
  return false;
}

/// The part of `x` with the sizes of `shape`, except for dimension `dim`.
static Value leadingPart(Args &args, const Value &x, llvm::ArrayRef<SymExpr> shape, int64_t dim) {
  Shape sizes(shape);
  if (dim >= 0)
    sizes[dim] = x.shape()[dim];
  return Value::ofTensor(args.emit().slice(x.tensor, Shape(x.rank(), SymExpr(0)),
                                           llvm::SmallVector<int64_t>(x.rank(), 1), sizes));
}

/// gather(x, dim, index): the result's element at p is x at p, but along `dim` at index[p].
static Value gather(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0), index = x ? indexArgument(args, 2) : std::nullopt;
  std::optional<int64_t> dim = index ? args.dim(1, x->rank(), true) : std::nullopt;
  if (!dim)
    return Value::error();
  Shape shape(index->shape());
  if (isEmpty(shape))
    return zeros(emit, Emitter::dtype(*x), shape);
  if (x->rank() == 0)
    *x = withDims(args, *x, {SymExpr(1)});
  if (index->rank() == 0)
    *index = withDims(args, *index, {SymExpr(1)});
  if (!sameRank(args, 2, *index, *x) || !fitsInto(args, 2, *index, *x, *dim))
    return Value::error();
  if (isEmpty(x->shape()))
    return args.error(2, "there is no element to read: " + describe(*x) + " is empty");
  checkIndex(args, 2, *index, *x, *dim);
  *x = leadingPart(args, *x, index->shape(), *dim);
  llvm::SmallVector<int64_t> rest = allDims(x->rank());
  rest.erase(rest.begin() + *dim);
  Value result = Value::ofTensor(gir::GatherOp::create(emit.builder, emit.loc(), x->tensor,
                                                       mlir::ValueRange(index->tensor), *dim, rest)
                                     .getResult());
  return withDims(args, result, shape);
}

/// take(x, index): from the flattened elements, or from the slices along `dim`.
static Value take(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0), index = x ? indexArgument(args, 1) : std::nullopt;
  if (!index)
    return Value::error();
  int64_t dim = 0;
  if (args[2].is(Value::None)) {
    *x = withDims(args, *x, {x->type().getNumElements()});
  } else {
    std::optional<int64_t> given = args.dim(2, x->rank());
    if (!given)
      return Value::error();
    dim = *given;
  }
  checkIndex(args, 1, *index, *x, dim, /*mayCountFromEnd=*/true);
  Value places = fromEnd(emit, *index, x->shape()[dim]);
  return gatherAlong(emit, *x, dim, places, dim, args.ranges[1]);
}

static Value indexSelect(Args &args) {
  std::optional<Value> x = args.tensor(0), index = x ? indexArgument(args, 2) : std::nullopt;
  std::optional<int64_t> dim = index ? args.dim(1, x->rank(), true) : std::nullopt;
  if (!dim)
    return Value::error();
  if (index->rank() > 1)
    return args.error(2, "expected an index of one dimension, found " + describe(*index))
        .help("use x[index] or take for an index of any shape");
  if (index->rank() == 0)
    *index = withDims(args, *index, {SymExpr(1)});
  bool isScalar = x->rank() == 0;
  if (isScalar)
    *x = withDims(args, *x, {SymExpr(1)});
  checkIndex(args, 2, *index, *x, *dim);
  Value result = gatherAlong(args.emit(), *x, *dim, *index, *dim, args.ranges[2]);
  if (!isScalar || result.isError())
    return result;
  if (!index->shape()[0].isConstant(1))
    return args.error(2, "expected one index for a tensor without dimensions, found " +
                             describe(*index));
  return withDims(args, result, {});
}

/// Rows of an embedding, of which those at the index of padding have no gradient.
static Value withoutPadding(Args &args, const Value &rows, const Value &index, SymExpr count) {
  std::optional<int64_t> padding = args.integer(2);
  if (!padding)
    return Value::error();
  Emitter &emit = args.emit();
  Value at = Value::ofInt(*padding < 0 ? count + *padding : SymExpr(*padding));
  Shape shape(index.shape());
  shape.push_back(SymExpr(1));
  Value isPadding = withDims(args, emit.asTensor(emit.map(ScalarOp::Eq, {index, at})), shape);
  mlir::Value constant =
      gir::StopGradientOp::create(emit.builder, emit.loc(), rows.tensor.getType(), rows.tensor);
  return emit.map(ScalarOp::Where, {isPadding, Value::ofTensor(constant), rows});
}

static Value embedding(Args &args) {
  std::optional<Value> weight = args.tensor(1), index = weight ? args.tensor(0) : std::nullopt;
  if (!index)
    return Value::error();
  // If only one of them can be the index, the order does not matter.
  size_t which = !isIndexType(Emitter::dtype(*index)) && isIndexType(Emitter::dtype(*weight));
  if (which)
    std::swap(index, weight);
  if (!(index = indexArgument(args, which)))
    return Value::error();
  if (weight->rank() != 2)
    return args.error(1 - which,
                      "expected a matrix of weights for 'embedding', found " + describe(*weight));
  if (!args[3].is(Value::None))
    return args.error(3, "'max_norm' changes the weights, which is not supported by this compiler");
  std::optional<bool> byFrequency = args.boolean(5);
  if (!byFrequency)
    return Value::error();
  if (*byFrequency)
    return args.error(5,
                      "'scale_grad_by_freq' changes gradients by how often an index occurs, which "
                      "is not supported by this compiler");
  checkIndex(args, which, *index, *weight, 0);
  Value rows = gatherAlong(args.emit(), *weight, 0, *index, 0, args.ranges[which]);
  return rows.isError() || args[2].is(Value::None)
             ? rows
             : withoutPadding(args, rows, *index, weight->shape()[0]);
}

static Value scatterAdd(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0), index = x ? indexArgument(args, 2) : std::nullopt;
  std::optional<Value> src = index ? args.tensor(3) : std::nullopt;
  std::optional<int64_t> dim = src ? args.dim(1, x->rank(), true) : std::nullopt;
  if (!dim)
    return Value::error();
  DType dtype = Emitter::dtype(*x);
  if (Emitter::dtype(*src) != dtype)
    return args.error(3, "expected elements of the type of " + describe(*x) + ", found " +
                             describe(*src));
  Shape shape(x->shape());
  if (isEmpty(shape) || isEmpty(index->shape()))
    return *x;
  for (Value *value : {&*x, &*index, &*src})
    if (value->rank() == 0)
      *value = withDims(args, *value, {SymExpr(1)});
  if (!sameRank(args, 2, *index, *x) || !sameRank(args, 3, *src, *x) ||
      !fitsInto(args, 2, *index, *x, *dim) || !fitsInto(args, 2, *index, *src, -1))
    return Value::error();
  checkIndex(args, 2, *index, *x, *dim);
  *src = leadingPart(args, *src, index->shape(), -1);

  // Sums of narrow floats accumulate in fp32; bools are counted.
  bool isBool = dtype == DType::Bool, isFloat = Emitter::isFloat(dtype);
  DType wide = isBool ? DType::Int32 : isFloat && dtype != DType::FP64 ? DType::FP32 : dtype;
  mlir::Value into = emit.cast(*x, wide, false).tensor;
  mlir::Value sources = emit.cast(*src, wide, false).tensor;
  Value sum = Value::ofTensor(gir::ScatterAddOp::create(emit.builder, emit.loc(), into.getType(),
                                                        into, sources, index->tensor, *dim)
                                  .getResult());
  Value result = isBool ? emit.map(ScalarOp::Ne, {sum, Value::ofInt(SymExpr(0))})
                        : emit.cast(sum, dtype, false);
  return withDims(args, result, shape);
}

std::vector<Builtin> sema::gatherBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  return {
      {"gather", "x, dim, index", both, gather,
       "elements of x along a dimension, at indices of the result's shape"},
      {"take", "x, index, dim=None", both, take,
       "elements of x as if it had one dimension, or slices along dim; indices below 0 count from "
       "the end"},
      {"index_select", "x, dim, index", both, indexSelect, "slices of x along a dimension"},
      {"embedding",
       "x, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
       "sparse=False",
       Builtin::Function, embedding, "rows of weight at the indices x, which may also come second"},
      {"scatter_add", "x, dim, index, src", both, scatterAdd,
       "x with elements of src added at indices along a dimension, in their order"},
  };
}
