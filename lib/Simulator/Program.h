//===- Program.h - A kernel as the steps of a warp -------------*- C++ -*-===//
//
// A kernel's body is compiled to a sequence of steps with jumps, so that a warp can stop at any
// step and continue later. SSA values live in numbered slots of the warp's frame. What a step needs
// of layouts is computed once: which element each register of each lane holds, and its offset in
// shared memory.
//
// The warps of a cluster are numbered consecutively, CTA by CTA.
//
// Steps that other warps can observe (accesses to shared memory and to tensors that the kernel
// writes, barriers, waits) are visible. Between two visible steps a warp runs on its own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_PROGRAM_H
#define TESSERA_LIB_SIMULATOR_PROGRAM_H

#include "Values.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/GpuDescription.h"

#include <functional>
#include <memory>

namespace tessera::simulator {

/// Which element each register of each lane of each warp holds, as its row-major index.
class Places {
public:
  Places(const Layout &layout, unsigned warps, unsigned ctas = 1);
  unsigned registers() const { return registerParts.size(); }
  /// Values that a warp holds.
  unsigned count() const { return registers() * kLanes; }
  uint64_t operator()(unsigned warp, unsigned reg, unsigned lane) const {
    return warpParts[warp] ^ registerParts[reg] ^ laneParts[lane];
  }
  uint64_t operator()(unsigned warp, unsigned index) const {
    return (*this)(warp, index / kLanes, index % kLanes);
  }
  /// Whether this register stores an element that several registers hold, of its CTA or of all
  /// CTAs.
  bool isOwnerInCta(unsigned warp, unsigned index) const {
    return !(warp % warps & freeWarps) && !(index % kLanes & freeLanes) &&
           !(index / kLanes & freeRegisters);
  }
  bool isOwner(unsigned warp, unsigned index) const {
    return !(warp / warps & freeCtas) && isOwnerInCta(warp, index);
  }

private:
  std::vector<uint64_t> registerParts, laneParts, warpParts;
  unsigned warps; // per CTA
  unsigned freeRegisters = 0, freeLanes = 0, freeWarps = 0, freeCtas = 0;
};

/// An SSA value of a warp.
struct Slot {
  Number scalar = integer(0);
  TileRef tile;
};

/// A tensor as a kernel sees it, in elements.
struct View {
  unsigned memory = 0; // its number among the tensors of the host program
  int64_t offset = 0;
  llvm::SmallVector<int64_t> sizes, strides;
};

/// The arguments of a launch.
struct LaunchValues {
  std::vector<View> views;     // by argument number
  std::vector<Number> scalars; // by argument number
  llvm::SmallVector<int64_t> grid;
};

/// The state of a warp that steps compute on.
struct Frame {
  std::vector<Slot> slots;
  unsigned warp = 0;
  const LaunchValues *launch = nullptr;
  llvm::SmallVector<int64_t> program; // coordinates in the grid
  int64_t mmaGroup = 0;               // committed groups of warpgroup MMA
};

/// A buffer in shared memory.
struct Buffer {
  int64_t begin = 0, stages = 0;
  int64_t stride = 0, bytes = 0;    // from one stage to the next, and of one
  int64_t tileBytes = 0, slack = 0; // of a stage's tile, and elements that it may be shifted by
  Element element;
};

/// An access of a warp to global memory: a load, gather, store, scatter, or the source of a copy.
struct GlobalAccess {
  unsigned view = 0;                     // the argument
  std::vector<unsigned> coords, indices; // slots of coordinates, and of the tiles of gather indices
  llvm::SmallVector<int64_t> dims, tileSizes; // tileSizes: by view dimension, 1 if not in `dims`
  llvm::SmallVector<int> tileDim;             // by view dimension, the tile's dimension; -1: none
  std::vector<unsigned> shift; // of each of the tile's dimensions in an element's packed index
  std::shared_ptr<Places> places;
  Element element, indexElement;
  bool isChecked = false, isWrite = false, isAtomic = false;
  Number pad = integer(0);
  unsigned width = 1; // elements per vector access of a thread
  /// Of a `tile.aligned_row`: the dimension that it runs along, and the slot with the number of
  /// elements before the row.
  std::optional<std::pair<unsigned, unsigned>> front;
};

/// An access of a warp to a stage of a buffer.
struct StageAccess {
  unsigned buffer = 0, stageSlot = 0;
  bool isWrite = false;
  llvm::SmallVector<int64_t> shape;
  std::shared_ptr<Places> places;
  uint64_t first = 0;                         // the first element of a slice
  std::optional<unsigned> shift, from, below; // slots
  Number pad = integer(0);
  /// For each warp the byte offset in the stage of each of its values.
  std::vector<std::vector<uint32_t>> offsets;
  /// Of a dsmem that CTAs divide, for each warp the CTA of each of its values.
  std::vector<std::vector<uint8_t>> targets;
  unsigned accesses = 0, wavefronts = 0, ideal = 0; // of one warp

