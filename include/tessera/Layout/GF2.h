//===- GF2.h - Vectors of bits ---------------------------------*- C++ -*-===//
//
// Linear algebra over GF(2), the field of two elements in which addition is exclusive or. A vector
// is the 64 bits of a word; a list of vectors stands for the subspace that it spans, or for the
// linear map whose columns it holds: x goes to the sum of the columns that x's bits select.
//
// All questions are answered by one structure, a Subspace that is grown vector by vector and knows
// how each of its elements is made of the vectors that were added.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_GF2_H
#define TESSERA_LAYOUT_GF2_H

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::gf2 {

using Vectors = std::vector<uint64_t>;
using VectorsRef = std::span<const uint64_t>;

/// The sum of the columns that the bits of `x` select.
uint64_t sum(VectorsRef columns, uint64_t x);

/// A subspace with a basis in echelon form.
class Subspace {
public:
  Subspace() = default;
  explicit Subspace(VectorsRef vectors) { add(vectors); }

  /// Whether `v` was not in it. Added vectors are counted, those that were in it too.
  bool add(uint64_t v);
  void add(VectorsRef vectors);

  unsigned dimension() const { return rows.size(); }
  bool contains(uint64_t v) const { return reduce(v) == 0; }
  bool contains(VectorsRef vectors) const;
  /// The representative of v's coset: equal for two vectors that differ by an element of this.
  uint64_t reduce(uint64_t v) const;
  /// The added vectors, by the bits of a word, whose sum is `v`: the only such set of those that
  /// were not in the subspace when they were added. Nothing if `v` is not in it.
  std::optional<uint64_t> express(uint64_t v) const;

private:
  struct Row {
    uint64_t vector;      // its leading bit is in no other row below it
    uint64_t combination; // of the added vectors
  };
  Row reduceRow(uint64_t v) const;
  std::vector<Row> rows; // by leading bit, highest first
  unsigned added = 0;
};

unsigned rank(VectorsRef vectors);
/// A basis of the sets of columns (bits of words) whose sum is zero.
Vectors kernel(VectorsRef columns);
/// Of `candidates`, in order, those that enlarge the span of `vectors` and of the ones taken
/// before.
Vectors extend(VectorsRef vectors, VectorsRef candidates);
/// A basis of what two spans share.
Vectors intersect(VectorsRef a, VectorsRef b);
/// 1, 2, 4, … 2^(n-1).
Vectors units(unsigned n);
Vectors concat(std::initializer_list<VectorsRef> lists);

} // namespace tessera::gf2

#endif
