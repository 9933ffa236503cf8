//===- Emitter.h - One scheduled kernel to a tile kernel -------*- C++ -*-===//
//
// Emission is demand-driven: stores and streams request the tiles that they need. The open loops
// form a stack of scopes; each scope binds coordinates of dimensions and caches the tiles that were
// emitted in it. A value is emitted in the outermost scope that binds everything it depends on, so
// that loop-invariant work is before its loop.
//
// The axes of a tile are an ordered list of dimensions ("order"), those with a tile size above 1.
// The same value can exist in several orders, and broadcast along further dimensions.
//
// Tiles of CUDA cores and tensor cores are powers of two. A parallel dimension may have a tile of
// several such pieces: what depends on it is emitted for one piece after the other, and streams
// carry the states of all.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_SCHEDULETOTILE_EMITTER_H
#define TESSERA_LIB_CONVERSION_SCHEDULETOTILE_EMITTER_H

#include "Access.h"

#include "llvm/ADT/MapVector.h"

#include <array>
#include <map>

namespace tessera {

using Order = llvm::SmallVector<mlir::StringAttr, 4>;
using Values = llvm::SmallVector<mlir::Value>;

/// A grid has up to three dimensions; further ones are folded into the last.
inline constexpr size_t kMaxGridRank = 3;

/// How many elements of a stream one iteration of a search for visited blocks tests.
inline constexpr int64_t kSearchedElements = 4096;
/// The longest list of blocks, which the registers of each warp hold, and the most elements from
/// which it is computed.
inline constexpr int64_t kListedBlocks = 512, kListedElements = 16384;

/// A gauge in one block of a stream.
struct GaugeStep {
  mlir::Value next;            ///< the gauge after the block
  tile::OnlineUpdateOp update; ///< what weights and states are relative to; null of an indicator
  mlir::Value rebase; ///< the factor of states, or of an indicator whether it is unchanged; null in
                      ///< the first block
};

/// A scan in one block: its elements, and the total so far.
struct ScanStep {
  mlir::Value elements, next;
};

/// One open loop, or the kernel itself.
struct Scope {
  mlir::Block *block = nullptr;
  mlir::Operation *child = nullptr; ///< the open loop in it; operations are inserted before it
  llvm::DenseMap<mlir::StringAttr, mlir::Value>
      coords;                                 ///< block coordinates of the dimensions bound here
  llvm::SmallVector<mlir::StringAttr> ragged; ///< those whose block may reach past the size
  sched::StreamOp stream = {};                ///< set in the innermost loop of a stream
  bool full = false;                          ///< no mask has any effect in this loop

  struct Tile {
    Order order;
    mlir::Value tile;
  };
  // All by the piece, too.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, llvm::SmallVector<Tile>> tiles;
  /// The same with the neutral element of a reduction past ragged edges.
  llvm::DenseMap<std::tuple<mlir::Value, unsigned, unsigned>, llvm::SmallVector<Tile>> masked;
  /// index < size, along one dimension
  llvm::DenseMap<std::pair<mlir::StringAttr, unsigned>, mlir::Value> edges;
  /// By start and element.
  llvm::DenseMap<std::tuple<const void *, mlir::Type, unsigned>, mlir::Value> iotas;
  /// States before the block.
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, mlir::Value> carried;
  llvm::DenseMap<mlir::Operation *, GaugeStep> gauges;
  llvm::DenseMap<mlir::Operation *, ScanStep> scans;
};

class Emitter {
public:
  Emitter(sched::KernelOp kernel, tile::KernelOp target, const SizeFacts &facts,
          llvm::ArrayRef<mlir::Value> outputs);

  /// Analyses accesses and verifies what verifiers of single operations cannot.
  mlir::LogicalResult check();
  /// Emits the body.
  void emit();
  /// Emits the launch at `builder`.
  void emitLaunch(mlir::OpBuilder &builder);

private:
  // Arguments of the kernel (Emitter.cpp).
  mlir::Value getView(const Access &access, mlir::Value tensor);
  mlir::Value getSize(SymExpr e);
  mlir::Value getScalar(mlir::Value tensor);
  mlir::Value hostTensor(mlir::Value argument);
  bool isScalarArgument(mlir::Value argument);

