//===- Layout.cpp - The algebra of layouts --------------------------------===//
//
// A layout is a list of columns. This file tracks which bits belong to which dimension; the linear
// algebra is in GF2.cpp.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/Layout.h"

#include <algorithm>
#include <cassert>

using namespace tessera;

static constexpr Dim dimAt(unsigned i) { return Dim(i); }
static uint64_t low(unsigned bits) { return (uint64_t(1) << bits) - 1; }

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

Space::Space(std::initializer_list<std::pair<Dim, uint64_t>> sizes) {
  for (auto [dim, size] : sizes) {
    assert(std::has_single_bit(size) && "expected sizes that are powers of two");
    setBits(dim, std::countr_zero(size));
  }
}

Space Space::tensor(std::span<const unsigned> shape) {
  assert(shape.size() <= maxRank && "expected at most eight dimensions");
  Space space;
  for (unsigned i = 0; i < shape.size(); ++i) {
    assert(std::has_single_bit(shape[i]) && "expected sizes that are powers of two");
    space.setBits(tensorDim(i), std::countr_zero(shape[i]));
  }
  return space;
}

unsigned Space::bits() const {
  unsigned sum = 0;
  for (unsigned b : log2)
    sum += b;
  assert(sum < 64 && "expected a packed point to fit into a word");
  return sum;
}

unsigned Space::shift(Dim dim) const {
  unsigned sum = 0;
  for (unsigned i = 0; i < unsigned(dim); ++i)
    sum += log2[i];
  return sum;
}

uint64_t Space::mask(DimSet dims) const {
  uint64_t mask = 0;
  for (unsigned i = 0, at = 0; i < numDims; at += log2[i++])
    if (dims.contains(dimAt(i)))
      mask |= low(log2[i]) << at;
  return mask;
}

Space Space::only(DimSet dims) const {
  Space space;
  for (unsigned i = 0; i < numDims; ++i)
    if (dims.contains(dimAt(i)))
      space.log2[i] = log2[i];
  return space;
}

uint64_t Space::pack(const Point &point) const {
  uint64_t packed = 0;
  for (unsigned i = 0, at = 0; i < numDims; at += log2[i++]) {
    assert(point.values[i] <= low(log2[i]) && "expected a coordinate inside the dimension");
    packed |= point.values[i] << at;
  }
  return packed;
}

Point Space::unpack(uint64_t packed) const {
  Point point;
  for (unsigned i = 0; i < numDims; packed >>= log2[i++])
    point.values[i] = packed & low(log2[i]);
  return point;
}

uint64_t Space::carry(uint64_t packed, const Space &to, const Space &above,
                      const std::function<Dim(Dim)> &rename) const {
  uint64_t result = 0;
  for (unsigned i = 0; i < numDims; packed >>= log2[i++]) {
    if (!log2[i])
      continue;
    Dim dim = rename ? rename(dimAt(i)) : dimAt(i);
    uint64_t value = (packed & low(log2[i])) << above.bits(dim);
    result |= (value & low(to.bits(dim))) << to.shift(dim);
  }
  return result;
}

/// Adds the bits of each dimension.
static Space operator+(const Space &a, const Space &b) {
  Space sum;
  for (unsigned i = 0; i < numDims; ++i)
    sum.setBits(dimAt(i), a.bits(dimAt(i)) + b.bits(dimAt(i)));
  return sum;
}

//===----------------------------------------------------------------------===//
// Construction and evaluation
//===----------------------------------------------------------------------===//

Layout::Layout(Space in, Space out, gf2::Vectors columns)
    : inSpace(in), outSpace(out), matrix(std::move(columns)) {
  assert(matrix.size() == in.bits() && "expected a column for each bit of a location");
  assert(std::all_of(matrix.begin(), matrix.end(), [&](uint64_t c) { return c < out.size(); }) &&
         "expected columns inside the tile");
}

Layout Layout::identity(Space space) { return Layout(space, space, gf2::units(space.bits())); }

Layout Layout::strided(Dim in, Dim out, uint64_t size, uint64_t stride) {
  gf2::Vectors columns;
  for (uint64_t i = 1; i < size; i *= 2)
    columns.push_back(i * stride);
  return Layout({{in, size}}, {{out, size > 1 ? size * stride : 1}}, std::move(columns));
}

Layout Layout::broadcast(Dim in, uint64_t size) {
  Space space{{in, size}};
  return Layout(space, {}, gf2::Vectors(space.bits()));
}

