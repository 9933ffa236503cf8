//===- CPU.h - The CPU code generator --------------------------*- C++ -*-===//
//
// Tile kernels → tessera_target kernels (scf over llvm operations) → LLVM → a flat image. An image
// holds machine code and its constants with all relocations applied: it runs wherever it is mapped,
// and imports nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CPU_CPU_H
#define TESSERA_CODEGEN_CPU_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Support/CpuDescription.h"

#include <string>
#include <vector>

namespace tessera::cpu {

/// A machine as LLVM names it. `features` is a comma-separated list of "+name" and "-name".
struct CpuTarget {
  std::string triple, cpu, features;

  static CpuTarget host();
  /// One of "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"; nothing for an unknown name.
  static std::optional<CpuTarget> baseline(llvm::StringRef name);
  static CpuTarget of(target::ModuleOp module);

  CpuDescription describe() const;
  /// The target string of an image: architecture and the features that the code needs, as the
  /// runtime compares them.
  std::string runtimeTarget() const;
};

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
/// tessera_target.module. The kernels must have gone through `tile-expand-math`.
mlir::LogicalResult lowerTileToCpu(mlir::ModuleOp module, const CpuTarget &target);

/// Lowers the tile kernels of `module` only; the functions are left alone.
mlir::FailureOr<target::ModuleOp> lowerKernelsToCpu(mlir::ModuleOp module, const CpuTarget &target);

/// How LLVM is asked for code, kept as attributes of the module: from `optimizationLevel` 0, no
/// passes, to 2, the usual; `profiling`: frame pointers, so that profilers can walk the stack.
void setCodeOptions(target::ModuleOp module, unsigned optimizationLevel, bool profiling);

/// Machine code for the kernels of a tessera_target.module.
mlir::FailureOr<Image> emitImage(target::ModuleOp module);

enum class TextForm { LLVM, OptimizedLLVM, Assembly };
/// The same on paper.
mlir::FailureOr<std::string> emitText(target::ModuleOp module, TextForm form);

} // namespace tessera::cpu

#endif
