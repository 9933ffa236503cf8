//===- Stages.cpp - The stages' names and dialects ------------------------===//
#include "tessera/Pipeline/Pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera {

static constexpr std::string_view stageNames[] = {
    "graph",  "sched",           "tile", "placed", "target", "llvm",  "asm",
    "tileir", "tileir-bytecode", "ptx",  "cubin",  "sass",   "bundle"};

std::string_view stageName(Stage stage) { return stageNames[size_t(stage)]; }

std::optional<Stage> stageByName(std::string_view name) {
  for (size_t i = 0; i < std::size(stageNames); ++i)
    if (stageNames[i] == name)
      return Stage(i);
  return std::nullopt;
}

void registerStageDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                  mlir::LLVM::LLVMDialect, gir::GraphDialect, sched::ScheduleDialect,
                  tile::TileDialect, target::TargetDialect>();
}

} // namespace tessera
