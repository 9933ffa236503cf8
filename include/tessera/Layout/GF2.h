//===- GF2.h - Linear algebra over GF(2) -----------------------*- C++ -*-===//
//
// GF(2) is the field of two elements, in which addition is XOR. A vector is the 64 bits of a word.
// A list of vectors stands for the subspace that it spans, or for the linear map with these
// columns: x maps to the sum of the columns that the bits of x select.
//
// One data structure solves all problems: a Subspace that grows vector by vector and records how
// each of its elements is a combination of the added vectors.
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

  /// Returns whether `v` is new. Every added vector gets the next bit of a combination, also one
  /// that is not new.
  bool add(uint64_t v);
  void add(VectorsRef vectors);

  unsigned dimension() const { return rows.size(); }
  bool contains(uint64_t v) const { return reduce(v) == 0; }
  bool contains(VectorsRef vectors) const;
  /// The representative of v's coset: equal for two vectors that differ by an element of this.
  uint64_t reduce(uint64_t v) const;
  /// The combination of added vectors, as bits of a word, whose sum is `v`. It is unique among
  /// those of vectors that were new when they were added. Nothing if `v` is not in the subspace.
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
/// A basis of the combinations of columns (as bits of words) whose sum is zero.
Vectors kernel(VectorsRef columns);
/// The `candidates`, in order, that enlarge the span of `vectors` and of the candidates before
/// them.
Vectors extend(VectorsRef vectors, VectorsRef candidates);
/// A basis of the intersection of two spans.
Vectors intersect(VectorsRef a, VectorsRef b);
/// 1, 2, 4, … 2^(n-1).
Vectors units(unsigned n);
Vectors concat(std::initializer_list<VectorsRef> lists);

} // namespace tessera::gf2

#endif
