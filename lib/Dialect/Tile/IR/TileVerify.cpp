//===- TileVerify.cpp - Verifiers of kernels and of tiles as values -------===//
//
// A message says what was expected and what was found.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

//===----------------------------------------------------------------------===//
// Kernels and the host side
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  if (int64_t(getGridRank()) < 1)
    return emitOpError() << "expected a grid of at least 1 dimension, got "
                         << int64_t(getGridRank());
  if (!getResultTypes().empty())
    return emitOpError() << "expected no results, got " << getResultTypes().size();
  // Launches pass views, then sizes, then scalars.
  int last = 0;
  for (auto [i, type] : llvm::enumerate(getArgumentTypes())) {
    int kind = isa<ViewType>(type) ? 0 : type.isIndex() ? 1 : isElementType(type) ? 2 : 3;
    if (kind == 3)
      return emitOpError() << "expected argument " << i << " to be a view, an index or a scalar, "
                           << "got " << type;
    if (kind < last)
      return emitOpError() << "expected views, then sizes, then scalars as arguments, got " << type
                           << " at " << i;
    last = kind;
  }
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getArgumentTypes())
    return emitOpError() << "expected the body's arguments to have the kernel's types";
  if (body.empty() || !isa<tile::ReturnOp>(body.back()))
    return emitOpError() << "expected the body to end in tile.return";
  return success();
}

LogicalResult EmptyOp::verify() { return success(); }

/// Checks that every string is a size expression.
static LogicalResult expectExpressions(Operation *op, ArrayAttr texts) {
  for (StringAttr text : texts.getAsRange<StringAttr>())
    if (!SymExpr::parse(text.getValue().str()))
      return op->emitOpError() << "expected a size expression, got " << text;
  return success();
}

LogicalResult LaunchOp::verify() {
  if (failed(expectExpressions(*this, getGrid())) || failed(expectExpressions(*this, getSizes())))
    return failure();
  if (getViews().size() != getTensors().size())
    return emitOpError() << "expected " << getTensors().size() << " views, one for each tensor, "
                         << "got " << getViews().size();
  for (Attribute view : getViews())
    if (!isa<OperandViewAttr>(view))
      return emitOpError() << "expected #tile.operand attributes as views, got " << view;
  for (Value scalar : getScalars())
    if (auto type = cast<gir::TensorType>(scalar.getType()); type.getRank())
      return emitOpError() << "expected scalars of rank 0, got " << type;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "expected the name of a tile.kernel, got " << getKernelAttr();
  auto report = [&]() {
    InFlightDiagnostic diagnostic = emitOpError();
    diagnostic.attachNote(kernel.getLoc()) << "the kernel is here";
    return diagnostic;
  };
  if (getGrid().size() != kernel.getGridRank())
    return report() << "expected a grid of rank " << kernel.getGridRank() << ", got "
                    << getGrid().size();
  ArrayRef<Type> types = kernel.getArgumentTypes();
  size_t tensors = getTensors().size(), sizes = getSizes().size();
  if (types.size() != tensors + sizes + getScalars().size())
    return report() << "expected " << types.size() << " arguments, got "
                    << tensors + sizes + getScalars().size();
  for (size_t i = 0; i < types.size(); ++i) {
    if (i >= tensors && i < tensors + sizes) {
      if (!types[i].isIndex())
        return report() << "expected argument " << i << " of type " << types[i] << ", got a size";
      continue;
    }
    Value operand = i < tensors ? getTensors()[i] : getScalars()[i - tensors - sizes];
    Type element = cast<gir::TensorType>(operand.getType()).getElementType();
    if (i >= tensors) {
      if (types[i] != element)
        return report() << "expected argument " << i << " of type " << types[i] << ", got "
                        << element;
      continue;
    }
    auto view = dyn_cast<ViewType>(types[i]);
    if (!view)
      return report() << "expected argument " << i << " of type " << types[i] << ", got a tensor";
    if (view.getElementType() != element)
      return report() << "expected argument " << i << " of element type " << view.getElementType()
                      << ", got " << element;
    unsigned rank = cast<OperandViewAttr>(getViews()[i]).getSizes().size();
    if (view.getRank() != rank)
      return report() << "expected argument " << i << " as a view of rank " << view.getRank()
                      << ", got rank " << rank;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Coordinates and memory
//===----------------------------------------------------------------------===//

LogicalResult ProgramIdOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && getDim() >= kernel.getGridRank())
    return emitOpError() << "expected a grid dimension below " << kernel.getGridRank() << ", got "
                         << int64_t(getDim());
  return success();
}

