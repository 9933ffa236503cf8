//===- Simulator.h - Kernels on a machine that is against them --*- C++ -*-===//
//
// Runs the host function of a module of placed Tile IR and its kernels on the CPU, warp by warp.
// What warps, blocks and asynchronous copies do in which order is decided against the program: by
// seeds, or, for a small launch, in all ways that can be told apart. Whatever order a run happens
// to take, accesses are also compared by what *must* come before what (vector clocks of warps and
// of the threads in them): a race is found though it did no harm this time.
//
// Found are data races, uses of a copy before its wait, dead-locks, accesses out of bounds, reads
// of what nothing has written, results that depend on the order; and counted are the sectors of
// global memory and the wavefronts of shared memory beside the fewest that would do.
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
  Race,          ///< two accesses, one a write, that nothing puts in order
  EarlyUse,      ///< of memory that a copy may still fill
  Deadlock,      ///< warps that wait for others that never come
  OutOfBounds,   ///< an access outside of a tensor, a view or a slot
  Misaligned,    ///< an access of several elements that are not neighbours, or not aligned
  Uninitialized, ///< a read of what nothing has written, or a result that is not written whole
  Order,         ///< results differ from one order to another
  Failure,       ///< a check of the program itself fails
  Unfenced,      ///< a copy of a row with no fence behind what threads have written
};
/// "data race", ….
llvm::StringRef kindName(FindingKind kind);

/// Something that is wrong, once for each pair of operations.
struct Finding {
  FindingKind kind;
  mlir::Operation *op; ///< the later access
  std::string text;
  mlir::Operation *other = nullptr; ///< the earlier access, if there is one
  std::string otherText;
  uint64_t count = 1;
};

/// What an operation asks of memory, over all warps of a launch.
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
  bool isExhaustive = false, isComplete = false; ///< whether all orders were taken that differ
  std::vector<Cost> costs;
};

struct Options {
  std::string chip = "sm_90"; ///< which says how shared memory is reached
  uint64_t seeds = 4, firstSeed = 0;
  bool isExhaustive = false;
  uint64_t mostRuns = 10000; ///< of an exhaustive exploration of one launch
  unsigned residents = 2;    ///< blocks that run at once where orders are not exhausted
  bool stopsAtFirst = false; ///< at the first finding
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
  llvm::DenseSet<mlir::Operation *> reached; ///< of those that order accesses
  uint64_t instructions = 0;                 ///< of warps: steps of the program, in all runs
  uint64_t elements = 0;                     ///< numbers that these computed or moved
  double seconds = 0;                        ///< of a core
};

/// Runs `function`, a host function of placed kernels, on arguments as the reference interpreter
/// takes them. Fails, after an error at the operation, where something is not supported.
mlir::FailureOr<Report> simulate(mlir::func::FuncOp function,
                                 llvm::ArrayRef<reference::HostTensor> arguments,
                                 const llvm::StringMap<int64_t> &symbols, const Options &options);

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// A program with one operation of synchronisation spoilt.
struct Mutant {
  mlir::Operation *op; ///< in the program itself
  unsigned number;     ///< among the operations of its kind in the kernel
  std::string change;  ///< "removed", "weakened to wait 2", …
  bool isKilled = false;
  std::string why;       ///< what it was killed by, or why it is equivalent
  bool isReached = true; ///< on these arguments
  bool isProven = false; ///< survived, and does so in all orders of all its launches
  bool isAlways = false; ///< and on all arguments: the analysis that places barriers wants no more of them
};

/// Spoils each operation of synchronisation in each way that there is, and runs what comes out.
mlir::FailureOr<std::vector<Mutant>> tryMutants(mlir::func::FuncOp function,
                                                llvm::ArrayRef<reference::HostTensor> arguments,
                                                const llvm::StringMap<int64_t> &symbols,
                                                const Options &options);

} // namespace tessera::simulator

#endif
