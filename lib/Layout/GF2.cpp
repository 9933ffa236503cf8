//===- GF2.cpp - Linear algebra over GF(2) --------------------------------===//
//
// Rows are ordered by their leading bits, highest first. One iteration over them clears every
// leading bit of a vector; the remainder is the same for all vectors of a coset.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/GF2.h"

#include <algorithm>
#include <cassert>

namespace tessera::gf2 {

uint64_t sum(VectorsRef columns, uint64_t x) {
  uint64_t total = 0;
  for (; x; x &= x - 1) {
    assert(unsigned(std::countr_zero(x)) < columns.size() && "expected a column for each bit");
    total ^= columns[std::countr_zero(x)];
  }
  return total;
}

Subspace::Row Subspace::reduceRow(uint64_t v) const {
  Row rest{v, 0};
  for (const Row &row : rows)
    if (rest.vector & std::bit_floor(row.vector)) {
      rest.vector ^= row.vector;
      rest.combination ^= row.combination;
    }
  return rest;
}

bool Subspace::add(uint64_t v) {
  assert(added < 64 && "expected at most 64 vectors");
  Row row = reduceRow(v);
  row.combination |= uint64_t(1) << added++;
  if (!row.vector)
    return false;
  auto lower = [&](const Row &other) { return other.vector < row.vector; };
  rows.insert(std::find_if(rows.begin(), rows.end(), lower), row);
  return true;
}

void Subspace::add(VectorsRef vectors) {
  for (uint64_t v : vectors)
    add(v);
}

uint64_t Subspace::reduce(uint64_t v) const { return reduceRow(v).vector; }

bool Subspace::contains(VectorsRef vectors) const {
  return std::all_of(vectors.begin(), vectors.end(), [&](uint64_t v) { return contains(v); });
}

std::optional<uint64_t> Subspace::express(uint64_t v) const {
  Row rest = reduceRow(v);
  if (rest.vector)
    return std::nullopt;
  return rest.combination;
}

unsigned rank(VectorsRef vectors) { return Subspace(vectors).dimension(); }

Vectors kernel(VectorsRef columns) {
  Vectors basis;
  Subspace image;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (auto others = image.express(columns[i]))
      basis.push_back(*others | uint64_t(1) << i);
    image.add(columns[i]);
  }
  return basis;
}

Vectors extend(VectorsRef vectors, VectorsRef candidates) {
  Vectors taken;
  Subspace space(vectors);
  for (uint64_t v : candidates)
    if (!space.contains(v)) {
      space.add(v);
      taken.push_back(v);
    }
  return taken;
}

Vectors intersect(VectorsRef a, VectorsRef b) {
  // If a sum of vectors of a and of vectors of b is zero, both parts are the same vector.
  Vectors left = extend({}, a), right = extend({}, b), shared;
  for (uint64_t both : kernel(concat({left, right})))
    shared.push_back(sum(left, both & ((uint64_t(1) << left.size()) - 1)));
  return shared;
}

Vectors units(unsigned n) {
  Vectors vectors(n);
  for (unsigned i = 0; i < n; ++i)
    vectors[i] = uint64_t(1) << i;
  return vectors;
}

Vectors concat(std::initializer_list<VectorsRef> lists) {
  Vectors all;
  for (VectorsRef list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace tessera::gf2
