//===- ForEachKernel.h - Passes that look at kernels one by one -*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_SCHEDULE_TRANSFORMS_FOREACHKERNEL_H
#define TESSERA_LIB_DIALECT_SCHEDULE_TRANSFORMS_FOREACHKERNEL_H

#include "tessera/CostModel/MachineModels.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera::sched {

/// Calls `perform` for each kernel of a module, with the machine model of a target. It is an error
/// if there is no such target.
inline mlir::LogicalResult
forEachKernel(mlir::ModuleOp module, const std::string &target, int64_t cores,
              llvm::function_ref<void(const MachineModel &, const SizeFacts &, KernelOp)> perform) {
  std::optional<MachineModel> machine = parseMachineModel(target, cores);
  if (!machine)
    return module.emitError("expected a CPU or a GPU with its backend as target, got '")
           << target << "'";
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    SizeFacts facts(function);
    for (KernelOp kernel : llvm::to_vector(function.getOps<KernelOp>()))
      perform(*machine, facts, kernel);
  }
  return mlir::success();
}

/// The model for the backend of a kernel.
inline const MachineModel &machineOf(KernelOp kernel, const MachineModel &machine) {
  auto backend = kernel->getAttrOfType<mlir::StringAttr>(kBackend);
  return machine.byTiles && backend && backend == kCudaTile ? *machine.byTiles : machine;
}

} // namespace tessera::sched

#endif
