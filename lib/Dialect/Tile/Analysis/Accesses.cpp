//===- Accesses.cpp - The instructions of accesses to memory --------------===//
#include "tessera/Dialect/Tile/Analysis/Accesses.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

std::optional<unsigned> GlobalAccess::tileDim(int64_t dim) const {
  const auto *found = llvm::find(dims, dim);
  return found == dims.end() ? std::nullopt : std::optional<unsigned>(found - dims.begin());
}

int64_t GlobalAccess::tileSize(int64_t dim) const {
  std::optional<unsigned> place = tileDim(dim);
  return place ? sizes[*place] : 1;
}

int64_t GlobalAccess::bytes() const {
  return llvm::divideCeil(type().getElementType().getIntOrFloatBitWidth(), 8);
}

/// The operands of an access, before anything is decided.
static GlobalAccess operandsOf(Operation *op) {
  auto make = [&](Value tile, Value view, OperandRange coords, ArrayRef<int64_t> dims,
                  bool isChecked, OperandRange indices) {
    GlobalAccess access{.op = op,
                        .tile = tile,
                        .view = view,
                        .coords = coords,
                        .dims = dims,
                        .isChecked = isChecked,
                        .indices = indices};
    if (tile) {
      access.layout = *tile::layoutOf(tile);
      access.sizes = cast<RankedTensorType>(tile.getType()).getShape();
    }
    return access;
  };
  auto none = [](OperandRange operands) { return operands.drop_front(operands.size()); };
  return llvm::TypeSwitch<Operation *, GlobalAccess>(op)
      .Case([&](tile::LoadOp load) {
        return make(load.getResult(), load.getView(), load.getCoords(), load.getDims(),
                    load.getPad().has_value(), none(load.getCoords()));
      })
      .Case([&](tile::GatherOp gather) {
        return make(gather.getResult(), gather.getView(), gather.getCoords(), gather.getDims(),
                    gather.getPad().has_value(), gather.getIndices());
      })
      .Case([&](tile::ScatterOp scatter) {
        return make(scatter.getValue(), scatter.getView(), scatter.getCoords(), scatter.getDims(),
                    scatter.getBounded(), scatter.getIndices());
      })
      .Case([&](tile::CpAsyncOp copy) {
        GlobalAccess access = make(Value(), copy.getView(), copy.getCoords(), copy.getDims(),
                                   copy.getBounded(), none(copy.getCoords()));
        access.layout = copy.getVia().getValue();
        access.sizes = copy.getBuffer().getType().getTile().getShape();
        return access;
      })
      .Default([&](Operation *) {
        auto store = cast<tile::StoreOp>(op);
        return make(store.getValue(), store.getView(), store.getCoords(), store.getDims(),
                    store.getBounded(), none(store.getCoords()));
      });
}

/// Whether a tile is constant along a dimension.
static bool isUniformAlong(Value tile, int64_t dim) {
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<tile::ConstantOp, tile::SplatOp>(op))
    return true;
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op)) {
    const auto *from = llvm::find(broadcast.getDims(), dim);
    return from == broadcast.getDims().end() ||
           isUniformAlong(broadcast.getInput(), from - broadcast.getDims().begin());
  }
  auto isSame = [&](Value operand) { return isUniformAlong(operand, dim); };
  return isa_and_nonnull<tile::MapOp, tile::CastOp>(op) && llvm::all_of(op->getOperands(), isSame);
}

static unsigned widthOf(const GlobalAccess &access, const Coordinates &coordinates) {
  for (auto [number, dim] : llvm::enumerate(access.dims)) {
    auto isShared = [&, at = int64_t(number)](Value index) { return isUniformAlong(index, at); };
    if (dim >= 0 && access.type().hasUnitStride(dim) && !llvm::all_of(access.indices, isShared))
      return 1;
  }
  return coordinates.accessWidth(access.view, access.dims, access.layout, access.isChecked);
}

/// Where tiles divide the tensor, a tile that starts inside ends inside.
static bool needsCheck(const GlobalAccess &access, int64_t dim, const Coordinates &coordinates) {
  int64_t extent = access.tileSize(dim);
  return access.type().getDivisor(dim) % extent != 0 ||
         !coordinates.touches(access.coords[dim], access.view, dim, extent, access.op);
}

/// Whether the bounds of a store mask all elements that lie outside of what is loaded.
static bool isMaskedLike(tile::StoreOp store, const GlobalAccess &load,
                         const Coordinates &coordinates) {
  GlobalAccess stored = operandsOf(store);
  auto isBound = [&](int64_t dim) {
    for (int64_t other = 0; other < int64_t(stored.coords.size()); ++other)
      if (stored.coords[other] == load.coords[dim] && stored.tileDim(other) == load.tileDim(dim) &&
          coordinates.size(stored.view, other) == coordinates.size(load.view, dim))
        return true;
    return false;
  };
  return store.getBounded() && llvm::all_of(llvm::seq<int64_t>(0, load.coords.size()), isBound);
}

