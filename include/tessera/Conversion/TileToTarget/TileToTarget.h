//===- TileToTarget.h - Host functions to host programs --------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H
#define TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// What the kernels of a target ask of a host program.
struct HostProgramOptions {
  /// Kernels know the place in their grid themselves; only those that walk it are told its sizes.
  bool isGpu = false;
  /// What must divide the address of every argument, in bytes.
  int64_t addressAlignment = 1;
  /// Addresses are multiples of their element's size at least.
  bool alignedElements = false;
  /// Whether the hint `cluster` says how many blocks each program has.
  bool hasClusters = false;
  /// Whether the hint `axes` says how many dimensions a launch has; otherwise it has one.
  bool hasAxes = false;
  /// No argument is walked backward.
  bool forwardStrides = false;
  /// The largest number of elements that a kernel can count in one tensor; 0: any.
  int64_t maxElements = 0;
};

/// Replaces every function of `module` (made of tile.empty and tile.launch) by a
/// tessera_target.program at the head of `target`. The tile kernels that are launched must still be
/// in `module`: their argument types fix the words.
mlir::LogicalResult convertHostFunctions(mlir::ModuleOp module, target::ModuleOp target,
                                         const HostProgramOptions &options = {});

} // namespace tessera

#endif
