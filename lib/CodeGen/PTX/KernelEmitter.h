//===- KernelEmitter.h - What one thread of a kernel does ------*- C++ -*-===//
//
// A tile becomes a list of scalars, one for each register of its layout. Coordinates of an element
// are the exclusive or of a part that the thread knows and a part that the register knows; where
// the two have no bit in common it is a sum, and the register's part ends up in an instruction's
// immediate offset.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_PTX_KERNELEMITTER_H
#define TESSERA_LIB_CODEGEN_PTX_KERNELEMITTER_H

#include "tessera/Analysis/Coordinates.h"
#include "tessera/Analysis/SharedMemory.h"
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Reduction.h"

namespace tessera::ptx {

using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, mlir::LLVM::LLVMFuncOp function, const PtxOptions &options);
  LogicalResult run();
  unsigned threads() const { return 32 * warps; }
  unsigned shared() const { return sharedBytes; }
  unsigned cluster() const { return blocks; }

private:
  using Registers = llvm::SmallVector<Value>;
  /// A tensor in memory: its address and, in elements, its sizes and strides.
  struct View {
    Value pointer;
    llvm::SmallVector<codegen::Ix> sizes, strides;
    Value from; // of a row: its first element (i64)
  };
  /// A load, gather, store or scatter.
  struct Access;

  // Control (KernelEmitter.cpp)
  void declare();
  void placePrograms(llvm::SmallVector<Value> places, llvm::ArrayRef<Value> grid);
  LogicalResult emit(mlir::Block &block);
  LogicalResult emit(mlir::Operation *op);
  LogicalResult emitIndex(mlir::Operation *op);
  LogicalResult emitFor(mlir::scf::ForOp loop);
  LogicalResult emitIf(mlir::scf::IfOp branch);

  // Tiles (Tiles.cpp)
  LogicalResult emitMap(tile::MapOp map);
  /// Of an integer tile, low bits that are those of the position along its last dimension, and low bits that are zero.
  struct LowBits {
    unsigned position, zero;
  };
  LowBits lowBits(Value tile) const;
  unsigned sharedBits(tile::MapOp map) const;
  bool emitPlace(tile::MapOp map);
  bool emitChoice(tile::MapOp map);
  bool isZero(Value index) const {
    std::optional<SymExpr> known = coordinates.expression(index);
    return known && *known == SymExpr(0);
  }
  bool isUnseenBehind(Value tile, mlir::Operation *beside, SymExpr end) const;
  Registers chooseBelow(llvm::ArrayRef<Value> parts, llvm::ArrayRef<Value> others, const Layout &layout, Value end);
  LogicalResult emitReduce(tile::ReduceOp reduce);
  LogicalResult emitPartial(tile::PartialOp partial);
  LogicalResult emitConvert(tile::ConvertOp convert);
  LogicalResult emitScan(tile::ScanOp scan);
  LogicalResult emitMma(tile::MmaOp mma);
  LogicalResult emitMmaShared(tile::MmaSharedOp mma);
  void emitIota(tile::IotaOp iota);
  /// Register i of the result is the register of the input that holds `element(i)`, in the same thread.
  LogicalResult emitMove(mlir::Operation *op, llvm::function_ref<uint64_t(uint64_t)> element);
  LogicalResult emitCast(tile::CastOp cast);
  Value castElement(Value value, Type from, Type to);
  Value quick(ScalarOp op, mlir::ValueRange operands);
  Value philox(mlir::ValueRange operands, bool isUpper);
  bool emitEqualOrNan(tile::MapOp map);
  /// The values of all registers after the steps of a reduction that stay within the warp.
  Registers joinInWarp(Value input, const ReductionPlan &plan, llvm::function_ref<Value(Value, Value)> join,
                       tile::MapOp positions);
  Value leastPosition(tile::MapOp positions, mlir::ArrayRef<Value> parts);
  LogicalResult takeJoined(mlir::Operation *op, const Layout &joined, const Registers &sums);

  // Between lanes (Convert.cpp)
  Value exchange(Value value, unsigned lanes);
  Value receive(Value value, Value source);
  Registers emitShuffles(const ShuffleSchedule &schedule, llvm::ArrayRef<Value> parts, Type element, unsigned count);

  // Products of groups of warps (Group.cpp)
  Registers settled(Registers sums);
  LogicalResult emitMmaAsync(tile::MmaAsyncOp mma);
  LogicalResult emitMmaWait(tile::MmaWaitOp wait);
  void computeBefore(tile::MmaWaitOp wait);

  // Shared memory (Shared.cpp)
  struct Lazy {
    SharedAccess load;
    Value slot;
    uint64_t first; // the offset of the part's first element
  };
  void storeShared(const SharedAccess &access, Value buffer, llvm::ArrayRef<Value> parts, Type element, Value owner);
  Registers loadAll(const Lazy &read, Type element);
  Registers loadVector(Value from, unsigned count);
  Registers loadPiece(const Lazy &read, Type element, unsigned at);
  /// A register of a tile that may have to be read first.
  Value part(Value tile, unsigned reg);
  Value sharedMemory(unsigned first, unsigned bytes);
  LogicalResult emitWrite(tile::WriteOp write);
  LogicalResult emitRead(tile::ReadOp read);
  Value slotAddress(Value buffer, Value slot, Value behind = Value());

  // Copies of rows (Bulk.cpp)
  struct Row;
  template <typename RowOp> Row rowOf(RowOp op);
  void inOneThread(llvm::function_ref<void()> emitBody, int64_t ofWarp = 0);
  Value endOf(Value argument);
  void copyRest(const Row &row, Value from, Value slot, int64_t bytes);
  Value gateAddress(Value gates, Value gate);
  LogicalResult emitGates(tile::GatesOp gates);
  LogicalResult emitFetch(tile::FetchOp fetch);
  LogicalResult emitBox(tile::FetchOp fetch);
  void prefetchMaps();
  LogicalResult emitAwait(tile::AwaitOp await);
  LogicalResult emitArrive(tile::ArriveOp arrive);
  void waitAt(Value gates, Value gate, Value phase);
  LogicalResult emitSend(tile::SendOp send);

  // The blocks of a cluster (Cluster.cpp)
  struct Turn {
    Value slot, signal, phase; // an address, an address as i32, 0 or 1
  };
  Value turnOf(Value mailbox);
  Turn turn(Value mailbox);
  LogicalResult emitOpen(tile::OpenOp open);
  LogicalResult emitPush(tile::PushOp push);
  void pushToOwners(tile::PushOp push, const Turn &turn);
  std::optional<OwnRegisters> ownOf(Value mailbox);
  void pushToPlaces(tile::PushOp push, const OwnRegisters &own, const Turn &turn);
  Registers takeBeside(tile::TakeOp take, const Turn &turn);
  void turnRound(Registers &registers, llvm::ArrayRef<unsigned> bits);
  LogicalResult emitReceive(tile::ReceiveOp receive);
  LogicalResult emitTake(tile::TakeOp take);

  // Memory (Memory.cpp)
  void emitRow(tile::RowOp row);
  LogicalResult emitLoad(mlir::Operation *op);
  /// Elements of a piece of a row that its ends may cut.
  Registers loadCut(const Access &access, unsigned reg, unsigned width, mlir::TypedAttr pad);
  void storeCut(const Access &access, unsigned reg, unsigned width, Value owner);
  bool leavesOut(tile::StoreOp store, const Access &load) const;
  bool isPadUnseen(const Access &load) const;
  Registers loadWords(const Access &access, unsigned reg, unsigned width, Value mask, mlir::TypedAttr pad);
  LogicalResult emitStore(tile::StoreOp store);
  void storeWords(const Access &access, unsigned reg, unsigned width, Value mask);
  LogicalResult emitScatter(tile::ScatterOp scatter);
  LogicalResult emitCopy(tile::CopyOp copy);
  unsigned vectorWidth(const Access &access) const;
  Value pointerOf(const Access &access, unsigned reg);
  /// Whether an element lies in its tensor, or of a row so many do; none: it does.
  Value maskOf(const Access &access, unsigned reg, unsigned width = 1);
  /// Elements of a tile in the words that an instruction moves, and back.
  Registers unpack(mlir::ValueRange words, Type element);
  Registers pack(mlir::ValueRange elements, Type element);
  /// The two elements of this type, of 16 bits, that a register has.
  Registers halvesOf(Value both, Type element);

  // Places
  static Layout layoutOf(Value tile);
  static unsigned countRegisters(Value tile);
  static Type elementOf(Value tile);
  /// The part of an element's coordinate that lane, warp and block decide (i32).
  Value threadPart(const Layout &layout, Dim dim);
  /// A coordinate of what a register of this thread holds, in a tile that may begin behind its first element.
  codegen::Ix coordinate(const Layout &layout, unsigned reg, Dim dim, uint64_t first = 0);
  /// Whether this thread is the one that answers for what several threads, of these dimensions, hold; none: always. Bits of
  /// `others` do not matter in a lane's number.
  Value isOwner(const Layout &layout, DimSet dims = threadDims, uint64_t others = 0);

  Value assembly(llvm::StringRef text, llvm::StringRef constraints, Type result, mlir::ValueRange operands,
                 bool hasEffects = false);
  /// What tells the L2 to keep what is read: behind the instruction's name, and an operand, which stand behind `results`.
  /// Nothing where it is not told.
  struct Policy {
    std::string suffix, operand;
  };
  Policy addPolicy(llvm::SmallVectorImpl<Value> &operands, std::string &constraints, unsigned results = 0);
  Value get(Value scalar) { return scalars.lookup(scalar); }

  tile::KernelOp kernel;
  mlir::LLVM::LLVMFuncOp function;
  const PtxOptions &options;
  Value retained; ///< the policy for what is read; made where it is first asked for
  Coordinates coordinates;
  unsigned warps, blocks; // of a block, of a cluster
  codegen::Emitter e;
  llvm::DenseMap<Value, View> views;
  bool isInOneThread = false; // of the block
  llvm::SmallVector<TensorMap> maps; // whose parameters are the last ones
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Registers> tiles;
  llvm::SmallVector<Value> programIds;
  Value lane, warp, block; // i32; the block's number in its cluster
  Value sameWarp;          // the warp's number, of which the assembler knows that all lanes have the same; where there are boxes or groups
  mlir::Block *entry = nullptr;
  std::map<std::pair<std::string, Dim>, Value> threadParts;
  unsigned sharedBytes = 0;
  /// Tiles that are read when they are needed.
  llvm::DenseMap<Value, Lazy> reads;
  /// Whether the next product of a group stands behind a fence.
  bool isFenced = false;
  /// Where threads count the turns of mailboxes.
  llvm::DenseMap<Value, Value> turns;
  /// What threads keep of what they push, by mailbox.
  llvm::DenseMap<Value, Registers> kept;
};

} // namespace tessera::ptx

#endif
