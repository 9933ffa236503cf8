//===- ModuleTarget.h - The target of a module -----------------*- C++ -*-===//
//
// A module says once what it is compiled for: the attribute `tessera.target` holds the name of the
// target, and every pass that depends on the target reads it from there. The pass
// `tessera-attach-target` sets it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_MODULETARGET_H
#define TESSERA_DIALECT_COMMON_MODULETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera {

inline constexpr llvm::StringLiteral kTargetAttr = "tessera.target";

inline void setTarget(mlir::ModuleOp module, llvm::StringRef name) {
  module->setAttr(kTargetAttr, mlir::StringAttr::get(module.getContext(), name));
}

/// The GPU that a module is for. It is an error if the module has no target, or one that is not in
/// the table of chips.
inline mlir::FailureOr<GpuDescription> gpuOf(mlir::ModuleOp module) {
  auto name = module->getAttrOfType<mlir::StringAttr>(kTargetAttr);
  if (name)
    if (std::optional<GpuDescription> gpu = GpuDescription::from(name.getValue()))
      return *gpu;
  mlir::InFlightDiagnostic error = module.emitError("expected a module with '")
                                   << kTargetAttr << "', one of " << GpuDescription::knownChips();
  if (name)
    error << "; got '" << name.getValue() << "'";
  return error;
}

} // namespace tessera

#endif
