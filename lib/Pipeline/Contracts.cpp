//===- Contracts.cpp - What holds after a phase ---------------------------===//
#include "Contracts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera {

using namespace mlir;

/// The first operation for which a predicate holds, in program order.
static Operation *findOp(ModuleOp module, llvm::function_ref<bool(Operation *)> predicate) {
  Operation *found = nullptr;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!predicate(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

static Operation *findGradient(ModuleOp module) {
  return findOp(module, [](Operation *op) {
    return isa<gir::VjpOp, gir::StopGradientOp, gir::CustomVjpOp, gir::CheckpointOp,
               gir::CheckpointNameOp>(op);
  });
}

static Operation *findComposite(ModuleOp module) {
  // The scheduler lowers additions at gather indices itself: it knows how the target adds them.
  return findOp(module, [](Operation *op) {
    return isa<gir::CompositeOpInterface>(op) && !isa<gir::ScatterAddOp>(op);
  });
}

static Operation *findGraphOp(ModuleOp module) {
  return findOp(module, [](Operation *op) { return isa<gir::GraphOpInterface>(op); });
}

static Operation *findScheduleOp(ModuleOp module) {
  return findOp(module, [](Operation *op) {
    return isa_and_nonnull<sched::ScheduleDialect>(op->getDialect());
  });
}

static Operation *findOnlineUpdate(ModuleOp module) {
  return findOp(module,
                [](Operation *op) { return isa<tile::OnlineUpdateOp, tile::OnlineWeighOp>(op); });
}

static Operation *findTileWithoutLayout(ModuleOp module) {
  return findOp(module, [](Operation *op) {
    return op->getParentOfType<tile::KernelOp>() &&
           llvm::any_of(op->getResults(), [](Value result) {
             return isa<RankedTensorType>(result.getType()) && !tile::layoutOf(result);
           });
  });
}

static Operation *findUnplacedAllocation(ModuleOp module) {
  return findOp(module, [](Operation *op) {
    auto alloc = dyn_cast<tile::AllocOp>(op);
    auto barriers = dyn_cast<tile::MbarrierAllocOp>(op);
    return (alloc && !alloc.getOffset()) || (barriers && !barriers.getOffset());
  });
}

/// An asynchronous copy whose completion nothing in its kernel waits for.
static Operation *findUnawaitedCopy(ModuleOp module) {
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    Operation *copy = nullptr;
    bool waits = false;
    kernel.walk([&](Operation *op) {
      if (isa<tile::CpAsyncOp>(op) && !copy)
        copy = op;
      waits |= isa<tile::CpAsyncWaitOp>(op);
    });
    if (copy && !waits)
      return copy;
    Operation *load = nullptr;
    kernel.walk([&](tile::AsyncLoadOpInterface op) {
      auto isWait = [](Operation *user) { return isa<tile::MbarrierWaitOp>(user); };
      if (!load && llvm::none_of(op.getFull().getUsers(), isWait))
        load = op;
    });
    if (load)
      return load;
  }
  return nullptr;
}

static Operation *findHazard(ModuleOp module) {
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (llvm::SmallVector<Hazard> hazards = findHazards(kernel); !hazards.empty())
      return hazards.front().after;
  return nullptr;
}

llvm::ArrayRef<Contract> contracts() {
  static constexpr Contract all[] = {
      {"no gradient is left to compute", "gir-differentiate", Stage::Sched, Stage::Placed,
       findGradient},
      {"no composite operation is left", "gir-decompose", Stage::Sched, Stage::Placed,
       findComposite},
      {"no operation of Graph IR is left to schedule", "convert-graph-to-sched", Stage::Sched,
       Stage::Placed, findGraphOp},
      {"no operation of Schedule IR is left", "convert-sched-to-tile", Stage::Tile, Stage::Placed,
       findScheduleOp},
      {"no operation of an online softmax is left", "tile-lower-online-update", Stage::Placed,
       Stage::Placed, findOnlineUpdate},
      {"every tile has a layout", "tile-assign-layouts", Stage::Placed, Stage::Placed,
       findTileWithoutLayout},
      {"every asynchronous copy is waited for", "tile-lower-layout-conversions", Stage::Placed,
       Stage::Placed, findUnawaitedCopy},
      {"every allocation has an offset in shared memory", "tile-allocate-shared", Stage::Placed,
       Stage::Placed, findUnplacedAllocation},
      {"a barrier separates conflicting accesses to shared memory", "tile-place-barriers",
       Stage::Placed, Stage::Placed, findHazard},
  };
  return all;
}

namespace {
class ContractChecks final : public PassInstrumentation {
public:
  explicit ContractChecks(Stage stage) {
    for (const Contract &contract : contracts())
      if (contract.stage <= stage && stage <= contract.until)
        inForce.push_back(&contract);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module) // nested pipelines and adaptors report the passes that they run
      return;
    for (const Contract &contract : contracts())
      if (contract.establisher == pass->getArgument() && !llvm::is_contained(inForce, &contract))
        inForce.push_back(&contract);
    for (const Contract *contract : inForce)
      if (Operation *violation = contract->findViolation(module)) {
        violation->emitError("pass '") << pass->getArgument() << "' breaks the contract of '"
                                       << contract->establisher << "': " << contract->property;
        return signalPassFailure(pass);
      }
  }

private:
  llvm::SmallVector<const Contract *> inForce;
};
} // namespace

void addContractChecks(PassManager &manager, Stage stage) {
  manager.addInstrumentation(std::make_unique<ContractChecks>(stage));
}

} // namespace tessera
