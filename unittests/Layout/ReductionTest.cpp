//===- ReductionTest.cpp - Butterfly reductions against sums --------------===//
#include "tessera/Layout/Reduction.h"
#include "RandomLayouts.h"
#include "tessera/Layout/Families.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;

namespace {

TEST(Reduction, OfAnAccumulator) {
  // Rows of an accumulator: two registers, then the four lanes of a quad.
  ReductionPlan plan = planReduction(mmaAccumulator(16, 8), {1});
  EXPECT_EQ(plan.registers, (gf2::Vectors{1}));
  EXPECT_EQ(plan.lanes, (gf2::Vectors{1 << 2, 2 << 2}));
  EXPECT_TRUE(plan.warps.empty() && plan.blocks.empty());
  EXPECT_EQ(plan.result.str(), "register[0, d0:8] lane[0, 0, d0:1, d0:2, d0:4] -> d0:16");
}

TEST(Reduction, RandomSums) {
  RandomLayouts random(31);
  unsigned acrossWarps = 0, copies = 0;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    Space in = random.places(random.upTo(3), random.upTo(3), random.upTo(2), random.upTo(1));
    Layout layout = random.covering(in, random.tile(random.upTo(in.bits())), random.upTo(1) * 6);
    ReductionPlan plan = planReduction(layout, {1});
    acrossWarps += !plan.warps.empty();
    copies += layout.freeBits() != 0;
    std::vector<uint64_t> values(layout.out().size()), sums(in.size());
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> wanted;
    for (uint64_t element = 0; element < values.size(); ++element) {
      values[element] = random.word(40);
      Point at = layout.out().unpack(element);
      wanted[{at[Dim::D0], at[Dim::D2]}] += values[element];
    }
    for (uint64_t place = 0; place < in.size(); ++place)
      sums[place] = values[layout(place)];
    uint64_t registers = in.size(Dim::Register), warp = registers << in.bits(Dim::Lane);
    for (uint64_t step : plan.registers)
      ASSERT_LT(step, registers);
    for (uint64_t step : plan.lanes)
      ASSERT_LT(step, warp);
    for (uint64_t step : gf2::concat({plan.registers, plan.lanes, plan.warps, plan.blocks})) {
      std::vector<uint64_t> before = sums;
      for (uint64_t place = 0; place < in.size(); ++place)
        sums[place] += before[place ^ step];
    }
    for (uint64_t place = 0; place < in.size(); ++place) {
      Point at = layout.out().unpack(layout(place)), left = plan.result(in.unpack(place));
      ASSERT_EQ(left, (Point{{Dim::D0, at[Dim::D0]}, {Dim::D1, at[Dim::D2]}}));
      ASSERT_EQ(sums[place], (wanted[{at[Dim::D0], at[Dim::D2]}])) << layout.str();
    }
  }
  EXPECT_GT(acrossWarps, 100u);
  EXPECT_GT(copies, 100u);
}

TEST(Reduction, Partial) {
  // Two of four warps split the rows; registers and lanes hold the rest.
  Layout tile = blocked(std::array{4u, 1024u}, {{1, 4}, {1, 32}, {2, 2}, {1, 0}});
  EXPECT_EQ(planReduction(tile, {1}).partial(1).str(),
            "register[0, 0, 0, 0, d0:2] lane[0, 0, 0, 0, 0] warp[d1:1, d0:1] -> d0:4 d1:2");
  EXPECT_EQ(planReduction(tile, {0, 1}).partial(0).str(),
            "register[0, 0, 0, 0, 0] lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4");
}

TEST(Reduction, PartialOfBlocks) {
  // CTAs hold slices of the row; each numbers its warps.
  Layout row = blocked(std::array{1024u}, {{4}, {32}, {2}, {0}, {4}});
  ReductionPlan plan = planReduction(row, {0});
  EXPECT_EQ(plan.warps.size(), 1u);
  EXPECT_EQ(plan.blocks.size(), 2u);
  EXPECT_EQ(plan.partial(0).str(),
            "register[0, 0] lane[0, 0, 0, 0, 0] warp[d0:1] block[d0:2, d0:4] -> d0:8");
}

TEST(Reduction, RandomPartials) {
  RandomLayouts random(32);
  unsigned several = 0;
  for (unsigned trial = 0; trial < 2000; ++trial) {
    Space in = random.places(random.upTo(3), random.upTo(3), random.upTo(2), random.upTo(2));
    Layout layout = random.covering(in, random.tile(random.upTo(in.bits())), random.upTo(1) * 6);
    bool isTwo = random.upTo(1);
    ReductionPlan plan = isTwo ? planReduction(layout, {0, 2}) : planReduction(layout, {1});
    unsigned last = isTwo ? 1 : 2;
    Layout partial = plan.partial(last);
    ASSERT_TRUE(partial.isSurjective());
    several += !plan.warps.empty() && !plan.blocks.empty();
    // The sets of elements that the steps within warps have combined.
    std::vector<std::map<uint64_t, unsigned>> joined(in.size());
    for (uint64_t place = 0; place < in.size(); ++place)
      joined[place] = {{layout(place), 1}};
    for (uint64_t step : gf2::concat({plan.registers, plan.lanes})) {
      auto before = joined;
      for (uint64_t place = 0; place < in.size(); ++place)
        for (auto [element, count] : before[place ^ step])
          joined[place][element] += count;
    }
    // All replicas of a partial result are the same set, and the sets partition the elements.
    std::map<uint64_t, std::map<uint64_t, unsigned>> sets;
    std::map<uint64_t, unsigned> all;
    for (uint64_t place = 0; place < in.size(); ++place) {
      auto [known, isNew] = sets.try_emplace(partial(place), joined[place]);
      ASSERT_EQ(known->second, joined[place]) << layout.str();
      for (auto [element, count] : joined[place])
        all[element] += isNew ? count : 0;
      Point kept = partial.out().unpack(partial(place)), result = plan.result(in.unpack(place));
      kept[tensorDim(last)] = 0;
      ASSERT_EQ(kept, result);
    }
    ASSERT_EQ(all.size(), layout.out().size());
    for (auto [element, count] : all)
      ASSERT_EQ(count, 1u);
  }
  EXPECT_GT(several, 100u);
}

} // namespace
