//===- LowerMemory.cpp - Tensors, loads and stores ------------------------===//
#include "KernelLowering.h"

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace tessera::cudatile {

/// A load, gather or store of a tile.
struct KernelLowering::Access {
  mlir::Value view;
  mlir::OperandRange coords;
  llvm::ArrayRef<int64_t> dims;
  Builder::Shape shape;
  /// May reach beyond the tensor.
  bool isChecked;
  std::optional<Padding> padding = {};
  /// The padding is none that views know.
  bool hasOtherPadding = false;

  explicit Access(tile::LoadOp load);
  explicit Access(tile::GatherOp gather)
      : view(gather.getView()), coords(gather.getCoords()), dims(gather.getDims()),
        shape(shapeOf(gather.getType())), isChecked(gather.getPad().has_value()) {}
  explicit Access(tile::StoreOp store)
      : view(store.getView()), coords(store.getCoords()), dims(store.getDims()),
        shape(shapeOf(store.getValue().getType())), isChecked(store.getBounded()) {}

  tile::ViewType type() const { return cast<tile::ViewType>(view.getType()); }

  /// The tensor's dimensions in the order of a partition's tiles: those that are not in `dims` have
  /// size 1 and come first.
  Builder::Shape order() const {
    Builder::Shape order;
    for (int64_t dim = 0; dim < int64_t(type().getRank()); ++dim)
      if (!llvm::is_contained(dims, dim))
        order.push_back(dim);
    order.insert(order.end(), dims.begin(), dims.end());
    return order;
  }

  int64_t tileSize(int64_t dim) const {
    const auto *found = llvm::find(dims, dim);
    return found == dims.end() ? 1 : shape[found - dims.begin()];
  }

  Builder::Shape partitionShape() const {
    Builder::Shape sizes(type().getRank() - dims.size(), 1);
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return sizes;
  }

  bool throughView(const Coordinates &coordinates, bool anyStrides) const {
    // Views have elements, and steps forward.
    if (hasOtherPadding || !type().getRank() || llvm::is_contained(type().getShape(), 0))
      return false;
    for (int64_t dim = 0; dim < int64_t(type().getRank()); ++dim)
      if (coordinates.isBackward(view, dim) || (anyStrides && !coordinates.hasPositiveStride(view, dim)))
        return false;
    return !isChecked || llvm::all_of(llvm::seq<int64_t>(0, type().getRank()), [&](int64_t dim) {
      return coordinates.touches(coords[dim], view, dim, tileSize(dim));
    });
  }
};

/// The padding of views that gives this number.
static std::optional<Padding> paddingOf(mlir::Attribute pad) {
  if (auto number = dyn_cast<mlir::IntegerAttr>(pad))
    return number.getValue().isZero() ? std::optional(Padding::Zero) : std::nullopt;
  llvm::APFloat value = cast<mlir::FloatAttr>(pad).getValue();
  if (value.isZero())
    return value.isNegative() ? Padding::NegZero : Padding::Zero;
  if (value.isInfinity())
    return value.isNegative() ? Padding::NegInf : Padding::PosInf;
  return value.isNaN() ? std::optional(Padding::Nan) : std::nullopt;
}

KernelLowering::Access::Access(tile::LoadOp load)
    : view(load.getView()), coords(load.getCoords()), dims(load.getDims()),
      shape(shapeOf(load.getType())), isChecked(load.getPad().has_value()) {
  if (isChecked) {
    padding = paddingOf(*load.getPad());
    hasOtherPadding = !padding;
  }
}

//===----------------------------------------------------------------------===//
// At the beginning of the entry
//===----------------------------------------------------------------------===//

void KernelLowering::declareTensors() {
  for (auto &[argument, tensor] : tensors) {
    auto type = cast<tile::ViewType>(argument.getType());
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      Value &size = tensor.sizes[dim], &stride = tensor.strides[dim];
      if (type.isDynamic(dim))
        size = b.assumeDivisible(b.assumeBounded(size, 0), type.getDivisor(dim));
      else
        size = index(type.getShape()[dim]);
      int64_t step = type.getStrides()[dim];
      if (!mlir::ShapedType::isDynamic(step)) {
        stride = index(step);
        continue;
      }
      if (coordinates.hasPositiveStride(argument, dim))
        stride = b.assumeBounded(stride, 0);
      stride = b.assumeDivisible(stride, coordinates.strideDivisor(argument, dim));
    }
  }
}

