//===- Pipelines.cpp - The registered pass pipelines ----------------------===//
#include "tessera/Pipeline/Pipelines.h"

#include "Backend.h"
#include "Contracts.h"
#include "StagePasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Conversion/GraphToSchedule/Passes.h"
#include "tessera/Conversion/ScheduleToTile/Passes.h"
#include "tessera/CostModel/WgmmaTiles.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "Tuning.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

/// FLOP of a vector unit in the time of a byte of memory, about.
static constexpr double kFlopPerByteOfCpus = 16;

/// From graphs to kernels with tiles, launch and tuning, before long streams are split.
static void addSelectionPasses(OpPassManager &manager, const Backend &backend) {
  std::string target = backend.specification(), schedule = backend.options().schedule;
  auto addOverrides = [&](bool onlyBackends) {
    if (!schedule.empty())
      manager.addPass(sched::createScheduleOverrideSchedule(
          {.target = target, .schedule = schedule, .onlyBackends = onlyBackends}));
  };
  manager.addPass(createConvertGraphToSchedule({.target = target}));
  manager.addPass(sched::createScheduleMergeDims({.target = target}));
  manager.addPass(sched::createScheduleSelectBackend({.target = target}));
  addOverrides(/*onlyBackends=*/true);
  manager.addPass(sched::createScheduleSelectSchedule({.target = target}));
  manager.addPass(sched::createScheduleLimitWork({.target = target}));
  if (backend.takesMeasurements())
    manager.addPass(
        createTuningPass(backend.chip(), backend.via().empty() ? "cpu" : backend.via()));
  addOverrides(/*onlyBackends=*/false);
}

void addPartitionPasses(OpPassManager &manager, const MachineModel &machine) {
  manager.addPass(gir::createGraphDecompose());
  manager.addPass(gir::createGraphAccumulate());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.nest<func::FuncOp>().addPass(gir::createGraphReuseContractions());
  manager.addPass(createCanonicalizerPass());
  double flopPerByte = machine.isGpu ? machine.flopPerByte() : kFlopPerByteOfCpus;
  manager.nest<func::FuncOp>().addPass(gir::createGraphPartition({.flopPerByte = flopPerByte}));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// From graphs as they come to those that are scheduled.
static void addGraphPasses(OpPassManager &manager, const Backend &backend) {
  manager.addPass(gir::createGraphExpandSorts({.sequential = !backend.machine().isGpu}));
  manager.addPass(gir::createGraphDecompose());
  manager.addPass(gir::createGraphAccumulate());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.nest<func::FuncOp>().addPass(gir::createGraphReuseContractions());
  manager.nest<func::FuncOp>().addPass(gir::createGraphSplitBatches());
  manager.nest<func::FuncOp>().addPass(gir::createGraphFactorContractions());
  manager.nest<func::FuncOp>().addPass(gir::createGraphSumOperands());
  manager.addPass(gir::createGraphDistributeConcat());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.nest<func::FuncOp>().addPass(gir::createGraphEraseRecompute());
  if (MachineModel machine = backend.machine(); machine.isGpu) {
    OpPassManager &functions = manager.nest<func::FuncOp>();
    functions.addPass(gir::createGraphLowerScatterAdd());
    functions.addPass(gir::createGraphDropChecks());
    functions.addPass(gir::createGraphSplitScans({.sms = machine.cores}));
    functions.addPass(gir::createGraphGatherReshapes());
    functions.addPass(
        gir::createGraphStoreWindows({.rowAlignment = machine.rowAlignment,
                                      .wordSide = machine.warpgroupCosts ? grouped::kSide : 0,
                                      .sms = machine.cores,
                                      .flopPerByte = machine.flopPerByte(),
                                      .flopPerLaunch = machine.flopPerLaunch()}));
    functions.addPass(gir::createGraphUnrollWindows());
    functions.addPass(gir::createGraphLowerPadding());
    functions.addPass(gir::createGraphAlignOperands({.rowAlignment = machine.rowAlignment,
                                                     .flopPerByte = machine.flopPerByte(),
                                                     .flopPerLaunch = machine.flopPerLaunch()}));
    functions.addPass(gir::createGraphStoreOperands({.rowAlignment = machine.rowAlignment,
                                                     .flopPerByte = machine.flopPerByte(),
                                                     .flopPerLaunch = machine.flopPerLaunch()}));
    bool canSplit = machine.warpgroupCosts && backend.options().tensorCores;
    functions.addPass(gir::createGraphStoreFloats({.side = canSplit ? grouped::kSide : 0,
                                                   .rowAlignment = machine.rowAlignment,
                                                   .flopPerByte = machine.flopPerByte(),
                                                   .flopPerLaunch = machine.flopPerLaunch()}));
  }
}

void addCandidatePasses(OpPassManager &manager, const Backend &backend) {
  addGraphPasses(manager, backend);
  addSelectionPasses(manager, backend);
}

void addStagePasses(OpPassManager &manager, Stage next, const Backend &backend) {
  switch (next) {
  case Stage::Graph:
    manager.addPass(gir::createGraphDifferentiate());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Stage::Sched:
    addGraphPasses(manager, backend);
    addSelectionPasses(manager, backend);
    manager.addPass(sched::createScheduleSplitStreams({.target = backend.specification()}));
    return;
  case Stage::Tile:
    manager.addPass(createConvertScheduleToTile());
    manager.addPass(tile::createTileCanonicalizeLoopCarried());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addPass(tile::createTileDeduplicateKernels());
    manager.addPass(tile::createTileHoist());
    return;
  case Stage::Placed:
    return backend.addPlacingPasses(manager);
  case Stage::Target:
    return backend.addLoweringPasses(manager);
  default:
    llvm_unreachable("no passes lead to this stage");
  }
}

namespace {
struct Options : PassPipelineOptions<Options> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("the target: sm_90, x86-64-v4, aarch64, cpu, ...")};
  Option<bool> tensorCores{*this, "tensor-cores", llvm::cl::init(true),
                           llvm::cl::desc("whether tensor cores and AMX may be used")};
};
} // namespace

