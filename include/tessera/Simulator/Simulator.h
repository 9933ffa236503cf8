//===- Simulator.h - Simulation of placed kernels on the CPU ----*- C++ -*-===//
//
// Runs the host function of a module of placed Tile IR and its kernels on the CPU, warp by warp.
// The order of warps, CTAs and asynchronous copies is chosen adversarially: by seeds, or, for a
// small launch, in all distinguishable orders. In any order, accesses are also compared by
// happens-before (vector clocks of warps and of the threads in them): a race is found even if it
// did no harm.
//
// Findings are data races, uses before a wait, deadlocks, out-of-bounds and misaligned accesses,
// uninitialized reads, missing fences and order-dependent results. The simulator also counts
// sectors of global memory and wavefronts of shared memory, beside the fewest possible.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SIMULATOR_SIMULATOR_H
#define TESSERA_SIMULATOR_SIMULATOR_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Reference/Reference.h"
#include "llvm/ADT/DenseSet.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::simulator {

enum class FindingKind {
  Race,          ///< two unordered accesses, one of them a write
  EarlyUse,      ///< of memory or registers that an asynchronous operation may still access
  Deadlock,      ///< warps that wait forever
  OutOfBounds,   ///< an access outside of a tensor, a view or a buffer
  Misaligned,    ///< a vector access, bulk copy or TMA load that is not contiguous and aligned
  Uninitialized, ///< a read of undefined data, or a result with undefined elements
  Order,         ///< results differ from one order to another
  Failure,       ///< a tile.check fails
  Unfenced,      ///< an async proxy or wgmma access with no fence after a thread's write
};
/// "data race", ….
llvm::StringRef kindName(FindingKind kind);

/// A problem, reported once for each pair of operations.
struct Finding {
  FindingKind kind;
  mlir::Operation *op; ///< the later access
  std::string text;
  mlir::Operation *other = nullptr; ///< the earlier access, if there is one
  std::string otherText;
  uint64_t count = 1;
};

/// The memory accesses of an operation, over all warps of a launch.
struct Cost {
  mlir::Operation *op;
  bool isShared;
  uint64_t accesses = 0; ///< instructions of a warp
  uint64_t units = 0;    ///< sectors of 32 bytes, or wavefronts of shared memory
  uint64_t ideal = 0;    ///< the fewest for the same bytes
};

/// One launch of a kernel.
struct LaunchReport {
  std::string kernel;
  llvm::SmallVector<int64_t> grid;
  unsigned warps = 0;
  int64_t sharedBytes = 0;
  uint64_t runs = 0;
  bool isExhaustive = false, isComplete = false; ///< whether all distinct orders were run
  std::vector<Cost> costs;
};

struct Options {
  uint64_t seeds = 4, firstSeed = 0;
  bool isExhaustive = false;
  uint64_t mostRuns = 10000;     ///< of an exhaustive exploration of one launch
  unsigned residentClusters = 2; ///< clusters that run at once, unless all orders are run
  bool stopsAtFirst = false;     ///< whether the simulation stops at the first finding
};

/// A dense result in its own element type.
struct Tensor {
  DType dtype;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;
};

struct Report {
  std::vector<Finding> findings;
  std::vector<LaunchReport> launches;
  std::vector<Tensor> results;
  llvm::DenseSet<mlir::Operation *> reached; ///< visible operations that were executed
  uint64_t instructions = 0;                 ///< steps of warps, in all runs
  uint64_t elements = 0;                     ///< that these computed or moved
  double seconds = 0;                        ///< CPU time
};

/// Runs `function`, a host function of placed kernels, on arguments in the reference interpreter's
/// form. Fails, after an error at the operation, if an operation is not supported.
mlir::FailureOr<Report> simulate(mlir::func::FuncOp function,
                                 llvm::ArrayRef<reference::HostTensor> arguments,
                                 const llvm::StringMap<int64_t> &symbols, const Options &options);

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// A program with one mutated synchronization operation.
struct Mutant {
  mlir::Operation *op; ///< in the program itself
  unsigned number;     ///< among the operations of its kind in the kernel
  std::string change;  ///< "removed", "weakened to 2 pending", …
  bool isKilled = false;
  std::string why;       ///< the finding that killed it, or why it is equivalent
  bool isReached = true; ///< on these arguments
  bool isProven = false; ///< equivalent: it survives all orders of all its launches
  bool isAlways = false; ///< on all arguments: the barrier analysis finds no hazard in it
};

/// Runs every mutation of every synchronization operation.
mlir::FailureOr<std::vector<Mutant>> tryMutants(mlir::func::FuncOp function,
                                                llvm::ArrayRef<reference::HostTensor> arguments,
                                                const llvm::StringMap<int64_t> &symbols,
                                                const Options &options);

} // namespace tessera::simulator

#endif