  // Scopes and loops (Emitter.cpp).
  Scope &top() { return *scopes.back(); }
  void setInsertionPoint();
  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    setInsertionPoint();
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }
  template <typename OpTy, typename... Args> mlir::Value fold(Args &&...args) {
    setInsertionPoint();
    return builder.createOrFold<OpTy>(loc, std::forward<Args>(args)...);
  }
  /// Runs `emit` with scope `depth` as the innermost one.
  mlir::Value atDepth(unsigned depth, llvm::function_ref<mlir::Value()> emit);
  using Body = llvm::function_ref<Values(mlir::ValueRange)>;
  Values emitLoop(mlir::Value first, mlir::Value end, mlir::StringAttr dim, bool ragged,
                  mlir::ValueRange inits, Body body,
                  llvm::function_ref<void(Scope &)> prepare = nullptr);
  /// Loops over the blocks of `dims`. With `peel`, the innermost loop peels its ragged block.
  Values emitLoops(llvm::ArrayRef<mlir::StringAttr> dims, bool peel, mlir::ValueRange inits,
                   Body body);
  /// A branch whose sides have scopes of their own.
  Values emitIf(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise,
                llvm::function_ref<void(Scope &, bool)> prepare = nullptr);
  Scope *findScope(mlir::StringAttr dim);
  Scope *findStream(); ///< the innermost loop of the open stream, if any
  bool isRagged(mlir::StringAttr dim);
  bool fits(sched::DimAttr dim);
  mlir::LogicalResult checkSort(sched::SortOp op);
  mlir::LogicalResult findPieces();
  bool mayBeRagged(sched::DimAttr dim);

  // Dependences of a value (Emitter.cpp).
  uint64_t getDependence(mlir::Value value);
  uint64_t getDimBits(llvm::ArrayRef<mlir::StringAttr> dims);
  unsigned getDepth(uint64_t dependence);
  unsigned getDepth(SymExpr e);

  // Orders (Emitter.cpp).
  /// The elements of a tile along some dimensions.
  int64_t countOf(const Order &dims) {
    int64_t count = 1;
    for (mlir::StringAttr dim : dims)
      count *= tileOf(dim);
    return count;
  }
  int64_t tileOf(mlir::StringAttr dim) {
    int64_t tile = kernel.getDim(dim).getTile();
    return dim == pieced ? tile / pieces : tile * (dim == searched ? searchedBlocks(dim) : 1);
  }
  /// The current piece, for what depends on the dimension that has pieces.
  unsigned pieceOf(uint64_t dependence) {
    return pieced && (dependence & getDimBits(pieced)) ? piece : 0;
  }
  unsigned pieceOf(mlir::Value value) { return pieceOf(getDependence(value)); }
  /// Emits something once, or for each piece if it depends on the dimension that has them.
  void forPieces(uint64_t dependence, llvm::function_ref<void()> emit);
  Order getOrder(llvm::ArrayRef<mlir::StringAttr> dims); ///< axes in declaration order
  Order getOrder(mlir::Value value);
  Order unionOrder(const Order &a, llvm::ArrayRef<mlir::StringAttr> b);
  mlir::RankedTensorType tileType(const Order &order, mlir::Type element);

  // Integers (EmitIndex.cpp).
  mlir::Value getConstant(int64_t value);
  mlir::Value getCoord(mlir::StringAttr dim);
  mlir::Value getStart(mlir::StringAttr dim);
  bool isSizeOnly(SymExpr e);
  mlir::Value emitScalar(SymExpr e);
  llvm::SmallVector<mlir::StringAttr> getGridOrder();
  void emitCoordinates();
  mlir::Value emitIota(mlir::StringAttr dim, SymExpr offset, mlir::Type element);
  mlir::Value emitIndex(SymExpr e, mlir::Type element, const Order &order);
  mlir::Value emitIndexSum(SymExpr e, mlir::Type element, const Order &order);
  mlir::Value emitEdge(llvm::ArrayRef<mlir::StringAttr> dims, const Order &order);

  // Values (EmitValues.cpp).
  mlir::Value emitTile(mlir::Value value, const Order &order);
  mlir::Value generate(mlir::Value value, const Order &order);
  mlir::Value generateLoad(sched::LoadOp op, const Order &order);
  mlir::Value permute(mlir::Value tile, const Order &from, const Order &to);
  mlir::Value broadcast(mlir::Value tile, const Order &from, const Order &to);
  mlir::Value map(ScalarOp op, mlir::ValueRange operands);
  mlir::Value constant(const Order &order, mlir::Type element, double value);
  mlir::Value cast(mlir::Value tile, mlir::Type element);
  bool isCheapToRecompute(mlir::Value value, unsigned depth = 0);
  Values emitGatherIndices(mlir::ValueRange places, const Order &order);
  void emitStore(sched::StoreOp op);
  uint64_t storeDependence(sched::StoreOp op) {
    return getDimBits(accesses[op].dims) | getDependence(op.getValue());
  }
  void emitScatter(sched::StoreOp op);
  void emitCheck(sched::CheckOp op);

