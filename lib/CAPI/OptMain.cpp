//===- OptMain.cpp - The program tessera-opt ------------------------------===//
//
// tessera-opt is part of the library because it needs the same parts of LLVM as the compiler: a
// separate statically linked program would double the size of the package. Passes are registered
// individually, since MLIR's register-everything functions link every dialect.
//
//===----------------------------------------------------------------------===//
#include "tessera-c/tessera.h"
#include "tessera/CodeGen/CPU/Passes.h"
#include "tessera/CodeGen/CudaTileIR/Passes.h"
#include "tessera/CodeGen/PTX/Passes.h"
#include "tessera/Conversion/GraphToSchedule/Passes.h"
#include "tessera/Conversion/ScheduleToTile/Passes.h"
#include "tessera/Conversion/TargetToLLVM/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Pipeline/Passes.h"
#include "tessera/Pipeline/Pipeline.h"
#include "tessera/Pipeline/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

int tessera_opt_main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::registerStageDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  tessera::gir::registerGraphPasses();
  tessera::registerGraphToSchedulePasses();
  tessera::registerScheduleToTilePasses();
  tessera::registerTargetToLLVMPasses();
  tessera::sched::registerSchedulePasses();
  tessera::tile::registerTilePasses();
  tessera::cpu::registerCPUPasses();
  tessera::cudatile::registerCudaTileIRPasses();
  tessera::ptx::registerPTXPasses();
  tessera::registerPipelinePasses();
  tessera::registerPipelines();

  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Tessera's optimiser driver\n", registry);
  mlir::MlirOptMainConfig given = mlir::MlirOptMainConfig::createFromCLOptions();
  if (given.shouldShowDialects() || given.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  // As in the driver: an error names the pass that violates an established invariant.
  mlir::MlirOptMainConfig config = given;
  config.setPassPipelineSetupFn([&](mlir::PassManager &manager) {
    tessera::enableContractChecks(manager);
    return given.setupPassPipeline(manager);
  });
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> out = mlir::openOutputFile(output, &error);
  if (!file || !out) {
    llvm::errs() << error << "\n";
    return 1;
  }
  if (mlir::failed(mlir::MlirOptMain(out->os(), std::move(file), registry, config)))
    return 1;
  out->keep();
  return 0;
}
