//===- TmaMulticast.cpp - Tiles that come once for all blocks of a cluster -===//
//
// Blocks that have neighbouring columns of a product read the same rows of its left operand. Each
// asks for a part of these, which the machine brings to all: memory is asked once for what each
// block would ask for.
//
// A block's copies then write into stages of others. They wait at an mbarrier that warps of all
// blocks tell; whoever tells it is waited for, so that no block ends while others still tell it
// something. What comes into a block is what that block itself waits for.
//
//===----------------------------------------------------------------------===//
#include "PipelinedLoads.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILETMAMULTICAST
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// The copies that open some mbarriers, and how their stages are given back.
class Sharer {
public:
  Sharer(MbarrierAllocOp mbarriers, int64_t blocks) : mbarriers(mbarriers), blocks(blocks) {}
  bool find();
  void rewrite();
  /// The first copies, before any stage is given back.
  Operation *first() { return shared.front(); }

private:
  MbarrierAllocOp mbarriers;
  int64_t blocks;
  MbarrierAllocOp left;
  SmallVector<TmaLoadOp> shared; // in order of the program
  SmallVector<std::pair<MbarrierArriveOp, scf::IfOp>> releases;
};
} // namespace

/// The branch behind a release in which stages are filled again that are given back so.
static scf::IfOp refillOf(MbarrierArriveOp arrive) {
  for (Operation *op = arrive->getNextNode(); op; op = op->getNextNode()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      continue;
    auto loads = branch.getThenRegion().front().getOps<TmaLoadOp>();
    if (llvm::any_of(loads,
                     [&](TmaLoadOp load) { return load.getEmpty() == arrive.getMbarriers(); }))
      return branch;
  }
  return nullptr;
}

/// The stage that the iteration of a branch reads behind its mbarrier.
static Value readOf(scf::IfOp branch, Value mbarriers) {
  for (auto await : branch->getBlock()->getOps<MbarrierWaitOp>())
    if (await.getMbarriers() == mbarriers)
      return await.getMbarrier();
  return nullptr;
}

bool Sharer::find() {
  llvm::DenseMap<Value, bool> canShare; // of a buffer: all its copies
  SmallVector<TmaLoadOp> loads;
  mbarriers->getBlock()->getParentOp()->walk([&](TmaLoadOp load) {
    if (load.getFull() == mbarriers)
      loads.push_back(load);
  });
  for (TmaLoadOp load : loads) {
    bool &can = canShare.try_emplace(load.getBuffer(), true).first->second;
    can &= load.canMulticast(blocks);
    if (Value mbarrier = load.getEmpty()) {
      auto made = mbarrier.getDefiningOp<MbarrierAllocOp>();
      if (left && made != left)
        return false;
      left = made;
    }
  }
  for (TmaLoadOp load : loads)
    if (canShare[load.getBuffer()])
      shared.push_back(load);
  if (!left || shared.empty())
    return false;
  unsigned filled = 0;
  for (Operation *user : left->getUsers()) {
    auto arrive = dyn_cast<MbarrierArriveOp>(user);
    if (auto load = dyn_cast<TmaLoadOp>(user); load && load.getFull() != mbarriers)
      return false;
    if (!arrive)
      continue;
    scf::IfOp branch = refillOf(arrive);
    auto exists = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!exists || exists.getPredicate() != arith::CmpIPredicate::slt ||
        !isa<scf::ForOp>(branch->getParentOp()) || !readOf(branch, mbarriers))
      return false;
    filled += llvm::count_if(branch.getThenRegion().front().getOps<TmaLoadOp>(),
                             [&](TmaLoadOp load) { return load.getEmpty() == left.getResult(); });
    releases.push_back({arrive, branch});
  }
  // Each copy that waits is behind one release.
  return filled ==
         unsigned(llvm::count_if(loads, [](TmaLoadOp load) { return bool(load.getEmpty()); }));
}

/// Of the stage of the iteration before, in which iteration it is filled, and whether there is
/// something for it then.
static void tellIfFilled(MbarrierArriveOp arrive, scf::IfOp branch) {
  TmaLoadOp refill = *branch.getThenRegion().front().getOps<TmaLoadOp>().begin();
  int64_t lag = lagOf(refill, readOf(branch, refill.getFull()));
  if (!lag) {
    arrive->moveBefore(&branch.getThenRegion().front().front());
    return;
  }
  auto exists = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  OpBuilder builder(branch);
  Location loc = arrive.getLoc();
  Value iteration = exists.getLhs();
  for (int64_t i = 0; i < lag; ++i)
    iteration = arith::AddIOp::create(builder, loc, iteration,
                                      branch->getParentOfType<scf::ForOp>().getStep());
  Value later =
      arith::CmpIOp::create(builder, loc, exists.getPredicate(), iteration, exists.getRhs());
  auto told = scf::IfOp::create(builder, loc, later);
  arrive->moveBefore(&told.getThenRegion().front().front());
}

void Sharer::rewrite() {
  for (TmaLoadOp load : shared)
    load.setMulticast(true);
  for (auto [arrive, branch] : releases) {
    arrive.setCluster(true);
    tellIfFilled(arrive, branch);
  }
  left.setArrivals(left.getArrivals().value_or(1) * blocks);
}

namespace {
struct TileTmaMulticast : tile::impl::TileTmaMulticastBase<TileTmaMulticast> {
  using TileTmaMulticastBase::TileTmaMulticastBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Block &body = kernel.getBody().front();
      int64_t blocks = getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
      // Blocks meet once.
      if (blocks < 2 || !body.getOps<ClusterArriveOp>().empty())
        continue;
      Operation *first = nullptr, *last = nullptr; // the first copy, the last mbarriers before it
      for (MbarrierAllocOp mbarriers : llvm::to_vector(body.getOps<MbarrierAllocOp>())) {
        if (first && first->isBeforeInBlock(mbarriers))
          break;
        last = mbarriers;
        Sharer sharer(mbarriers, blocks);
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
      ClusterArriveOp::create(builder, kernel.getLoc(), ValueRange());
      builder.setInsertionPoint(first);
      ClusterWaitOp::create(builder, first->getLoc());
    }
  }
};
} // namespace
