//===- Target.h - The tessera_target dialect -------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TARGET_IR_TARGET_H
#define TESSERA_DIALECT_TARGET_IR_TARGET_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/GpuDescription.h"

#include <array>

namespace tessera {
struct TensorCoreShape;
}

#include "tessera/Dialect/Target/IR/TargetDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Target/IR/TargetAttrs.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Target/IR/TargetOps.h.inc"

namespace tessera::target {

/// The chip of the module around an operation; nothing if the module is not for a known GPU.
std::optional<GpuDescription> gpuOf(mlir::Operation *op);

/// Verifies the configuration of a kernel against the limits of a chip.
mlir::LogicalResult verifyConfig(mlir::Operation *op, llvm::StringRef kernel,
                                 KernelConfigAttr config, const GpuDescription &gpu);

/// Address spaces of pointers.
enum AddressSpace : unsigned { Generic = 0, Global = 1, Shared = 3, Local = 5 };

} // namespace tessera::target

#endif