  bool isStoredTo(unsigned cta, unsigned warp, unsigned value) const {
    return places->isOwner(warp, value) && (targets.empty() || targets[warp][value] == cta);
  }
};

struct Step {
  enum class Kind : uint8_t {
    Compute, ///< no other warp can observe it
    Global,
    Shared,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    MbarrierAlloc,
    AsyncLoad, ///< tile.bulk_load and tile.tma_load
    MbarrierWait,
    MbarrierArrive,
    BulkStore,
    BulkWait,
    FenceProxyAsync,
    WgmmaOperand, ///< the read of an operand in shared memory
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait,
    Barrier,
    WarpBarrier,
    ClusterArrive,
    ClusterWait,
    DsmemStore,
    DsmemWait,
    DsmemLoad,
    Check,
    For,
    Next,
    If,
    Jump,
    Return
  };
  Kind kind = Kind::Compute;
  mlir::Operation *op = nullptr;
  unsigned number = 0;
  std::vector<unsigned> in, out; // slots
  unsigned target = 0;           // of a jump
  unsigned body = 0;             // of Next: the loop's first step
  int64_t pending = 0;           // of CpAsyncWait, BulkWait and WgmmaWait
  unsigned mbarriers = 0;        // the number of the mbarrier_alloc in the program
  std::optional<unsigned> empty; // of AsyncLoad: the same for its empty mbarriers
  bool isTma = false;            // of AsyncLoad
  bool isClusterWide = false;    // of AsyncLoad (multicast) and MbarrierArrive
  unsigned issuingWarp = 0;      // of AsyncLoad
  std::function<void(Frame &)> compute;
  std::shared_ptr<GlobalAccess> global;
  std::shared_ptr<StageAccess> shared;
};

class Program {
public:
  /// Null after an error, which is reported at the operation.
  static std::unique_ptr<Program> compile(tile::KernelOp kernel, const GpuDescription &gpu);

  mutable tile::KernelOp kernel;
  unsigned warps = 4, clusterSize = 1; // warps per CTA, CTAs per cluster
  unsigned allWarps() const { return warps * clusterSize; }
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::vector<int64_t> mbarrierCounts, mbarrierArrivals; // by mbarrier_alloc
  bool usesAsyncProxy = false;                           // bulk copies, TMA or warpgroup MMA
  int64_t sharedBytes = 0;                               // per CTA
  unsigned slotCount = 0;
  std::vector<unsigned> argumentSlots; // of scalars, by argument number
  std::vector<bool> isWritten;         // views, by argument number
};

/// Compiles operations that compute tiles from tiles; reports errors at the operation.
class TileCompiler {
public:
  TileCompiler(const Program &program, std::function<unsigned(mlir::Value)> slotOf)
      : program(program), warps(program.allWarps()), slotOf(std::move(slotOf)) {}
  mlir::LogicalResult compile(mlir::Operation *op, Step &step);
  /// Of a placed tile; null after an error.
  std::shared_ptr<Places> placesOf(mlir::Value tile);
  std::shared_ptr<Places> placesOf(const Layout &layout);

private:
  mlir::LogicalResult compileMap(tile::MapOp op, Step &step);
  mlir::LogicalResult compileCast(mlir::Operation *op, Step &step);
  mlir::LogicalResult compileFill(mlir::Operation *op, Step &step);
  mlir::LogicalResult compileMove(mlir::Operation *op, Step &step,
                                  const std::function<uint64_t(uint64_t)> &element);
  mlir::LogicalResult compileReduce(mlir::Operation *op, mlir::Value input, mlir::Value result,
                                    llvm::ArrayRef<int64_t> dims, ReduceOp kind, bool skipNan,
                                    bool isPartial, Step &step);
  mlir::LogicalResult compileScan(tile::ScanOp op, Step &step);
  mlir::LogicalResult compileSort(tile::SortOp op, Step &step);
  mlir::LogicalResult compileConvert(tile::ConvertOp op, Step &step);
  mlir::LogicalResult compileMma(tile::MmaOp op, Step &step);

public:
  /// An operand or the accumulator of an MMA: a slot and the layout of its tile.
  struct Operand {
    unsigned slot;
    std::shared_ptr<Places> places;
    mlir::RankedTensorType type;
  };
  mlir::LogicalResult compileMatmul(mlir::Operation *op, const Operand &lhs, const Operand &rhs,
                                    const Operand &acc, unsigned result, Step &step);

private:
  /// Whether each warp holds all elements of `from` that `needs` names for it.
  bool isWithinWarps(
      const Places &from,
      const std::function<void(unsigned warp, const std::function<void(uint64_t)> &)> &needs);

  const Program &program;
  unsigned warps; // of all CTAs of a cluster
  std::function<unsigned(mlir::Value)> slotOf;
  std::vector<std::pair<Layout, std::shared_ptr<Places>>> known;
};

/// The value of a float or integer attribute.
Number numberOf(mlir::Attribute attribute);

/// The kernel argument that a view is, or that it is an aligned row of; null for other views.
mlir::BlockArgument argumentOf(mlir::Value view);

/// Compiles a scalar operation on indices; null for other operations.
std::function<void(Frame &)> compileScalar(mlir::Operation *op,
                                           const std::function<unsigned(mlir::Value)> &slotOf);

} // namespace tessera::simulator

#endif
