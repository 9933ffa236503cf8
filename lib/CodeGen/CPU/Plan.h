//===- Plan.h - The loops and buffers of a tile kernel ----------*- C++ -*-===//
//
// Tile values are pure, so most of them need no memory: a loop nest over a tile's elements
// evaluates whole chains of maps, casts, broadcasts and loads one vector at a time. The plan
// decides which values are kept in scratch memory, and which loop nests ("groups") run in which
// order:
//
// - A root is a required effect: a store, a reduction, a tile that is written to a buffer.
// - A group is a set of roots over one iteration shape that share a loop nest; taskInvariant
//   subexpressions are evaluated once per vector. A root joins the earliest group that comes after
//   everything it reads.
// - A tile gets a buffer when it is carried by a loop, is the result of a contraction or reduction,
//   feeds a contraction (packed in the micro-kernel's form), is read in another order than it is
//   computed, or is expensive and used by several groups.
//
// Groups and contractions that compute each row independently run over a few rows at a time
// (PlanBands.cpp).
//
// Buffers have static offsets in the thread's scratch memory. Buffers with disjoint live ranges
// share memory, and a group whose last read of a buffer is at the position that it writes works in
// index. A tile that is the same for all grid tasks is computed before the first one and kept.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_PLAN_H
#define TESSERA_LIB_CODEGEN_CPU_PLAN_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <memory>

namespace tessera::cpu {

/// A tile in scratch memory, in one of these forms:
/// - rows with a padded stride;
/// - `panel` > 0: a K×N operand as ceil(N / panel) panels of K rows of `panel` elements each;
/// - `parts` > 0: an AMX operand, as blocks of bf16 for each part, followed by a word that
/// hasOption
///   whether there are numbers that cannot be split;
/// - `paired`: a BFMMLA operand (Bfmmla.cpp);
/// - `quads`: panels whose elements are four bytes along K each (ByteProducts.cpp), with
/// `isOffset` rows of bytes that are multiplied with them, plus 128;
/// - `interleaved` > 0: this many rows interleaved along K (Interleave.cpp).
struct Buffer {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  int64_t rowStride = 1;
  int64_t panel = 0;
  int64_t parts = 0;
  bool paired = false, quads = false, isOffset = false;
  int64_t interleaved = 0;
  mlir::Block *home = nullptr; // the block whose items bound its live range
  int64_t offset = -1;
  int start = INT_MAX, end = -1; // numbers of the first and the last item that touch it
  int band = -1; // the only band that touches it, whose rows it holds; 0 if there is none
  bool isTaskInvariant = false; // computed before the first grid task, for all of them

  int64_t elements() const;
  int64_t partBytes() const { return shape[0] * shape[1] * 2; }
  int64_t bytes() const;
  bool sameForm(const Buffer &other) const {
    return element == other.element && shape == other.shape && rowStride == other.rowStride &&
           panel == other.panel && parts == other.parts && paired == other.paired &&
           quads == other.quads && isOffset == other.isOffset && interleaved == other.interleaved;
  }
};

/// The block that a BFMMLA micro-kernel keeps in registers.
inline constexpr int64_t bfmmlaRows = 8, bfmmlaPanel = 8;

/// How many panels a contraction packs at once, if more than one.
inline constexpr int64_t stripPanels = 4;

struct Root {
  enum Kind { Value, Store, Reduce } kind;
  mlir::Operation *op = nullptr; // Store, Reduce
  mlir::Value value;             // what is evaluated
  Buffer *dest = nullptr;        // Value, Reduce
  bool definesValue = false;     // `dest` is the buffer of `value` itself
};

struct Item {
  enum Kind { Scalar, Access, Group, Transpose, Pack, Mma, Scan, Scatter, For, If } kind = Scalar;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<int64_t> shape; // Group
  llvm::SmallVector<Root> roots;    // Group, Transpose (one)
  // Group: stores of a later group whose cache lines this one prefetches while it computes.
  llvm::SmallVector<mlir::Operation *> storesToPrefetch;
  // Group: loads along its rows that no earlier group has read.
  llvm::SmallVector<mlir::Operation *> loadsToPrefetch;
  int number = 0, end = 0;
  int band = 0;                 // its band, counted from 1; 0 if none
  bool isTaskInvariant = false; // independent of the grid task: runs before the first one
};

/// Consecutive items that run over a few rows at a time (PlanBands.cpp).
struct Band {
  int64_t allRows, rows;
  size_t items;
};

class Plan {
public:
  Plan(tile::KernelOp kernel, const CpuDescription &cpu) : kernel(kernel), cpu(cpu) {}
  /// Plans the kernel, whose carried tiles it may separate from others. An accumulator in several
  /// parts is an error.
  mlir::LogicalResult build();

