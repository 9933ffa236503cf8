//===- Plan.h - How a tile kernel becomes loops and buffers ----*- C++ -*-===//
//
// Tile values are pure, so most of them need no memory: a loop nest over a tile's elements
// evaluates whole chains of maps, casts, broadcasts and loads one vector at a time. The plan
// decides which values are kept in scratch memory all the same, and which loop nests ("groups") are
// run in which order:
//
//   - A root is something that must happen: a store, a reduction, a tile that is written to a
//   buffer.
//   - A group is a set of roots over one iteration shape that share a loop nest; what they have in
//   common is evaluated
//     once per vector. A root joins the earliest group that comes after everything it reads.
//   - A tile gets a buffer when it is carried by a loop, is the result of a contraction or
//   reduction, feeds a contraction
//     (packed in the form that the micro-kernel wants), is read in another order than it is made,
//     or is dear and wanted by several groups.
//
// Groups and contractions that compute each row for itself run over a few rows at a time (PlanBands.cpp).
//
// Buffers have static offsets in the thread's scratch memory; those that are not live together
// share memory, and a group that reads a buffer for the last time at the very position it writes
// works in place. A tile that is the same in every program is made before the first and stays.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CPU_PLAN_H
#define TESSERA_LIB_CODEGEN_CPU_PLAN_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Support/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <memory>

namespace tessera::cpu {

/// A tile in scratch memory: rows with a padded stride, or (`panel` > 0) for a K×N operand ceil(N /
/// panel) panels of K rows of `panel` elements each, or (`parts` > 0) an operand of the tile unit:
/// blocks of bf16, once for each part, and a word that says whether there are numbers that have no
/// parts, or (`paired`) an operand of products of pairs (PairProducts.cpp), or (`interleaved` > 0) so many rows side by
/// side, step after step of K (Interleave.cpp).
struct Buffer {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  int64_t rowStride = 1;
  int64_t panel = 0;
  int64_t parts = 0;
  bool paired = false;
  int64_t interleaved = 0;
  mlir::Block *home = nullptr; // the block whose items bound its life
  int64_t offset = -1;
  int start = INT_MAX, end = -1; // numbers of the first and the last item that touch it
  int band = -1; // the only one whose items touch it, which holds its present rows; 0 if there is none
  bool stays = false; // made before the first program, for all of them

  int64_t elements() const;
  int64_t partBytes() const { return shape[0] * shape[1] * 2; }
  int64_t bytes() const;
  bool sameForm(const Buffer &other) const {
    return element == other.element && shape == other.shape && rowStride == other.rowStride &&
           panel == other.panel && parts == other.parts && paired == other.paired &&
           interleaved == other.interleaved;
  }
};

/// Rows and columns of the block that products of pairs keep in registers.
inline constexpr int64_t pairRows = 8, pairPanel = 8;

/// How many panels are packed at once, where that is more than one.
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
  // Group: stores of a later group whose lines this one brings near while it computes.
  llvm::SmallVector<mlir::Operation *> upcoming;
  // Group: loads along its rows that no group before it has read.
  llvm::SmallVector<mlir::Operation *> fresh;
  int number = 0, end = 0;
  int band = 0; // that it is part of, counted from 1
  bool isCommon = false; // the same in every program: runs before the first
};

/// Items that follow each other and run over a few rows at a time (PlanBands.cpp).
struct Band {
  int64_t allRows, rows;
  size_t items;
};

class Plan {
public:
  Plan(tile::KernelOp kernel, const CpuDescription &cpu) : kernel(kernel), cpu(cpu) {}
  mlir::LogicalResult build();

