//===- Swizzle.cpp - Shared memory without bank conflicts -----------------===//
//
// Offsets count elements. The construction proceeds from the low bits upward:
//   near    the vector of the wider side, extended to a 4-byte word;
//   plane   all elements whose offset has no bit of the vectors. It contains everything that must
//   not
//           change the offset within an access, and all further columns come from it;
//   rows    R of the header, within the plane;
//   banks   the rest of the plane.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/Swizzle.h"

#include <algorithm>

using namespace tessera;
using gf2::Vectors;
using gf2::VectorsRef;

/// The elements of `share` without a component along `vector`, when expressed in `vector`, `fixed`
/// and the vectors of the share; nothing if a vector of `fixed` has such a component.
static std::optional<Vectors> planeOf(VectorsRef vector, VectorsRef fixed, VectorsRef share) {
  gf2::Subspace space(vector);
  if (space.dimension() < vector.size())
    return std::nullopt;
  uint64_t ofVector = (uint64_t(1) << vector.size()) - 1;
  Vectors plane;
  auto take = [&](uint64_t v) {
    std::optional<uint64_t> parts = space.express(v);
    if (!parts) {
      space.add(v);
      plane.push_back(v);
    }
    return !parts || !(*parts & ofVector);
  };
  // A combination refers to all added vectors, so dependent ones must not be added.
  for (uint64_t v : fixed)
    if (!take(v))
      return std::nullopt;
  for (uint64_t v : share)
    take(v);
  return plane;
}

/// Vectors of `plane`, modulo `base`, that avoid the spans of x and y as far as possible, the best
/// first. Together with `base` they are a basis of the plane.
static Vectors avoiding(VectorsRef x, VectorsRef y, VectorsRef base, VectorsRef plane) {
  Vectors shared = gf2::intersect(gf2::concat({base, x}), gf2::concat({base, y}));
  Vectors onlyX = gf2::extend(gf2::concat({base, shared}), x);
  Vectors onlyY = gf2::extend(gf2::concat({base, shared}), y);
  Vectors wanted = gf2::extend(gf2::concat({base, x, y}), plane);
  for (size_t i = 0; i < std::min(onlyX.size(), onlyY.size()); ++i)
    wanted.push_back(onlyX[i] ^ onlyY[i]);
  // The others have conflicts on one side, then on both.
  return gf2::extend(base, gf2::concat({wanted, onlyX, onlyY, shared, plane}));
}

std::optional<Layout> tessera::swizzle(const SharedSide &write, const SharedSide &read,
                                       const Space &tile, VectorsRef share, unsigned bits) {
  const SharedSide &wide = write.vector.size() >= read.vector.size() ? write : read;
  const SharedSide &narrow = &wide == &write ? read : write;
  if (!std::equal(narrow.vector.begin(), narrow.vector.end(), wide.vector.begin()))
    return std::nullopt;

  // Offsets within the common vector must be zero for all other vectors of both sides; offsets
  // within the rest of the wide vector only for those of the wide side.
  VectorsRef common = narrow.vector, further = VectorsRef(wide.vector).subspan(common.size());
  std::optional<Vectors> plane = planeOf(further, gf2::concat({common, wide.others}), share);
  std::optional<Vectors> ofBoth =
      planeOf(common, gf2::concat({further, wide.others, narrow.others}), share);
  if (!plane || !ofBoth)
    return std::nullopt;
  plane = further.empty() ? *ofBoth : common.empty() ? *plane : gf2::intersect(*plane, *ofBoth);

  unsigned wordBits = bits < 32 ? std::countr_zero(32 / bits) : 0;
  unsigned rowBits = std::countr_zero(1024 / bits), offsetBits = share.size();
  Vectors base, near = wide.vector;
  for (uint64_t v : *plane) // any vector may fill up a word
    if (near.size() < std::min(wordBits, offsetBits)) {
      near.push_back(v);
      base.push_back(v);
    }
  Vectors word(near.begin(), near.begin() + std::min<size_t>(wordBits, near.size()));

  auto inPlane = [&](const SharedSide &side) {
    return gf2::intersect(gf2::concat({word, base, side.vector, side.phase}), *plane);
  };
  Vectors rows = avoiding(inPlane(write), inPlane(read), base, *plane);
  rows.resize(offsetBits > rowBits ? offsetBits - rowBits : 0);
  Vectors banks =
      gf2::extend(gf2::concat({base, rows}), gf2::concat({inPlane(write), inPlane(read), *plane}));

  Space in{{Dim::Offset, uint64_t(1) << offsetBits}};
  return Layout(in, tile, gf2::concat({near, banks, rows}));
}
