//===- MinimumCutTest.cpp - Minimum cuts against all cuts -----------------===//
#include "tessera/Support/MinimumCut.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera;

namespace {

struct TestEdge {
  unsigned from, to;
  double capacity;
};

double capacityOf(const std::vector<TestEdge> &edges, const std::vector<bool> &isOnSourceSide) {
  double sum = 0;
  for (const TestEdge &edge : edges)
    if (isOnSourceSide[edge.from] && !isOnSourceSide[edge.to])
      sum += edge.capacity;
  return sum;
}

/// The capacity of the best cut, by trying all of them.
double bestOfAll(const std::vector<TestEdge> &edges, unsigned nodes) {
  double best = MinimumCut::kUncuttable;
  for (unsigned bits = 0; bits < 1u << (nodes - 2); ++bits) {
    std::vector<bool> side{true, false};
    for (unsigned node = 2; node < nodes; ++node)
      side.push_back(bits >> (node - 2) & 1);
    best = std::min(best, capacityOf(edges, side));
  }
  return best;
}

TEST(MinimumCut, ACutOfAChain) {
  MinimumCut cut;
  unsigned a = cut.addNode(), b = cut.addNode();
  cut.addEdge(MinimumCut::kSource, a, 5);
  cut.addEdge(a, b, 2);
  cut.addEdge(b, MinimumCut::kSink, 3);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(cut.capacity(), 2);
}

TEST(MinimumCut, NothingToCut) {
  MinimumCut cut;
  unsigned a = cut.addNode();
  cut.addEdge(a, MinimumCut::kSink, 1);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(cut.capacity(), 0);
}

TEST(MinimumCut, NoCut) {
  MinimumCut cut;
  unsigned a = cut.addNode();
  cut.addEdge(MinimumCut::kSource, a, MinimumCut::kUncuttable);
  cut.addEdge(a, MinimumCut::kSink, MinimumCut::kUncuttable);
  EXPECT_TRUE(cut.solve().empty());
}

TEST(MinimumCut, LongChains) {
  MinimumCut cut;
  unsigned last = MinimumCut::kSource;
  for (unsigned i = 0; i < 100000; ++i) {
    unsigned node = cut.addNode();
    cut.addEdge(last, node, 1 + i % 7);
    last = node;
  }
  cut.addEdge(last, MinimumCut::kSink, 9);
  EXPECT_FALSE(cut.solve().empty());
  EXPECT_EQ(cut.capacity(), 1);
}

TEST(MinimumCut, RandomGraphs) {
  std::mt19937 random(0);
  for (unsigned round = 0; round < 2000; ++round) {
    unsigned nodes = 3 + random() % 7;
    MinimumCut cut;
    for (unsigned node = 2; node < nodes; ++node)
      cut.addNode();
    std::vector<TestEdge> edges;
    for (unsigned count = random() % (3 * nodes); count; --count) {
      unsigned from = random() % nodes, to = random() % nodes;
      double capacity = random() % 5 == 0 ? MinimumCut::kUncuttable : random() % 10 * 0.5;
      if (from == to)
        continue;
      edges.push_back({from, to, capacity});
      cut.addEdge(from, to, capacity);
    }
    std::vector<bool> side = cut.solve();
    double best = bestOfAll(edges, nodes);
    EXPECT_EQ(cut.capacity(), best);
    EXPECT_EQ(side.empty(), best == MinimumCut::kUncuttable);
    if (!side.empty())
      EXPECT_EQ(capacityOf(edges, side), best);
  }
}

} // namespace