  std::vector<Item> &items(mlir::Block *block) { return blocks[block]; }
  /// The rows buffer of a tile, or null when it is evaluated where it is used.
  Buffer *bufferOf(mlir::Value value) const { return buffers.lookup(value); }
  /// The buffers that a contraction reads; the right one is null when it is streamed, and one panel
  /// when the contraction itself packs panel after panel.
  Buffer *lhsOf(tile::MmaOp op) const { return lhsBuffers.lookup(op); }
  Buffer *rhsOf(tile::MmaOp op) const { return rhsBuffers.lookup(op); }
  bool packsPanels(tile::MmaOp op) const { return panelwise.contains(op); }
  const Band &band(int number) const { return bands[number - 1]; }
  /// One panel or strip of panels in the tile unit's form; null when the vector unit multiplies.
  Buffer *splitRhsOf(tile::MmaOp op) const { return splitRhs.lookup(op); }
  /// Whether a strip of panels is split at once, right from memory.
  bool splitsStrips(tile::MmaOp op) const {
    return splitRhsOf(op) && packsPanels(op) && !isTransposedLoad(op.getRhs());
  }
  /// Whether pairs of rows are multiplied by pairs of columns.
  bool multipliesPairs(tile::MmaOp op) const { return rhsOf(op) && rhsOf(op)->paired; }
  /// The block of sums that a contraction by vectors keeps in registers.
  MicroTile microTile(tile::MmaOp op, bool endsAnywhere = false) const;
  /// Where the tile unit's configuration is put; null when it is not used.
  Buffer *tileConfiguration() const { return configuration; }
  int64_t scratchBytes() const { return scratch; }
  /// Whether a store's lines are brought near before it comes.
  bool isAnnounced(mlir::Operation *store) const { return announced.contains(store); }

  /// Calls `read` for every buffered tile and load that evaluating `value` reads; `here` says that
  /// it is read at the position that is evaluated. Values in `open` are looked through.
  using ReadFn = llvm::function_ref<void(mlir::Value, bool here)>;
  void visitReads(mlir::Value value, bool here, const llvm::DenseSet<mlir::Value> &open,
                  ReadFn read) const;

  /// The tile dimension whose view stride is statically one; -1 if there is none.
  static int64_t unitDim(tile::LoadOp load);
  static bool isTransposedLoad(mlir::Value value);
  /// The load that is the tile, or whose widened elements are and nothing else.
  static tile::LoadOp onlyLoad(mlir::Value value);
  /// Whether the tile may reach over the view's end along tile dimension `t`.
  static bool mayCross(tile::ViewType view, llvm::ArrayRef<int64_t> dims,
                       llvm::ArrayRef<int64_t> shape, unsigned t);
  /// Whether a row of so many elements is a loop over vectors; shorter ones are unrolled.
  static bool isWalked(int64_t columns, const CpuDescription &cpu);
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
  static mlir::Type elementOf(mlir::Value value);

private:
  Buffer *newBuffer(mlir::Type element, llvm::ArrayRef<int64_t> shape, int64_t panel = 0);
  Buffer *materialize(mlir::Value value);
  void chooseForced();
  void chooseForOperand(mlir::Operation *user, mlir::Value value);
  void chooseOperands(tile::MmaOp op);
  bool isForTileUnit(tile::MmaOp op) const;
  bool isForPairs(tile::MmaOp op) const;
  bool interleavesRows(tile::MmaOp op) const;
  Buffer *sharedOperand(mlir::Value value, llvm::function_ref<bool(const Buffer &)> isWanted) const;
  bool isLeaf(mlir::Value value) const;
  double cost(mlir::Value value);
  void formGroups();
  void formBlock(mlir::Block *block);
  llvm::DenseSet<mlir::Value> readsOf(llvm::ArrayRef<Root> roots, bool hereOnly) const;
  void delayReductions(std::vector<Item> &window) const;
  bool materializeShared();
  void noteUpcoming();
  void noteFresh();
  bool packsRight(tile::MmaOp op) const;
  // PlanBands.cpp
  void findChains();
  bool isRowwise(const Item &item, int64_t rows) const;
  bool readsOwnRows(mlir::Value value, const llvm::DenseSet<mlir::Value> &open,
                    const llvm::DenseSet<const Buffer *> &written) const;
  bool isBand(llvm::ArrayRef<Item> run) const;
  void formBands();
  void numberBands();
  void narrowBands();
  // PlanBuffers.cpp
  void noteCommon();
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
  llvm::DenseSet<mlir::Operation *> announced;
  std::vector<std::unique_ptr<Buffer>> storage;
  llvm::MapVector<mlir::Value, Buffer *> buffers;
  llvm::DenseMap<mlir::Operation *, Buffer *> lhsBuffers, rhsBuffers, splitRhs;
  Buffer *configuration = nullptr;
  llvm::DenseSet<mlir::Operation *> panelwise, chained;
  std::vector<Band> bands;
  // Buffers to fill when a value is made: packed forms for contractions.
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
