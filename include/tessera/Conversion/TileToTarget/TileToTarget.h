//===- TileToTarget.h - Host functions to host programs --------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H
#define TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// What the kernels of a target require of a host program.
struct HostProgramOptions {
  /// Kernels read their indices in the grid from special registers; the sizes of the grid are words
  /// only of persistent kernels and of those with fewer launch dimensions.
  bool isGpu = false;
  /// The alignment of every argument, in bytes.
  int64_t addressAlignment = 1;
  /// Whether addresses are at least aligned to the element size.
  bool alignedElements = false;
  /// Whether kernels have a `cluster_size`: a launch has that many CTAs per grid index.
  bool hasClusters = false;
  /// Whether kernels have a `launch_rank`; otherwise a launch has one dimension.
  bool hasAxes = false;
  /// Whether strides must not be negative.
  bool forwardStrides = false;
  /// The largest extent of a tensor in elements that the index type allows; 0: any.
  int64_t maxElements = 0;
};

/// The name of a function's argument in its program.
std::string argumentName(mlir::func::FuncOp function, unsigned index);

/// Builds the arguments and guards of a function's program at the builder's insertion point, and
/// maps the arguments.
void buildSignature(mlir::func::FuncOp function, mlir::OpBuilder &builder,
                    const HostProgramOptions &options, mlir::IRMapping &mapping);

/// Replaces every function of `module` (of tile.empty and tile.launch) by a tessera_target.program
/// at the start of `target`. The launched tile kernels must still be in `module`: their argument
/// types define the words.
mlir::LogicalResult convertHostFunctions(mlir::ModuleOp module, target::ModuleOp target,
                                         const HostProgramOptions &options = {});

} // namespace tessera

#endif
