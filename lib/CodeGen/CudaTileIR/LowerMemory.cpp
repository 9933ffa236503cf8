//===- LowerMemory.cpp - Tensors, loads and stores ------------------------===//
//
// Declares the tensors of an entry with their partition views, and lowers accesses to views or to
// pointers. TMA moves 16-byte chunks; what is known of alignment decides which form is used.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"
#include "tessera/Target/CudaLimits.h"

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace tessera::cudatile {

/// A load, gather, store or scatter of a tile.
struct KernelLowering::Access {
  mlir::Value view;
  mlir::OperandRange coords;
  llvm::ArrayRef<int64_t> dims;
  Builder::Shape shape;
  /// Whether the tile may reach out of the tensor.
  bool isChecked;
  std::optional<Padding> padding = {};
  /// Whether the pad is none that views have.
  bool hasOtherPadding = false;
  bool isStore = false;

  explicit Access(tile::LoadOp load);
  explicit Access(tile::GatherOp gather)
      : view(gather.getView()), coords(gather.getCoords()), dims(gather.getDims()),
        shape(shapeOf(gather.getType())), isChecked(gather.getPad().has_value()) {}
  explicit Access(tile::StoreOp store)
      : view(store.getView()), coords(store.getCoords()), dims(store.getDims()),
        shape(shapeOf(store.getValue().getType())), isChecked(store.getBounded()), isStore(true) {}
  explicit Access(tile::ScatterOp scatter)
      : view(scatter.getView()), coords(scatter.getCoords()), dims(scatter.getDims()),
        shape(shapeOf(scatter.getValue().getType())), isChecked(scatter.getBounded()),
        isStore(true) {}

  tile::ViewType type() const { return cast<tile::ViewType>(view.getType()); }

  /// The dimensions of the tensor in the order of the tiles of its partition: those that are not in
  /// `dims` have size 1 and are first.
  Builder::Shape order() const {
    Builder::Shape order;
    for (int64_t dim = 0; dim < int64_t(type().getRank()); ++dim)
      if (!llvm::is_contained(dims, dim))
        order.push_back(dim);
    order.insert(order.end(), dims.begin(), dims.end());
    return order;
  }

  /// The dimension of the tile along a dimension of the tensor.
  int64_t tileDim(int64_t dim) const { return llvm::find(dims, dim) - dims.begin(); }

  /// Whether at most one dimension is longer than 1.
  bool isRow() const {
    return llvm::count_if(shape, [](int64_t size) { return size > 1; }) <= 1;
  }

  int64_t tileSize(int64_t dim) const {
    return llvm::is_contained(dims, dim) ? shape[tileDim(dim)] : 1;
  }

  Builder::Shape partitionShape() const {
    Builder::Shape sizes(type().getRank() - dims.size(), 1);
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return sizes;
  }

  bool fitsView(const Coordinates &coordinates, bool anyStrides) const {
    // Views have at least one element and positive strides.
    if (hasOtherPadding || !type().getRank() || llvm::is_contained(type().getShape(), 0))
      return false;
    for (int64_t dim = 0; dim < int64_t(type().getRank()); ++dim)
      if (coordinates.isBackward(view, dim) ||
          (anyStrides && !coordinates.hasPositiveStride(view, dim)))
        return false;
    return !isChecked || llvm::all_of(llvm::seq<int64_t>(0, type().getRank()), [&](int64_t dim) {
      return coordinates.touches(coords[dim], view, dim, tileSize(dim));
    });
  }
};

/// The padding of views with this value; none: views have none.
static std::optional<Padding> namedPadding(mlir::Attribute pad) {
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
    padding = namedPadding(*load.getPad());
    hasOtherPadding = !padding;
  }
}

//===----------------------------------------------------------------------===//
// The entry block
//===----------------------------------------------------------------------===//

static constexpr int64_t kChunk = CudaLimits::bulkAlignment;

/// The divisor of a size or a stride that tileiras is given; 1 if it is less than a chunk. From a
/// smaller one tileiras 13.4 makes wide loads for threads whose elements are not contiguous.
int64_t KernelLowering::usefulDivisor(int64_t divisor, tile::ViewType type) const {
  return divisor * typeSpec(inMemory(kindOf(type.getElementType()))).bits / 8 < kChunk ? 1
                                                                                       : divisor;
}

