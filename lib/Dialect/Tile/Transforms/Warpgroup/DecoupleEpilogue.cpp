//===- DecoupleEpilogue.cpp - Epilogue per warp in a persistent kernel ----===//
//
// The epilogue converts the accumulator to a layout in which threads store whole rows. A conversion
// between warps needs a CTA barrier, and shared memory for the whole tile, which a persistent
// kernel has filled with the stages of the next tile. A warp holds whole rows of a wgmma
// accumulator: it converts them within itself, one slice of columns after the other, so that other
// warps go on with the next tile.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Layout/Conversion.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEDECOUPLEEPILOGUE
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-decouple-epilogue";

namespace {
/// How a tile is stored in slices along its contiguous dimension: the type of a slice in the
/// accumulator's layout, in shared memory, and in the layout of the store.
struct Slices {
  unsigned inner;
  int64_t size; // along that dimension
  RankedTensorType held, memory, wide;
};

class EpilogueDecoupler {
public:
  EpilogueDecoupler(scf::ForOp tiles, const Coordinates &coordinates, SharedFeatures features)
      : tiles(tiles), coordinates(coordinates), features(features), builder(tiles) {}

  void run() {
    for (auto load : llvm::to_vector(tiles.getBody()->getOps<LoadOp>()))
      loadPerWarp(load);
    for (auto store : llvm::to_vector(tiles.getBody()->getOps<StoreOp>()))
      if (std::optional<Slices> slices = findSlices(store))
        storeSlices(store, *slices);
  }

private:
  bool crossesWarps(ConvertOp convert);
  void loadPerWarp(LoadOp load);
  std::optional<Slices> findSlices(StoreOp store);
  void storeSlices(StoreOp store, const Slices &slices);

  scf::ForOp tiles; // the persistent loop
  const Coordinates &coordinates;
  SharedFeatures features;
  OpBuilder builder;
};
} // namespace

bool EpilogueDecoupler::crossesWarps(ConvertOp convert) {
  RankedTensorType type = convert.getType();
  std::optional<ConversionPlan> plan = planConversion(
      *layoutOf(convert.getInput()), *layoutOf(convert), type.getElementTypeBitWidth(), features);
  return plan && plan->scope >= ConversionPlan::Scope::Block;
}

/// Every warp loads a short row, such as a bias, from L1: that is faster than a conversion with a
/// CTA barrier.
void EpilogueDecoupler::loadPerWarp(LoadOp load) {
  constexpr int64_t kShort = 1024; // bytes
  auto convert = load->hasOneUse() ? dyn_cast<ConvertOp>(*load->user_begin()) : ConvertOp();
  RankedTensorType type = load.getType();
  if (!convert || convert->getBlock() != load->getBlock() || type.getRank() != 1 ||
      type.getNumElements() * type.getElementTypeBitWidth() > 8 * kShort || !crossesWarps(convert))
    return;
  load.getResult().setType(convert.getType());
  convert.replaceAllUsesWith(load.getResult());
  convert.erase();
}

/// The layout of the first `size` elements along a dimension, without the registers that hold
/// others; none if other elements lie in other threads.
static std::optional<Layout> firstSlice(const Layout &whole, Dim dim, int64_t size) {
  Space in = whole.in(), out = whole.out();
  out.setBits(dim, llvm::Log2_64(size));
  gf2::Vectors columns;
  unsigned registers = 0;
  for (auto [i, column] : llvm::enumerate(whole.columns())) {
    bool isRegister = i < in.bits(Dim::Register),
         isOther = whole.out().unpack(column)[dim] >= uint64_t(size);
    if (isOther && (!isRegister || !llvm::isPowerOf2_64(column)))
      return std::nullopt;
    if (isOther)
      continue;
    registers += isRegister;
    columns.push_back(whole.out().carry(column, out));
  }
  in.setBits(Dim::Register, registers);
  return Layout(in, out, std::move(columns));
}

/// A layout in which each warp holds the same elements, a thread holds vectors of 2^`piece` of them
/// along a dimension, and the lanes follow each other along it; none if a warp does not hold whole
/// vectors.
static std::optional<Layout> vectorized(const Layout &held, Dim dim, unsigned piece) {
  gf2::Vectors along, across;
  for (uint64_t column : held.columnsOf({Dim::Register, Dim::Lane})) {
    if (!llvm::isPowerOf2_64(column))
      return std::nullopt;
    (held.out().unpack(column)[dim] ? along : across).push_back(column);
  }
  auto inOrder = [&](gf2::Vectors &columns) { llvm::sort(columns); };
  inOrder(along);
  inOrder(across);
  for (unsigned bit = 0; bit < piece; ++bit)
    if (along.size() <= bit || held.out().unpack(along[bit])[dim] != uint64_t(1) << bit)
      return std::nullopt;
  gf2::Vectors all = gf2::concat({along, across});
  unsigned lanes = held.in().bits(Dim::Lane), registers = held.in().bits(Dim::Register);
  if (all.size() != lanes + registers || registers < piece)
    return std::nullopt;
  // The first bits select an element of a vector, the next ones the lane.
  std::rotate(all.begin() + piece, all.begin() + piece + lanes, all.end());
  return Layout(held.in(), held.out(), gf2::concat({all, held.columnsOf({Dim::Warp, Dim::Block})}));
}