LogicalResult DimOp::verify() {
  if (getDim() >= getView().getType().getRank())
    return emitOpError() << "expected a dimension below " << getView().getType().getRank()
                         << ", got " << int64_t(getDim());
  return success();
}

/// Coordinates, dims and element type of a load or a store.
static LogicalResult verifyAccess(Operation *op, ViewType view, size_t coords,
                                  ArrayRef<int64_t> dims, RankedTensorType tile) {
  if (coords != view.getRank())
    return op->emitOpError() << "expected " << view.getRank()
                             << " coordinates, one for each dimension of the view, got " << coords;
  if (int64_t(dims.size()) != tile.getRank())
    return op->emitOpError() << "expected " << tile.getRank()
                             << " dims, one for each dimension of the tile, got " << dims.size();
  if (failed(expectDistinctDims(op, dims, view.getRank())))
    return failure();
  return expectElement(op, "a tile", view.getElementType(), tile.getElementType());
}

LogicalResult MisalignmentOp::verify() {
  if (getCoords().size() != getView().getType().getRank())
    return emitOpError() << "expected " << getView().getType().getRank()
                         << " coordinates, one for each dimension of the view, got "
                         << getCoords().size();
  if (!llvm::isPowerOf2_64(getModulus()))
    return emitOpError() << "expected a power of two, got " << int64_t(getModulus());
  return success();
}

LogicalResult AlignedRowOp::verify() {
  ViewType view = getView().getType(), row = getType();
  if (!isa<BlockArgument>(getView()) ||
      !isa<KernelOp>(cast<BlockArgument>(getView()).getOwner()->getParentOp()))
    return emitOpError("expected a view that is an argument of the kernel");
  if (getDim() >= view.getRank())
    return emitOpError() << "expected a dimension below " << view.getRank() << ", got "
                         << int64_t(getDim());
  if (getCoords().size() + 1 != view.getRank())
    return emitOpError() << "expected " << view.getRank() - 1
                         << " coordinates, one for each other dimension of the view, got "
                         << getCoords().size();
  if (!view.hasUnitStride(getDim()))
    return emitOpError() << "expected contiguous elements along dimension " << int64_t(getDim())
                         << ", got " << view;
  ViewType expected = ViewType::get({ShapedType::kDynamic}, view.getElementType(), {1});
  if (row != expected)
    return emitOpError() << "expected a result of type " << expected << ", got " << row;
  return success();
}

LogicalResult tile::LoadOp::verify() {
  if (failed(verifyAccess(*this, getView().getType(), getCoords().size(), getDims(),
                          tileType(getResult()))))
    return failure();
  Type element = tileType(getResult()).getElementType();
  if (getPad() && cast<TypedAttr>(*getPad()).getType() != element)
    return emitOpError() << "expected a pad of type " << element << ", got "
                         << cast<TypedAttr>(*getPad()).getType();
  return success();
}

/// Coordinates, indices, dims and element type of a gather or a scatter.
template <typename OpTy> static LogicalResult verifyIndexed(OpTy op, RankedTensorType type) {
  ViewType view = op.getView().getType();
  size_t coords = op.getCoords().size(), indices = op.getIndices().size();
  if (!indices)
    return op.emitOpError("expected at least one tile of indices, got none");
  if (coords + indices != view.getRank())
    return op.emitOpError() << "expected " << view.getRank()
                            << " coordinates and tiles of indices, one for each dimension of the "
                               "view, got "
                            << coords + indices;
  for (Value index : op.getIndices()) {
    RankedTensorType tile = tileType(index);
    if (tile.getShape() != type.getShape())
      return op.emitOpError() << "expected indices of the shape of " << type << ", got " << tile;
    if (tile.getEncoding() != type.getEncoding())
      return op.emitOpError() << "expected indices in the layout of " << type << ", got " << tile;
    if (!tile.getElementType().isSignlessInteger(32) &&
        !tile.getElementType().isSignlessInteger(64))
      return op.emitOpError() << "expected indices of type i32 or i64, got "
                              << tile.getElementType();
  }
  if (int64_t(op.getDims().size()) != type.getRank())
    return op.emitOpError() << "expected " << type.getRank()
                            << " dims, one for each dimension of the tile, got "
                            << op.getDims().size();
  SmallVector<int64_t> along(op.getDims());
  llvm::erase(along, -1);
  if (failed(expectDistinctDims(op, along, coords)))
    return failure();
  return expectElement(op, "a tile", view.getElementType(), type.getElementType());
}

