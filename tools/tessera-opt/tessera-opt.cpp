//===- tessera-opt.cpp - Runs passes on textual IR ------------------------===//
//
// Registers the dialects and passes of every stage and calls MLIR's driver.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Conversion/GraphToSchedule/GraphToSchedule.h"
#include "tessera/Conversion/ScheduleToTile/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect>();
  registry.insert<tessera::gir::GraphDialect, tessera::sched::ScheduleDialect,
                  tessera::tile::TileDialect>();
  mlir::registerTransformsPasses();
  tessera::gir::registerGraphPasses();
  tessera::tile::registerTilePasses();
  tessera::registerScheduleToTilePasses();
  tessera::registerConvertGraphToSchedulePass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tessera's optimiser driver\n", registry));
}