  /// Prints the buffers, then the items in the order in which they run.
  void print(llvm::raw_ostream &os) const;

  llvm::ArrayRef<Item> items(mlir::Block *block) const {
    auto it = blocks.find(block);
    return it == blocks.end() ? llvm::ArrayRef<Item>() : llvm::ArrayRef<Item>(it->second);
  }
  /// The row-major buffer of a tile, or null if it is evaluated where it is used.
  Buffer *bufferOf(mlir::Value value) const { return buffers.lookup(value); }
  /// The buffers that a contraction reads. The right one is null if the operand is read from
  /// memory, and a single panel if the contraction packs panel by panel.
  Buffer *lhsOf(tile::MmaOp op) const { return lhsBuffers.lookup(op); }
  Buffer *rhsOf(tile::MmaOp op) const { return rhsBuffers.lookup(op); }
  bool packsPanels(tile::MmaOp op) const { return panelwise.contains(op); }
  const Band &band(int number) const { return bands[number - 1]; }
  /// One panel or strip of panels in AMX form; null if the contraction does not use AMX.
  Buffer *splitRhsOf(tile::MmaOp op) const { return splitRhs.lookup(op); }
  /// Whether a strip of panels is split at once, directly from memory.
  bool splitsStrips(tile::MmaOp op) const {
    return splitRhsOf(op) && packsPanels(op) && !isTransposedLoad(op.getRhs());
  }
  /// Whether pairs of rows are multiplied by pairs of columns.
  bool usesBfmmla(tile::MmaOp op) const { return rhsOf(op) && rhsOf(op)->paired; }
  /// The tile of int8 that is converted to this one; null if there is none.
  static mlir::Value bytesOf(mlir::Value value);
  /// The block of accumulators that a contraction on the vector unit keeps in registers.
  MicroTile microTile(tile::MmaOp op, bool hasDynamicEnd = false) const;
  /// The buffer of the AMX configuration; null if AMX is not used.
  Buffer *amxConfiguration() const { return configuration; }
  int64_t scratchBytes() const { return scratch; }
  /// Whether an earlier group prefetches the cache lines of a store.
  bool isPrefetched(mlir::Operation *store) const { return prefetchedStores.contains(store); }

  /// Calls `read` for every buffered tile and load that evaluating `value` reads; `here` hasOption
  /// that it is read at the evaluated position. Looks through the values in `open`.
  using ReadFn = llvm::function_ref<void(mlir::Value, bool here)>;
  void visitReads(mlir::Value value, bool here, const llvm::DenseSet<mlir::Value> &open,
                  ReadFn read) const;