LogicalResult tile::ScatterOp::verify() {
  RankedTensorType type = tileType(getValue());
  if (getSum() && type.getElementType().isInteger(1))
    return emitOpError("expected elements that can be added, got i1");
  if (getUnordered() && type.getElementTypeBitWidth() < 32)
    return emitOpError() << "expected elements of 32 or 64 bits for an unordered sum, got "
                         << type.getElementType();
  return verifyIndexed(*this, type);
}

LogicalResult tile::GatherOp::verify() {
  RankedTensorType type = tileType(getResult());
  if (failed(verifyIndexed(*this, type)))
    return failure();
  if (getPad() && cast<TypedAttr>(*getPad()).getType() != type.getElementType())
    return emitOpError() << "expected a pad of type " << type.getElementType() << ", got "
                         << cast<TypedAttr>(*getPad()).getType();
  return success();
}

LogicalResult tile::StoreOp::verify() {
  return verifyAccess(*this, getView().getType(), getCoords().size(), getDims(),
                      tileType(getValue()));
}

//===----------------------------------------------------------------------===//
// Tiles from scalars
//===----------------------------------------------------------------------===//

LogicalResult tile::ConstantOp::verify() {
  Type type = cast<TypedAttr>(getValue()).getType(),
       element = tileType(getResult()).getElementType();
  if (!isa<FloatAttr, IntegerAttr>(getValue()) || type != element)
    return emitOpError() << "expected a constant of type " << element << ", got " << getValue();
  return success();
}

LogicalResult SplatOp::verify() {
  Type element = tileType(getResult()).getElementType(), scalar = getScalar().getType();
  if (scalar != element && !scalar.isIndex())
    return emitOpError() << "expected a scalar of type " << element << " or index, got " << scalar;
  return success();
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = tileType(getResult());
  if (type.getRank() != 1)
    return emitOpError() << "expected a tile of rank 1, got rank " << type.getRank();
  if (!type.getElementType().isInteger() || type.getElementType().isInteger(1))
    return emitOpError() << "expected an integer tile, got " << type;
  return success();
}

LogicalResult ExtractOp::verify() {
  RankedTensorType type = tileType(getTile());
  if (type.getRank())
    return emitOpError() << "expected a tile of rank 0, got rank " << type.getRank();
  Type element = type.getElementType(), result = getResult().getType();
  if (result != element && !(result.isIndex() && element.isInteger()))
    return emitOpError() << "expected a result of type " << element
                         << (element.isInteger() ? " or index" : "") << ", got " << result;
  return success();
}

LogicalResult ElementOp::verify() {
  RankedTensorType type = tileType(getTile());
  if (type.getRank() != 1 || !type.getElementType().isInteger())
    return emitOpError() << "expected a tile of rank 1 of integers, got " << type;
  std::optional<Layout> layout = layoutOf(getTile());
  if (layout &&
      layout->withoutFreeBits(allDims) != layoutInWarp(type.getShape()[0]).withoutFreeBits(allDims))
    return emitOpError() << "expected a tile that is dealt to the lanes of each warp, got " << type;
  return success();
}

LogicalResult tile::CheckOp::verify() {
  if (!(*this)->getParentOfType<KernelOp>())
    return emitOpError("expected a tile.kernel around the operation");
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles from tiles
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  SmallVector<Type> elements;
  for (Value input : getInputs())
    elements.push_back(tileType(input).getElementType());
  if (failed(verifyScalarOp([&] { return emitOpError(); }, getKind(), elements,
                            tileType(getResult()).getElementType())))
    return failure();
  for (Value input : getInputs())
    if (failed(expectShape(*this, "operands", tileType(getResult()).getShape(),
                           tileType(input).getShape())))
      return failure();
  return success();
}

