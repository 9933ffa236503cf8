//===- DecoupleEpilogue.cpp - Warps of persistent CTAs end programs alone -------===//
//
// A tile that is made for tensor cores is exchanged before it is stored, so that rows are written
// whole. An exchange between all warps makes these meet, and takes shared memory for the whole
// tile, which persistent CTAs have filled with the next program's tiles. Sums of warpgroups have
// whole rows in each warp: it exchanges them within itself, a part after the other.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Layout/Conversion.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEDECOUPLEEPILOGUE
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// How a tile is stored: parts of a dimension, as warps hold them, as they lie in between, and as
/// they are stored.
struct Parts {
  unsigned inner;
  int64_t size; // along that dimension
  RankedTensorType held, memory, wide;
};

class Freer {
public:
  Freer(scf::ForOp programs, SharedFeatures features)
      : programs(programs), features(features), builder(programs) {}

  void run() {
    for (auto load : llvm::to_vector(programs.getBody()->getOps<LoadOp>()))
      loadByWarps(load);
    for (auto store : llvm::to_vector(programs.getBody()->getOps<StoreOp>()))
      if (std::optional<Parts> parts = partsOf(store))
        storeParts(store, *parts);
  }

private:
  bool crossesWarps(ConvertOp convert);
  void loadByWarps(LoadOp load);
  std::optional<Parts> partsOf(StoreOp store);
  void storeParts(StoreOp store, const Parts &parts);

  scf::ForOp programs;
  SharedFeatures features;
  OpBuilder builder;
};
} // namespace

bool Freer::crossesWarps(ConvertOp convert) {
  RankedTensorType type = convert.getType();
  std::optional<ConversionPlan> plan = planConversion(
      *layoutOf(convert.getInput()), *layoutOf(convert), type.getElementTypeBitWidth(), features);
  return plan && plan->scope >= ConversionPlan::Scope::Block;
}

/// A short row is read from the cache by all warps in less time than these need to meet.
void Freer::loadByWarps(LoadOp load) {
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

/// The layout with a dimension's first elements alone: registers that hold others are left out;
/// none where threads hold those.
static std::optional<Layout> firstOf(const Layout &whole, Dim dim, int64_t size) {
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

/// What each warp of a layout holds, in wide pieces along a dimension, the threads of a warp side
/// by side along it; none where it holds something else than whole pieces.
static std::optional<Layout> widened(const Layout &held, Dim dim, unsigned piece) {
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
  // The first bits are of a piece, those behind it of lanes.
  std::rotate(all.begin() + piece, all.begin() + piece + lanes, all.end());
  return Layout(held.in(), held.out(), gf2::concat({all, held.columnsOf({Dim::Warp, Dim::Block})}));
}

std::optional<Parts> Freer::partsOf(StoreOp store) {
  constexpr int64_t kRow = 128, kPiece = 16; // bytes of a part's rows, of an access
  auto convert = store.getValue().getDefiningOp<ConvertOp>();
  if (!convert || !convert->hasOneUse() || !crossesWarps(convert))
    return std::nullopt;
  ViewType view = store.getView().getType();
  RankedTensorType type = convert.getType();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  const auto *unit = llvm::find_if(
      store.getDims(), [&](int64_t dim) { return dim >= 0 && view.hasUnitStride(dim); });
  if (unit == store.getDims().end() || !bytes || bytes > kPiece)
    return std::nullopt;
  Parts parts;
  parts.inner = unit - store.getDims().begin();
  parts.size = std::min(type.getShape()[parts.inner], kRow / bytes);
  Dim dim = tensorDim(parts.inner);
  std::optional<Layout> held = firstOf(*layoutOf(convert.getInput()), dim, parts.size);
  std::optional<Layout> wide =
      held ? widened(*held, dim, llvm::Log2_64(kPiece / bytes)) : std::nullopt;
  std::optional<SharedExchange> exchange =
      wide ? planExchange(*held, *wide, 8 * bytes, features) : std::nullopt;
  if (!exchange || exchange->passes() > 1 || !holder(*held, *wide, {Dim::Warp, Dim::Block}))
    return std::nullopt;
  SmallVector<int64_t> shape(type.getShape());
  shape[parts.inner] = parts.size;
  auto plain = RankedTensorType::get(shape, type.getElementType());
  parts.held = withLayout(plain, *held);
  parts.wide = withLayout(plain, *wide);
  parts.memory = withLayout(plain, inAllBlocks(exchange->memory, *held));
  return parts;
}

/// While a part is read from one stage, the next one is written into the other.
void Freer::storeParts(StoreOp store, const Parts &parts) {
  constexpr int64_t kStages = 2;
  auto convert = store.getValue().getDefiningOp<ConvertOp>();
  Location loc = store.getLoc();
  int64_t count = convert.getType().getShape()[parts.inner] / parts.size;
  builder.setInsertionPoint(programs);
  Value buffer = AllocOp::create(
      builder, loc, BufferType::get(store.getContext(), std::min(kStages, count), parts.memory));
  builder.setInsertionPoint(store);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> coords(store.getCoords());
  Value &along = coords[store.getDims()[parts.inner]];
  Value first = arith::MulIOp::create(builder, loc, along, index(count));
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> at(parts.held.getRank(), 0);
    at[parts.inner] = i * parts.size;
    Value stage = index(i % kStages),
          part = SliceOp::create(builder, loc, parts.held, convert.getInput(), at);
    SharedStoreOp::create(builder, loc, part, buffer, stage);
    Value read = SharedLoadOp::create(builder, loc, parts.wide, buffer, stage);
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
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (auto loop : llvm::to_vector(kernel.getBody().front().getOps<scf::ForOp>()))
        if (isOverPrograms(loop))
          Freer(loop, sharedFeaturesOf(*gpu)).run();
  }
};
} // namespace
