//===- CPU.h - The CPU code generator --------------------------*- C++ -*-===//
//
// Lowers tile kernels to tessera_target kernels (scf control flow over llvm operations), to LLVM IR
// and to a flat image. An image holds machine code and its constants with all relocations applied.
// It runs wherever it is mapped, and imports nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CPU_CPU_H
#define TESSERA_CODEGEN_CPU_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Target/LLVM/CpuTarget.h"

#include <string>
#include <vector>

namespace tessera::cpu {

/// The CPU that a module is for.
CpuTarget targetOf(target::ModuleOp module);

struct Image {
  struct Kernel {
    std::string name;
    uint64_t offset = 0;
    uint64_t scratchBytes = 0;
  };
  std::string target;
  std::vector<Kernel> kernels;
  std::vector<uint8_t> code;
};

/// Replaces the tile kernels of `module` and the host functions that launch them by one
/// tessera_target.module. Requires `tile-expand-math` to have run.
mlir::LogicalResult lowerTileToCpu(mlir::ModuleOp module, const CpuTarget &target);

/// Lowers only the tile kernels of `module`; the functions are unchanged.
mlir::FailureOr<target::ModuleOp> lowerKernelsToCpu(mlir::ModuleOp module, const CpuTarget &target);

/// Prints the loop nests and the buffers that the kernels of `module` get, and which parts of tiles
/// they compute.
mlir::LogicalResult printPlans(mlir::ModuleOp module, const CpuTarget &target,
                               llvm::raw_ostream &os);

/// Code generation options, kept as attributes of the module. `optimizationLevel` ranges from 0 (no
/// passes) to 2 (the default); `profiling` keeps frame pointers, so that profilers can unwind the
/// stack.
void setCodeOptions(target::ModuleOp module, unsigned optimizationLevel, bool profiling);

/// Generates machine code for the kernels of a tessera_target.module.
mlir::FailureOr<Image> emitImage(target::ModuleOp module);

enum class TextForm { LLVM, OptimizedLLVM, Assembly };
/// Returns the same code as text.
mlir::FailureOr<std::string> emitText(target::ModuleOp module, TextForm form);

} // namespace tessera::cpu

#endif
