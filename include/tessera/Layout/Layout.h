//===- Layout.h - Layouts as linear maps over bits -------------*- C++ -*-===//
//
// A layout says which element of a tile each place of the machine holds: it maps (register, lane,
// warp, block), or an offset in shared memory, to (d0, d1, …). All sizes are powers of two, and all
// layouts that machines like are linear over GF(2) (arXiv 2505.23819): if two places hold the
// elements x and y, the place whose coordinates are the exclusive or of theirs holds x ^ y. So a
// layout is known by its bases, the elements at the places 1, 2, 4, … of each input dimension:
//
//   register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8
//
// is the accumulator of a warp's m16n8 tensor-core instruction. Register 3 of lane 6 = 2 + 4 holds
// (d1:1 ^ d0:8) ^ (d1:4 ^ d0:1) = element (9, 5). A basis 0 means that the bit does not matter: two
// places hold the same element. Swizzles are bases in which more than one coordinate moves.
//
// With this, composition is the product of matrices, "who holds element x" is an inverse, "do these
// two layouts agree within a warp" is the solution of a linear system, and nothing is a special
// case.
//
// A Space is a list of dimensions that is always in the order of `Dim`: the first is the fastest.
// Tensor dimensions run backward in it, so that a packed element is its row-major index, and a
// reshape changes no bit. A dimension of size one and a dimension that is absent are the same.
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

/// Round counts the steps of a schedule (Conversion.h), Offset the elements of shared memory.
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

/// What a thread is.
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

/// The sizes of dimensions, and how a point is packed into a word.
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
  /// A packed point of this space in another one: coordinates keep their dimensions, or go where
  /// `rename` says, moved up by the bits that `above` has there; what does not fit is cut off.
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
  /// `columns[i]` is the packed element at the place whose packed coordinates are 1 << i.
  Layout(Space in, Space out, gf2::Vectors columns);

  static Layout identity(Space space);
  /// One dimension to one: i goes to i * stride; the output has the size that holds it.
  static Layout strided(Dim in, Dim out, uint64_t size, uint64_t stride = 1);
  /// All places of `in` hold the same element.
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

  /// First this, then `next`, which takes what this gives.
  Layout then(const Layout &next) const;
  /// The two side by side: `outer` repeats this layout as a tile. In every dimension, this has the
  /// low bits and `outer` the high ones.
  Layout operator*(const Layout &outer) const;
  /// The layout q for which `tile * q` is this one.
  std::optional<Layout> divideLeft(const Layout &tile) const;

  /// Of a bijection.
  std::optional<Layout> inverse() const;
  /// Of a surjection: one place of each element, with free bits zero. `r.then(*this)` is the
  /// identity.
  std::optional<Layout> rightInverse() const;
  /// Of an injection: `this->then(l)` is the identity; elements that no place holds go anywhere.
  std::optional<Layout> leftInverse() const;

  /// The inputs `ins` alone (the others at zero), of the outputs the coordinates `outs`.
  Layout sublayout(DimSet ins, DimSet outs = allDims) const;
  /// The bits of a packed place that add nothing to those before them. Every element that is held
  /// is held by a place at which they are all zero.
  uint64_t freeBits() const;
  /// Without the free bits of the given dimensions, which shrink.
  Layout withoutFreeBits(DimSet ins) const;
  /// The same with input dimensions of at least the sizes of `space`: new bits do not matter.
  Layout broadcastTo(const Space &space) const;

  /// The same bits under other output dimensions.
  Layout reshape(Space shape) const;
  /// Dimension i of the result is dimension `order[i]` of this layout.
  Layout transpose(std::span<const unsigned> order) const;
  Layout transpose(std::initializer_list<unsigned> order) const {
    return transpose(std::span(order.begin(), order.size()));
  }
  /// Without dimension `dim`: later dimensions move down, and places that differed along it alone
  /// hold the same. With dropDim, registers that now hold the same element as another are gone.
  Layout withoutDim(unsigned dim) const;
  Layout dropDim(unsigned dim) const { return withoutDim(dim).withoutFreeBits({Dim::Register}); }
  /// With a dimension of size one before dimension `dim`; later dimensions move up.
  Layout insertDim(unsigned dim) const;
  /// The dimensions dim and dim + 1 as one, and back: the second part has size `inner`.
  Layout joinDims(unsigned dim) const;
  Layout splitDim(unsigned dim, uint64_t inner) const;
  /// Every thread holds, by new registers, all elements along dimension `dim` (of size one before).
  Layout expandDim(unsigned dim, uint64_t size) const;
  /// Covers exactly the tile of `shape`: a larger layout wraps (its places beyond hold what is held
  /// already), a smaller one is repeated along `order` (fastest dimension first) by `repeat`.
  Layout fit(const Space &shape, std::span<const unsigned> order, Dim repeat = Dim::Register) const;

  /// The text of the head of this file.
  std::string str() const;
  static std::optional<Layout> parse(std::string_view text);
  /// Who holds each element of a tile of one or two dimensions, as a table.
  std::string picture() const;

private:
  Layout renameOut(const std::function<Dim(Dim)> &rename) const;
  Space inSpace, outSpace;
  gf2::Vectors matrix;
};

} // namespace tessera

#endif
