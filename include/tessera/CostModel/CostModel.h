//===- CostModel.h - Tile sizes from a machine's description ---*- C++ -*-===//
//
// A first choice of tile sizes that is good without measurement. The kernel is described by its
// dimensions, their roles and its contractions; the machine by a few numbers. Nothing of the
// program is looked at.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_COSTMODEL_H
#define TESSERA_COSTMODEL_COSTMODEL_H

#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct MachineModel {
  /// A GPU: a program is a tile block, its tiles are powers of two and live in registers and shared
  /// memory.
  bool isGpu = false;
  int64_t cores = 2; ///< of a GPU: SMs
  int64_t vectorBytes = 64;
  int64_t l1Bytes = 48 << 10;
  int64_t l2Bytes = 2 << 20;
  /// Of a CPU: lines that are written as a whole are not read first, whatever the stores.
  bool detectsStreams = false;
  /// Of a CPU: the left-hand sides of products are put into the order in which they are read.
  bool interleavesRows = false;
  /// Of a CPU: what its matrix unit multiplies at once; 1 where there is none.
  int64_t blockRows = 1, blockDepth = 1;
  /// The longest row that a program keeps while it passes over it again and again; 0: none.
  int64_t wholeRow = 0;
  /// Rows at multiples of so many bytes are copied in bulk; 0: any are.
  int64_t rowAlignment = 0;
  /// Of a GPU: tensor cores take their operands from registers, where those of split products need
  /// twice the room.
  bool operandsInRegisters = false;
  /// Of a GPU: quadPairs of a warp multiply, whose lanes hold operands in registers twice.
  bool quadPairs = false;
  /// Tensor cores multiply bytes; otherwise they are made wider in registers.
  bool multipliesBytes = true;
  /// Of a GPU: all tiles are in registers, and a program has as many threads as that takes.
  bool tilesInRegisters = false;
  /// Of a GPU: warpgroups multiply tiles of 16-bit elements that lie in shared memory.
  bool warpgroups = false;
  /// Of a GPU: copies of the machine bring unaligned rows into shared memory, and from there.
  bool copiesRows = false;
  /// Of a GPU: kernels can say what its L2 keeps.
  bool cachePolicies = false;
  /// Of a GPU: shared memory of an SM, and what a block may have of it, for rows that are walked
  /// again.
  int64_t sharedBytes = 0, sharedOfBlock = 0;
  /// Of a GPU: blocks that can share a row, at most.
  int64_t cluster = 1;
  /// Of a GPU whose kernels may go by two backends: what is known of it by CUDA Tile IR; the rest
  /// is for our own PTX.
  std::shared_ptr<const MachineModel> byTiles;
};

/// What the choice of tiles depends on.
struct KernelShape {
  struct Dim {
    std::string name;
    SymExpr size;
    enum Role { Parallel, Stream, Inner } role;
    int64_t tile = 1;
  };
  /// Row, column and batch dimensions of one contraction, and what it sums over.
  struct Contraction {
    std::vector<std::string> rows, columns, over;
    bool inner = false;
    /// Whether the sides are tensors of a 16-bit float, as they lie in memory.
    bool plainRows = false, plainColumns = false;
    bool halves = false; ///< whether the sides are of 16-bit floats, computed or not
    /// Whether those that lie in memory are of one such type and dense there, so that tensor copies
    /// bring them.
    bool dense = false;
  };
  std::vector<Dim> dims; ///< canonical order: the last varies fastest in memory
  std::vector<Contraction> contractions;
  /// Dimensions along which some tensor is contiguous although they are not last: tiles should be
  /// blocks there.
  std::vector<std::string> otherContiguous;
  /// Whether a condition drops elements of the stream: small blocks then lie inside or outside of
  /// it as a whole.
  bool masked = false;
  bool multiplies = false; ///< whether the program says that it makes products
  bool onlyMaps =
      false; ///< whether all reductions are products: the rest is done element by element
  bool readsResults =
      false; ///< whether sums of products are joined with as many elements of memory
  int64_t streamInstructions =
      0; ///< for each element that is computed along the stream in each row, about
  bool dataMasked = false; ///< the condition looks at elements in memory
  bool rowOperands =
      false; ///< something that is read goes along the stream and is the same for all rows
  unsigned waits =
      0; ///< how often a row is gone over, and how often something is known only behind it
  unsigned walks = 1;      ///< how often a row is gone over
  unsigned rowTensors = 1; ///< whose rows are
  unsigned loads = 0;      ///< what an element is made of in memory
  bool draws =
      false; ///< whether random numbers are drawn: dozens of instructions for a few elements
  /// Whether the stream may be cut into parts for more programs, whose states are merged
  /// afterwards.
  bool canSplit = false;
  /// Whether rows are computed in the same way however many there are.
  bool batchInvariant = false;
  unsigned elementBytes = 4;
  unsigned storageBytes =
      4; ///< of an element in memory: of the largest tensors of floating point, or the widest one
  int64_t resultBytes = 0; ///< of the largest result that nothing in the program reads
  unsigned scanBytes = 0;  ///< of an element of the widest scan
  /// Whether tensor cores multiply what is in memory: not f64, nor integers wider than a byte.
  bool onTensorCores = true;
  /// Chosen with the tiles: how programs run, by the names of LaunchHints.h.
  std::vector<std::pair<std::string, int64_t>> hints;
};

/// Fills every dimension's tile, and hints.
void chooseTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape);

} // namespace tessera

#endif
