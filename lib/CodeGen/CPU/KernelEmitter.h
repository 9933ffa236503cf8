//===- KernelEmitter.h - Emits the code of one kernel ----------*- C++ -*-===//
//
// Walks a plan and emits its items: loop nests for groups (Groups.cpp, Edges.cpp), which evaluate
// tiles one vector at a time (Evaluate.cpp), transposing copies (Transpose.cpp), scans (Scan.cpp), sums
// at computed places (Scatter.cpp), contractions (Mma.cpp, Interleave.cpp, PairProducts.cpp, TileUnit.cpp), and the control
// flow around them (KernelEmitter.cpp).
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

/// Rows of a contraction's tile that are few: what is done once for them counts.
inline constexpr int64_t mostShortRows = 128;

/// Where a tile is evaluated: an index per dimension, and `lanes` consecutive elements along
/// dimension `vectorDim`
/// (-1: one element).
struct Position {
  llvm::SmallVector<Ix, 4> index;
  int vectorDim = -1;
  int64_t lanes = 0;
};

/// A tile's place in a view, computed once where the load or store stands.
struct Access {
  Value base;                       // address of the tile's first element
  llvm::SmallVector<Ix, 4> strides; // bytes, per tile dimension
  llvm::SmallVector<Value, 4>
      valid;  // elements inside the view, per tile dimension; null where all are
  Value full; // whether the whole tile is inside; null if always
  Value pastCaches; // of a store: whether whole vectors may go past the caches; null if they stay
  Scope scope;
  bool isInside = false; // whether the present loop stays inside along the last dimension
  struct Place {
    Ix stride;
    Value last;
  };
  llvm::SmallVector<Place, 1> places; // of a gather or scatter: bytes per index, and the last
};

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, const CpuDescription &cpu, mlir::OpBuilder &builder);
  mlir::FailureOr<target::KernelOp> run();

