//===- Pipelines.h - The registered pass pipelines -------------*- C++ -*-===//
//
// `tessera-cpu-pipeline`, `tessera-ptx-pipeline` and `tessera-cuda-tile-pipeline` are the passes
// that the driver runs for a target, from Graph IR to the last form that a pass produces: Target IR
// for CPUs, placed Tile IR for PTX, Tile IR for CUDA Tile IR. `tessera-opt` runs and prints them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PIPELINE_PIPELINES_H
#define TESSERA_PIPELINE_PIPELINES_H

namespace mlir {
class PassManager;
}

namespace tessera {

/// Registers the three pipelines, with the options `target` and `tensor-cores`.
void registerPipelines();

/// Makes a pass manager that starts from any stage check what the passes promise each other.
void enableContractChecks(mlir::PassManager &manager);

} // namespace tessera

#endif
