//===- CostModel.h - Tile sizes from the description of a target *- C++ -*-===//
//
// A first choice of tile sizes that is good without measurement. A kernel is described by its
// dimensions, their roles and its contractions; a target by a few numbers. The cost model does not
// look at the program itself.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_COSTMODEL_H
#define TESSERA_COSTMODEL_COSTMODEL_H

#include "tessera/CostModel/CpuCosts.h"
#include "tessera/CostModel/WarpgroupCosts.h"
#include "tessera/Dialect/Common/LaunchConfig.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Target/Roofline.h"

#include <memory>
#include <optional>
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
  /// CPU: cache lines that are written as a whole are not read first, for all stores.
  bool detectsStreams = false;
  /// CPU: left operands of contractions are interleaved in the order in which they are read.
  bool interleavesRows = false;
  /// CPU: the rows and the K dimension of an AMX or BFMMLA block; 1 without these instructions.
  int64_t blockRows = 1, blockDepth = 1;
  /// Rows of a contraction whose accumulators are all in registers of a CPU: the right-hand side is
  /// read once.
  int64_t fewRows = 0;
  /// The longest row that a CTA or grid task keeps while it loops over it several times; 0: none.
  int64_t wholeRow = 0;
  /// The alignment in bytes that copies of rows need; 0: none.
  int64_t rowAlignment = 0;
  /// GPU: the peak rates.
  Roofline roofline = {};
  /// FLOP of 16-bit MMAs in the time of a byte of memory, and in that of a launch.
  double flopPerByte() const { return roofline.mma16 / roofline.bytesPerSecond; }
  double flopPerLaunch() const { return roofline.mma16 * roofline.launchSeconds; }
  /// GPU: operands of tensor cores are in registers; those of emulated f32 MMAs need twice the
  /// space.
  bool operandsInRegisters = false;
  /// GPU: quad pairs of a warp multiply, and their lanes hold operands twice.
  bool quadPairs = false;
  /// Tensor cores multiply bytes; otherwise bytes are widened in registers.
  bool multipliesBytes = true;
  /// GPU: all tiles are in registers, which determines the number of threads of a CTA.
  bool tilesInRegisters = false;
  /// GPU: wgmma on tiles of 16-bit elements or tf32 in shared memory.
  bool warpgroups = false;
  /// GPU: what contractions by wgmma cost; null where nobody has measured it.
  const WarpgroupCosts *warpgroupCosts = nullptr;
  /// CPU: what contractions cost.
  std::optional<CpuCosts> cpuCosts;
  /// GPU: bulk copies load unaligned rows into shared memory, and store them from there.
  bool copiesRows = false;
  /// GPU: kernels can set cache policies of the L2.
  bool cachePolicies = false;
  /// GPU: the shared memory of an SM, and of a CTA, for rows that are read several times.
  int64_t sharedBytes = 0, sharedOfBlock = 0;
  /// GPU: the largest cluster that can share a row.
  int64_t cluster = 1;
  /// GPU with two backends: the model for CUDA Tile IR; the other fields are for PTX.
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
  /// The row and column dimensions of one contraction, and its K dimensions.
  struct Contraction {
    std::vector<std::string> rows, columns, over;
    bool inner = false;
    /// Whether the operands are 16-bit float tensors in memory.
    bool plainRows = false, plainColumns = false;
    bool halves = false; ///< whether the operands are 16-bit floats, in memory or computed
    /// Whether the operands in memory have one such type and are dense, so that TMA can load them.
    bool dense = false;
    /// The bytes at whose multiples the rows of a dense operand in memory start; 0: it is computed.
    int64_t rowsAlignment = 0, columnsAlignment = 0;
    /// Whether the operands are tensors of f32 in memory that may be rounded to tf32, dense along
    /// the last K dimension.
    bool wordsAlongK = false;
    int64_t parts = 1; ///< in memory, of which each operand is the sum
    /// The number of the tensor that the columns are loaded from, if they are in memory.
    std::optional<int64_t> columnsTensor;
  };
  /// Something that is computed for each element of some dimensions.
  struct Work {
    std::vector<std::string> dims;
    int64_t instructions = 1; ///< for one element, about
  };
  /// What is read from a tensor or written to one.
  struct Operand {
    std::vector<std::string> dims;
    int64_t bytes = 4; ///< of an element
  };
  std::vector<Dim> dims; ///< canonical order: the last varies fastest in memory
  std::vector<Operand> operands;
  std::vector<Contraction> contractions;
  std::vector<Work> work;               ///< elementwise, also for operands of contractions
  std::vector<std::string> scanned;     ///< the dimension of each scan
  std::string sorted;                   ///< the dimension along which rows are sorted
  std::vector<std::string> streamOrder; ///< the dimensions of the streams, outermost first
  /// Whether elements along the stream depend on each other, because they are added at computed
  /// indices or scanned by a key.
  bool sequential = false;
  /// Dimensions other than the last along which some tensor is contiguous: tiles should have
  /// several elements there.
  std::vector<std::string> otherContiguous;
  /// Dimensions along which a tensor is read at the same elements as along the last one, as the
  /// positions of windows and their elements are.
  std::vector<std::string> slidWithLast;
  /// Whether a mask drops elements of the stream: small blocks are then more often inside or
  /// outside as a whole.
  bool masked = false;
  bool multiplies = false; ///< whether a reduction comes from a `gir.contract`
  bool onlyMaps = false;   ///< whether all reductions are contractions, and the rest is elementwise
  int64_t streamInstructions = 0; ///< per element along the stream, about
  bool dataMasked = false;        ///< the mask depends on elements in memory
  bool listsBlocks = false;       ///< a stream visits a list of blocks
  bool rowOperands = false;       ///< an operand along the stream is the same for all rows
  unsigned waits =
      0; ///< the number of loops over a row, and of results that are known only after one
  unsigned passes = 1;     ///< the number of loops over a row
  unsigned rowTensors = 1; ///< the number of tensors whose rows are read
  unsigned loads = 0;      ///< the number of elements in memory that one element depends on
  bool draws =
      false; ///< whether it generates random numbers: dozens of instructions for a few elements
  /// Whether the stream may be split into parts, whose states a second kernel merges.
  bool canSplit = false;
  /// Whether the CTAs of a cluster can divide a tile: sums of products of loaded operands, and
  /// elementwise work on them.
  bool canDivideTile = false;
  /// Whether rows are computed in the same way for every number of rows.
  bool batchInvariant = false;
  /// Whether a policy rounds wide factors of contractions for tensor cores.
  bool roundsFactors = false;
  unsigned elementBytes = 4;
  unsigned storageBytes =
      4; ///< of an element in memory: of the largest tensors of floating point, or the widest one
  unsigned sideBytes = 0; ///< of an element of the widest operand of a contraction; 0: as in memory
  int64_t resultBytes = 0; ///< of the largest result that nothing in the program reads
  unsigned scanBytes = 0;  ///< of an element of the widest scan
  /// Whether tensor cores support the operand type: not f64, nor integers wider than a byte.
  bool onTensorCores = true;
  bool gathers = false; ///< whether elements are loaded at computed indices
  /// Registers of a thread for operands and accumulators of emulated f32 MMAs in a stream.
  int64_t mmaRegisters = 0;
  /// Chosen with the tiles.
  LaunchConfig launch;
  TuningConfig tuning;
};

/// Chooses the tile of every dimension, the launch configuration and the tuning.
void chooseTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape);

/// Halves tiles of a GPU kernel until the elementwise code of a thread is short enough. Of kernels
/// in registers, this concerns those with contractions.
void limitWork(const MachineModel &machine, KernelShape &shape);

} // namespace tessera

#endif
