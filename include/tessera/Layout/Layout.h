//===- Layout.h - Linear layouts -------------------------------*- C++ -*-===//
//
// A layout maps hardware locations to elements of a tile: (register, lane, warp, block), or an
// offset in shared memory, to (d0, d1, …). A block is a CTA of a cluster. All sizes are powers of
// two, and the layouts of the hardware are linear over GF(2) (linear layouts, arXiv 2505.23819): if
// locations a and b hold the elements x and y, location a ^ b holds x ^ y. A layout is therefore
// known by its bases, the elements at the locations 1, 2, 4, … of each input dimension:
//
//   register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8
//
// is the accumulator fragment of mma.sync m16n8. Register 3 of lane 6 = 2 + 4 holds
// (d1:1 ^ d0:8) ^ (d1:4 ^ d0:1) = element (9, 5). A basis 0 means that two locations hold the same
// element: the tile is replicated. Swizzles are bases with more than one coordinate.
//
// Composition is then a matrix product, "which location holds element x" an inverse, and "do these
// two layouts agree within a warp" a linear system. There are no special cases.
//
// A Space is a list of dimensions in the order of `Dim`, fastest first. Tensor dimensions run
// backward in it, so that a packed element is its row-major index, and a reshape changes no bit. A
// dimension of size one and an absent dimension are the same.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_LAYOUT_H
#define TESSERA_LAYOUT_LAYOUT_H

#include "tessera/Layout/GF2.h"

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

/// Block is the CTA within a cluster. Round counts the rounds of shuffles and the passes of an
/// exchange (Conversion.h). Offset counts elements of shared memory.
enum class Dim : uint8_t {
  Register,
  Lane,
  Warp,
  Block,
  Round,
  Offset,
  D7,
  D6,
  D5,
  D4,
  D3,
  D2,
  D1,
  D0
};
inline constexpr unsigned numDims = 14, maxRank = 8;

constexpr Dim tensorDim(unsigned i) { return Dim(unsigned(Dim::D0) - i); }
/// "register", …, "offset", "d0", ….
std::string_view dimName(Dim dim);

/// A set of dimensions.
class DimSet {
public:
  constexpr DimSet() = default;
  constexpr DimSet(std::initializer_list<Dim> dims) {
    for (Dim dim : dims)
      mask |= 1u << unsigned(dim);
  }
  constexpr bool contains(Dim dim) const { return mask >> unsigned(dim) & 1; }
  constexpr DimSet operator~() const { return DimSet(~mask); }
  constexpr DimSet operator|(DimSet other) const { return DimSet(mask | other.mask); }

private:
  explicit constexpr DimSet(unsigned mask) : mask(mask) {}
  unsigned mask = 0;
};

/// The coordinates of a thread.
inline constexpr DimSet threadDims{Dim::Lane, Dim::Warp, Dim::Block};
inline constexpr DimSet allDims = ~DimSet();

/// A coordinate for each dimension, zero unless set.
struct Point {
  std::array<uint64_t, numDims> values{};
  Point() = default;
  Point(std::initializer_list<std::pair<Dim, uint64_t>> coordinates) {
    for (auto [dim, value] : coordinates)
      (*this)[dim] = value;
  }
  uint64_t &operator[](Dim dim) { return values[unsigned(dim)]; }
  uint64_t operator[](Dim dim) const { return values[unsigned(dim)]; }
  bool operator==(const Point &) const = default;
};

/// The sizes of dimensions; defines how a point is packed into a word.
class Space {
public:
  Space() = default;
  /// Sizes are powers of two.
  Space(std::initializer_list<std::pair<Dim, uint64_t>> sizes);
  /// d0, d1, … of a tile.
  static Space tensor(std::span<const unsigned> shape);
  static Space tensor(std::initializer_list<unsigned> shape) {
    return tensor(std::span(shape.begin(), shape.size()));
  }

  unsigned bits(Dim dim) const { return log2[unsigned(dim)]; }
  void setBits(Dim dim, unsigned bits) { log2[unsigned(dim)] = bits; }
  uint64_t size(Dim dim) const { return uint64_t(1) << bits(dim); }
  /// Of all dimensions together.
  unsigned bits() const;
  uint64_t size() const { return uint64_t(1) << bits(); }
  /// The position of the dimension's first bit in a packed point, and all its bits there.
  unsigned shift(Dim dim) const;
  uint64_t mask(DimSet dims) const;
  /// The space of the given dimensions alone.
  Space only(DimSet dims) const;