gf2::VectorsRef Layout::columns(Dim in) const {
  return columns().subspan(inSpace.shift(in), inSpace.bits(in));
}

gf2::Vectors Layout::columnsOf(DimSet ins) const {
  gf2::Vectors some;
  for (unsigned i = 0; i < numDims; ++i)
    if (ins.contains(dimAt(i)))
      some.insert(some.end(), columns(dimAt(i)).begin(), columns(dimAt(i)).end());
  return some;
}

Point Layout::operator()(const Point &place) const {
  return outSpace.unpack((*this)(inSpace.pack(place)));
}

//===----------------------------------------------------------------------===//
// Composition, product, quotient, inverses
//===----------------------------------------------------------------------===//

Layout Layout::then(const Layout &next) const {
  gf2::Vectors columns;
  for (uint64_t column : matrix) {
    assert(next.in().carry(outSpace.carry(column, next.in()), outSpace) == column &&
           "expected outputs that are inputs of the second layout");
    columns.push_back(next(outSpace.carry(column, next.in())));
  }
  return Layout(inSpace, next.out(), std::move(columns));
}

Layout Layout::operator*(const Layout &outer) const {
  Space in = inSpace + outer.in(), out = outSpace + outer.out();
  gf2::Vectors columns;
  for (unsigned i = 0; i < numDims; ++i) {
    for (uint64_t column : this->columns(dimAt(i)))
      columns.push_back(outSpace.carry(column, out));
    for (uint64_t column : outer.columns(dimAt(i)))
      columns.push_back(outer.out().carry(column, out, outSpace));
  }
  return Layout(in, out, std::move(columns));
}

std::optional<Layout> Layout::divideLeft(const Layout &tile) const {
  Space in, out;
  for (unsigned i = 0; i < numDims; ++i) {
    Dim dim = dimAt(i);
    if (tile.in().bits(dim) > inSpace.bits(dim) || tile.out().bits(dim) > outSpace.bits(dim))
      return std::nullopt;
    in.setBits(dim, inSpace.bits(dim) - tile.in().bits(dim));
    out.setBits(dim, outSpace.bits(dim) - tile.out().bits(dim));
  }
  gf2::Vectors columns;
  for (unsigned i = 0; i < numDims; ++i)
    for (uint64_t column : this->columns(dimAt(i)).subspan(tile.in().bits(dimAt(i)))) {
      Point point = outSpace.unpack(column);
      for (unsigned d = 0; d < numDims; ++d)
        point.values[d] >>= tile.out().bits(dimAt(d));
      columns.push_back(out.pack(point));
    }
  Layout quotient(in, out, std::move(columns));
  if (tile * quotient != *this)
    return std::nullopt;
  return quotient;
}

std::optional<Layout> Layout::inverse() const {
  return isInjective() ? rightInverse() : std::nullopt;
}

std::optional<Layout> Layout::rightInverse() const {
  gf2::Subspace image(matrix);
  gf2::Vectors columns;
  for (uint64_t element : gf2::units(outSpace.bits())) {
    std::optional<uint64_t> place = image.express(element);
    if (!place)
      return std::nullopt;
    columns.push_back(*place);
  }
  return Layout(outSpace, inSpace, std::move(columns));
}

std::optional<Layout> Layout::leftInverse() const {
  if (!isInjective())
    return std::nullopt;
  // The columns and some unit vectors span the whole tile; the unit vectors map to zero.
  gf2::Subspace tile(matrix);
  tile.add(gf2::units(outSpace.bits()));
  gf2::Vectors columns;
  for (uint64_t element : gf2::units(outSpace.bits()))
    columns.push_back(*tile.express(element) & low(inSpace.bits()));
  return Layout(outSpace, inSpace, std::move(columns));
}

//===----------------------------------------------------------------------===//
// Sublayouts and replication
//===----------------------------------------------------------------------===//

Layout Layout::sublayout(DimSet ins, DimSet outs) const {
  Space out = outSpace.only(outs);
  gf2::Vectors columns = columnsOf(ins);
  for (uint64_t &column : columns)
    column = outSpace.carry(column, out);
  return Layout(inSpace.only(ins), out, std::move(columns));
}

uint64_t Layout::freeBits() const {
  uint64_t free = 0;
  gf2::Subspace image;
  for (size_t i = 0; i < matrix.size(); ++i)
    if (!image.add(matrix[i]))
      free |= uint64_t(1) << i;
  return free;
}

