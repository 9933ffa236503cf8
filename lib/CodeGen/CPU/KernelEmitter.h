//===- KernelEmitter.h - Emits the code of one kernel ----------*- C++ -*-===//
//
// Emits the items of a plan: loop nests for groups (Groups.cpp, Edges.cpp), which evaluate tiles
// one vector at a time (Evaluate.cpp), transposing copies (Transpose.cpp), scans (Scan.cpp),
// scatters (Scatter.cpp), contractions (Mma.cpp, Interleave.cpp, Bfmmla.cpp, Amx.cpp), and the
// control flow around them (KernelEmitter.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_KERNELEMITTER_H
#define TESSERA_LIB_CODEGEN_CPU_KERNELEMITTER_H

#include "Extents.h"
#include "Plan.h"
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Target/IR/Target.h"

#include <map>

namespace tessera::cpu {

using namespace codegen;

/// A contraction with at most this many rows is short: its setup cost matters.
inline constexpr int64_t maxShortRows = 128;

/// Where a tile is evaluated: an index per dimension, and `lanes` consecutive elements along
/// dimension `vectorDim` (-1: one element).
struct Position {
  llvm::SmallVector<Ix, 4> index;
  int vectorDim = -1;
  int64_t lanes = 0;
};

/// The address of a tile in a view, computed once at the load or store.
struct Access {
  Value base;                       // address of the tile's first element
  llvm::SmallVector<Ix, 4> strides; // bytes, per tile dimension
  llvm::SmallVector<Value, 4>
      valid;            // elements inside the view, per tile dimension; null where all are
  Value full;           // whether the whole tile is inside; null if always
  Value bypassesCaches; // of a store: whether whole vectors may bypass the caches; null if never
  Scope scope;
  bool isInside = false; // whether the current loop stays inside along the last dimension
  struct GatherIndex {
    Ix stride;
    Value last;
  };
  llvm::SmallVector<GatherIndex, 1>
      gatherIndices; // of a gather or scatter: bytes per index, and the largest index
};

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, const CpuDescription &cpu, const Plan &plan,
                const Extents &extents, mlir::OpBuilder &builder);
  mlir::FailureOr<target::KernelOp> run();

