//===- ScheduleToTile.cpp - The pass convert-sched-to-tile ----------------===//
//
// Replaces every scheduled kernel of a module by a launch; Emitter emits the tile kernel.
//
//===----------------------------------------------------------------------===//
#include "tessera/Conversion/ScheduleToTile/Passes.h"

#include "Emitter.h"
#include "tessera/Dialect/Tile/IR/BackendAttr.h"

using namespace mlir;
using namespace tessera;

namespace tessera {
#define GEN_PASS_DEF_CONVERTSCHEDULETOTILE
#include "tessera/Conversion/ScheduleToTile/Passes.h.inc"
} // namespace tessera

/// Replaces `kernel` by a launch of a new tile kernel, which is inserted after `after`.
static LogicalResult convertKernel(sched::KernelOp kernel, const SizeFacts &facts,
                                   SymbolTable &symbols, Operation *after) {
  OpBuilder host(kernel);
  SmallVector<Value> outputs;
  for (auto [i, type] : llvm::enumerate(kernel.getOutputs().getTypes())) {
    int64_t input = kernel.getInto() ? (*kernel.getInto())[i] : -1;
    outputs.push_back(input < 0 ? tile::EmptyOp::create(host, kernel.getLoc(), type).getResult()
                                : kernel.getInputs()[input]);
  }

  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(after);
  int64_t gridRank = std::max<int64_t>(1, kernel.getOrder().size());
  auto target = tile::KernelOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                       ArrayRef<Type>(), gridRank);
  target.changeConfig(kernel.getLaunchConfig(), "the schedule");
  target.changeConfig(kernel.getTuningConfig(), "the schedule");
  if (Attribute changed = kernel->getAttr(sched::KernelOp::kChangedAttr))
    target->setAttr(tile::KernelOp::kChangedAttr, changed);
  if (Attribute backend = kernel->getAttr(sched::kBackend))
    target->setAttr(tile::kBackendAttr, backend);
  symbols.insert(target);
  Emitter emitter(kernel, target, facts, outputs);
  if (failed(emitter.check()))
    return failure();
  emitter.emit();
  emitter.emitLaunch(host);
  kernel.replaceAllUsesWith(outputs);
  kernel.erase();
  return success();
}

namespace {
struct ConvertScheduleToTile : tessera::impl::ConvertScheduleToTileBase<ConvertScheduleToTile> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      SizeFacts facts(func);
      Operation *after = func;
      SmallVector<sched::KernelOp> kernels(func.getOps<sched::KernelOp>());
      for (sched::KernelOp kernel : kernels) {
        if (failed(convertKernel(kernel, facts, symbols, after)))
          return signalPassFailure();
        after = after->getNextNode();
      }
    }
  }
};
} // namespace
