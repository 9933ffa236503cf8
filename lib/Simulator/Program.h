//===- Program.h - A kernel as the steps of a warp -------------*- C++ -*-===//
//
// A kernel's body becomes a row of steps with jumps, so that a warp can stop at any of them and go
// on later. Values live in numbered slots. What a step needs to know of layouts is computed once:
// which element each register of each lane holds, where it lies in shared memory.
//
// The warps of a cluster's blocks are numbered through, block by block.
//
// Steps that other warps can notice (accesses to shared memory, to tensors that the kernel writes,
// barriers, waits) are visible; between two of them a warp runs on its own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_PROGRAM_H
#define TESSERA_LIB_SIMULATOR_PROGRAM_H

#include "Values.h"
#include "tessera/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include <functional>
#include <memory>

namespace tessera::simulator {

/// Which element each register of each lane of each warp holds, as its row-major number.
class Places {
public:
  Places(const Layout &layout, unsigned warps, unsigned blocks = 1);
  unsigned registers() const { return registerParts.size(); }
  /// Numbers that a warp holds.
  unsigned count() const { return registers() * kLanes; }
  uint64_t operator()(unsigned warp, unsigned reg, unsigned lane) const {
    return warpParts[warp] ^ registerParts[reg] ^ laneParts[lane];
  }
  uint64_t operator()(unsigned warp, unsigned index) const {
    return (*this)(warp, index / kLanes, index % kLanes);
  }
  /// Whether this one answers for an element that several places hold, of its block or of all.
  bool isOwnerInBlock(unsigned warp, unsigned index) const {
    return !(warp % warps & freeWarps) && !(index % kLanes & freeLanes) &&
           !(index / kLanes & freeRegisters);
  }
  bool isOwner(unsigned warp, unsigned index) const {
    return !(warp / warps & freeBlocks) && isOwnerInBlock(warp, index);
  }

private:
  std::vector<uint64_t> registerParts, laneParts, warpParts;
  unsigned warps; // of a block
  unsigned freeRegisters = 0, freeLanes = 0, freeWarps = 0, freeBlocks = 0;
};

/// What a slot of a warp holds.
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

/// What a launch gives to every program of its grid.
struct LaunchValues {
  std::vector<View> views;     // by argument number
  std::vector<Number> scalars; // by argument number
  llvm::SmallVector<int64_t> grid;
};

/// What a step of a warp sees.
struct Frame {
  std::vector<Slot> slots;
  unsigned warp = 0;
  const LaunchValues *launch = nullptr;
  llvm::SmallVector<int64_t> program; // coordinates in the grid
  int64_t group = 0;                  // of products that are closed
};

/// Room in shared memory.
struct Buffer {
  int64_t begin = 0, slots = 0;
  int64_t stride = 0, bytes = 0; // from one slot to the next, and of one
  int64_t tileBytes = 0, slack = 0; // of a slot's tile, and elements that it may begin behind
  Element element;
};

/// An access of a warp to global memory: a load, gather, store, scatter, or the source of a copy.
struct GlobalAccess {
  unsigned view = 0; // the argument
  std::vector<unsigned> coords,
      indices; // slots of coordinates, and of the tiles of computed places
  llvm::SmallVector<int64_t> dims,
      tileSizes;                  // tileSizes: by view dimension, 1 where it is none of `dims`
  llvm::SmallVector<int> placeOf; // by view dimension, the tile's dimension; -1: none
  std::vector<unsigned> shift;    // of each of the tile's dimensions in an element's number
  std::shared_ptr<Places> places;
  Element element, indexElement;
  bool isChecked = false, isWrite = false, isAtomic = false;
  Number pad = integer(0);
  unsigned width = 1; // elements that a thread accesses at once
  /// Of a row that is seen from an aligned address on: the dimension that it runs along, and the frame's slot that says how many
  /// elements are in front of it.
  std::optional<std::pair<unsigned, unsigned>> front;
};

/// An access of a warp to a slot of a buffer.
struct SlotAccess {
  unsigned buffer = 0, slot = 0; // slot: of the frame
  bool isWrite = false;
  llvm::SmallVector<int64_t> shape;
  std::shared_ptr<Places> places;
  uint64_t first = 0; // the element at which the places begin
  /// Slots of the frame: what the tile begins behind, and from which number on and below which it has elements.
  std::optional<unsigned> behind, from, below;
  Number pad = integer(0);
  /// For each warp the offset in the slot of each of its numbers, in bytes.
  std::vector<std::vector<uint32_t>> offsets;
  /// Of what is pushed to one block each, for each warp the block of each of its numbers.
  std::vector<std::vector<uint8_t>> targets;
  unsigned accesses = 0, wavefronts = 0, ideal = 0; // of one warp