void KernelLowering::declareTensors() {
  for (mlir::Value argument : kernel.getArguments())
    if (argument.getType().isIndex())
      sizes.try_emplace(*coordinates.expression(argument), get(argument));
  for (auto &[argument, tensor] : tensors) {
    auto type = cast<tile::ViewType>(argument.getType());
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      Value &size = tensor.sizes[dim], &stride = tensor.strides[dim];
      if (type.isDynamic(dim))
        size =
            b.assumeDivisible(b.assumeBounded(size, 0), usefulDivisor(type.getDivisor(dim), type));
      else
        size = index(type.getShape()[dim]);
      sizes.try_emplace(coordinates.size(argument, dim), size);
      int64_t step = type.getStrides()[dim];
      if (!mlir::ShapedType::isDynamic(step)) {
        stride = index(step);
        continue;
      }
      if (coordinates.hasPositiveStride(argument, dim))
        stride = b.assumeBounded(stride, 0);
      stride =
          b.assumeDivisible(stride, usefulDivisor(coordinates.strideDivisor(argument, dim), type));
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
    // Strides are positive here; dynamic ones are operands.
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
    if (auto scatter = dyn_cast<tile::ScatterOp>(op))
      ++writes[scatter.getView()];
    if (!load && !store)
      return;
    Access access = load ? Access(load) : Access(store);
    ++(load ? reads : writes)[access.view];
    if (!usesView(access))
      return;
    if (access.padding)
      paddings.try_emplace(access.view, access.type().getElementType().isF64() ? Padding::Zero
                                                                               : *access.padding);
    partitionFor(access);
  });
  for (auto &[argument, tensor] : tensors) {
    tensor.isOrdered = writes[argument] > 1 || (writes[argument] && reads[argument]);
    if (tensor.isOrdered)
      tokens[argument] = b.makeToken();
  }
}

/// The padding of the view of a load. All views of a tensor have the padding of the first one,
/// because tileiras merges views that partition a tensor in the same way, transposed or not. Loads
/// with another padding select it. f64 supports zero only.
std::optional<Padding> KernelLowering::viewPadding(const Access &access) {
  return access.padding ? std::optional(paddings.at(access.view)) : std::nullopt;
}

/// The partition view of an access; created at the first call.
Value KernelLowering::partitionFor(const Access &access) {
  Value tensor = tensorViewFor(access.view);
  Type type = b.partitionViewType(b.typeOf(tensor), access.partitionShape(), access.order(),
                                  viewPadding(access));
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
// Alignment
//===----------------------------------------------------------------------===//

/// The contiguous dimension, if all rows along it are aligned to a chunk.
std::optional<int64_t> KernelLowering::alignedDim(const Access &access) const {
  tile::ViewType type = access.type();
  int64_t bytes = typeSpec(inMemory(kindOf(type.getElementType()))).bits / 8;
  if (coordinates.addressDivisor(access.view) % kChunk)
    return std::nullopt;
  std::optional<int64_t> inner;
  for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim) {
    int64_t stride = type.getStrides()[dim];
    if (stride == 1)
      inner = dim;
    else if ((mlir::ShapedType::isDynamic(stride) ? coordinates.strideDivisor(access.view, dim)
                                                  : stride) *
             bytes % kChunk)
      return std::nullopt;
  }
  return inner;
}

/// Whether aligned rows may end within a chunk. A TMA store writes the whole chunk, also past the
/// end of the row.
bool KernelLowering::mayEndInChunk(const Access &access) const {
  std::optional<int64_t> inner = alignedDim(access);
  if (!inner)
    return false;
  tile::ViewType type = access.type();
  int64_t size = type.isDynamic(*inner) ? type.getDivisor(*inner) : type.getShape()[*inner];
  return size * typeSpec(inMemory(kindOf(type.getElementType()))).bits / 8 % kChunk;
}

/// Whether the tile is a part of one row that neither TMA nor vector instructions can access. A
/// view compares each element with the sizes of all dimensions, pointers only with that of the row.
bool KernelLowering::isUnalignedRow(const Access &access) const {
  auto isLong = [](int64_t size) { return size > 1; };
  if (options.wideIndices || llvm::count_if(access.shape, isLong) != 1)
    return false;
  bool isAligned = mayEndInChunk(access) ? !access.isStore && accessHints().allowTma
                                         : alignedDim(access).has_value();
  if (isAligned)
    return false;
  int64_t dim = access.dims[llvm::find_if(access.shape, isLong) - access.shape.begin()];
  return access.type().getStrides()[dim] == 1;
}