LogicalResult tile::CastOp::verify() {
  return expectShape(*this, "a result", tileType(getInput()).getShape(),
                     tileType(getResult()).getShape());
}

LogicalResult BitcastOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (input.getElementTypeBitWidth() != result.getElementTypeBitWidth())
    return emitOpError() << "expected an element type of " << input.getElementTypeBitWidth()
                         << " bits, got " << result.getElementType();
  return expectShape(*this, "a result", input.getShape(), result.getShape());
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (failed(expectElement(*this, "a result", input.getElementType(), result.getElementType())))
    return failure();
  if (int64_t(getDims().size()) != input.getRank())
    return emitOpError() << "expected " << input.getRank()
                         << " dims, one for each dimension of the input, got " << getDims().size();
  if (failed(expectDistinctDims(*this, getDims(), result.getRank())) ||
      failed(expectIncreasing(*this, getDims())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (result.getDimSize(dim) != input.getDimSize(i))
      return emitOpError() << "expected result dimension " << dim << " of size "
                           << input.getDimSize(i) << ", got " << result.getDimSize(dim);
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (int64_t(getPermutation().size()) != input.getRank())
    return emitOpError() << "expected a permutation of " << input.getRank() << " dims, got "
                         << getPermutation().size();
  if (failed(expectDistinctDims(*this, getPermutation(), input.getRank())) ||
      failed(expectElement(*this, "a result", input.getElementType(), result.getElementType())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(input.getDimSize(dim));
  return expectShape(*this, "a result", shape, result.getShape());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (input.getNumElements() != result.getNumElements())
    return emitOpError() << "expected a result of " << input.getNumElements() << " elements, got "
                         << result.getNumElements();
  return expectElement(*this, "a result", input.getElementType(), result.getElementType());
}

LogicalResult tile::ReduceOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (failed(verifyReduction(*this, input, getKind(), getDims(), getSkipNan())) ||
      failed(expectElement(*this, "a result", input.getElementType(), result.getElementType())))
    return failure();
  return expectShape(*this, "a result", withoutDims(input.getShape(), getDims()),
                     result.getShape());
}

static LogicalResult expectFloats(Operation *op, Type element) {
  if (isa<FloatType>(element))
    return success();
  return op->emitOpError() << "expected floating point exponents, got " << element;
}

static LogicalResult expectFinite(Operation *op, StringRef what, const APFloat &number) {
  if (number.isFinite())
    return success();
  return op->emitOpError() << "expected a finite " << what << ", got " << number.convertToDouble();
}

LogicalResult OnlineUpdateOp::verify() {
  if (failed(expectFloats(*this, tileType(getLargest()).getElementType())))
    return failure();
  if (failed(expectFinite(*this, "scale", getScale())) ||
      failed(expectFinite(*this, "lag", getLag())))
    return failure();
  if (getLag().isNonZero() && getLag().isNegative())
    return emitOpError() << "expected a lag of at least 0, got " << getLag().convertToDouble();
  if (getLag().isNonZero() && !getBefore())
    return emitOpError("expected no lag without a running maximum");
  if (getAdaptive() && !getPrescaled())
    return emitOpError("expected 'adaptive' on prescaled exponents only");
  return success();
}

LogicalResult OnlineWeighOp::verify() {
  if (failed(expectFloats(*this, tileType(getExponent()).getElementType())))
    return failure();
  if (bool(getScales()) == bool(getScaleAttr()))
    return emitOpError() << "expected either 'by' or 'scale', got "
                         << (getScales() ? "both" : "neither");
  if (getRounded() && !getScales())
    return emitOpError("expected 'rounded' on prescaled exponents only");
  return getScale() ? expectFinite(*this, "scale", *getScale()) : success();
}

LogicalResult ScanOp::verify() {
  RankedTensorType input = tileType(getInput()), init = tileType(getInit());
  std::optional<tessera::ReduceOp> op = reduceOpByName({getKind().data(), getKind().size()});
  if (!op)
    return emitOpError() << "expected one of sum prod max min any all, got '" << getKind() << "'";
  Type element = input.getElementType();
  bool isLogical = *op == tessera::ReduceOp::Any || *op == tessera::ReduceOp::All;
  if (isLogical != element.isInteger(1))
    return emitOpError() << "expected " << (isLogical ? "bools" : "numbers") << " for '"
                         << getKind() << "', got " << element;
  if (isa<FloatType>(element) && !element.isF32() && !element.isF64())
    return emitOpError() << "expected floats of type f32 or f64, got " << element;
  int64_t dim = getDim();
  if (dim < 0 || dim >= input.getRank())
    return emitOpError() << "expected a dimension below " << input.getRank() << ", got " << dim;
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + dim);
  if (failed(expectElement(*this, "an initial tile", element, init.getElementType())))
    return failure();
  if (getExclusive() && !layoutOf(getInput()))
    return emitOpError() << "expected a tile with a layout for an exclusive scan, got " << input;
  if (getKey()) {
    RankedTensorType key = tileType(getKey());
    if (!key.getElementType().isInteger() || key.getElementType().isInteger(1))
      return emitOpError() << "expected integer keys, got " << key.getElementType();
    if (init.getRank() == 0)
      return emitOpError("expected an initial tile with a dimension for the keys, got rank 0");
    shape.push_back(init.getShape().back());
    if (failed(expectShape(*this, "keys", input.getShape(), key.getShape())))
      return failure();
  }
  return expectShape(*this, "an initial tile", shape, init.getShape());
}

LogicalResult SortOp::verify() {
  RankedTensorType type = tileType(getInput());
  if (!type.getElementType().isSignlessInteger(32) && !type.getElementType().isSignlessInteger(64))
    return emitOpError() << "expected integers of type i32 or i64, got " << type.getElementType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= type.getRank())
    return emitOpError() << "expected a dimension below " << type.getRank() << ", got " << dim;
  int64_t size = type.getShape()[dim];
  if (!llvm::isPowerOf2_64(size))
    return emitOpError() << "expected a power of two elements to sort, got " << size;
  if (!getPhases() && !getSteps())
    return success();
  if (!layoutOf(getInput()))
    return emitOpError() << "expected a tile with a layout for a part of a sort, got " << type;
  int64_t bits = llvm::Log2_64(size);
  auto isRange = [](ArrayRef<int64_t> range, int64_t first, int64_t end) {
    return range.size() == 2 && range[0] >= first && range[0] <= range[1] && range[1] <= end;
  };
  if (!getPhases() || !isRange(*getPhases(), 1, bits + 1))
    return emitOpError() << "expected phases from 1 to " << bits + 1;
  if (!getSteps() || !isRange(*getSteps(), 0, bits))
    return emitOpError() << "expected steps from 0 to " << bits;
  return success();
}

