//===- ShareFetches.cpp - Tiles that come once for all blocks of a cluster -===//
//
// Blocks that have neighbouring columns of a product read the same rows of its left operand. Each asks for a part
// of these, which the machine brings to all: memory is asked once for what each block would ask for.
//
// A block's copies then write into slots of others. They wait at a gate that warps of all blocks tell; whoever tells it is waited
// for, so that no block ends while others still tell it something. What comes into a block is what that block itself waits for.
//
//===----------------------------------------------------------------------===//
#include "Streams.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILESHAREFETCHES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// The copies that open some gates, and how their slots are given back.
class Sharer {
public:
  Sharer(GatesOp gates, int64_t blocks) : gates(gates), blocks(blocks) {}
  bool find();
  void rewrite();
  /// The first copies, before any slot is given back.
  Operation *first() { return shared.front(); }

private:
  GatesOp gates;
  int64_t blocks;
  GatesOp left;
  SmallVector<FetchOp> shared; // in order of the program
  SmallVector<std::pair<ArriveOp, scf::IfOp>> releases;
};
} // namespace

/// The branch behind a release in which slots are filled again that are given back so.
static scf::IfOp refillOf(ArriveOp arrive) {
  for (Operation *op = arrive->getNextNode(); op; op = op->getNextNode()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      continue;
    auto fetches = branch.getThenRegion().front().getOps<FetchOp>();
    if (llvm::any_of(fetches, [&](FetchOp fetch) { return fetch.getLeft() == arrive.getGates(); }))
      return branch;
  }
  return nullptr;
}

/// The slot that the turn of a branch reads behind its gate.
static Value readOf(scf::IfOp branch, Value gates) {
  for (auto await : branch->getBlock()->getOps<AwaitOp>())
    if (await.getGates() == gates)
      return await.getGate();
  return nullptr;
}

bool Sharer::find() {
  llvm::DenseMap<Value, bool> canShare; // of a buffer: all its copies
  SmallVector<FetchOp> fetches;
  gates->getBlock()->getParentOp()->walk([&](FetchOp fetch) {
    if (fetch.getGates() == gates)
      fetches.push_back(fetch);
  });
  for (FetchOp fetch : fetches) {
    bool &can = canShare.try_emplace(fetch.getBuffer(), true).first->second;
    can &= fetch.canShare(blocks);
    if (Value gate = fetch.getLeft()) {
      auto made = gate.getDefiningOp<GatesOp>();
      if (left && made != left)
        return false;
      left = made;
    }
  }
  for (FetchOp fetch : fetches)
    if (canShare[fetch.getBuffer()])
      shared.push_back(fetch);
  if (!left || shared.empty())
    return false;
  unsigned filled = 0;
  for (Operation *user : left->getUsers()) {
    auto arrive = dyn_cast<ArriveOp>(user);
    if (auto fetch = dyn_cast<FetchOp>(user); fetch && fetch.getGates() != gates)
      return false;
    if (!arrive)
      continue;
    scf::IfOp branch = refillOf(arrive);
    auto exists = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!exists || exists.getPredicate() != arith::CmpIPredicate::slt || !isa<scf::ForOp>(branch->getParentOp()) ||
        !readOf(branch, gates))
      return false;
    filled += llvm::count_if(branch.getThenRegion().front().getOps<FetchOp>(), [&](FetchOp fetch) { return fetch.getLeft() == left.getResult(); });
    releases.push_back({arrive, branch});
  }
  // Each copy that waits is behind one release.
  return filled == unsigned(llvm::count_if(fetches, [](FetchOp fetch) { return bool(fetch.getLeft()); }));
}

/// Of the slot of the turn before, in which turn it is filled, and whether there is something for it then.
static void tellIfFilled(ArriveOp arrive, scf::IfOp branch) {
  FetchOp refill = *branch.getThenRegion().front().getOps<FetchOp>().begin();
  int64_t lag = lagOf(refill, readOf(branch, refill.getGates()));
  if (!lag) {
    arrive->moveBefore(&branch.getThenRegion().front().front());
    return;
  }
  auto exists = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  OpBuilder builder(branch);
  Location loc = arrive.getLoc();
  Value turn = exists.getLhs();
  for (int64_t i = 0; i < lag; ++i)
    turn = arith::AddIOp::create(builder, loc, turn, branch->getParentOfType<scf::ForOp>().getStep());
  Value later = arith::CmpIOp::create(builder, loc, exists.getPredicate(), turn, exists.getRhs());
  auto told = scf::IfOp::create(builder, loc, later);
  arrive->moveBefore(&told.getThenRegion().front().front());
}

void Sharer::rewrite() {
  for (FetchOp fetch : shared)
    fetch.setShared(true);
  for (auto [arrive, branch] : releases) {
    arrive.setCluster(true);
    tellIfFilled(arrive, branch);
  }
  left.setArrivals(left.getArrivals().value_or(1) * blocks);
}

namespace {
struct TileShareFetches : tile::impl::TileShareFetchesBase<TileShareFetches> {
  using TileShareFetchesBase::TileShareFetchesBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Block &body = kernel.getBody().front();
      int64_t blocks = getHint(kernel.getHintsAttr(), "cluster").value_or(1);
      // Blocks meet once.
      if (blocks < 2 || !body.getOps<OpenOp>().empty())
        continue;
      Operation *first = nullptr, *last = nullptr; // the first copy, the last gates before it
      for (GatesOp gates : llvm::to_vector(body.getOps<GatesOp>())) {
        if (first && first->isBeforeInBlock(gates))
          break;
        last = gates;
        Sharer sharer(gates, blocks);
        if (!sharer.find())
          continue;
        sharer.rewrite();
        Operation *here = body.findAncestorOpInBlock(*sharer.first());
        if (!first || here->isBeforeInBlock(first))
          first = here;
      }
      if (!first)
        continue;
      OpBuilder builder(first);
      builder.setInsertionPointAfter(last);
      OpenOp::create(builder, kernel.getLoc(), ValueRange());
      builder.setInsertionPoint(first);
      MeetOp::create(builder, first->getLoc());
    }
  }
};
} // namespace
