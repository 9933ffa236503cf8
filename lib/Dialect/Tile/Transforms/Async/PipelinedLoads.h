//===- PipelinedLoads.h - Loads with several stages in flight --*- C++ -*-===//
//
// Shared by the passes that load the tiles of later iterations into stages of shared memory: by
// cp.async (PipelineLoops.cpp) or by TMA (LowerTmaLoads.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_PIPELINEDLOADS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_PIPELINEDLOADS_H

#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

/// A load of a loop, and the stages for its tiles.
struct PipelinedLoad {
  LoadOp load;
  mlir::Operation *converted; // the layout conversion of the load, or the load itself
  BufferType type;
  mlir::Value buffer;
  mlir::Operation *rounding = nullptr; // the cast to tf32 that the copy does, or null
  /// The number of the load of the transposed tile, whose stages this one reads.
  std::optional<unsigned> transposeOf = std::nullopt;

  /// What the program reads from the stages.
  mlir::Value result() const { return (rounding ? rounding : converted)->getResult(0); }
};

/// Whether warps release stages at empty barriers (ReleaseStages.cpp): kernels with several
/// warpgroups that do wgmma, and one CTA per SM. CTAs that share an SM overlap anyway.
inline bool releasesStages(KernelOp kernel) {
  constexpr int64_t kGroup = 4; // warps of a warpgroup
  return kernel.isOn(TuningField::Wgmma) && kernel.getNumWarps() > kGroup &&
         kernel.getField(TuningField::MinCtasPerSm).value_or(1) <= 1;
}

/// Whether the coordinates of a load in a later iteration are known: one depends on the induction
/// variable, and the loop computes them from nothing else that changes in it.
bool isKnownAhead(mlir::scf::ForOp loop, LoadOp load);

/// A coordinate of a load that is known ahead, in another iteration of the load's loop. What the
/// loop computes is computed again; `outside` gives what else it depends on.
mlir::Value atIteration(
    mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::Value coordinate, mlir::Value iteration,
    llvm::function_ref<mlir::Value(mlir::Value)> outside = [](mlir::Value value) { return value; });

/// Whether two loops compute values in the same way from their induction variables.
bool isSameInBoth(mlir::scf::ForOp loop, mlir::Value value, mlir::scf::ForOp other,
                  mlir::Value otherValue);

/// Emits the remark of a pass that a load is not pipelined, if one of its coordinates is computed
/// from an index that the same loop loads.
void remarkLoadedIndex(mlir::scf::ForOp loop, LoadOp load, llvm::StringRef pass);

/// The contiguous dimension of the tile of a load that TMA can do; none if the view is written in
/// the kernel or no tensor map describes it. `pass` is the pass that says so by a remark, or empty.
std::optional<unsigned> tmaInnerDim(LoadOp load, const Coordinates &coordinates,
                                    llvm::StringRef pass = "");

/// Whether a cast rounds f32 to tf32, as TMA does while it copies (LowerTmaLoads.cpp).
inline bool roundsToTf32(CastOp cast) {
  return getElementTypeOrSelf(cast.getType()).isTF32() &&
         getElementTypeOrSelf(cast.getInput()).isF32();
}

/// The load of a contraction's operand, or null. Its rounding to tf32 is a part of the load, if
/// nothing else uses what is loaded.
inline LoadOp operandLoad(mlir::Value operand) {
  if (auto cast = operand.getDefiningOp<CastOp>();
      cast && roundsToTf32(cast) && cast->hasOneUse() && cast.getInput().hasOneUse())
    operand = cast.getInput();
  return operand.getDefiningOp<LoadOp>();
}

/// Whether TMA can load a contraction's operand for wgmma, with `over` as its K dimension.
bool isGroupOperand(mlir::Value operand, unsigned over, const Coordinates &coordinates);

/// Emits the remarks of a pass that a contraction does not use wgmma because TMA does not load an
/// operand.
void remarkOperandsWithoutTma(MmaOp mma, const Coordinates &coordinates, llvm::StringRef pass);

/// The layout conversion of a load, if it is the only use, or the load itself.
inline mlir::Operation *convertedOf(LoadOp load) {
  auto convert = load->hasOneUse() ? mlir::dyn_cast<ConvertOp>(*load->user_begin()) : ConvertOp();
  return convert ? convert.getOperation() : load.getOperation();
}

/// The shared memory for the loop's layout conversions and reductions, without the conversions of
/// pipelined loads.
inline uint64_t exchangedBytesBeside(llvm::ArrayRef<PipelinedLoad> loads, mlir::scf::ForOp loop,
                                     SharedFeatures features) {
  return exchangedBytes(loop, features, [&](mlir::Operation *op) {
    return llvm::any_of(loads, [&](const PipelinedLoad &load) { return load.converted == op; });
  });
}

} // namespace tessera::tile

#endif