LogicalResult MmaOp::verify() {
  RankedTensorType lhs = tileType(getLhs()), rhs = tileType(getRhs()), acc = tileType(getAcc());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || (acc.getRank() != 2 && acc.getRank() != 3))
    return emitOpError() << "expected matrices and an accumulator of rank 2 or 3, got ranks "
                         << lhs.getRank() << ", " << rhs.getRank() << " and " << acc.getRank();
  ArrayRef<int64_t> shape = acc.getShape().take_back(2);
  if (acc.getRank() == 3 && lhs.getDimSize(1) % acc.getDimSize(0))
    return emitOpError() << "expected a number of splits that divides " << lhs.getDimSize(1)
                         << ", got " << acc.getDimSize(0);
  if (failed(expectShape(*this, "rhs", {lhs.getDimSize(1), shape[1]}, rhs.getShape())) ||
      failed(expectShape(*this, "acc", {lhs.getDimSize(0), rhs.getDimSize(1)}, shape)) ||
      failed(expectElement(*this, "rhs", lhs.getElementType(), rhs.getElementType())))
    return failure();
  if (getResult().getType() != getAcc().getType())
    return emitOpError() << "expected a result of the accumulator's type " << acc << ", got "
                         << getResult().getType();
  Type from = lhs.getElementType(), to = acc.getElementType();
  if (isa<FloatType>(from) != isa<FloatType>(to) ||
      to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth())
    return emitOpError() << "expected an accumulator that holds products of " << from << ", got "
                         << to;
  return success();
}
