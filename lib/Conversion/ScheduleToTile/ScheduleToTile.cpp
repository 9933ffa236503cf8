//===- ScheduleToTile.cpp - The pass convert-sched-to-tile ----------------===//
//
// Walks the functions of a module and replaces every scheduled kernel; Emitter writes the kernel
// itself.
//
//===----------------------------------------------------------------------===//
#include "tessera/Conversion/ScheduleToTile/Passes.h"

#include "Emitter.h"
#include "tessera/Dialect/Tile/IR/Roads.h"

using namespace mlir;
using namespace tessera;

namespace tessera {
#define GEN_PASS_DEF_CONVERTSCHEDULETOTILE
#include "tessera/Conversion/ScheduleToTile/Passes.h.inc"
} // namespace tessera

/// Replaces `kernel` by a launch of a new tile kernel, which is put behind the function.
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
  target.setHintsAttr(kernel.getHintsAttr());
  if (Attribute road = kernel->getAttr(sched::kRoad))
    target->setAttr(tile::kRoadAttr, road);
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
