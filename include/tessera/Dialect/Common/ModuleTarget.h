//===- ModuleTarget.h - The target of a module -----------------*- C++ -*-===//
//
// A module says once what it is compiled for: the attribute `tessera.target` holds the name of the
// target, and every pass that depends on the target reads it from there. The pass
// `tessera-attach-target` sets it.
//
//   "sm_90a", "sm_90:ptx"    a GPU by our own PTX
//   "sm_90:tileir"           a GPU by CUDA Tile IR
//   "x86-64-v4", "aarch64"   a CPU, by any name that CpuTarget::parse takes
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_MODULETARGET_H
#define TESSERA_DIALECT_COMMON_MODULETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Target/GpuDescription.h"
#include "tessera/Target/LLVM/CpuTarget.h"
#include "tessera/Target/NativeMath.h"

namespace tessera {

inline constexpr llvm::StringLiteral kTargetAttr = "tessera.target";

inline void setTarget(mlir::ModuleOp module, llvm::StringRef name) {
  module->setAttr(kTargetAttr, mlir::StringAttr::get(module.getContext(), name));
}

/// The target's name; empty where the module has none.
inline llvm::StringRef targetName(mlir::ModuleOp module) {
  auto name = module->getAttrOfType<mlir::StringAttr>(kTargetAttr);
  return name ? name.getValue() : "";
}

/// The GPU of a target's name; none for another target.
inline std::optional<GpuDescription> parseGpu(llvm::StringRef name) {
  auto [chip, backend] = name.split(':');
  bool isKnown = backend.empty() || backend == "ptx" || backend == "tileir";
  return isKnown ? GpuDescription::from(chip.str()) : std::nullopt;
}

/// An error that names the targets which are expected, and the one that the module has.
inline mlir::InFlightDiagnostic emitTargetError(mlir::ModuleOp module, llvm::StringRef others) {
  mlir::InFlightDiagnostic error = module.emitError("expected a module with '")
                                   << kTargetAttr << "', one of " << GpuDescription::knownChips()
                                   << others;
  if (llvm::StringRef name = targetName(module); !name.empty())
    error << "; got '" << name << "'";
  return error;
}

/// The GPU that a module is for. It is an error if the module has no target, or one that is not in
/// the table of chips.
inline mlir::FailureOr<GpuDescription> gpuOf(mlir::ModuleOp module) {
  if (std::optional<GpuDescription> gpu = parseGpu(targetName(module)))
    return *gpu;
  return emitTargetError(module, "");
}

/// The scalar operations that a module's target computes itself.
struct ModuleMath {
  const NativeMath *table;
  std::optional<GpuDescription> gpu; ///< none for a CPU

  bool has(const NativeOp &native) const {
    return !native.feature || (gpu && gpu->has(*native.feature));
  }
};

/// It is an error if the module has no target, or an unknown one.
inline mlir::FailureOr<ModuleMath> mathOf(mlir::ModuleOp module) {
  llvm::StringRef name = targetName(module);
  if (std::optional<GpuDescription> gpu = parseGpu(name))
    return ModuleMath{name.ends_with(":tileir") ? &cudaTileMath() : &ptxMath(), gpu};
  if (std::optional<CpuTarget> cpu = name.empty() ? std::nullopt : CpuTarget::parse(name))
    return ModuleMath{&cpuMath(cpu->describe()), std::nullopt};
  return emitTargetError(module, ", or a CPU");
}

} // namespace tessera

#endif
