//===- ReductionTest.cpp - Butterflies against sums -----------------------===//
#include "tessera/Layout/Reduction.h"
#include "RandomLayouts.h"
#include "tessera/Layout/Families.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;

namespace {

TEST(Reduction, OfAnAccumulator) {
  // Rows of an accumulator: two registers, then the four lanes of a quad.
  ReductionPlan plan = planReduction(mmaAccumulator(16, 8), 1);
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
    ReductionPlan plan = planReduction(layout, 1);
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

} // namespace