  // Reductions (EmitReduce.cpp).
  mlir::Type accumulatorType(ReduceOp kind, mlir::ValueRange values, mlir::Type result);
  /// The neutral element; with `keys`, one per key along a last dimension.
  mlir::Value identity(ReduceOp kind, const Order &order, mlir::Type element,
                       std::optional<int64_t> keys = std::nullopt);
  llvm::SmallVector<mlir::StringAttr> raggedAmong(llvm::ArrayRef<mlir::StringAttr> dims);
  bool isZeroAtEdge(mlir::Value value, mlir::StringAttr dim);
  bool isOnlyExponent(mlir::Value value);
  mlir::Value emitOperand(ReduceOp kind, mlir::Value value, const Order &order,
                          llvm::ArrayRef<mlir::StringAttr> reduced);
  struct MatrixProduct {
    mlir::Value lhs, rhs;
    Order rows, columns, depth;
  };
  std::optional<MatrixProduct> asMma(mlir::ValueRange values,
                                     llvm::ArrayRef<mlir::StringAttr> reduced, const Order &order);
  /// Reduces the product of `values` over `reduced` in one block, and combines it with `state`
  /// unless that is null. The result is a tile in `order`.
  mlir::Value emitCombine(ReduceOp kind, mlir::ValueRange values,
                          llvm::ArrayRef<mlir::StringAttr> reduced, const Order &order,
                          mlir::Type accumulator, mlir::Value state, bool skipNan = false);
  mlir::Value generateReduce(sched::ReduceOp op, const Order &order);

  // Streams (EmitStream.cpp).
  void emitStream(sched::StreamOp op);
  Values emitSegments(sched::StreamOp op, mlir::ValueRange states);
  Values emitSingleBlock(sched::StreamOp op);
  Values emitBlock(sched::StreamOp op);
  bool isZeroPaddedMma(sched::StreamOp op);
  GaugeStep getGaugeStep(sched::GaugeOp op);
  ScanStep getScanStep(sched::ScanOp op);
  mlir::Value generateSort(sched::SortOp op, const Order &order);
  Order carriedOrder(mlir::Operation &state);
  mlir::Value emitExponent(mlir::Value exponent, const Order &order);
  bool isCompared(mlir::OpOperand &operand);
  bool mayBeMinusInf(mlir::Value value, bool full);
  mlir::Value generateWeigh(sched::WeighOp op, const Order &order);

  // Blocks whose masks depend on memory (EmitVisit.cpp).
  Values emitVisit(sched::VisitOp visit, sched::StreamOp op, mlir::ValueRange states);
  mlir::Value emitTest(mlir::Value condition, ReduceOp kind);
  bool canSearch(mlir::Value condition, mlir::StringAttr dim);
  int64_t searchedBlocks(mlir::StringAttr dim) {
    return listed ? listed : std::max<int64_t>(1, kSearchedElements / kernel.getDim(dim).getTile());
  }
  /// Of searched blocks: their numbers, which can have a live element, and in which all are live.
  struct Conditions {
    mlir::Value block, live, full;
  };
  Conditions emitConditions(sched::VisitOp visit, sched::DimAttr dim, mlir::Value from,
                            mlir::Value to, mlir::Value whole);
  mlir::Value emitClamped(mlir::Value tile, mlir::Value from, mlir::Value to);
  bool loadsAlong(mlir::Value condition, mlir::StringAttr dim);
  /// The blocks of a dimension as a power of two, if they can be listed.
  std::optional<int64_t> listedBlocks(sched::VisitOp visit, sched::DimAttr dim);
  /// Visited blocks, the full ones first.
  struct BlockList {
    mlir::Value blocks, full, end; ///< a tile, the number of full ones, and of all
  };
  BlockList emitList(sched::VisitOp visit, sched::DimAttr dim, mlir::Value from, mlir::Value to);
  mlir::Value emitListedBlock(const BlockList &list, mlir::Value position, SymExpr blocks);
  mlir::Value emitIndexBound(sched::BoundOp bound, mlir::StringAttr dim,
                             mlir::RankedTensorType blocks);
  mlir::Value emitForBlocks(mlir::Value condition, mlir::StringAttr dim);
  using Segments = std::array<mlir::Value, 4>;
  Segments emitSearch(sched::VisitOp visit, sched::DimAttr dim, mlir::Value from, mlir::Value to);

  sched::KernelOp kernel;
  tile::KernelOp target;
  const SizeFacts &facts;
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::ArrayRef<mlir::Value> outputs;
  llvm::SmallVector<Scope *> scopes;
  /// In a search along this dimension, its tile covers many blocks.
  mlir::StringAttr searched;
  int64_t listed = 0; ///< the blocks of a list in a search for it
  /// The dimension whose tile has several pieces, or null; their number, and the one that is
  /// emitted.
  mlir::StringAttr pieced;
  unsigned pieces = 1, piece = 0;
  Values pieceCoords;
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  llvm::DenseMap<mlir::Value, uint64_t> dependences;
  std::map<int64_t, mlir::Value> constants;

  struct ViewArgument {
    mlir::Value tensor;
    tile::OperandViewAttr view;
    mlir::Value argument;
  };
  llvm::SmallVector<ViewArgument> views;
  llvm::MapVector<const void *, std::pair<SymExpr, mlir::Value>> sizes;
  llvm::MapVector<mlir::Value, mlir::Value> scalars;
};

} // namespace tessera

#endif
