//===- SharedMatrix.h - Matrix descriptors of wgmma ------------*- C++ -*-===//
//
// wgmma reads an operand from shared memory through a matrix descriptor: start address, swizzle
// mode, leading byte offset and stride byte offset. The unit is a swizzle atom of 8 rows, each as
// long as the swizzle's span. Rows run along K (K-major), or along the other dimension (MN-major).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_SHAREDMATRIX_H
#define TESSERA_LAYOUT_SHAREDMATRIX_H

#include "tessera/Layout/Layout.h"

namespace tessera {

struct SharedMatrix {
  unsigned span;            // bytes of the swizzle: 128, 64 or 32
  bool isAcross;            // rows run along M or N: the operand is MN-major
  uint64_t leading, stride; // the descriptor's byte offsets: along the rows and across them

  /// The descriptor of a matrix at address 0.
  uint64_t descriptor() const;
};

/// The descriptor of a two-dimensional tile in shared memory whose K dimension is `over`. None if
/// wgmma cannot read the tile: it has another swizzle, or it is MN-major with elements other than
/// 16 bits.
std::optional<SharedMatrix> sharedMatrix(const Layout &memory, unsigned over, unsigned bits);

} // namespace tessera

#endif
