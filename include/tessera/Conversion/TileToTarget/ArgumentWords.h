//===- ArgumentWords.h - The order of a kernel's argument words -*- C++ -*-===//
//
// A kernel's argument block is a row of 64-bit words. Their order is stated here once; host
// programs write them and code generators read them by the same walk:
//
//   for each kernel argument   a view: its address, its sizes, its strides (in elements)
//                              an index or scalar: one word (a scalar's bits in the low bytes)
//   then                       the sizes of the grid
//
// Behind the words come tensor maps, 128 bytes each at multiples of 64: what a GPU's tensor copies have to know of the
// views that a kernel fetches boxes of. A launch makes them of the views' words.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CONVERSION_TILETOTARGET_ARGUMENTWORDS_H
#define TESSERA_CONVERSION_TILETOTARGET_ARGUMENTWORDS_H

#include "tessera/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace tessera {

enum class WordRole { Address, Size, Stride, Scalar, Grid };

/// Calls `visit` with the role of each word, the kernel argument it belongs to (0 for the grid),
/// and the dimension.
void forEachWord(tile::KernelOp kernel,
                 llvm::function_ref<void(WordRole, unsigned argument, unsigned dim)> visit);

int64_t countWords(tile::KernelOp kernel);

/// A view that boxes are fetched of.
struct TensorMap {
  unsigned argument; // of the kernel
  tile::Box box;
  static constexpr int64_t kBytes = 128, kAlignment = 64;
  bool operator==(const TensorMap &) const = default;
};
/// Those of a kernel, each once, in the order in which it fetches first.
llvm::SmallVector<TensorMap> tensorMapsOf(tile::KernelOp kernel);

/// How many dimensions a GPU's launch of the kernel has. The last one stands for all that are left of the grid.
int64_t launchAxes(tile::KernelOp kernel);

/// The failures that a kernel may tell, each once; code names them by their number.
llvm::SetVector<gir::FailureAttr> failuresOf(tile::KernelOp kernel);

} // namespace tessera

#endif
