//===- Mutants.cpp - Mutation tests of synchronization --------------------===//
//
// A simulator that reports nothing proves nothing by itself. Each operation that orders accesses is
// mutated in the ways in which programmers get it wrong: removed, weakened, too early, or with the
// wrong stage, mbarrier or phase. Any finding and any other result kills a mutant. One that
// survives is run in all orders: if none of them differs, it is equivalent on these arguments.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Verifier.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Simulator/Simulator.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

namespace {
/// A mutation of an operation; `apply` returns false where it is not possible.
struct Change {
  std::string name;
  std::function<bool(Operation *)> apply;
};
} // namespace

/// Whether other warps can observe an operation or one inside of it.
static bool isMemoryOp(Operation *op) {
  return op
      ->walk([](Operation *each) {
        bool isVisible =
            isa<tile::CpAsyncOp, tile::SharedLoadOp, tile::SharedStoreOp, tile::MmaSharedOp,
                tile::BarrierOp, tile::CpAsyncWaitOp, tile::CpAsyncCommitOp, tile::StoreOp,
                tile::ScatterOp, tile::AsyncLoadOpInterface, tile::MbarrierWaitOp,
                tile::MbarrierArriveOp, tile::BulkStoreOp, tile::BulkWaitOp,
                tile::FenceProxyAsyncOp, tile::ClusterArriveOp, tile::ClusterWaitOp,
                tile::DsmemStoreOp, tile::DsmemWaitOp, tile::DsmemLoadOp, tile::WgmmaOp,
                tile::WgmmaFenceOp, tile::WgmmaCommitOp, tile::WgmmaWaitOp>(each);
        return isVisible ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Moves an operation before the previous visible one; a barrier also moves over a commit.
static bool moveUp(Operation *op) {
  Operation *previous = op->getPrevNode();
  while (previous && (!isMemoryOp(previous) ||
                      (isa<tile::BarrierOp>(op) && isa<tile::CpAsyncCommitOp>(previous))))
    previous = previous->getPrevNode();
  if (!previous)
    return false;
  op->moveBefore(previous);
  return true;
}

/// Moves a cluster wait before the arrival.
static bool moveBeforeArrive(Operation *op) {
  auto arrivals = op->getBlock()->getOps<tile::ClusterArriveOp>();
  if (arrivals.empty())
    return false;
  op->moveBefore(*arrivals.begin());
  return true;
}

/// Moves a copy, with the branch around it and its operands, before the last barrier.
static bool moveOverBarrier(Operation *op) {
  if (isa<scf::IfOp>(op->getParentOp()))
    op = op->getParentOp();
  Operation *barrier = op->getPrevNode();
  while (barrier && !isa<tile::BarrierOp>(barrier))
    barrier = barrier->getPrevNode();
  if (!barrier)
    return false;
  llvm::SetVector<Operation *> needed;
  std::function<bool(Operation *)> need = [&](Operation *user) {
    bool isPossible = true;
    user->walk([&](Operation *each) {
      for (Value operand : each->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (!maker || maker->getBlock() != op->getBlock() || !barrier->isBeforeInBlock(maker))
          continue;
        isPossible &= isPure(maker) && need(maker);
      }
    });
    needed.insert(user);
    return isPossible;
  };
  if (!need(op))
    return false;
  for (Operation *each : needed)
    each->moveBefore(barrier);
  return true;
}

/// Replaces an index operand by the next one modulo `count`.
static bool rotateIndex(Operation *op, unsigned operand, int64_t count) {
  if (count < 2)
    return false;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value next = arith::AddIOp::create(builder, loc, op->getOperand(operand), number(1));
  op->setOperand(operand, arith::RemUIOp::create(builder, loc, next, number(count)));
  return true;
}

/// Replaces a stage operand by the next stage of the buffer.
static bool rotateStage(Operation *op, unsigned operand, Value buffer) {
  return rotateIndex(op, operand, cast<tile::BufferType>(buffer.getType()).getStages());
}

static bool removeOp(Operation *op) {
  op->replaceAllUsesWith(op->getOperands().take_back(op->getNumResults()));
  op->erase();
  return true;
}

/// Mutations of an operation that waits until at most `pending` groups are in flight.
template <typename WaitOp> static std::vector<Change> changesOfWait(WaitOp wait) {
  int64_t more = wait.getPending() + 1;
  auto weaken = [more](Operation *each) {
    cast<WaitOp>(each).setPending(more);
    return true;
  };
  return {{"removed", removeOp},
          {"weakened to " + std::to_string(more) + " pending", weaken},
          {"too early", moveUp}};
}

/// The next stage of the buffer that an operation accesses.
template <typename OpTy> static Change changeOfStage(OpTy op, const std::string &name) {
  unsigned stage = op.getStageMutable().getOperandNumber();
  return {name, [stage](Operation *each) {
            return rotateStage(each, stage, cast<OpTy>(each).getBuffer());
          }};
}

static std::vector<Change> changesOfBarrier(tile::BarrierOp barrier) {
  std::vector<Change> changes = {{"removed", removeOp}, {"too early", moveUp}};
  auto weaken = [](Operation *each) {
    cast<tile::BarrierOp>(each).setWarp(true);
    return true;
  };
  // In a CTA of one warp both barriers are the same.
  auto kernel = barrier->getParentOfType<tile::KernelOp>();
  if (!barrier.getWarp() && kernel.getField(LaunchField::NumWarps).value_or(0) != 1)
    changes.push_back({"weakened to the warp", weaken});
  return changes;
}

static std::vector<Change> changesOfWgmma(tile::WgmmaOp mma) {
  unsigned right = mma.getRhsStageMutable().getOperandNumber();
  std::vector<Change> changes = {{"with the next stage of rhs", [right](Operation *each) {
                                    return rotateStage(each, right,
                                                       cast<tile::WgmmaOp>(each).getRhs());
                                  }}};
  if (mma.getLhsStage())
    changes.push_back({"with the next stage of lhs", [](Operation *each) {
                         return rotateStage(each, 1, cast<tile::WgmmaOp>(each).getLhs());
                       }});
  return changes;
}

static std::vector<Change> changesOfMbarrierWait(tile::MbarrierWaitOp wait) {
  unsigned mbarrier = wait.getMbarrierMutable().getOperandNumber(),
           phase = wait.getPhaseMutable().getOperandNumber();
  int64_t mbarriers = wait.getMbarriers().getType().getCount();
  return {
      {"removed", removeOp},
      {"too early", moveUp},
      {"with the other phase", [phase](Operation *each) { return rotateIndex(each, phase, 2); }},
      {"at the next mbarrier",
       [mbarrier, mbarriers](Operation *each) { return rotateIndex(each, mbarrier, mbarriers); }}};
}

/// Replaces arrivals in all CTAs of the cluster by arrivals in the own one.
static bool arriveInOwnCta(Operation *op) {
  auto kernel = op->getParentOfType<tile::KernelOp>();
  auto mbarriers =
      cast<tile::MbarrierArriveOp>(op).getMbarriers().getDefiningOp<tile::MbarrierAllocOp>();
  for (Operation *user : mbarriers->getUsers())
    if (auto arrive = dyn_cast<tile::MbarrierArriveOp>(user))
      arrive.setCluster(false);
  mbarriers.setArrivals(*kernel.getField(LaunchField::NumWarps));
  return true;
}

static std::vector<Change> changesOfMbarrierArrive(tile::MbarrierArriveOp arrive) {
  int64_t mbarriers = arrive.getMbarriers().getType().getCount();
  std::vector<Change> changes = {{"removed", removeOp},
                                 {"too early", moveUp},
                                 {"at the next mbarrier", [mbarriers](Operation *each) {
                                    return rotateIndex(each, 1, mbarriers);
                                  }}};
  if (arrive.getCluster())
    changes.push_back({"in its own CTA only", arriveInOwnCta});
  return changes;
}

/// Issues a TMA load without waiting for its stage to be released.
static bool dropEmptyMbarrier(Operation *op) {
  auto load = cast<tile::TmaLoadOp>(op);
  load.getEmptyMutable().clear();
  load.getEmptyIndexMutable().clear();
  load.getEmptyPhaseMutable().clear();
  return true;
}

static std::vector<Change> changesOfLoad(tile::AsyncLoadOpInterface load) {
  unsigned fullIndex = load.getFullIndexMutable().getOperandNumber();
  std::vector<Change> changes = {
      changeOfStage(load, "into the next stage"),
      {"at the next full mbarrier", [fullIndex](Operation *each) {
         return rotateIndex(each, fullIndex,
                            cast<tile::AsyncLoadOpInterface>(each).getFull().getType().getCount());
       }}};
  auto tma = dyn_cast<tile::TmaLoadOp>(load.getOperation());
  if (!tma || !tma.getEmpty()) {
    changes.push_back({"too early", moveOverBarrier});
    return changes;
  }
  // The empty mbarriers, the index and the phase follow.
  unsigned emptyIndex = fullIndex + 2, emptyPhase = fullIndex + 3;
  changes.push_back({"without the empty mbarrier", dropEmptyMbarrier});
  changes.push_back({"at the next empty mbarrier", [emptyIndex](Operation *each) {
                       return rotateIndex(
                           each, emptyIndex,
                           cast<tile::TmaLoadOp>(each).getEmpty().getType().getCount());
                     }});
  changes.push_back({"with the other phase",
                     [emptyPhase](Operation *each) { return rotateIndex(each, emptyPhase, 2); }});
  return changes;
}

/// A dsmem of two stages is one that is stored to in several iterations.
static std::vector<Change> changesOfAlloc(tile::AllocOp alloc) {
  if (!alloc.getDsmem() || alloc.getType().getStages() == 1)
    return {};
  return {{"with one stage", [](Operation *each) {
             auto buffer = cast<tile::AllocOp>(each).getType();
             each->getResult(0).setType(
                 tile::BufferType::get(each->getContext(), 1, buffer.getTile()));
             return true;
           }}};
}

static std::vector<Change> changesOf(Operation *op) {
  using Changes = std::vector<Change>;
  return llvm::TypeSwitch<Operation *, Changes>(op)
      .Case<tile::CpAsyncCommitOp, tile::FenceProxyAsyncOp, tile::WgmmaFenceOp, tile::WgmmaCommitOp,
            tile::DsmemWaitOp>(
          [](auto) { return Changes{{"removed", removeOp}, {"too early", moveUp}}; })
      .Case<tile::ClusterArriveOp, tile::DsmemStoreOp>(
          [](auto) { return Changes{{"removed", removeOp}}; })
      .Case([](tile::ClusterWaitOp) {
        return Changes{{"removed", removeOp}, {"too early", moveBeforeArrive}};
      })
      .Case([](tile::AllocOp alloc) { return changesOfAlloc(alloc); })
      .Case([](tile::BarrierOp barrier) { return changesOfBarrier(barrier); })
      .Case<tile::CpAsyncWaitOp, tile::WgmmaWaitOp, tile::BulkWaitOp>(
          [](auto wait) { return changesOfWait(wait); })
      .Case([](tile::WgmmaOp mma) { return changesOfWgmma(mma); })
      .Case([](tile::MbarrierWaitOp wait) { return changesOfMbarrierWait(wait); })
      .Case([](tile::MbarrierArriveOp arrive) { return changesOfMbarrierArrive(arrive); })
      .Case([](tile::AsyncLoadOpInterface load) { return changesOfLoad(load); })
      .Case([](tile::BulkStoreOp store) {
        return Changes{changeOfStage(store, "from the next stage"), {"too early", moveOverBarrier}};
      })
      .Case([](tile::CpAsyncOp copy) {
        return Changes{changeOfStage(copy, "into the next stage"), {"too early", moveOverBarrier}};
      })
      .Case([](tile::SharedLoadOp load) {
        return Changes{changeOfStage(load, "from the next stage")};
      })
      .Case([](tile::SharedStoreOp store) {
        return Changes{changeOfStage(store, "into the next stage")};
      })
      .Default([](Operation *) { return Changes(); });
}

static bool haveEqualResults(const Report &a, const Report &b) {
  return llvm::equal(a.results, b.results, [](const Tensor &x, const Tensor &y) {
    return x.sizes == y.sizes && x.bytes == y.bytes;
  });
}

FailureOr<std::vector<Mutant>> simulator::tryMutants(func::FuncOp function,
                                                     ArrayRef<reference::HostTensor> arguments,
                                                     const llvm::StringMap<int64_t> &symbols,
                                                     const Options &options) {
  auto module = function->getParentOfType<ModuleOp>();
  Options one = options;
  one.seeds = 1;
  one.firstSeed = 0;
  one.isExhaustive = false;
  FailureOr<Report> sound = simulate(function, arguments, symbols, one);
  if (failed(sound))
    return failure();
  std::vector<Operation *> all;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::DenseMap<std::pair<Operation *, OperationName>, unsigned> counts;
  module.walk([&](Operation *op) {
    all.push_back(op);
    if (auto kernel = op->getParentOfType<tile::KernelOp>())
      numbers[op] = counts[{kernel, op->getName()}]++;
  });
  std::vector<Mutant> mutants;
  for (auto [position, op] : llvm::enumerate(all))
    for (const Change &change : changesOf(op)) {
      OwningOpRef<ModuleOp> mutated = module.clone();
      std::vector<Operation *> copies;
      mutated->walk([&](Operation *each) { copies.push_back(each); });
      ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
      if (!change.apply(copies[position]) || failed(verify(*mutated)))
        continue;
      auto host = mutated->lookupSymbol<func::FuncOp>(function.getSymName());
      Mutant &mutant = mutants.emplace_back();
      mutant.op = op;
      mutant.number = numbers[op];
      mutant.change = change.name;
      mutant.isReached = sound->reached.contains(op);
      if (!mutant.isReached) {
        mutant.why = "not reached on these arguments";
        continue;
      }
      auto run = [&](const Options &how) {
        FailureOr<Report> report = simulate(host, arguments, symbols, how);
        mutant.isKilled = true;
        if (failed(report))
          mutant.why = "not a valid program";
        else if (!report->findings.empty())
          mutant.why = kindName(report->findings.front().kind).str();
        else if (!haveEqualResults(*report, *sound))
          mutant.why = "other results";
        else
          mutant.isKilled = false;
        return report;
      };
      Options tries = options;
      tries.stopsAtFirst = true;
      tries.isExhaustive = false;
      tries.seeds = 2; // copies that land late, and early
      tries.firstSeed = 0;
      if (succeeded(run(tries)) && mutant.isKilled)
        continue;
      tries.isExhaustive = true;
      FailureOr<Report> proof = run(tries);
      if (mutant.isKilled || failed(proof))
        continue;
      mutant.isProven =
          llvm::all_of(proof->launches, [](const LaunchReport &each) { return each.isComplete; });
      uint64_t runs = 0;
      for (const LaunchReport &each : proof->launches)
        runs += each.runs;
      auto kernel =
          mutated->lookupSymbol<tile::KernelOp>(op->getParentOfType<tile::KernelOp>().getSymName());
      mutant.isAlways = mutant.isProven && isa<tile::BarrierOp>(op) && findHazards(kernel).empty();
      mutant.why = mutant.isAlways   ? "no two conflicting accesses without a barrier between them"
                   : mutant.isProven ? "the same in all orders on these arguments (" +
                                           std::to_string(runs) + " distinct orders of " +
                                           std::to_string(proof->launches.size()) + " launches)"
                                     : "no proof: too many orders";
    }
  return mutants;
}
