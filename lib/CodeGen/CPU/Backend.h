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

/// Of a kernel: the order of its instructions is one to keep. LLVM's description of recent cores moves multiplications
/// so near to those whose sums they add to that they wait for them.
inline constexpr llvm::StringLiteral kOrdered = "tessera_target.ordered";

std::unique_ptr<llvm::TargetMachine> createTargetMachine(target::ModuleOp module);

/// One LLVM function per kernel, not optimised.
std::unique_ptr<llvm::Module> translateKernels(target::ModuleOp module, llvm::LLVMContext &context,
                                               llvm::TargetMachine &machine);

/// Lays out the sections of an ELF object one after the other and applies the relocations between
/// them.
mlir::FailureOr<Image> linkImage(target::ModuleOp module, llvm::ArrayRef<char> object);

} // namespace tessera::cpu

#endif
