//===- ArgumentWords.h - The order of a kernel's argument words -*- C++ -*-===//
//
// The argument block of a kernel is a sequence of 64-bit words. forEachWord defines their order;
// host programs and code generators iterate over them by it:
//
//   for each kernel argument   a view: its address, its sizes, its strides (in elements)
//                              an index or scalar: one word (a scalar's bits in the low bytes)
//   then                       the sizes of the grid
//
// Tensor maps follow the words, 128 bytes each, aligned to 64: the descriptors of views that a
// kernel loads boxes of by TMA. A launch encodes them from the words of the views.
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

/// The tensor map of a view: TMA loads boxes of it.
struct TensorMap {
  unsigned argument; // of the kernel
  tile::Box box;
  bool isRounded = false; // elements of f32 become tf32
  static constexpr int64_t kBytes = 128, kAlignment = 64;
  bool operator==(const TensorMap &) const = default;
};
/// The tensor map that a TMA load needs.
TensorMap tensorMapOf(tile::TmaLoadOp load);
/// The distinct tensor maps of a kernel, in the order of their first load.
llvm::SmallVector<TensorMap> tensorMapsOf(tile::KernelOp kernel);

/// The number of dimensions of a GPU launch. The last one covers the remaining dimensions of the
/// grid.
int64_t launchAxes(tile::KernelOp kernel);

/// The distinct failures that a kernel may report, by number.
llvm::SetVector<gir::FailureAttr> failuresOf(tile::KernelOp kernel);

} // namespace tessera

#endif
