//===- Mutants.cpp - Programs with spoilt synchronisation -----------------===//
//
// A simulator that never complains proves nothing. Each operation that orders accesses is spoilt in
// each way that people spoil them: left out, asked for less, done too early, with the wrong slot. A
// mutant is killed by any finding, and by other results. One that survives is run in all orders: if
// none of them differs, it does the same as the program on these arguments.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Verifier.h"
#include "tessera/Analysis/SharedMemory.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Simulator/Simulator.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

namespace {
/// A change of an operation; false where it cannot be made.
struct Change {
  std::string name;
  std::function<bool(Operation *)> apply;
};
} // namespace

/// Whether others notice an operation, or something in it.
static bool isMemoryOp(Operation *op) {
  return op
      ->walk([](Operation *each) {
        bool isPart =
            isa<tile::CopyOp, tile::ReadOp, tile::WriteOp, tile::MmaSharedOp, tile::BarrierOp,
                tile::WaitOp, tile::CommitOp, tile::StoreOp, tile::ScatterOp, tile::FetchOp,
                tile::AwaitOp, tile::ArriveOp, tile::SendOp, tile::SentOp, tile::FenceOp, tile::OpenOp,
                tile::MeetOp, tile::PushOp, tile::ReceiveOp, tile::TakeOp, tile::MmaAsyncOp,
                tile::MmaFenceOp, tile::MmaCommitOp, tile::MmaWaitOp>(each);
        return isPart ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Before the access that stands before it; that a group of copies is closed concerns no barrier.
static bool moveUp(Operation *op) {
  Operation *previous = op->getPrevNode();
  while (previous &&
         (!isMemoryOp(previous) || (isa<tile::BarrierOp>(op) && isa<tile::CommitOp>(previous))))
    previous = previous->getPrevNode();
  if (!previous)
    return false;
  op->moveBefore(previous);
  return true;
}

/// Before the block has told the others that it runs.
static bool moveBeforeOpen(Operation *op) {
  auto opens = op->getBlock()->getOps<tile::OpenOp>();
  if (opens.empty())
    return false;
  op->moveBefore(*opens.begin());
  return true;
}

/// A copy, with the branch around it and what that is computed from, before the last barrier.
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

/// The next one of `count` numbers.
static bool turnNumber(Operation *op, unsigned operand, int64_t count) {
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

/// The next slot of the buffer.
static bool turnSlot(Operation *op, unsigned operand, Value buffer) {
  return turnNumber(op, operand, cast<tile::BufferType>(buffer.getType()).getSlots());
}

static bool leaveOut(Operation *op) {
  op->replaceAllUsesWith(op->getOperands().take_back(op->getNumResults()));
  op->erase();
  return true;
}

/// Of an operation that waits until so many groups are pending.
template <typename WaitOp> static std::vector<Change> changesOfWait(WaitOp wait, const std::string &name) {
  int64_t more = wait.getPending() + 1;
  auto weaken = [more](Operation *each) {
    cast<WaitOp>(each).setPending(more);
    return true;
  };
  return {{"removed", leaveOut}, {"weakened to " + name + " " + std::to_string(more), weaken}, {"too early", moveUp}};
}

static std::vector<Change> changesOf(Operation *op) {
  if (isa<tile::CommitOp, tile::FenceOp, tile::MmaFenceOp, tile::MmaCommitOp>(op))
    return {{"removed", leaveOut}, {"too early", moveUp}};
  if (isa<tile::OpenOp, tile::PushOp>(op))
    return {{"removed", leaveOut}};
  if (isa<tile::MeetOp>(op))
    return {{"removed", leaveOut}, {"too early", moveBeforeOpen}};
  if (isa<tile::ReceiveOp>(op))
    return {{"removed", leaveOut}, {"too early", moveUp}};
  // A mailbox of two slots is one whose turns come behind each other.
  if (auto alloc = dyn_cast<tile::AllocOp>(op); alloc && alloc.getMailbox() && alloc.getType().getSlots() > 1)
    return {{"with one slot", [](Operation *each) {
               auto box = cast<tile::AllocOp>(each).getType();
               each->getResult(0).setType(tile::BufferType::get(each->getContext(), 1, box.getTile()));
               return true;
             }}};
  if (auto barrier = dyn_cast<tile::BarrierOp>(op)) {
    std::vector<Change> changes = {{"removed", leaveOut}, {"too early", moveUp}};
    auto weaken = [](Operation *each) {
      cast<tile::BarrierOp>(each).setWarp(true);
      return true;
    };
    // A block of one warp has no other barriers.
    auto kernel = barrier->getParentOfType<tile::KernelOp>();
    if (!barrier.getWarp() && getHint(kernel.getHintsAttr(), "warps").value_or(0) != 1)
      changes.push_back({"weakened to the warp", weaken});
    return changes;
  }
  if (auto wait = dyn_cast<tile::WaitOp>(op))
    return changesOfWait(wait, "wait");
  if (auto wait = dyn_cast<tile::MmaWaitOp>(op))
    return changesOfWait(wait, "mma_wait");
  if (auto mma = dyn_cast<tile::MmaAsyncOp>(op)) {
    unsigned right = mma.getRhsSlotMutable().getOperandNumber();
    std::vector<Change> changes = {{"of the next slot on the right", [right](Operation *each) {
                                      return turnSlot(each, right, cast<tile::MmaAsyncOp>(each).getRhs());
                                    }}};
    if (mma.getLhsSlot())
      changes.push_back({"of the next slot on the left", [](Operation *each) {
                           return turnSlot(each, 1, cast<tile::MmaAsyncOp>(each).getLhs());
                         }});
    return changes;
  }
  if (auto await = dyn_cast<tile::AwaitOp>(op)) {
    unsigned gate = await.getGateMutable().getOperandNumber(), phase = await.getPhaseMutable().getOperandNumber();
    int64_t gates = await.getGates().getType().getCount();
    return {{"removed", leaveOut},
            {"too early", moveUp},
            {"of the other phase", [phase](Operation *each) { return turnNumber(each, phase, 2); }},
            {"at the next gate", [gate, gates](Operation *each) { return turnNumber(each, gate, gates); }}};
  }
  if (auto arrive = dyn_cast<tile::ArriveOp>(op)) {
    int64_t gates = arrive.getGates().getType().getCount();
    std::vector<Change> changes = {{"removed", leaveOut},
                                   {"too early", moveUp},
                                   {"at the next gate", [gates](Operation *each) { return turnNumber(each, 1, gates); }}};
    // The gate takes as many arrivals then.
    if (arrive.getCluster())
      changes.push_back({"in its own block alone", [](Operation *each) {
                           auto alone = cast<tile::ArriveOp>(each);
                           auto kernel = alone->getParentOfType<tile::KernelOp>();
                           auto gates = alone.getGates().getDefiningOp<tile::GatesOp>();
                           for (Operation *user : gates->getUsers())
                             if (auto other = dyn_cast<tile::ArriveOp>(user))
                               other.setCluster(false);
                           gates.setArrivals(*getHint(kernel.getHintsAttr(), "warps"));
                           return true;
                         }});
    return changes;
  }
  if (auto sent = dyn_cast<tile::SentOp>(op))
    return changesOfWait(sent, "sent");
  if (auto fetch = dyn_cast<tile::FetchOp>(op); fetch && fetch.getLeft()) {
    unsigned slot = fetch.getSlotMutable().getOperandNumber(), gate = fetch.getGateMutable().getOperandNumber();
    unsigned left = slot + 3;
    auto hurry = [](Operation *each) {
      auto early = cast<tile::FetchOp>(each);
      early.getLeftMutable().clear();
      early.getLeftGateMutable().clear();
      early.getLeftPhaseMutable().clear();
      return true;
    };
    return {{"into the next slot",
             [slot](Operation *each) { return turnSlot(each, slot, cast<tile::FetchOp>(each).getBuffer()); }},
            {"opens the next gate",
             [gate](Operation *each) {
               return turnNumber(each, gate, cast<tile::FetchOp>(each).getGates().getType().getCount());
             }},
            {"without waiting", hurry},
            {"behind the next gate",
             [left](Operation *each) {
               return turnNumber(each, left + 1, cast<tile::FetchOp>(each).getLeft().getType().getCount());
             }},
            {"of the other phase", [left](Operation *each) { return turnNumber(each, left + 2, 2); }}};
  }
  if (auto fetch = dyn_cast<tile::FetchOp>(op)) {
    unsigned slot = fetch.getSlotMutable().getOperandNumber(), gate = fetch.getGateMutable().getOperandNumber();
    return {{"into the next slot",
             [slot](Operation *each) {
               return turnSlot(each, slot, cast<tile::FetchOp>(each).getBuffer());
             }},
            {"opens the next gate",
             [gate](Operation *each) {
               return turnNumber(each, gate, cast<tile::FetchOp>(each).getGates().getType().getCount());
             }},
            {"too early", moveOverBarrier}};
  }
  if (auto send = dyn_cast<tile::SendOp>(op)) {
    unsigned slot = send.getSlotMutable().getOperandNumber();
    return {{"of the next slot",
             [slot](Operation *each) {
               return turnSlot(each, slot, cast<tile::SendOp>(each).getBuffer());
             }},
            {"too early", moveOverBarrier}};
  }
  if (auto copy = dyn_cast<tile::CopyOp>(op)) {
    unsigned slot = copy.getSlotMutable().getOperandNumber();
    return {{"into the next slot",
             [slot](Operation *each) {
               return turnSlot(each, slot, cast<tile::CopyOp>(each).getBuffer());
             }},
            {"too early", moveOverBarrier}};
  }
  if (auto read = dyn_cast<tile::ReadOp>(op)) {
    unsigned slot = read.getSlotMutable().getOperandNumber();
    return {{"of the next slot", [slot](Operation *each) {
               return turnSlot(each, slot, cast<tile::ReadOp>(each).getBuffer());
             }}};
  }
  if (auto write = dyn_cast<tile::WriteOp>(op)) {
    unsigned slot = write.getSlotMutable().getOperandNumber();
    return {{"into the next slot", [slot](Operation *each) {
               return turnSlot(each, slot, cast<tile::WriteOp>(each).getBuffer());
             }}};
  }
  return {};
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
      OwningOpRef<ModuleOp> spoilt = module.clone();
      std::vector<Operation *> copies;
      spoilt->walk([&](Operation *each) { copies.push_back(each); });
      ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
      if (!change.apply(copies[position]) || failed(verify(*spoilt)))
        continue;
      auto host = spoilt->lookupSymbol<func::FuncOp>(function.getSymName());
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
          mutant.why = "not a program";
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
      tries.seeds = 2; // copies late, and copies early
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
      auto kernel = spoilt->lookupSymbol<tile::KernelOp>(op->getParentOfType<tile::KernelOp>().getSymName());
      mutant.isAlways = mutant.isProven && isa<tile::BarrierOp>(op) && findHazards(kernel).empty();
      mutant.why = mutant.isAlways   ? "no two accesses meet without a barrier between them"
                   : mutant.isProven ? "on these arguments the same in all orders (" +
                                         std::to_string(runs) + " that differ, of " +
                                         std::to_string(proof->launches.size()) + " launches)"
                                   : "no proof: more orders than are run";
    }
  return mutants;
}