  /// The tile dimension whose view stride is statically one; -1 if there is none.
  static int64_t unitDim(tile::LoadOp load);
  static bool isTransposedLoad(mlir::Value value);
  /// The load that defines the tile, directly or through a widening cast.
  static tile::LoadOp definingLoad(mlir::Value value);
  /// Whether the tile may cross the view's end along tile dimension `t`.
  static bool mayCrossEnd(tile::ViewType view, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> shape, unsigned t);
  /// Whether a row of this many elements is a loop over vectors; shorter ones are unrolled.
  static bool needsRowLoop(int64_t columns, const CpuDescription &cpu);
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
  static mlir::Type elementOf(mlir::Value value);

private:
  Buffer *newBuffer(mlir::Type element, llvm::ArrayRef<int64_t> shape, int64_t panel = 0);
  Buffer *materialize(mlir::Value value);
  void chooseForced();
  void chooseForOperand(mlir::Operation *user, mlir::Value value);
  void chooseOperands(tile::MmaOp op);
  bool canUseAmx(tile::MmaOp op) const;
  bool canUseBfmmla(tile::MmaOp op) const;
  bool canUseByteProducts(tile::MmaOp op) const;
  bool hasFewRows(tile::MmaOp op) const;
  void chooseBytes(tile::MmaOp op);
  bool interleavesRows(tile::MmaOp op) const;
  Buffer *sharedOperand(mlir::Value value, llvm::function_ref<bool(const Buffer &)> isWanted) const;
  bool isLeaf(mlir::Value value) const;
  double cost(mlir::Value value);
  void formGroups();
  llvm::DenseSet<mlir::Value> readsOf(llvm::ArrayRef<Root> roots, bool hereOnly) const;
  bool materializeShared();
  void findStoresToPrefetch();
  void findLoadsToPrefetch();
  bool packsRhs(tile::MmaOp op) const;
  // PlanGroups.cpp
  class BlockFormer;
  void formBlock(mlir::Block *block);
  void delayReductions(std::vector<Item> &window) const;
  // PlanBands.cpp
  void findChainedContractions();
  bool isRowwise(const Item &item, int64_t rows) const;
  bool readsOnlyOwnRows(mlir::Value value, const llvm::DenseSet<mlir::Value> &open,
                        const llvm::DenseSet<const Buffer *> &written) const;
  bool isBand(llvm::ArrayRef<Item> run) const;
  void formBands();
  void numberBands();
  void narrowBands();
  // PlanBuffers.cpp
  void findTaskInvariantItems();
  void number(mlir::Block *block, int &counter);
  void workInPlace(mlir::Block *block);
  void shareCarried(mlir::Block *block, Item &loop);
  void dropCopies(mlir::Block *block);
  void liveness(mlir::Block *block);
  void touch(Buffer *buffer, mlir::Block *block, const Item &item);
  void allocate();
  void itemReads(const Item &item, ReadFn read) const;
  void forEachItem(mlir::Block *block, llvm::function_ref<void(mlir::Block *, Item &)> visit);
  /// Calls `read` with the number of each item in or below `block` that reads a tile kept in
  /// `buffer`.
  void forEachRead(Buffer *buffer, mlir::Block *block,
                   llvm::function_ref<void(const Item &, mlir::Value, bool)> read);
  void merge(Buffer *from, Buffer *into);

  tile::KernelOp kernel;
  const CpuDescription &cpu;
  llvm::DenseSet<mlir::Operation *> prefetchedStores;
  std::vector<std::unique_ptr<Buffer>> storage;
  llvm::MapVector<mlir::Value, Buffer *> buffers;
  llvm::DenseMap<mlir::Operation *, Buffer *> lhsBuffers, rhsBuffers, splitRhs;
  Buffer *configuration = nullptr;
  llvm::DenseSet<mlir::Operation *> panelwise, chained;
  std::vector<Band> bands;
  // Buffers to fill when a value is computed: packed forms for contractions.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Buffer *>> packed;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Root>>
      beforeOp; // packing right before a contraction
  llvm::DenseMap<mlir::Block *, std::vector<Item>> blocks;
  llvm::DenseMap<mlir::Value, double> costs;
  llvm::DenseSet<mlir::Value> storedViews;
  int64_t scratch = 0;
};

} // namespace tessera::cpu

#endif
