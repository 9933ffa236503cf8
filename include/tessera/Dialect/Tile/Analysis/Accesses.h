//===- Accesses.h - The instructions of accesses to memory -----*- C++ -*-===//
//
// Which instructions the threads of a placed kernel use for a tile in global or shared memory: how
// many elements one moves, which coordinates are compared with the tensor's size, where elements
// outside of a tensor need a value, and which loads an MMA issues fragment by fragment. Code
// generation reads these decisions; `tile-print-accesses` prints them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_ACCESSES_H
#define TESSERA_DIALECT_TILE_ANALYSIS_ACCESSES_H

#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"

#include "llvm/Support/raw_ostream.h"

namespace tessera {

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// A `tile.load`, `tile.gather`, `tile.store`, `tile.scatter` or `tile.cp_async`.
struct GlobalAccess {
  mlir::Operation *op = nullptr;
  mlir::Value tile, view; ///< no tile of a `tile.cp_async`
  mlir::OperandRange coords;
  llvm::ArrayRef<int64_t> dims;
  bool isChecked;             ///< whether elements may lie outside of the tensor
  mlir::OperandRange indices; ///< of a gather or scatter
  Layout layout = {};         ///< of the tile over threads
  llvm::ArrayRef<int64_t> sizes = {};

  /// The elements that one instruction moves, neighbours in a thread's registers and in memory. A
  /// gather or scatter has more than one only where neighbours share their indices.
  unsigned width = 1;
  /// The dimensions of the tensor along which coordinates are compared with its size.
  llvm::SmallVector<int64_t, 4> checkedDims = {};
  /// Whether the ends of a `tile.aligned_row` may cut vectors, whose elements are then accessed one
  /// by one.
  bool hasCutVectors = false;
  /// Whether elements outside of the tensor get the pad. They need none where only stores that mask
  /// the same elements use them. In a loop they get it in any case: a load without a pad would keep
  /// its registers live across iterations.
  bool needsPad = false;

  tile::ViewType type() const { return llvm::cast<tile::ViewType>(view.getType()); }
  /// The dimension of the tile along a dimension of the tensor.
  std::optional<unsigned> tileDim(int64_t dim) const;
  int64_t tileSize(int64_t dim) const;
  /// Bytes of an element.
  int64_t bytes() const;
};

/// How a placed operation accesses global memory.
GlobalAccess globalAccess(mlir::Operation *op, const Coordinates &coordinates);

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The instructions that access a stage. An unaligned row (with a shift) is accessed element by
/// element.
SharedAccess sharedAccess(tile::SharedStoreOp store, SharedFeatures features);
SharedAccess sharedAccess(tile::SharedLoadOp load, SharedFeatures features);

/// Whether the MMAs that take a load as an operand issue it fragment by fragment, so that few
/// fragments are in registers at once. No access to shared memory may be in between, and no other
/// MMA, with which the load is meant to overlap. An accumulator is in registers as a whole from the
/// start.
bool isLoadedByFragments(tile::SharedLoadOp load);

//===----------------------------------------------------------------------===//
// Distributed shared memory
//===----------------------------------------------------------------------===//

/// How the CTAs of a cluster store a tile to a dsmem buffer.
struct DsmemStore {
  enum class Kind {
    Peers,  ///< to the thread with the same number in each other CTA
    Owners, ///< each element to the CTA that owns it
    Lanes,  ///< to all CTAs; of the lanes that hold the same element, each stores to one CTA
    All,    ///< to all CTAs, one after the other
  };
  Kind kind;
  unsigned width = 1; ///< elements of an instruction
};
DsmemStore dsmemStore(tile::DsmemStoreOp store, unsigned cluster);

/// The registers that a thread keeps because its own CTA owns their elements; none: these go
/// through shared memory as well.
std::optional<OwnRegisters> keptRegisters(mlir::Value dsmem, unsigned cluster);

/// Prints the accesses of a placed kernel in program order, one per line.
void printAccesses(tile::KernelOp kernel, const GpuDescription &gpu, llvm::raw_ostream &os);

} // namespace tessera

#endif