bool KernelLowering::usesView(const Access &access) const {
  return access.fitsView(coordinates, options.anyStrides) && !isUnalignedRow(access);
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// The positions of a tile's elements along a dimension of the tensor, in 64 bits. Tiles of several
/// dimensions use this form, because tileiras makes code that spills from shorter ones.
Value KernelLowering::positionsFor(const Access &access, int64_t dim) {
  int64_t size = access.tileSize(dim);
  Value first = b.convert(get(access.coords[dim]), TypeKind::I64);
  if (!llvm::is_contained(access.dims, dim))
    return splat(first, access.shape);
  Value along = b.add(b.iota(TypeKind::I64, size), splat(b.mul(first, b.i64(size)), {size}));
  return b.broadcastInDims(along, access.shape, {access.tileDim(dim)});
}

/// The mask of a tile's elements in the tensor; none: all of them. Positions have 64 bits unless
/// the tile is known to touch the tensor, so that a coordinate far outside does not wrap around.
Value KernelLowering::maskFor(const Access &access) {
  Value mask;
  for (int64_t dim = 0; dim < int64_t(access.coords.size()); ++dim) {
    int64_t size = access.tileSize(dim);
    if (!access.isRow()) {
      Value end = splat(b.convert(tensors[access.view].sizes[dim], TypeKind::I64), access.shape);
      Value inside = b.compare(Predicate::Less, positionsFor(access, dim), end, Ordering::Ordered,
                               Signedness::Unsigned);
      mask = mask ? b.elementwise(Opcode::AndI, {mask, inside}) : inside;
      continue;
    }
    bool touches = coordinates.touches(access.coords[dim], access.view, dim, size);
    if (touches && size == 1)
      continue;
    TypeKind kind = touches ? indexKind() : TypeKind::I64;
    // One value for equal sizes lets CSE merge equal masks.
    Value end = b.convert(sizes.at(coordinates.size(access.view, dim)), kind);
    Value position =
        b.mul(b.convert(get(access.coords[dim]), kind), b.constantInt(b.tile(kind, {}), size));
    if (size > 1) {
      position = b.add(b.iota(kind, size), splat(position, {size}));
      end = splat(end, {size});
    }
    // Compared as unsigned, a negative position is past every size.
    Value inside = b.compare(Predicate::Less, position, end, Ordering::Ordered,
                             touches ? Signedness::Signed : Signedness::Unsigned);
    inside = size > 1 ? b.broadcastInDims(inside, access.shape, {access.tileDim(dim)})
                      : splat(inside, access.shape);
    mask = mask ? b.elementwise(Opcode::AndI, {mask, inside}) : inside;
  }
  return mask;
}

/// The addresses of a tile's elements: the first one plus distances.
Value KernelLowering::pointersFor(const Access &access) {
  const Tensor &tensor = tensors[access.view];
  Value first, distances;
  for (int64_t dim = 0; dim < int64_t(access.coords.size()); ++dim) {
    int64_t size = access.tileSize(dim);
    bool isDense = access.type().getStrides()[dim] == 1;
    Value stride = b.convert(tensor.strides[dim], TypeKind::I64);
    if (!access.isRow()) {
      Value along = positionsFor(access, dim);
      along = isDense ? along : b.mul(along, splat(stride, access.shape));
      distances = distances ? b.add(distances, along) : along;
      continue;
    }
    Value start = b.mul(b.convert(get(access.coords[dim]), TypeKind::I64), b.i64(size));
    start = isDense ? start : b.mul(start, stride);
    first = first ? b.add(first, start) : start;
    if (size == 1)
      continue;
    Value along = b.iota(TypeKind::I64, size);
    along = isDense ? along : b.mul(along, splat(stride, {size}));
    along = b.broadcastInDims(along, access.shape, {access.tileDim(dim)});
    distances = distances ? b.add(distances, along) : along;
  }
  Value pointer = first ? b.offset(tensor.pointer, first) : tensor.pointer;
  Value pointers = splat(pointer, access.shape);
  return distances ? b.offset(pointers, distances) : pointers;
}

Value KernelLowering::paddingFor(const Access &access, mlir::Attribute pad) {
  auto number = dyn_cast<mlir::FloatAttr>(pad);
  llvm::APInt bits =
      number ? number.getValue().bitcastToAPInt() : cast<mlir::IntegerAttr>(pad).getValue();
  TypeKind kind = inMemory(kindOf(access.type().getElementType()));
  return b.constantBits(b.tile(kind, access.shape), bits.getZExtValue());
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerLoad(tile::LoadOp load) {
  Access access(load);
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  Value tile, done;
  if (usesView(access)) {
    AccessHints hints = accessHints();
    // The latency of a load is the number of iterations that it is issued ahead.
    if (std::optional<int64_t> stages = fieldOf(TuningField::NumStages);
        stages && isa<mlir::scf::ForOp>(load->getParentOp()))
      hints.latency = *stages - 1;
    auto loaded = b.load(partitionFor(access), indicesFor(access), after, hints);
    tile = b.reshape(loaded.tile, access.shape);
    done = loaded.token;
    if (viewPadding(access) != access.padding)
      if (Value mask = maskFor(access))
        tile = b.select(mask, tile, paddingFor(access, *load.getPad()));
  } else {
    Value mask = access.isChecked ? maskFor(access) : Value();
    Value padding = mask ? paddingFor(access, *load.getPad()) : Value();
    auto loaded = b.loadPointers(pointersFor(access), mask, padding, after);
    tile = loaded.tile;
    done = loaded.token;
  }
  if (ordered != tokens.end())
    ordered->second = b.joinTokens({after, done});
  set(load, b.convert(tile, kindOf(load.getType().getElementType())));
  return success();
}

LogicalResult KernelLowering::lowerGather(tile::GatherOp gather) {
  Access access(gather);
  const Tensor &tensor = tensors[access.view];
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  TypeKind kind = kindOf(gather.getType().getElementType());
  Value pointers = pointersFor(access), mask = access.isChecked ? maskFor(access) : Value();
  for (auto [i, tile] : llvm::enumerate(gather.getIndices())) {
    unsigned dim = access.coords.size() + i;
    Value index = b.convert(get(tile), TypeKind::I64);
    Value last = b.sub(b.convert(tensor.sizes[dim], TypeKind::I64), b.i64(1));
    index = b.min(index, splat(last, access.shape), Signedness::Signed);
    index = b.max(index, fillInt(index, 0), Signedness::Signed);
    if (access.type().getStrides()[dim] != 1) {
      Value stride = b.convert(tensor.strides[dim], TypeKind::I64);
      index = b.mul(index, splat(stride, access.shape));
    }
    pointers = b.offset(pointers, index);
  }
  Value padding = mask ? paddingFor(access, *gather.getPad()) : Value();
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
  if (usesView(access)) {
    Value whole = b.reshape(tile, access.partitionShape());
    AccessHints hints = accessHints();
    hints.allowTma &= !access.isChecked || !mayEndInChunk(access);
    done = b.store(whole, partitionFor(access), indicesFor(access), after, hints);
  } else {
    done = b.storePointers(pointersFor(access), tile, access.isChecked ? maskFor(access) : Value(),
                           after);
  }
  if (ordered != tokens.end())
    ordered->second = done;
  return success();
}

/// Stores elements at their indices, or adds them atomically in any order. The schedule has
/// expanded ordered sums.
LogicalResult KernelLowering::lowerScatter(tile::ScatterOp scatter) {
  Access access(scatter);
  int64_t bits = access.type().getElementType().getIntOrFloatBitWidth();
  if (scatter.getSum() && (!scatter.getUnordered() || bits < 32))
    return scatter.emitOpError("expected an unordered sum of 32 or 64 bits for CUDA Tile IR");
  const Tensor &tensor = tensors[access.view];
  auto ordered = tokens.find(access.view);
  Value after = ordered == tokens.end() ? Value() : ordered->second;
  Value tile = get(scatter.getValue());
  if (b.elementKindOf(tile) == TypeKind::I1)
    tile = b.convert(tile, TypeKind::I8);
  Value pointers = pointersFor(access), mask = access.isChecked ? maskFor(access) : Value();
  for (auto [i, indices] : llvm::enumerate(scatter.getIndices())) {
    unsigned dim = access.coords.size() + i;
    Value index = b.convert(get(indices), TypeKind::I64);
    Value end = splat(b.convert(tensor.sizes[dim], TypeKind::I64), access.shape);
    // Compared as unsigned, a negative index is past every size.
    Value inside = b.compare(Predicate::Less, index, end, Ordering::Ordered, Signedness::Unsigned);
    mask = mask ? b.elementwise(Opcode::AndI, {mask, inside}) : inside;
    if (access.type().getStrides()[dim] != 1) {
      Value stride = b.convert(tensor.strides[dim], TypeKind::I64);
      index = b.mul(index, splat(stride, access.shape));
    }
    pointers = b.offset(pointers, index);
  }
  Value done = scatter.getSum() ? b.atomicAdd(pointers, tile, mask, after)
                                : b.storePointers(pointers, tile, mask, after);
  if (ordered != tokens.end())
    ordered->second = done;
  return success();
}

} // namespace tessera::cudatile
