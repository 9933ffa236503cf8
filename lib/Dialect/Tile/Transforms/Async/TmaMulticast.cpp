//===- TmaMulticast.cpp - One TMA load for all CTAs of a cluster ----------===//
//
// CTAs with neighbouring column tiles of a matrix product load the same tiles of the left operand.
// Each CTA of the cluster loads a part of the tile and multicasts it to all: the tile is read from
// L2 once.
//
// A multicast load writes into the stages of other CTAs. It waits at an empty barrier at which the
// warps of all CTAs arrive. Warps arrive only for refills that take place, so that no CTA exits
// while another one still arrives at its barriers. The full barrier stays local to a CTA.
//
//===----------------------------------------------------------------------===//
#include "PipelinedLoads.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILETMAMULTICAST
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-tma-multicast";

namespace {
/// The TMA loads of one array of full barriers, and the releases of their stages.
class Multicast {
public:
  Multicast(MbarrierAllocOp mbarriers, int64_t blocks) : mbarriers(mbarriers), blocks(blocks) {}
  /// Finds the loads to multicast. Returns false, with a remark, if there are none.
  bool find();
  void rewrite();
  /// The first load of the prologue.
  Operation *first() { return shared.front(); }

private:
  MbarrierAllocOp mbarriers;
  int64_t blocks;
  MbarrierAllocOp empty;
  SmallVector<TmaLoadOp> shared; // the multicast loads, in program order
  SmallVector<std::pair<MbarrierArriveOp, scf::IfOp>> releases;
};
} // namespace

/// The branch after a release that refills the released stages.
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

bool Multicast::find() {
  llvm::DenseMap<Value, bool> canMulticast; // by buffer: all its loads
  SmallVector<TmaLoadOp> loads;
  mbarriers->getBlock()->getParentOp()->walk([&](TmaLoadOp load) {
    if (load.getFull() == mbarriers)
      loads.push_back(load);
  });
  for (TmaLoadOp load : loads) {
    bool &can = canMulticast.try_emplace(load.getBuffer(), true).first->second;
    can &= load.canMulticast(blocks);
    if (Value mbarrier = load.getEmpty()) {
      auto alloc = mbarrier.getDefiningOp<MbarrierAllocOp>();
      if (empty && alloc != empty)
        return false;
      empty = alloc;
    }
  }
  if (loads.empty())
    return false;
  for (TmaLoadOp load : loads)
    if (canMulticast[load.getBuffer()])
      shared.push_back(load);
  if (shared.empty()) {
    missed(loads.front(), kPass, "TilesDiffer") << remark::reason(
        "the {0} CTAs of the cluster load different tiles, or do not divide the box evenly",
        blocks);
    return false;
  }
  if (!empty) {
    missed(loads.front(), kPass, "NoEmptyBarriers")
        << remark::reason("the stages have no empty barriers: warps do not release them");
    return false;
  }
  auto declineRelease = [&](Operation *op) {
    missed(op, kPass, "ReleaseNotRefilled")
        << remark::reason("a release of the stages is not followed by their refill");
    return false;
  };
  unsigned refilled = 0;
  for (Operation *user : empty->getUsers()) {
    auto arrive = dyn_cast<MbarrierArriveOp>(user);
    if (auto load = dyn_cast<TmaLoadOp>(user); load && load.getFull() != mbarriers)
      return declineRelease(load);
    if (!arrive)
      continue;
    scf::IfOp branch = refillOf(arrive);
    auto exists = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!exists || exists.getPredicate() != arith::CmpIPredicate::slt ||
        !isa<scf::ForOp>(branch->getParentOp()))
      return declineRelease(arrive);
    refilled +=
        llvm::count_if(branch.getThenRegion().front().getOps<TmaLoadOp>(),
                       [&](TmaLoadOp load) { return load.getEmpty() == empty.getResult(); });
    releases.push_back({arrive, branch});
  }
  // Each refill follows one release.
  return refilled == unsigned(llvm::count_if(
                         loads, [](TmaLoadOp load) { return bool(load.getEmpty()); })) ||
         declineRelease(loads.front());
}

void Multicast::rewrite() {
  for (TmaLoadOp load : shared)
    load.setMulticast(true);
  for (auto [arrive, branch] : releases) {
    arrive.setCluster(true);
    // No CTA waits for a release that nothing refills, and none may have ended.
    arrive->moveBefore(&branch.getThenRegion().front().front());
  }
  empty.setArrivals(empty.getArrivals().value_or(1) * blocks);
}

namespace {
struct TileTmaMulticast : tile::impl::TileTmaMulticastBase<TileTmaMulticast> {
  using TileTmaMulticastBase::TileTmaMulticastBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Block &body = kernel.getBody().front();
      int64_t blocks = kernel.getClusterSize();
      // A kernel synchronizes its cluster once.
      if (blocks < 2 || !body.getOps<ClusterArriveOp>().empty())
        continue;
      Operation *first = nullptr; // the first multicast load
      Operation *last = nullptr;  // the last mbarriers before it
      for (MbarrierAllocOp mbarriers : llvm::to_vector(body.getOps<MbarrierAllocOp>())) {
        if (first && first->isBeforeInBlock(mbarriers))
          break;
        last = mbarriers;
        Multicast multicast(mbarriers, blocks);
        if (!multicast.find())
          continue;
        multicast.rewrite();
        Operation *here = body.findAncestorOpInBlock(*multicast.first());
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
