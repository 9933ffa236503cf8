//===- Schedule.h - The Schedule IR dialect --------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_IR_SCHEDULE_H
#define TESSERA_DIALECT_SCHEDULE_IR_SCHEDULE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Common/LaunchConfig.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"

namespace tessera::sched {
/// Roles of an iteration dimension (see the dialect's description).
inline constexpr llvm::StringLiteral kParallel = "parallel", kStream = "stream", kInner = "inner";

/// The backend of a kernel, CUDA Tile IR or PTX, in a program whose kernels use different ones.
inline constexpr llvm::StringLiteral kBackend = "sched.backend", kCudaTile = "cuda_tile",
                                     kPtx = "ptx";

/// On a kernel: it contains a `gir.contract`, perhaps of vectors; it stores rows that are padded at
/// their end.
inline constexpr llvm::StringLiteral kContracts = "sched.contracts", kPadsRows = "sched.pads_rows";
} // namespace tessera::sched

#include "tessera/Dialect/Schedule/IR/ScheduleDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleAttrs.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleOps.h.inc"

#endif
