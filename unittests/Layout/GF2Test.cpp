//===- GF2Test.cpp - Linear algebra against enumeration -------------------===//
#include "RandomLayouts.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::gf2;

namespace {

std::set<uint64_t> spanOf(VectorsRef vectors) {
  std::set<uint64_t> all;
  for (uint64_t x = 0; x < uint64_t(1) << vectors.size(); ++x)
    all.insert(sum(vectors, x));
  return all;
}

TEST(GF2, SubspacesAgainstEnumeration) {
  RandomLayouts random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    unsigned bits = random.upTo(7);
    Vectors vectors(random.upTo(6));
    for (uint64_t &v : vectors)
      v = random.word(bits);
    std::set<uint64_t> all = spanOf(vectors);
    Subspace space(vectors);
    ASSERT_EQ(uint64_t(1) << space.dimension(), all.size());
    std::set<uint64_t> residues;
    for (uint64_t v = 0; v < uint64_t(1) << bits; ++v) {
      ASSERT_EQ(space.contains(v), all.count(v) == 1);
      residues.insert(space.reduce(v));
      if (auto how = space.express(v)) {
        ASSERT_EQ(sum(vectors, *how), v);
      } else {
        ASSERT_FALSE(all.count(v));
      }
    }
    ASSERT_EQ(residues.size() * all.size(), uint64_t(1) << bits);
    Vectors zeros = kernel(vectors);
    ASSERT_EQ(zeros.size() + space.dimension(), vectors.size());
    ASSERT_EQ(rank(zeros), zeros.size());
    for (uint64_t x : zeros)
      ASSERT_EQ(sum(vectors, x), 0u);
  }
}

TEST(GF2, Intersections) {
  RandomLayouts random(2);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    unsigned bits = random.upTo(7);
    Vectors a(random.upTo(5)), b(random.upTo(5));
    for (Vectors *vectors : {&a, &b})
      for (uint64_t &v : *vectors)
        v = random.word(bits);
    std::set<uint64_t> inA = spanOf(a), inB = spanOf(b), both;
    std::set_intersection(inA.begin(), inA.end(), inB.begin(), inB.end(),
                          std::inserter(both, both.end()));
    Vectors shared = intersect(a, b);
    ASSERT_EQ(spanOf(shared), both);
    ASSERT_EQ(uint64_t(1) << shared.size(), both.size());
    Vectors more = extend(a, b);
    ASSERT_EQ(spanOf(concat({a, more})), spanOf(concat({a, b})));
    ASSERT_EQ(rank(a) + more.size(), rank(concat({a, b})));
  }
}

} // namespace