  uint64_t pack(const Point &point) const;
  Point unpack(uint64_t packed) const;
  /// Repacks a packed point of this space for the space `to`. Coordinates keep their dimensions, or
  /// are renamed by `rename`, and are shifted left by the bits that `above` has in that dimension.
  /// Bits that do not fit are dropped.
  uint64_t carry(uint64_t packed, const Space &to) const { return carry(packed, to, Space()); }
  uint64_t carry(uint64_t packed, const Space &to, const Space &above,
                 const std::function<Dim(Dim)> &rename = nullptr) const;

  bool operator==(const Space &) const = default;

private:
  std::array<uint8_t, numDims> log2{};
};

class Layout {
public:
  /// The layout of a single element.
  Layout() = default;
  /// `columns[i]` is the packed element at the location whose packed coordinates are 1 << i.
  Layout(Space in, Space out, gf2::Vectors columns);

  static Layout identity(Space space);
  /// One dimension to one: i maps to i * stride; the output is as large as needed.
  static Layout strided(Dim in, Dim out, uint64_t size, uint64_t stride = 1);
  /// All locations of `in` hold the same element.
  static Layout broadcast(Dim in, uint64_t size);

  const Space &in() const { return inSpace; }
  const Space &out() const { return outSpace; }
  gf2::VectorsRef columns() const { return matrix; }
  gf2::VectorsRef columns(Dim in) const;
  /// The columns of several dimensions, in order.
  gf2::Vectors columnsOf(DimSet ins) const;
  bool operator==(const Layout &) const = default;

  uint64_t operator()(uint64_t place) const { return gf2::sum(matrix, place); }
  Point operator()(const Point &place) const;

  unsigned rank() const { return gf2::rank(matrix); }
  bool isInjective() const { return rank() == inSpace.bits(); }
  bool isSurjective() const { return rank() == outSpace.bits(); }

  /// Composition: first this, then `next`.
  Layout then(const Layout &next) const;
  /// Product: `outer` repeats this layout as a tile. In every dimension, this layout has the low
  /// bits and `outer` the high bits.
  Layout operator*(const Layout &outer) const;
  /// The layout q for which `tile * q` is this one.
  std::optional<Layout> divideLeft(const Layout &tile) const;

  /// Of a bijection.
  std::optional<Layout> inverse() const;
  /// Of a surjection: one location of each element, with free bits zero. `r.then(*this)` is the
  /// identity.
  std::optional<Layout> rightInverse() const;
  /// Of an injection: `this->then(l)` is the identity; elements that no location holds map
  /// anywhere.
  std::optional<Layout> leftInverse() const;

  /// Only the inputs `ins` (the others are zero) and the output coordinates `outs`.
  Layout sublayout(DimSet ins, DimSet outs = allDims) const;
  /// The bits of a packed location whose columns depend on those before them: replication. Every
  /// element that is held is held at a location where they are all zero.
  uint64_t freeBits() const;
  /// Without the free bits of the given dimensions, which shrink.
  Layout withoutFreeBits(DimSet ins) const;
  /// Replicates the layout: input dimensions become at least as large as in `space`.
  Layout broadcastTo(const Space &space) const;

  /// The same bits under other output dimensions.
  Layout reshape(Space shape) const;
  /// Dimension i of the result is dimension `order[i]` of this layout.
  Layout transpose(std::span<const unsigned> order) const;
  Layout transpose(std::initializer_list<unsigned> order) const {
    return transpose(std::span(order.begin(), order.size()));
  }
  /// Removes dimension `dim`: later dimensions move down, and locations that differed only along it
  /// hold the same element. dropDim also removes registers that have become replicas.
  Layout withoutDim(unsigned dim) const;
  Layout dropDim(unsigned dim) const { return withoutDim(dim).withoutFreeBits({Dim::Register}); }
  /// Inserts a dimension of size one before dimension `dim`; later dimensions move up.
  Layout insertDim(unsigned dim) const;
  /// Merges the dimensions dim and dim + 1, and splits one; the second part has size `inner`.
  Layout joinDims(unsigned dim) const;
  Layout splitDim(unsigned dim, uint64_t inner) const;
  /// Every thread holds all elements along dimension `dim` (of size one before) in new registers.
  Layout expandDim(unsigned dim, uint64_t size) const;
  /// Covers exactly the tile of `shape`: a larger layout wraps around and is replicated, a smaller
  /// one is repeated along `order` (fastest dimension first) in the input dimension `repeat`.
  Layout fit(const Space &shape, std::span<const unsigned> order, Dim repeat = Dim::Register) const;

  /// The text form, as in the head of this file.
  std::string str() const;
  static std::optional<Layout> parse(std::string_view text);
  /// A table of the locations of each element, for a tile of one or two dimensions.
  std::string picture() const;

private:
  Layout renameOut(const std::function<Dim(Dim)> &rename) const;
  Space inSpace, outSpace;
  gf2::Vectors matrix;
};

} // namespace tessera

#endif