Layout Layout::withoutFreeBits(DimSet ins) const {
  uint64_t gone = freeBits() & inSpace.mask(ins);
  Space in;
  for (unsigned i = 0; i < numDims; ++i)
    in.setBits(dimAt(i), inSpace.bits(dimAt(i)) - std::popcount(gone & inSpace.mask({dimAt(i)})));
  gf2::Vectors columns;
  for (size_t i = 0; i < matrix.size(); ++i)
    if (!(gone >> i & 1))
      columns.push_back(matrix[i]);
  return Layout(in, outSpace, std::move(columns));
}

Layout Layout::broadcastTo(const Space &space) const {
  Layout result = *this;
  for (unsigned i = 0; i < numDims; ++i)
    if (space.bits(dimAt(i)) > inSpace.bits(dimAt(i)))
      result = result * broadcast(dimAt(i), space.size(dimAt(i)) >> inSpace.bits(dimAt(i)));
  return result;
}

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

Layout Layout::reshape(Space shape) const {
  assert(shape.bits() == outSpace.bits() && "expected as many elements as before");
  return Layout(inSpace, shape, matrix);
}

Layout Layout::renameOut(const std::function<Dim(Dim)> &rename) const {
  Space out;
  for (unsigned i = 0; i < numDims; ++i)
    if (outSpace.bits(dimAt(i)))
      out.setBits(rename(dimAt(i)), outSpace.bits(dimAt(i)));
  gf2::Vectors columns;
  for (uint64_t column : matrix)
    columns.push_back(outSpace.carry(column, out, {}, rename));
  return Layout(inSpace, out, std::move(columns));
}

Layout Layout::transpose(std::span<const unsigned> order) const {
  return renameOut([&](Dim dim) {
    for (unsigned i = 0; i < order.size(); ++i)
      if (tensorDim(order[i]) == dim)
        return tensorDim(i);
    return dim;
  });
}

/// A renaming that shifts the dimensions from `first` on by `by`.
static std::function<Dim(Dim)> moveFrom(unsigned first, int by) {
  return
      [=](Dim dim) { return dim <= tensorDim(first) && dim >= Dim::D7 ? Dim(int(dim) - by) : dim; };
}

Layout Layout::withoutDim(unsigned dim) const {
  return sublayout(allDims, ~DimSet{tensorDim(dim)}).renameOut(moveFrom(dim + 1, -1));
}

Layout Layout::insertDim(unsigned dim) const {
  assert(outSpace.bits(tensorDim(maxRank - 1)) == 0 && "expected room for a dimension");
  return renameOut(moveFrom(dim, 1));
}

Layout Layout::joinDims(unsigned dim) const {
  Space shape = outSpace;
  shape.setBits(tensorDim(dim), shape.bits(tensorDim(dim)) + shape.bits(tensorDim(dim + 1)));
  shape.setBits(tensorDim(dim + 1), 0);
  return reshape(shape).renameOut(moveFrom(dim + 2, -1));
}

Layout Layout::splitDim(unsigned dim, uint64_t inner) const {
  Layout wider = insertDim(dim + 1);
  Space shape = wider.out();
  assert(inner <= shape.size(tensorDim(dim)) && "expected a part of the dimension");
  shape.setBits(tensorDim(dim + 1), std::countr_zero(inner));
  shape.setBits(tensorDim(dim), shape.bits(tensorDim(dim)) - std::countr_zero(inner));
  return wider.reshape(shape);
}

Layout Layout::expandDim(unsigned dim, uint64_t size) const {
  assert(outSpace.bits(tensorDim(dim)) == 0 && "expected a dimension of size one");
  return *this * strided(Dim::Register, tensorDim(dim), size);
}

Layout Layout::fit(const Space &shape, std::span<const unsigned> order, Dim repeat) const {
  gf2::Vectors columns;
  for (uint64_t column : matrix)
    columns.push_back(outSpace.carry(column, shape));
  Space covered = shape;
  for (unsigned i = 0; i < numDims; ++i)
    covered.setBits(dimAt(i), std::min(shape.bits(dimAt(i)), outSpace.bits(dimAt(i))));
  for (uint64_t &column : columns)
    column = shape.carry(column, covered);
  Layout result(inSpace, covered, std::move(columns));
  for (unsigned dim : order) {
    Dim d = tensorDim(dim);
    result = result * strided(repeat, d, shape.size(d) >> covered.bits(d));
  }
  assert(result.out() == shape && "expected an order that names every dimension");
  return result;
}