Value KernelLowering::tensorViewFor(mlir::Value argument) {
  Tensor &tensor = tensors[argument];
  if (tensor.view)
    return tensor.view;
  auto type = cast<tile::ViewType>(argument.getType());
  Builder::Shape shape, strides;
  Values dynamicSizes, dynamicStrides;
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    shape.push_back(type.isDynamic(dim) ? kDynamic : type.getShape()[dim]);
    if (type.isDynamic(dim))
      dynamicSizes.push_back(tensor.sizes[dim]);
    // Only steps forward come here; those of unknown size are left to run time.
    int64_t step = type.getStrides()[dim];
    bool isStatic = !mlir::ShapedType::isDynamic(step) && step > 0;
    strides.push_back(isStatic ? step : kDynamic);
    if (!isStatic)
      dynamicStrides.push_back(tensor.strides[dim]);
  }
  tensor.view = b.tensorView(tensor.pointer, shape, strides, dynamicSizes, dynamicStrides);
  return tensor.view;
}

void KernelLowering::declareAccesses() {
  llvm::DenseMap<mlir::Value, unsigned> reads, writes;
  kernel.walk([&](mlir::Operation *op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (auto gather = dyn_cast<tile::GatherOp>(op))
      ++reads[gather.getView()];
    if (!load && !store)
      return;
    Access access = load ? Access(load) : Access(store);
    ++(load ? reads : writes)[access.view];
    if (access.throughView(coordinates, options.anyStrides))
      partitionFor(access);
  });
  for (auto &[argument, tensor] : tensors) {
    tensor.isOrdered = writes[argument] > 1 || (writes[argument] && reads[argument]);
    if (tensor.isOrdered)
      tokens[argument] = b.makeToken();
  }
}

/// The partition view of an access; made at the first call.
Value KernelLowering::partitionFor(const Access &access) {
  Value tensor = tensorViewFor(access.view);
  Type type = b.partitionViewType(b.typeOf(tensor), access.partitionShape(), access.order(),
                                  access.padding);
  Value &view = partitions[{tensor.index, type.index}];
  if (!view)
    view = b.append(Opcode::MakePartitionView, {type}, {{tensor}}).front();
  return view;
}

Builder::Values KernelLowering::indicesFor(const Access &access) {
  Values indices;
  for (int64_t dim : access.order())
    indices.push_back(get(access.coords[dim]));
  return indices;
}

//===----------------------------------------------------------------------===//
// Through pointers
//===----------------------------------------------------------------------===//

std::pair<Value, Value> KernelLowering::pointersFor(const Access &access) {
  const Tensor &tensor = tensors[access.view];
  Value offsets, mask;
  for (int64_t dim = 0; dim < int64_t(access.coords.size()); ++dim) {
    // Positions along this dimension, in 64 bits: a coordinate far outside must stay outside.
    Value position = b.convert(get(access.coords[dim]), TypeKind::I64);
    const auto *found = llvm::find(access.dims, dim);
    if (found == access.dims.end()) {
      position = splat(position, access.shape);
    } else {
      int64_t place = found - access.dims.begin(), size = access.shape[place];
      Value first = b.mul(position, b.i64(size));
      Value along = b.add(b.iota(TypeKind::I64, size), splat(first, {size}));
      position = b.broadcastInDims(along, access.shape, {place});
    }
    Value step = position;
    if (access.type().getStrides()[dim] != 1) {
      Value stride = b.convert(tensor.strides[dim], TypeKind::I64);
      step = b.mul(position, splat(stride, access.shape));
    }
    offsets = offsets ? b.add(offsets, step) : step;
    if (!access.isChecked)
      continue;
    // As an unsigned number a negative position is beyond every size.
    Value end = splat(b.convert(tensor.sizes[dim], TypeKind::I64), access.shape);
    Value inside =
        b.compare(Predicate::Less, position, end, Ordering::Ordered, Signedness::Unsigned);
    mask = mask ? b.elementwise(Opcode::AndI, {mask, inside}) : inside;
  }
  Value pointers = splat(tensor.pointer, access.shape);
  return {offsets ? b.offset(pointers, offsets) : pointers, mask};
}

