//===- MachineCode.h - Code generation by LLVM ------------------*- C++ -*-===//
#ifndef TESSERA_CODEGEN_LLVM_MACHINECODE_H
#define TESSERA_CODEGEN_LLVM_MACHINECODE_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tessera::codegen {

/// Lowers structured control flow to branches.
void flatten(mlir::Region &region);

void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Emits an object file, or assembly text.
mlir::LogicalResult emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                    bool assembly, llvm::SmallVectorImpl<char> &out);

} // namespace tessera::codegen

#endif
