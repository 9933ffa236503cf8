//===- TurnRows.cpp - Rows that begin anywhere are read by whole vectors --===//
//
// A row of a dense tensor begins at a multiple of 16 bytes only where the row's length is one. A program of one row knows
// what its row begins beyond such a multiple, and turns all its tiles by that: what stands at multiples of a
// vector's elements then lies in memory as a vector does. All operations on the tiles are blind to the order of
// elements, so that positions alone have to be turned with them. The road of PTX does not run this pass: on an H200 rows
// were slower with it than element by element, except for argmax.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Analysis/Coordinates.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILETURNROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
constexpr int64_t kVector = 16; // bytes

/// A load or store of a tile of rank 1.
struct RowAccess {
  Operation *op;
  Value view;
  OperandRange coords;
  int64_t along; // the view's dimension

  ViewType type() const { return cast<ViewType>(view.getType()); }
  int64_t bytes() const { return std::max(1u, type().getElementType().getIntOrFloatBitWidth() / 8); }
};

class Turning {
public:
  explicit Turning(KernelOp kernel) : kernel(kernel), coordinates(kernel) {}
  void run();

private:
  bool isBlindToOrder(Operation *op);
  /// What divides the addresses of rows, at most a vector, in bytes.
  int64_t alignment(const RowAccess &access);
  bool hasRows(const RowAccess &access);
  /// Whether the whole program can know where its row begins.
  bool hasKnownBegin(const RowAccess &access);
  /// Whether threads access a word at most.
  bool isNarrow(const RowAccess &access) { return alignment(access) <= std::max<int64_t>(4, access.bytes()); }
  bool beginAlike(const RowAccess &a, const RowAccess &b);

  KernelOp kernel;
  Coordinates coordinates;
  int64_t size = 0; // of the tiles
  SmallVector<RowAccess> accesses;
  SmallVector<IotaOp> positions;
};
} // namespace

/// Tiles of rank 0 are the same for all of a row. Tiles of rank 1 have one size, and each element comes from its
/// neighbours of the same number, or from all of them.
bool Turning::isBlindToOrder(Operation *op) {
  bool hasRow = false;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults())) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile || !tile.getRank())
      continue;
    if (tile.getRank() > 1 || (size && tile.getDimSize(0) != size))
      return false;
    size = tile.getDimSize(0);
    hasRow = true;
  }
  if (!hasRow)
    return true;
  if (auto load = dyn_cast<LoadOp>(op))
    accesses.push_back({op, load.getView(), load.getCoords(), load.getDims().front()});
  else if (auto store = dyn_cast<StoreOp>(op))
    accesses.push_back({op, store.getView(), store.getCoords(), store.getDims().front()});
  else if (auto iota = dyn_cast<IotaOp>(op))
    positions.push_back(iota);
  else if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getDims().front() < 0;
  else
    return isa<MapOp, tile::CastOp, BitcastOp, tile::ReduceOp, BroadcastOp, ConstantOp, SplatOp, scf::ForOp, scf::IfOp,
               scf::YieldOp>(op);
  return true;
}

int64_t Turning::alignment(const RowAccess &access) {
  int64_t aligned = std::gcd(kVector, coordinates.addressDivisor(access.view));
  for (unsigned dim = 0; dim < access.type().getRank(); ++dim) {
    int64_t stride = access.type().getStrides()[dim];
    if (int64_t(dim) != access.along)
      aligned = std::gcd(aligned, access.bytes() * (ShapedType::isDynamic(stride)
                                                        ? coordinates.strideDivisor(access.view, dim)
                                                        : stride));
  }
  return aligned;
}

bool Turning::hasRows(const RowAccess &access) {
  return llvm::any_of(llvm::enumerate(access.coords), [&](auto coordinate) {
    return int64_t(coordinate.index()) != access.along &&
           !coordinate.value().template getDefiningOp<arith::ConstantIndexOp>();
  });
}

bool Turning::hasKnownBegin(const RowAccess &access) {
  if (!access.type().hasUnitStride(access.along) || coordinates.addressDivisor(access.view) % kVector ||
      !hasRows(access))
    return false;
  return llvm::all_of(llvm::enumerate(access.coords), [&](auto coordinate) {
    return int64_t(coordinate.index()) == access.along ||
           (coordinates.stride(access.view, coordinate.index()) &&
            coordinate.value().getParentBlock() == &kernel.getBody().front());
  });
}

bool Turning::beginAlike(const RowAccess &a, const RowAccess &b) {
  if (a.along != b.along || a.coords.size() != b.coords.size())
    return false;
  for (unsigned dim = 0; dim < a.coords.size(); ++dim)
    if (int64_t(dim) != a.along && (a.coords[dim] != b.coords[dim] ||
                                    coordinates.stride(a.view, dim) != coordinates.stride(b.view, dim)))
      return false;
  return true;
}

void Turning::run() {
  WalkResult walked = kernel.getBody().walk([&](Operation *op) {
    return isBlindToOrder(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return;
  auto *first = llvm::find_if(
      accesses, [&](const RowAccess &access) { return hasKnownBegin(access) && alignment(access) <= 4; });
  if (first == accesses.end())
    return;
  // What all rows share is read element by element, and often; other rows must not lose their vectors.
  int64_t elements = 1;
  SmallVector<bool> areAligned;
  for (const RowAccess &access : accesses) {
    areAligned.push_back(hasKnownBegin(access) && beginAlike(access, *first));
    if (areAligned.back())
      elements = std::max(elements, kVector / access.bytes());
    else if (access.type().hasUnitStride(access.along) && !isNarrow(access) && hasRows(access))
      return;
  }
  if (size < 8 * elements)
    return;

  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SmallVector<Value> start(first->coords);
  start[first->along] = arith::ConstantIndexOp::create(builder, kernel.getLoc(), 0);
  Operation *last = start[first->along].getDefiningOp();
  for (Value coordinate : start)
    if (Operation *maker = coordinate.getDefiningOp(); maker && last->isBeforeInBlock(maker))
      last = maker;
  builder.setInsertionPointAfter(last);
  Value shift = ShiftOp::create(builder, first->op->getLoc(), builder.getIndexType(), first->view, start, elements);
  for (auto [access, isAligned] : llvm::zip_equal(accesses, areAligned)) {
    std::optional<uint64_t> promise = isAligned ? std::optional<uint64_t>(elements) : std::nullopt;
    if (auto load = dyn_cast<LoadOp>(access.op)) {
      load.getTurnMutable().assign(shift);
      load.setAligned(promise);
    } else {
      auto store = cast<StoreOp>(access.op);
      store.getTurnMutable().assign(shift);
      store.setAligned(promise);
    }
  }
  for (IotaOp iota : positions)
    iota.getTurnMutable().assign(shift);
}

/// Rows that are computed alike wherever they stand must not be turned by their place.
static bool isBatchInvariant(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return gir::numericsOption(function, "batch_invariant") == "true";
  });
}

namespace {
struct TileTurnRows : tile::impl::TileTurnRowsBase<TileTurnRows> {
  void runOnOperation() override {
    if (!isBatchInvariant(getOperation()))
      for (auto kernel : getOperation().getOps<KernelOp>())
        Turning(kernel).run();
  }
};
} // namespace