Value KernelLowering::paddingFor(const Access &access, mlir::Attribute pad, TypeKind kind) {
  uint64_t bits = isa<mlir::FloatAttr>(pad)
                      ? cast<mlir::FloatAttr>(pad).getValue().bitcastToAPInt().getZExtValue()
                      : cast<mlir::IntegerAttr>(pad).getValue().getZExtValue();
  TypeKind stored = kind == TypeKind::I1 ? TypeKind::I8 : kind;
  return b.constantBits(b.tile(stored, access.shape), bits);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerLoad(tile::LoadOp load) {
  Access access(load);
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  TypeKind kind = kindOf(load.getType().getElementType());
  Builder::Loaded loaded;
  if (access.throughView(coordinates, options.anyStrides)) {
    AccessHints hints = accessHints();
    if (std::optional<int64_t> ahead = hint("ahead"); ahead && isa<mlir::scf::ForOp>(load->getParentOp()))
      hints.latency = *ahead;
    loaded = b.load(partitionFor(access), indicesFor(access), after, hints);
  } else {
    auto [pointers, mask] = pointersFor(access);
    Value padding = mask ? paddingFor(access, *load.getPad(), kind) : Value();
    loaded = b.loadPointers(pointers, mask, padding, after);
  }
  if (ordered != tokens.end())
    ordered->second = b.joinTokens({after, loaded.token});
  set(load, b.convert(b.reshape(loaded.tile, access.shape), kind));
  return success();
}

LogicalResult KernelLowering::lowerGather(tile::GatherOp gather) {
  Access access(gather);
  const Tensor &tensor = tensors[access.view];
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  TypeKind kind = kindOf(gather.getType().getElementType());
  auto [pointers, mask] = pointersFor(access);
  for (auto [i, tile] : llvm::enumerate(gather.getPlaces())) {
    unsigned dim = access.coords.size() + i;
    Value place = b.convert(get(tile), TypeKind::I64);
    Value last = b.sub(b.convert(tensor.sizes[dim], TypeKind::I64), b.i64(1));
    place = b.min(place, splat(last, access.shape), Signedness::Signed);
    place = b.max(place, fillInt(place, 0), Signedness::Signed);
    if (access.type().getStrides()[dim] != 1) {
      Value stride = b.convert(tensor.strides[dim], TypeKind::I64);
      place = b.mul(place, splat(stride, access.shape));
    }
    pointers = b.offset(pointers, place);
  }
  Value padding = mask ? paddingFor(access, *gather.getPad(), kind) : Value();
  Builder::Loaded loaded = b.loadPointers(pointers, mask, padding, after);
  if (ordered != tokens.end())
    ordered->second = b.joinTokens({after, loaded.token});
  set(gather, b.convert(loaded.tile, kind));
  return success();
}

LogicalResult KernelLowering::lowerStore(tile::StoreOp store) {
  Access access(store);
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  Value tile = get(store.getValue());
  if (b.elementKindOf(tile) == TypeKind::I1)
    tile = b.convert(tile, TypeKind::I8);
  Value done;
  if (access.throughView(coordinates, options.anyStrides)) {
    Value whole = b.reshape(tile, access.partitionShape());
    done = b.store(whole, partitionFor(access), indicesFor(access), after, accessHints());
  } else {
    auto [pointers, mask] = pointersFor(access);
    done = b.storePointers(pointers, tile, mask, after);
  }
  if (ordered != tokens.end())
    ordered->second = done;
  return success();
}

} // namespace tessera::cudatile