private:
  // KernelEmitter.cpp
  void unpackArguments();
  void emitBlock(mlir::Block *block);
  /// Emits the items that do not depend on the grid task, or the others.
  void emitItems(mlir::Block *block, bool taskInvariant);
  void emitItem(const Item &item);
  void emitBand(llvm::ArrayRef<Item> items);
  /// Converts a row of a tile to a row of its buffer.
  Ix rowIn(const Buffer &buffer, Ix row);
  /// The range of rows before `end` that the current band computes.
  std::pair<Value, Value> currentRows(Value end);
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitAccess(mlir::Operation *op);
  Value canBypassCaches(const Access &access);
  void emitCheck(tile::CheckOp op);
  /// The valid elements of an access along a tile dimension; null if its coordinates are not known
  /// yet.
  Value validElements(const Extent::Bound &bound);
  /// How many elements are demanded along a dimension, rounded up to `step` and at most `size`;
  /// `size` if all are.
  Value limit(const Extent &extent, int64_t size, int64_t step);
  Value contractionLimit(tile::MmaOp op);
  mlir::LogicalResult fail(mlir::Operation *op, llvm::StringRef why);

  // Evaluate.cpp
  Value evaluate(Value tile, const Position &at);
  void evaluateTogether(const Item &item, llvm::ArrayRef<Position> positions);
  void evaluatePowers(Value tile, llvm::ArrayRef<Position> positions);
  Value evaluateUncached(Value tile, const Position &at);
  /// Evaluates the elements of an access at `at`, displaced by some bytes.
  Value evaluateAccess(const Access &access, const Position &at, Type element, mlir::TypedAttr pad,
                       Ix moved);
  Value evaluateGather(tile::GatherOp op, const Position &at);
  /// Whether a tile is known to be constant along a dimension.
  static bool isUniform(Value tile, int dim);
  Value evaluateReshape(tile::ReshapeOp op, const Position &at);
  Value loadBuffer(const Buffer &buffer, const Position &at);
  void storeBuffer(const Buffer &buffer, Value value, const Position &at);
  Value bufferStart(const Buffer &buffer);
  Value bufferAddress(const Buffer &buffer, llvm::ArrayRef<Ix> index);
  /// The address, and at an edge the number of valid leading lanes (null if all are), of the
  /// elements at `at`.
  Value accessAddress(const Access &access, const Position &at, Type element);
  Value validLanes(const Access &access, const Position &at);
  Value gather(int64_t lanes, Type type, llvm::function_ref<Value(int64_t)> element);

  // Scatter.cpp
  void emitScatter(tile::ScatterOp op);
  struct Destination {
    Ix moved = 0;   // bytes from the start of the access
    Value isInside; // null if always
  };
  Destination destinationOf(tile::ScatterOp op, const Position &at);
  void addAt(tile::ScatterOp op, const Position &at, Ix moved);
  void addRow(tile::ScatterOp op, Position at, Ix moved);
  void storeAt(tile::ScatterOp op, const Position &at);
  void storeRow(tile::ScatterOp op, Position at);

  // Groups.cpp
  void emitGroup(const Item &item);
  void emitNest(const Item &item);
  void emitColumnReductions(const Item &item);
  void evaluateRowInvariants(const Item &item, const Position &at);
  class RowEmitter;
  void emitRow(const Item &item, llvm::ArrayRef<Ix> index, llvm::ArrayRef<Extent> demanded);
  /// Reductions ignore the elements past their `ends`, if any.
  llvm::SmallVector<Value> emitChunk(const Item &item, const Position &at, ValueRange accumulators,
                                     llvm::ArrayRef<Value> ends);
  void storeReduced(const Root &root, Value value, llvm::ArrayRef<Ix> index);
  void emitStore(tile::StoreOp op, Value value, const Position &at);
  void prefetchLine(mlir::Operation *store, const Position &at);
  void prefetchNext(tile::LoadOp load, const Position &at);

  // Edges.cpp
  Value isFull(llvm::ArrayRef<mlir::Operation *> accesses);
  /// Emits `body` twice if `full` is not statically true: without masks for full tiles, with masks
  /// otherwise.
  void emitVersioned(Value full, llvm::function_ref<void()> body);
  void emitInside(mlir::Operation *load, Value rowEnd, Ix columnEnd,
                  llvm::function_ref<void()> body);
  llvm::SmallVector<mlir::Operation *> accessesOf(const Item &item);
  Value countColumnsInside(const Item &item);
  Value reductionEnd(const Root &root);

  // Transpose.cpp
  void emitTranspose(const Item &item);
  void emitTransposeNest(tile::LoadOp load, const Buffer &dest, Ix first, int64_t count);
  llvm::SmallVector<Value> transposeLanes(llvm::ArrayRef<Value> vectors);

  // Scan.cpp
  void emitScan(tile::ScanOp op);
  Value scanLanes(tile::ScanOp op, Value vector);
  void scanAlongRow(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);
  void scanAcrossRows(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);
  void scanByKey(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);

  // Mma.cpp
  void emitMma(tile::MmaOp op);
  class BlockedMma;
  /// `lanes` columns of a row, from `column` on.
  Position rowSegment(Ix row, Ix column, int64_t lanes);
  Position columnSegment(Ix row, Ix column, int64_t lanes);
  /// Evaluates the accumulator operand; columns past the tile, which exist only in the padding of
  /// buffers, are zeros.
  Value evaluateAccumulator(tile::MmaOp op, Position at);
  void packAllPanels(tile::MmaOp op);
  void packPanel(tile::MmaOp op, Ix column, int64_t width, Value depth);
  /// The rows (or columns) of a panel that a K loop prefetches: `each` per iteration, from `first`
  /// on.
  struct PanelPrefetch {
    Value first;
    Ix column = 0;
    int64_t each = 0;
  };
  PanelPrefetch planPanelPrefetch(tile::MmaOp op, Ix column, Value row, int64_t rows, Value rowEnd);
  static int64_t iterationsPerLine(tile::MmaOp op);
  void prefetchRun(Value address, int64_t bytes, int hint);
  void prefetchPanel(tile::MmaOp op, const PanelPrefetch &ahead, Value at);
  void emitMicroKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column, Ix packed, Value depth,
                       const PanelPrefetch &ahead);
  void prefetchAccumulators(tile::MmaOp op, MicroTile block, Ix row, Ix column);

  // FewRows.cpp
  void emitFewRows(tile::MmaOp op);
  void emitRowsTimesColumns(tile::MmaOp op);
  void emitDotProducts(tile::MmaOp op);

  // Interleave.cpp
  void emitInterleave(const Item &item);
  void interleaveRows(Value tile, const Buffer &to);
  Value interleavedRow(const Buffer &buffer, Ix row, Ix depth);

  // Bfmmla.cpp
  Value pairedRow(const Buffer &buffer, Ix row, Ix depth);
  void packForBfmmla(tile::MmaOp op);
  void packColumns(tile::MmaOp op, Value depth, Value columnEnd);
  void emitBfmmlaKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column, Ix panelStart,
                        Value depth);

  // ByteProducts.cpp
  void packBytes(tile::MmaOp op, Ix column, int64_t width, Value depth);
  Value addByteProducts(Value unsignedBytes, Value bytes, Value sums);

  // Amx.cpp
  void configureAmx();
  void releaseAmx();
  Value unsplitFlag(const Buffer &buffer);
  void storeParts(const Buffer &buffer, Ix bytes, Value low, Value high);
  Ix splitRowStart(const Buffer &buffer, Ix row);
  void storeSplitRow(const Buffer &buffer, Value value, const Position &at);
  void splitRows(const Buffer &to, int64_t width, Value depth,
                 llvm::function_ref<Value(Ix k, Ix column, int64_t lanes)> source);
  void splitStrip(tile::MmaOp op, Ix column, int64_t width, Value depth);
  void splitPanel(tile::MmaOp op, Ix panelStart, int64_t vectors, Value depth);
  /// The start of a panel of the right-hand side that the multiplications of the previous panel
  /// prefetch.
  struct NextPanel {
    Ix row = 0, column = 0;
    bool exists = false;
  };
  NextPanel findNextPanel(tile::MmaOp op, Ix column, Value columnEnd);
  void prefetchBlock(tile::MmaOp op, const NextPanel &next, Ix row, Value k, int64_t index,
                     int64_t shares);
  void emitAmxRows(tile::MmaOp op, Ix column, Ix inStrip, int64_t vectors, Value rowEnd,
                   Value depth, const NextPanel &next);
  void emitAmxBlock(tile::MmaOp op, int64_t blocks, int64_t vectors, Ix row, Ix column, Ix inStrip,
                    Value depth, const NextPanel &next);
  void emitUnsplitRow(tile::MmaOp op, int64_t vectors, Ix row, Ix column, Ix inStrip, Value depth);
  Position accumulatorAt(tile::MmaOp op, Ix row, Ix column, int64_t v);

  // A scope for memoized values, which are dropped at the end of a region.
  struct MemoScope {
    KernelEmitter &emitter;
    explicit MemoScope(KernelEmitter &emitter) : emitter(emitter) { emitter.memo.emplace_back(); }
    ~MemoScope() { emitter.memo.pop_back(); }
  };

  tile::KernelOp kernel;
  const CpuDescription &cpu;
  mlir::OpBuilder &builder;
  const Plan &plan;
  const Extents &extents;
  Emitter e;
  target::KernelOp result;
  Value scratch;
  Scope scratchScope;
  llvm::DenseMap<const Buffer *, Value>
      starts; // start addresses of buffers, computed at kernel entry
  llvm::DenseMap<Value, Value> scalars;
  struct View {
    Value base;
    llvm::SmallVector<Value> sizes, strides;
    Scope scope;
  };
  llvm::DenseMap<Value, View> views;
  llvm::SmallVector<Value> grid, programIds;
  Value taskIndex;          // linear index of the grid task
  Value bandStart, bandEnd; // rows of the current band; null outside of one
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  llvm::DenseSet<Value> open; // tiles that the current group evaluates itself
  llvm::DenseMap<const Buffer *, Value> firstOfPair; // first of two vectors that are split together
  llvm::DenseSet<Value> alwaysTrue;                  // masks that are true in the current loop
  llvm::DenseSet<mlir::Operation *> inside; // accesses whose whole tile is inside their view
  bool cachesStores;                        // whether results stay in the caches
  bool atEdge = false;                      // whether accesses are masked
  bool failed = false;
  std::vector<std::map<std::vector<uintptr_t>, Value>> memo;
};

} // namespace tessera::cpu

#endif