  bool isPushedTo(unsigned block, unsigned warp, unsigned number) const {
    return places->isOwner(warp, number) && (targets.empty() || targets[warp][number] == block);
  }
};

struct Step {
  enum class Kind : uint8_t {
    Compute, ///< no other warp notices
    Global,
    Shared,
    Copy,
    Commit,
    Wait,
    Gates,
    Fetch,
    Await,
    Arrive,
    Send,
    Sent,
    Fence,
    Product, ///< an operand of a product that groups of warps begin
    MmaFence,
    MmaCommit,
    MmaWait,
    Barrier,
    WarpBarrier,
    Open,
    Meet,
    Push,
    Receive,
    Take,
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
  int64_t pending = 0;           // of Wait, Sent and MmaWait
  unsigned gates = 0;            // of Gates, Fetch, Await and Arrive: their number in the program
  std::optional<unsigned> left;  // of Fetch: gates at which it waits for others
  bool isBox = false;            // of Fetch: more than a row
  bool ofCluster = false;        // of Fetch and Arrive: for all blocks of the cluster
  unsigned by = 0;               // of Fetch: the warp that begins it
  std::function<void(Frame &)> compute;
  std::shared_ptr<GlobalAccess> global;
  std::shared_ptr<SlotAccess> shared;
};

class Program {
public:
  /// Null after an error, which is told at the operation.
  static std::unique_ptr<Program> compile(tile::KernelOp kernel, llvm::StringRef chip);

  mutable tile::KernelOp kernel;
  unsigned warps = 4, cluster = 1; // of a block; blocks of a program
  unsigned allWarps() const { return warps * cluster; }
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::vector<int64_t> gateCounts, gateArrivals; // by number of gates
  bool hasRows = false;            // that are copied as a whole, or products that read by themselves
  int64_t sharedBytes = 0;         // of a block
  unsigned slotCount = 0;
  std::vector<unsigned> argumentSlots; // of scalars, by argument number
  std::vector<bool> isWritten;         // views, by argument number
};

/// Makes steps that compute tiles from tiles; what is wrong is told at the operation.
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
  mlir::LogicalResult compileConvert(tile::ConvertOp op, Step &step);
  mlir::LogicalResult compileMma(tile::MmaOp op, Step &step);

public:
  /// A product of tiles that lie in slots as the layouts say: lhs, rhs, sums.
  struct Factor {
    unsigned slot;
    std::shared_ptr<Places> places;
    mlir::RankedTensorType type;
  };
  mlir::LogicalResult compileProduct(mlir::Operation *op, const Factor &lhs, const Factor &rhs,
                                     const Factor &sums, unsigned result, Step &step);

private:
  /// Whether each warp holds of `from` all that `needs` names; then the warps can do without each
  /// other.
  bool isWithinWarps(
      const Places &from,
      const std::function<void(unsigned warp, const std::function<void(uint64_t)> &)> &needs);

  const Program &program;
  unsigned warps; // of all blocks
  std::function<unsigned(mlir::Value)> slotOf;
  std::vector<std::pair<Layout, std::shared_ptr<Places>>> known;
};

/// A scalar operation on indices; null where it is none.
std::function<void(Frame &)> compileScalar(mlir::Operation *op,
                                           const std::function<unsigned(mlir::Value)> &slotOf);

} // namespace tessera::simulator

#endif