/// The slices of a store whose value crosses warps; none, with a remark, if a warp cannot convert
/// its slices by itself.
std::optional<Slices> EpilogueDecoupler::findSlices(StoreOp store) {
  // Bytes of a row of a slice, of the widest access, of a register.
  constexpr int64_t kRow = 128, kPiece = 16, kRegister = 4;
  auto convert = store.getValue().getDefiningOp<ConvertOp>();
  if (!convert || !crossesWarps(convert))
    return std::nullopt;
  if (!convert->hasOneUse()) {
    missed(store, kPass, "SeveralUses") << remark::reason(
        "the stored tile has other uses in the layout of the store: warps convert it together");
    return std::nullopt;
  }
  ViewType view = store.getView().getType();
  RankedTensorType type = convert.getType();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  const auto *unit = llvm::find_if(
      store.getDims(), [&](int64_t dim) { return dim >= 0 && view.hasUnitStride(dim); });
  if (unit == store.getDims().end()) {
    missed(store, kPass, "NoContiguousDimension")
        << remark::reason("no dimension of the tile is contiguous in {0}", view);
    return std::nullopt;
  }
  if (!bytes || bytes > kPiece) {
    missed(store, kPass, "ElementType") << remark::reason(
        "elements of {0} do not fill whole vectors of {1} bytes", type.getElementType(), kPiece);
    return std::nullopt;
  }
  Slices slices;
  slices.inner = unit - store.getDims().begin();
  slices.size = std::min(type.getShape()[slices.inner], kRow / bytes);
  Dim dim = tensorDim(slices.inner);
  std::optional<Layout> held = firstSlice(*layoutOf(convert.getInput()), dim, slices.size);
  // Accesses of a thread are as wide as the rows of the view allow, and at least a register.
  int64_t aligned = coordinates.rowAlignment(store.getView());
  if (store.getBounded())
    aligned = std::gcd(aligned, bytes * view.getDivisor(*unit));
  int64_t piece = std::clamp<int64_t>(aligned, std::max(kRegister, bytes), kPiece);
  std::optional<Layout> wide =
      held ? vectorized(*held, dim, llvm::Log2_64(piece / bytes)) : std::nullopt;
  std::optional<SharedExchange> exchange =
      wide ? planExchange(*held, *wide, 8 * bytes, features) : std::nullopt;
  if (!exchange || exchange->passes() > 1 || !holder(*held, *wide, {Dim::Warp, Dim::Block})) {
    missed(store, kPass, "AccumulatorLayout") << remark::reason(
        "a warp does not hold whole rows of {0} elements of the stored tile", slices.size);
    return std::nullopt;
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[slices.inner] = slices.size;
  auto plain = RankedTensorType::get(shape, type.getElementType());
  slices.held = withLayout(plain, *held);
  slices.wide = withLayout(plain, *wide);
  slices.memory = withLayout(plain, inAllBlocks(exchange->memory, *held));
  return slices;
}

/// Uses two stages: a warp writes a slice into one while it reads the previous one from the other.
void EpilogueDecoupler::storeSlices(StoreOp store, const Slices &slices) {
  constexpr int64_t kStages = 2;
  auto convert = store.getValue().getDefiningOp<ConvertOp>();
  Location loc = store.getLoc();
  int64_t count = convert.getType().getShape()[slices.inner] / slices.size;
  builder.setInsertionPoint(tiles);
  Value buffer = AllocOp::create(
      builder, loc, BufferType::get(store.getContext(), std::min(kStages, count), slices.memory));
  builder.setInsertionPoint(store);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> coords(store.getCoords());
  Value &along = coords[store.getDims()[slices.inner]];
  Value first = arith::MulIOp::create(builder, loc, along, index(count));
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> at(slices.held.getRank(), 0);
    at[slices.inner] = i * slices.size;
    Value stage = index(i % kStages),
          slice = SliceOp::create(builder, loc, slices.held, convert.getInput(), at);
    SharedStoreOp::create(builder, loc, slice, buffer, stage);
    Value read = SharedLoadOp::create(builder, loc, slices.wide, buffer, stage);
    along = arith::AddIOp::create(builder, loc, first, index(i));
    StoreOp::create(builder, loc, read, store.getView(), coords, store.getDims(),
                    store.getBounded());
  }
  store.erase();
  convert.erase();
}

namespace {
struct TileDecoupleEpilogue : tile::impl::TileDecoupleEpilogueBase<TileDecoupleEpilogue> {
  using TileDecoupleEpilogueBase::TileDecoupleEpilogueBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Coordinates coordinates(kernel);
      for (auto loop : llvm::to_vector(kernel.getBody().front().getOps<scf::ForOp>()))
        if (isPersistentLoop(loop))
          EpilogueDecoupler(loop, coordinates, sharedFeaturesOf(*gpu)).run();
    }
  }
};
} // namespace
