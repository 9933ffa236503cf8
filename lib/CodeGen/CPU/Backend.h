//===- Backend.h - From tessera_target kernels to machine code -*- C++ -*-===//
#ifndef TESSERA_LIB_CODEGEN_CPU_BACKEND_H
#define TESSERA_LIB_CODEGEN_CPU_BACKEND_H

#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera/CodeGen/LLVM/MachineCode.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace tessera::cpu {

using namespace codegen;

/// Kernel attribute: LLVM keeps the order of instructions. Its scheduling models of recent cores
/// move multiply-adds so close to the ones they depend on that they stall.
inline constexpr llvm::StringLiteral kOrdered = "tessera_target.ordered";

std::unique_ptr<llvm::TargetMachine> createTargetMachine(target::ModuleOp module);

/// Emits one unoptimised LLVM function per kernel.
std::unique_ptr<llvm::Module> translateKernels(target::ModuleOp module, llvm::LLVMContext &context,
                                               llvm::TargetMachine &machine);

/// Lays out the sections of an ELF object consecutively and applies the relocations between them.
mlir::FailureOr<Image> linkImage(target::ModuleOp module, llvm::ArrayRef<char> object);

} // namespace tessera::cpu

#endif
