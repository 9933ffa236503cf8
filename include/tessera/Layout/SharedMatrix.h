//===- SharedMatrix.h - How wgmma finds a matrix ---------------*- C++ -*-===//
//
// The instruction reads an operand from shared memory as a descriptor says: where it begins, how its
// 16-byte chunks are swizzled, and how far apart its pieces lie. A piece is 8 lines of a swizzle's span;
// lines run along what is summed over, or along the other dimension.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_SHAREDMATRIX_H
#define TESSERA_LAYOUT_SHAREDMATRIX_H

#include "tessera/Layout/Layout.h"

namespace tessera {

struct SharedMatrix {
  unsigned span;            // bytes that swizzles stay within: 128, 64 or 32
  bool isAcross;            // lines run along the dimension that is kept
  uint64_t leading, stride; // bytes from a piece to the next, along its lines and across them

  /// The descriptor of a matrix that begins at address 0.
  uint64_t descriptor() const;
};

/// A tile of two dimensions, of which `over` is summed over, in shared memory; none where the instruction cannot read it so:
/// it is swizzled otherwise, or its lines run along the kept dimension and elements have not 16 bits.
std::optional<SharedMatrix> sharedMatrix(const Layout &memory, unsigned over, unsigned bits);

} // namespace tessera

#endif
