//===- Swizzle.h - Shared memory without bank conflicts --------*- C++ -*-===//
//
// A tile is stored to shared memory from one register layout and loaded into another. This file
// computes a shared-memory layout in which both sides use wide vector accesses and neither has bank
// conflicts. Such a layout is an injection offset -> element. Its columns form three groups:
// offsets within an access or a word, offsets within a row of 128 bytes (the bank), and offsets of
// different rows. Let R be the span of the last group: elements that differ by a vector of R are in
// the same bank, in different words. A side therefore has no conflicts if and only if R meets the
// span of its phase (the elements that are served together, Access.h) only in zero.
//
// R must have as many dimensions as there are row bits and avoid two subspaces X and Y. Two
// subspaces of equal dimension always have a common complement: with Z = X ∩ Y, X = Z + X0 and Y =
// Z + Y0, take the vectors outside X + Y, and the sums x + y of the basis vectors of X0 and Y0.
// Those sums are the swizzle.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_SWIZZLE_H
#define TESSERA_LAYOUT_SWIZZLE_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// How one side accesses shared memory, as vectors of the tile (packed elements).
struct SharedSide {
  /// The contiguous elements of one access, in the order of the offsets: 1, 2, 4, ….
  gf2::Vectors vector;
  /// The elements of one phase.
  gf2::Vectors phase;
  /// Everything else that distinguishes accesses; it must not change the offset within an access.
  gf2::Vectors others;
};

/// The shared-memory layout of a CTA's slice of `tile`, the span of the independent vectors
/// `share`, for two sides with all their vectors in it. The vector of one side is a prefix of the
/// other's. Nothing if a vector cannot have the lowest offsets.
std::optional<Layout> swizzle(const SharedSide &write, const SharedSide &read, const Space &tile,
                              gf2::VectorsRef share, unsigned bits);

} // namespace tessera

#endif