private:
  // KernelEmitter.cpp
  void unpackArguments();
  void emitBlock(mlir::Block *block);
  /// The items that all programs have in common, or the others.
  void emitItems(mlir::Block *block, bool common);
  void emitItem(const Item &item);
  void emitBand(llvm::ArrayRef<Item> items);
  /// Where a row lies in a buffer.
  Ix rowIn(const Buffer &buffer, Ix row);
  /// From where to where rows are computed of those before `end`.
  std::pair<Value, Value> presentRows(Value end);
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitAccess(mlir::Operation *op);
  Value goesPastCaches(const Access &access);
  void emitCheck(tile::CheckOp op);
  /// The valid elements of an access along a tile dimension; null if its coordinates are not known
  /// yet.
  Value validElements(const Extent::Bound &bound);
  /// How many elements are wanted along a dimension, rounded up to `step` and at most `size`;
  /// `size` if all are.
  Value limit(const Extent &extent, int64_t size, int64_t step);
  Value contractionLimit(tile::MmaOp op);
  mlir::LogicalResult fail(mlir::Operation *op, llvm::StringRef why);

  // Evaluate.cpp
  Value evaluate(Value tile, const Position &at);
  void evaluateTogether(const Item &item, llvm::ArrayRef<Position> positions);
  void evaluatePowers(Value tile, llvm::ArrayRef<Position> positions);
  Value evaluateUncached(Value tile, const Position &at);
  /// Elements of an access at `at`, moved by some bytes.
  Value evaluateAccess(const Access &access, const Position &at, Type element, mlir::TypedAttr pad,
                       Ix moved);
  Value evaluateGather(tile::GatherOp op, const Position &at);
  /// Whether a tile is seen to be the same all along a dimension.
  static bool isUniform(Value tile, int dim);
  Value evaluateReshape(tile::ReshapeOp op, const Position &at);
  Value loadBuffer(const Buffer &buffer, const Position &at);
  void storeBuffer(const Buffer &buffer, Value value, const Position &at);
  Value bufferStart(const Buffer &buffer);
  Value bufferAddress(const Buffer &buffer, llvm::ArrayRef<Ix> index);
  /// Address and, at an edge, the number of valid lanes (from the first; null if all are) of the
  /// elements at `at`.
  Value accessAddress(const Access &access, const Position &at, Type element);
  Value validLanes(const Access &access, const Position &at);
  Value gather(int64_t lanes, Type type, llvm::function_ref<Value(int64_t)> element);

  // Scatter.cpp
  void emitScatter(tile::ScatterOp op);
  struct Destination {
    Ix moved = 0;   // bytes from where the access begins
    Value isInside; // null if always
  };
  Destination destinationOf(tile::ScatterOp op, const Position &at);
  void addAt(tile::ScatterOp op, const Position &at, Ix moved);
  void addRow(tile::ScatterOp op, Position at, Ix moved);
  void putAt(tile::ScatterOp op, const Position &at);
  void putRow(tile::ScatterOp op, Position at);

  // Groups.cpp
  void emitGroup(const Item &item);
  void emitNest(const Item &item);
  void emitColumnReductions(const Item &item);
  void evaluateRowConstants(const Item &item, const Position &at);
  void emitRow(const Item &item, llvm::SmallVector<Ix, 4> index, llvm::ArrayRef<Extent> wanted);
  /// Reductions drop what lies beyond their `ends`, where there are any.
  llvm::SmallVector<Value> emitChunk(const Item &item, const Position &at, ValueRange accumulators,
                                     llvm::ArrayRef<Value> ends);
  void storeReduced(const Root &root, Value value, llvm::ArrayRef<Ix> index);
  void emitStore(tile::StoreOp op, Value value, const Position &at);
  void prefetchLine(mlir::Operation *store, const Position &at);
  void prefetchNext(tile::LoadOp load, const Position &at);

  // Edges.cpp
  Value isFull(llvm::ArrayRef<mlir::Operation *> accesses);
  /// Emits `body` twice where `full` is not known: without masks if it holds, with them otherwise.
  void versioned(Value full, llvm::function_ref<void()> body);
  llvm::SmallVector<mlir::Operation *> accessesOf(const Item &item);
  Value columnsInside(const Item &item);
  Value reductionEnd(const Root &root);

  // Transpose.cpp
  void emitTranspose(const Item &item);
  void emitTransposeNest(tile::LoadOp load, const Buffer &dest, Ix first, int64_t count);
  llvm::SmallVector<Value> transposeLanes(llvm::ArrayRef<Value> vectors);

  // Scan.cpp
  void emitScan(tile::ScanOp op);
  Value runningJoin(tile::ScanOp op, Value vector);
  void scanAlongRow(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);
  void scanAcrossRows(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);
  void scanByKey(tile::ScanOp op, llvm::SmallVector<Ix, 4> index);

  // Mma.cpp
  void emitMma(tile::MmaOp op);
  void emitBlockedMma(tile::MmaOp op);
  /// So many columns of a row from one on.
  Position alongRow(Ix row, Ix column, int64_t lanes);
  /// What a product is added to; columns beyond the tile, which exist only in the padding of buffers, are zeros.
  Value evaluateSums(tile::MmaOp op, Position at);
  void packAhead(tile::MmaOp op);
  void packPanel(tile::MmaOp op, Ix column, int64_t width, Value depth);
  /// Rows of a panel, or columns of it, that are brought near by a loop over K: so many in each turn, from the first on.
  struct Ahead {
    Value first;
    Ix column = 0;
    int64_t each = 0;
  };
  Ahead nextPanel(tile::MmaOp op, Ix column, Value row, int64_t rows, Value rowEnd);
  static int64_t turnsOfLine(tile::MmaOp op);
  void prefetchRun(Value address, int64_t bytes, int hint);
  void prefetchAhead(tile::MmaOp op, const Ahead &ahead, Value at);
  void emitMicroKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column, Ix packed, Value depth, const Ahead &ahead);
  void prefetchSums(tile::MmaOp op, MicroTile block, Ix row, Ix column);
  void emitRowsTimesColumns(tile::MmaOp op);
  void emitDotProducts(tile::MmaOp op);

  // Interleave.cpp
  void emitInterleave(const Item &item);
  void interleaveRows(Value tile, const Buffer &to);
  Value interleavedRow(const Buffer &buffer, Ix row, Ix depth);

  // PairProducts.cpp
  Value pairedRow(const Buffer &buffer, Ix row, Ix depth);
  void packPairs(tile::MmaOp op);
  void packColumns(tile::MmaOp op, Value depth, Value columnEnd);
  void emitPairKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column, Ix panelStart, Value depth);

  // TileUnit.cpp
  void configureTileUnit();
  void releaseTileUnit();
  Value oddNumbersFlag(const Buffer &buffer);
  void storeParts(const Buffer &buffer, Ix bytes, Value low, Value high);
  Ix splitRowStart(const Buffer &buffer, Ix row);
  void storeSplitRow(const Buffer &buffer, Value value, const Position &at);
  void splitRows(const Buffer &to, int64_t width, Value depth,
                 llvm::function_ref<Value(Ix k, Ix column, int64_t lanes)> source);
  void splitStrip(tile::MmaOp op, Ix column, int64_t width, Value depth);
  void splitPanel(tile::MmaOp op, Ix panelStart, int64_t vectors, Value depth);
  /// Where a panel of the right-hand side begins that products of another bring near.
  struct Upcoming {
    Ix row = 0, column = 0;
    bool exists = false;
  };
  Upcoming upcoming(tile::MmaOp op, Ix column, Value columnEnd);
  void prefetchBlock(tile::MmaOp op, const Upcoming &next, Ix row, Value k, int64_t turn, int64_t turns);
  void emitTileUnitRows(tile::MmaOp op, Ix column, Ix inStrip, int64_t vectors, Value rowEnd, Value depth,
                        const Upcoming &next);
  void emitTileProducts(tile::MmaOp op, int64_t blocks, int64_t vectors, Ix row, Ix column, Ix inStrip, Value depth,
                        const Upcoming &next);
  void emitWholeProducts(tile::MmaOp op, int64_t vectors, Ix row, Ix column, Ix inStrip,
                         Value depth);
  Position accumulatorAt(tile::MmaOp op, Ix row, Ix column, int64_t v);

  // A memo of evaluated values that is dropped at the end of a region.
  struct MemoScope {
    KernelEmitter &emitter;
    explicit MemoScope(KernelEmitter &emitter) : emitter(emitter) { emitter.memo.emplace_back(); }
    ~MemoScope() { emitter.memo.pop_back(); }
  };

  tile::KernelOp kernel;
  const CpuDescription &cpu;
  mlir::OpBuilder &builder;
  Plan plan;
  std::unique_ptr<Extents> extents;
  Emitter e;
  target::KernelOp result;
  Value scratch;
  Scope scratchScope;
  llvm::DenseMap<const Buffer *, Value> starts; // of buffers, at the head of the kernel
  llvm::DenseMap<Value, Value> scalars;
  struct View {
    Value base;
    llvm::SmallVector<Value> sizes, strides;
    Scope scope;
  };
  llvm::DenseMap<Value, View> views;
  llvm::SmallVector<Value> grid, programIds;
  Value program; // its number in the grid
  Value bandStart, bandEnd; // rows of the present band; null outside of one
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  llvm::DenseSet<Value> open; // tiles that the present group makes itself
  llvm::DenseMap<const Buffer *, Value> firstOfPair; // of vectors that are split together
  llvm::DenseSet<Value> alwaysTrue; // masks that hold in the present loop
  llvm::DenseSet<mlir::Operation *> inside; // accesses that have the whole tile inside their view
  bool staysInCaches;         // whether results do
  bool atEdge = false;        // whether accesses are masked
  bool failed = false;
  std::vector<std::map<std::vector<uintptr_t>, Value>> memo;
};

} // namespace tessera::cpu

#endif