/// Adds all passes for a target: those that the driver runs, stage by stage.
static LogicalResult addPipeline(OpPassManager &manager, StringRef text, StringRef defaultTarget,
                                 StringRef via,
                                 llvm::function_ref<LogicalResult(const Twine &)> onError) {
  Options options;
  if (failed(options.parseFromString(text)))
    return failure();
  CodeOptions code;
  code.tensorCores = options.tensorCores;
  code.tuning = false; // the same passes whatever was measured here
  std::string target = options.target.empty() ? defaultTarget.str() : options.target, error;
  std::unique_ptr<Backend> backend = Backend::forTarget(target, code, via, error);
  if (!backend)
    return onError(error);
  if (backend->via() != via)
    return onError("expected a target " +
                   (via.empty() ? "that is a CPU" : "that supports '" + via + "'") + ", got '" +
                   target + "'");
  for (Stage stage : {Stage::Graph, Stage::Sched, Stage::Tile, Stage::Placed, Stage::Target})
    if (stage != Stage::Placed || backend->hasStage(Stage::Placed))
      addStagePasses(manager, stage, *backend);
  return success();
}

static void registerPipeline(StringRef name, StringRef description, StringRef defaultTarget,
                             StringRef via) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &manager, StringRef options,
          llvm::function_ref<LogicalResult(const Twine &)> onError) {
        return addPipeline(manager, options, defaultTarget, via, onError);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(Options());
      });
}

void registerPipelines() {
  registerPipeline("tessera-cpu-pipeline", "Graph IR to Target IR for a CPU", "cpu", "");
  registerPipeline("tessera-ptx-pipeline",
                   "Graph IR to placed Tile IR for a GPU, from which PTX is emitted", "sm_90",
                   "ptx");
  registerPipeline("tessera-cuda-tile-pipeline",
                   "Graph IR to Tile IR for a GPU, from which CUDA Tile IR is emitted", "sm_90",
                   "tileir");
}

void enableContractChecks(PassManager &manager) { addContractChecks(manager, Stage::Graph); }

} // namespace tessera
