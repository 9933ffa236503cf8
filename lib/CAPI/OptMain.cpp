//===- OptMain.cpp - The program tessera-opt ------------------------------===//
//
// Stands in the library because it needs all of LLVM that the compiler needs: linked statically,
// a program of its own would double what is shipped. Passes are registered by name, since MLIR's
// functions that register everything pull in every dialect.
//
//===----------------------------------------------------------------------===//
#include "tessera-c/tessera.h"
#include "tessera/CodeGen/CPU/Passes.h"
#include "tessera/CodeGen/CudaTileIR/Passes.h"
#include "tessera/CodeGen/PTX/Passes.h"
#include "tessera/Conversion/GraphToSchedule/GraphToSchedule.h"
#include "tessera/Conversion/ScheduleToTile/Passes.h"
#include "tessera/Conversion/TargetToLLVM/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Pipeline/Pipeline.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int tessera_opt_main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::registerStageDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  tessera::gir::registerGraphPasses();
  tessera::registerConvertGraphToSchedulePass();
  tessera::registerScheduleToTilePasses();
  tessera::registerTargetToLLVMPasses();
  tessera::sched::registerSchedulePasses();
  tessera::tile::registerTilePasses();
  tessera::cpu::registerCPUPasses();
  tessera::cudatile::registerCudaTileIRPasses();
  tessera::ptx::registerPTXPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tessera's optimiser driver\n", registry));
}