/// Whether the pad of a load reaches, by elementwise operations, only stores that mask these
/// elements.
static bool isPadUnused(const GlobalAccess &load, const Coordinates &coordinates) {
  llvm::SetVector<Value> made;
  made.insert(load.tile);
  for (unsigned i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(user))
        made.insert(user->getResult(0));
      else if (auto store = dyn_cast<tile::StoreOp>(user);
               !store || !isMaskedLike(store, load, coordinates))
        return false;
    }
  return true;
}

GlobalAccess tessera::globalAccess(Operation *op, const Coordinates &coordinates) {
  GlobalAccess access = operandsOf(op);
  access.width = widthOf(access, coordinates);
  for (int64_t dim = 0; access.isChecked && dim < int64_t(access.coords.size()); ++dim)
    if (needsCheck(access, dim, coordinates))
      access.checkedDims.push_back(dim);
  // A tensor of one dimension has a single end: vectors are whole but for the one that it cuts.
  bool isSingleRow = access.type().getRank() == 1 && isa<tile::LoadOp, tile::StoreOp>(op);
  if (isSingleRow && access.isChecked)
    access.width = coordinates.accessWidth(access.view, access.dims, access.layout, false);
  bool endsAnywhere = access.view.getDefiningOp<tile::AlignedRowOp>() ||
                      (isSingleRow && access.type().getDivisor(0) % access.width != 0);
  access.hasCutVectors = access.isChecked && access.width > 1 && endsAnywhere;
  bool isLoad = isa<tile::LoadOp, tile::GatherOp>(op) && access.isChecked;
  bool isOutsideLoops = isa<tile::LoadOp>(op) && isa<tile::KernelOp>(op->getParentOp());
  access.needsPad = isLoad && !(isOutsideLoops && isPadUnused(access, coordinates));
  return access;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The element width for which lib/Layout plans an access; that of unaligned rows makes it plan
/// accesses of single elements.
static unsigned accessBits(Type element, bool isUnaligned) {
  constexpr unsigned kUnaligned = 128;
  if (isUnaligned)
    return kUnaligned;
  return isa<FloatTF32Type>(element) ? 32
                                     : 8 * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

SharedAccess tessera::sharedAccess(tile::SharedStoreOp store, SharedFeatures features) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  return planStore(store.getBuffer().getType().getMemory(), *tile::layoutOf(store.getValue()),
                   accessBits(type.getElementType(), bool(store.getShift())), features);
}

SharedAccess tessera::sharedAccess(tile::SharedLoadOp load, SharedFeatures features) {
  return planLoad(load.getBuffer().getType().getMemory(), load.getElementLayout(),
                  accessBits(load.getType().getElementType(), bool(load.getShift())), features);
}

bool tessera::isLoadedByFragments(tile::SharedLoadOp load) {
  if (load.getShift())
    return false;
  auto isOperand = [&](Operation *user) {
    auto mma = dyn_cast<tile::MmaOp>(user);
    return mma && mma->getBlock() == load->getBlock() && mma.getAcc() != load.getResult();
  };
  if (!llvm::all_of(load->getUsers(), isOperand))
    return false;
  for (Operation *op = load->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::is_contained(load->getUsers(), op))
      return true;
    if (isa<tile::MmaOp>(op) || (!isa<tile::SharedLoadOp>(op) && !isMemoryEffectFree(op)))
      return false;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Distributed shared memory
//===----------------------------------------------------------------------===//

static int64_t elementBytes(Value tile) {
  return llvm::divideCeil(cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth(), 8);
}

std::optional<OwnRegisters> tessera::keptRegisters(Value dsmem, unsigned cluster) {
  tile::DsmemStoreOp store;
  tile::DsmemLoadOp load;
  for (Operation *user : dsmem.getUsers()) {
    if ((store && isa<tile::DsmemStoreOp>(user)) || (load && isa<tile::DsmemLoadOp>(user)))
      return std::nullopt;
    if (auto one = dyn_cast<tile::DsmemStoreOp>(user))
      store = one;
    if (auto one = dyn_cast<tile::DsmemLoadOp>(user))
      load = one;
  }
  if (!store || !load || store->getBlock() != load->getBlock() || !store->isBeforeInBlock(load) ||
      elementBytes(load.getResult()) != 4)
    return std::nullopt;
  unsigned last = load.getType().getRank() - 1;
  Layout loaded = *tile::layoutOf(load), wanted = loaded.dropDim(last);
  std::optional<OwnRegisters> own = ownRegisters(*tile::layoutOf(store.getValue()), wanted);
  constexpr unsigned kVectorBits = 2; // log2 of the registers of a 16-byte vector
  bool isWhole =
      own && own->registers.size() >= kVectorBits && loaded == wanted.expandDim(last, cluster);
  return isWhole ? own : std::nullopt;
}

DsmemStore tessera::dsmemStore(tile::DsmemStoreOp store, unsigned cluster) {
  using Kind = DsmemStore::Kind;
  if (keptRegisters(store.getDsmem(), cluster))
    return {Kind::Peers, 4};
  Layout layout = *tile::layoutOf(store.getValue()),
         memory = store.getDsmem().getType().getMemory();
  if (memory.in().bits(Dim::Block)) {
    Layout address = layout.then(*memory.rightInverse());
    gf2::VectorsRef columns = address.columns(Dim::Register);
    bool arePairs = elementBytes(store.getValue()) == 4 && !columns.empty() &&
                    columns[0] == address.out().pack(Point({{Dim::Offset, 1}}));
    return {Kind::Owners, arePairs ? 2u : 1u};
  }
  uint64_t others = cluster - 1;
  uint64_t freeLanes =
      (layout.freeBits() & layout.in().mask({Dim::Lane})) >> layout.in().shift(Dim::Lane);
  return {(freeLanes & others) == others ? Kind::Lanes : Kind::All};
}

//===----------------------------------------------------------------------===//
// The printed form
//===----------------------------------------------------------------------===//

static void printTile(ArrayRef<int64_t> sizes, Type element, llvm::raw_ostream &os) {
  for (int64_t size : sizes)
    os << size << "x";
  os << element;
}

static void print(const GlobalAccess &access, llvm::raw_ostream &os) {
  os << "  " << access.op->getName() << " ";
  printTile(access.sizes, access.type().getElementType(), os);
  os << ": " << access.width << " x " << access.bytes() << " bytes";
  if (!access.checkedDims.empty()) {
    os << ", checks dims [";
    llvm::interleaveComma(access.checkedDims, os);
    os << "]";
  }
  if (access.hasCutVectors)
    os << ", cut vectors by element";
  if (isa<tile::LoadOp, tile::GatherOp>(access.op) && access.isChecked)
    os << (access.needsPad ? ", pads" : ", needs no pad");
  os << "\n";
}

static void print(Operation *op, RankedTensorType type, const SharedAccess &access,
                  StringRef matrixInstruction, llvm::raw_ostream &os) {
  os << "  " << op->getName() << " ";
  printTile(type.getShape(), type.getElementType(), os);
  os << ": ";
  unsigned width = 1u << access.registers.vector;
  if (access.kind == SharedAccess::Kind::Plain)
    os << width << " x " << llvm::divideCeil(type.getElementTypeBitWidth(), 8) << " bytes";
  else
    os << matrixInstruction << ".x" << (1u << access.matrices)
       << (access.kind == SharedAccess::Kind::Transposed ? ".trans" : "");
}

static void print(tile::DsmemStoreOp op, const DsmemStore &store, llvm::raw_ostream &os) {
  static constexpr StringLiteral targets[] = {"peers", "owners", "all CTAs by lanes", "all CTAs"};
  auto type = cast<RankedTensorType>(op.getValue().getType());
  os << "  " << op->getName() << " ";
  printTile(type.getShape(), type.getElementType(), os);
  os << ": " << store.width << " x " << elementBytes(op.getValue()) << " bytes, to "
     << targets[unsigned(store.kind)] << "\n";
}

void tessera::printAccesses(tile::KernelOp kernel, const GpuDescription &gpu,
                            llvm::raw_ostream &os) {
  Coordinates coordinates(kernel);
  SharedFeatures features = sharedFeaturesOf(gpu);
  unsigned cluster = kernel.getClusterSize();
  os << "accesses of @" << kernel.getSymName() << "\n";
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tile::LoadOp, tile::GatherOp, tile::StoreOp, tile::ScatterOp, tile::CpAsyncOp>(op)) {
      print(globalAccess(op, coordinates), os);
    } else if (auto store = dyn_cast<tile::SharedStoreOp>(op)) {
      auto type = cast<RankedTensorType>(store.getValue().getType());
      print(op, type, sharedAccess(store, features), "stmatrix", os);
      os << "\n";
    } else if (auto load = dyn_cast<tile::SharedLoadOp>(op)) {
      print(op, load.getType(), sharedAccess(load, features), "ldmatrix", os);
      os << (isLoadedByFragments(load) ? ", by fragments\n" : "\n");
    } else if (auto peers = dyn_cast<tile::DsmemStoreOp>(op)) {
      print(peers, dsmemStore(peers, cluster), os);
    }
  });
}
