//===- KernelEmitter.h - One thread of a kernel ----------------*- C++ -*-===//
//
// A tile becomes a list of scalars, one for each register of its layout. The coordinates of an
// element are the exclusive or of a part that depends on the thread and a part that depends on the
// register. Where the two have no bit in common the exclusive or is a sum, and the register's part
// becomes the immediate offset of an instruction.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_PTX_KERNELEMITTER_H
#define TESSERA_LIB_CODEGEN_PTX_KERNELEMITTER_H

#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Tile/Analysis/Accesses.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Reduction.h"
#include "tessera/Target/GpuDescription.h"

#include <optional>

namespace tessera::ptx {

using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, mlir::LLVM::LLVMFuncOp function, const PtxOptions &options,
                const GpuDescription &gpu);
  LogicalResult run();
  unsigned threads() const { return 32 * warps; }
  unsigned shared() const { return sharedBytes; }
  unsigned clusterSize() const { return cluster; }

private:
  using Registers = llvm::SmallVector<Value>;
  /// A tensor in memory: its address and, in elements, its sizes and strides.
  struct View {
    Value pointer;
    llvm::SmallVector<codegen::Ix> sizes, strides;
    Value from; // of an aligned row: its first element (i64)
  };

  // Control (KernelEmitter.cpp)
  void declare();
  void computeProgramIds(llvm::SmallVector<Value> ctaIds, llvm::ArrayRef<Value> grid);
  LogicalResult emit(mlir::Block &block);
  LogicalResult emit(mlir::Operation *op);
  /// These return nothing for an operation of another group.
  std::optional<LogicalResult> emitTileOp(mlir::Operation *op);
  std::optional<LogicalResult> emitViewOp(mlir::Operation *op);
  std::optional<LogicalResult> emitAsyncOp(mlir::Operation *op);
  void emitMisalignment(tile::MisalignmentOp shift);
  LogicalResult emitIndex(mlir::Operation *op);
  LogicalResult emitFor(mlir::scf::ForOp loop);
  LogicalResult emitIf(mlir::scf::IfOp branch);

  // Tiles (Tiles.cpp)
  LogicalResult emitMap(tile::MapOp map);
  /// The low bits of an integer tile that equal those of the position along its last dimension, and
  /// the low bits that are zero.
  struct LowBits {
    unsigned position, zero;
  };
  LowBits lowBits(Value tile) const;
  unsigned sharedBits(tile::MapOp map) const;
  bool emitIndexMap(tile::MapOp map);
  bool emitTailSelect(tile::MapOp map);
  bool isZero(Value index) const {
    std::optional<SymExpr> known = coordinates.expression(index);
    return known && *known == SymExpr(0);
  }
  bool isUnusedPast(Value tile, mlir::Operation *beside, SymExpr end) const;
  Registers selectBelow(llvm::ArrayRef<Value> parts, llvm::ArrayRef<Value> others,
                        const Layout &layout, Value end);
  LogicalResult emitReduce(tile::ReduceOp reduce);
  LogicalResult emitWarpReduce(tile::WarpReduceOp partial);
  LogicalResult emitConvert(tile::ConvertOp convert);
  LogicalResult emitScan(tile::ScanOp scan);
  LogicalResult emitSort(tile::SortOp sort);
  LogicalResult emitMma(tile::MmaOp mma);
  LogicalResult emitMmaShared(tile::MmaSharedOp mma);
  void emitIota(tile::IotaOp iota);
  /// Register i of the result is the register of the same thread that holds `element(i)` of the
  /// input.
  LogicalResult emitMove(mlir::Operation *op, llvm::function_ref<uint64_t(uint64_t)> element);
  LogicalResult emitCast(tile::CastOp cast);
  Value castElement(Value value, Type from, Type to);
  Value approximate(ScalarOp op, mlir::ValueRange operands);
  Value philox(mlir::ValueRange operands, bool isUpper);
  bool emitEqualOrNan(tile::MapOp map);
  /// The values of all registers after the part of a reduction that stays within the warp.
  Registers reduceInWarp(Value input, const ReductionPlan &plan,
                         llvm::function_ref<Value(Value, Value)> combine, tile::MapOp positions);
  Value leastPosition(tile::MapOp positions, mlir::ArrayRef<Value> parts);
  LogicalResult bindReduced(mlir::Operation *op, const Layout &reduced, const Registers &values);

  // Shuffles (Convert.cpp)
  Value exchange(Value value, unsigned lanes);
  Value receive(Value value, Value source);
  Value emitElement(tile::ElementOp element);
  Registers emitShuffles(const ShuffleSchedule &schedule, llvm::ArrayRef<Value> parts, Type element,
                         unsigned count);

  // Warpgroup MMA (Wgmma.cpp)
  struct WgmmaOperand {
    Value descriptor;
    Layout offsets; // element -> offset in elements
    int64_t bytes;  // of an element
    bool isTransposed;

    /// The distance from the first element, in the units of descriptors.
    int64_t unitsTo(uint64_t row, uint64_t column) const;
  };
  WgmmaOperand wgmmaOperand(tile::WgmmaOp mma, Value buffer, Value stage, unsigned over,
                            int64_t leading);
  Registers pinned(Registers sums);
  LogicalResult emitWgmma(tile::WgmmaOp mma);
  LogicalResult emitWgmmaWait(tile::WgmmaWaitOp wait);
  void computeBefore(Value tile);

  // Shared memory (Shared.cpp)
  /// A read of shared memory that is emitted where a register is first used.
  struct LazyRead {
    SharedAccess load;
    Value stage;
    uint64_t first; // the offset of the slice's first element
  };
  void storeShared(const SharedAccess &access, Value buffer, llvm::ArrayRef<Value> parts,
                   Type element, Value owner);
  Registers loadAll(const LazyRead &read, Type element);
  Registers loadVector(Value from, unsigned count);
  Registers loadFragment(const LazyRead &read, Type element, unsigned at);
  /// A register of a tile; emits its read where that is lazy.
  Value part(Value tile, unsigned reg);
  Value sharedMemory(unsigned first, unsigned bytes);
  LogicalResult emitWrite(tile::SharedStoreOp write);
  LogicalResult emitRead(tile::SharedLoadOp read);
  Value stageAddress(Value buffer, Value stage, Value shift = Value());

  // Bulk copies and TMA loads (Bulk.cpp)
  struct Row;
  template <typename AlignedRowOp> Row rowOf(AlignedRowOp op);
  void inOneThread(llvm::function_ref<void()> emitBody, int64_t inWarp = 0);
  Value endOf(Value argument);
  void copyTail(const Row &row, Value from, Value stage, int64_t bytes);
  Value mbarrierAddress(Value mbarriers, Value mbarrier);
  LogicalResult emitMbarrierAlloc(tile::MbarrierAllocOp mbarriers);
  LogicalResult emitBulkLoad(tile::BulkLoadOp load);
  LogicalResult emitTmaLoad(tile::TmaLoadOp load);
  void prefetchMaps();
  LogicalResult emitMbarrierWait(tile::MbarrierWaitOp wait);
  LogicalResult emitMbarrierArrive(tile::MbarrierArriveOp arrive);
  void waitAt(Value mbarriers, Value mbarrier, Value phase);
  LogicalResult emitBulkStore(tile::BulkStoreOp store);

  // Distributed shared memory (Cluster.cpp)
  struct Iteration {
    Value stage, mbarrier, phase; // an address, an address as i32, 0 or 1
  };
  Value iterationNumber(Value dsmem);
  Iteration iteration(Value dsmem);
  LogicalResult emitClusterArrive(tile::ClusterArriveOp arrive);
  LogicalResult emitDsmemStore(tile::DsmemStoreOp store);
  void storeToOwners(tile::DsmemStoreOp store, const Iteration &iteration);
  void storeToPeers(tile::DsmemStoreOp store, const OwnRegisters &own, const Iteration &iteration);
  Registers loadBesideKept(tile::DsmemLoadOp load, const Iteration &iteration);
  void permuteByRank(Registers &registers, llvm::ArrayRef<unsigned> bits);
  LogicalResult emitDsmemWait(tile::DsmemWaitOp wait);
  LogicalResult emitDsmemLoad(tile::DsmemLoadOp load);

  // Memory (Memory.cpp)
  void emitAlignedRow(tile::AlignedRowOp row);
  LogicalResult emitLoad(mlir::Operation *op);
  /// A vector of an aligned row whose first and last elements may lie outside of the row.
  Registers loadPartial(const GlobalAccess &access, unsigned reg, unsigned width,
                        mlir::TypedAttr pad);
  void storePartial(const GlobalAccess &access, unsigned reg, unsigned width, Value owner);
  Registers loadWords(const GlobalAccess &access, unsigned reg, unsigned width, Value mask,
                      mlir::TypedAttr pad);
  LogicalResult emitStore(tile::StoreOp store);
  void storeWords(const GlobalAccess &access, unsigned reg, unsigned width, Value mask);
  LogicalResult emitScatter(tile::ScatterOp scatter);
  LogicalResult emitCpAsync(tile::CpAsyncOp copy);
  Value pointerOf(const GlobalAccess &access, unsigned reg);
  /// Whether an element, or all `width` elements of a vector, lie in the tensor; none: they do.
  Value maskOf(const GlobalAccess &access, unsigned reg, unsigned width = 1);
  /// Converts between the elements of a tile and the words that an instruction moves.
  Registers unpack(mlir::ValueRange words, Type element);
  Registers pack(mlir::ValueRange elements, Type element);
  /// The two elements of a 16-bit type that a 32-bit register holds.
  Registers halvesOf(Value both, Type element);

  // Coordinates
  static Layout layoutOf(Value tile);
  static unsigned countRegisters(Value tile);
  static Type elementOf(Value tile);
  /// The part of an element's coordinate that depends on lane, warp and CTA (i32).
  Value threadPart(const Layout &layout, Dim dim);
  /// A coordinate of the element that a register of this thread holds, exclusive or `first`.
  codegen::Ix coordinate(const Layout &layout, unsigned reg, Dim dim, uint64_t first = 0);
  /// Whether this thread owns its elements: of the threads along `dims` that hold the same element,
  /// the first. None: always. Bits of `others` in the lane's number are ignored.
  Value isOwner(const Layout &layout, DimSet dims = threadDims, uint64_t others = 0);

  Value assembly(llvm::StringRef text, llvm::StringRef constraints, Type result,
                 mlir::ValueRange operands, bool hasEffects = false);
  /// The L2 eviction policy of a load: the instruction's qualifier, and an operand after `results`.
  /// Both are empty without `l2_evict_last`.
  struct Policy {
    std::string suffix, operand;
  };
  Policy addPolicy(llvm::SmallVectorImpl<Value> &operands, std::string &constraints,
                   unsigned results = 0);
  Value get(Value scalar) { return scalars.lookup(scalar); }

  tile::KernelOp kernel;
  mlir::LLVM::LLVMFuncOp function;
  const PtxOptions &options;
  GpuDescription gpu;
  Value evictLast; ///< the L2 policy of loads; created where it is first used
  Coordinates coordinates;
  unsigned warps;   // of a CTA
  unsigned cluster; // its CTAs
  codegen::Emitter e;
  llvm::DenseMap<Value, View> views;
  bool isInOneThread = false; // whether the insertion point is in a branch of one thread of the CTA
  llvm::SmallVector<TensorMap> maps; // their parameters are the last ones
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Registers> tiles;
  llvm::SmallVector<Value> programIds;
  Value lane, warp; // i32
  Value ctaRank;    // i32, in the cluster
  Value
      uniformWarp; // the warp's number in a form that ptxas knows to be uniform; with TMA or wgmma
  mlir::Block *entry = nullptr;
  std::map<std::pair<std::string, Dim>, Value> threadParts;
  unsigned sharedBytes = 0;
  llvm::DenseMap<Value, LazyRead> reads;
  bool isFenced = false; // whether a tile.wgmma_fence precedes the next wgmma, which emits it
  /// Per dsmem buffer, the register that counts its iterations.
  llvm::DenseMap<Value, Value> iterations;
  /// Per dsmem buffer, the elements that a thread keeps of those that it stores.
  llvm::DenseMap<Value, Registers> kept;
};

} // namespace tessera::ptx

#endif
