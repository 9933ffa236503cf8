//===- Swizzle.h - Shared memory without bank conflicts --------*- C++ -*-===//
//
// A tile that is written to shared memory by one layout and read by another wants an arrangement in
// which both sides use wide accesses and neither meets its banks twice. Such an arrangement is a
// injection offset -> element, and its columns are three groups: the offsets within an access or a
// word, the offsets within a row of 128 bytes (the bank), and those of different rows. Let R be the
// span of the last group: elements that differ by a vector of R lie in the same bank, in different
// words. So a side has no conflict if and only if R shares nothing with the span of its phase: what
// a group of lanes that is served at once holds (Access.h).
//
// R must have as many dimensions as there are row bits, and avoid two subspaces X and Y at once.
// Two subspaces of equal dimension always have a common complement: with Z = X ∩ Y, X = Z + X0 and
// Y = Z + Y0, take the vectors outside X + Y, and the sums x + y of the basis vectors of X0 and Y0.
// Those sums are the swizzle: no one guesses it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_SWIZZLE_H
#define TESSERA_LAYOUT_SWIZZLE_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// How one side touches shared memory, as vectors of the tile (packed elements).
struct SharedSide {
  /// What lies side by side in one access, in the order of the offsets: 1, 2, 4, ….
  gf2::Vectors vector;
  /// What is served at once.
  gf2::Vectors phase;
  /// What must not move the place within an access: all else that distinguishes accesses.
  gf2::Vectors others;
};

/// The arrangement of a block's share of `tile`, the span of the independent vectors `share`, for
/// two sides whose vectors are all in it; one side's vector is the beginning of the other's.
/// Nothing if a vector cannot stand at the beginning of the offsets.
std::optional<Layout> swizzle(const SharedSide &write, const SharedSide &read, const Space &tile,
                              gf2::VectorsRef share, unsigned bits);

} // namespace tessera

#endif
