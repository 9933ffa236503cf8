//===- GpuFeaturesTest.cpp - Which chip has what --------------------------===//
#include "tessera/Support/GpuFeatures.h"
#include "tessera/Support/TensorCores.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace tessera;

/// With TESSERA_WRITE_DOCS in the environment the page is written instead.
TEST(GpuFeatures, ThePageIsMadeFromTheTable) {
  const std::string mark = "<!-- made by SupportTests from lib/Support/GpuFeatures.cpp: TESSERA_WRITE_DOCS=1 -->\n";
  std::stringstream page;
  page << std::ifstream(TESSERA_CHIPS_PAGE).rdbuf();
  size_t at = page.str().find(mark);
  ASSERT_NE(at, std::string::npos) << TESSERA_CHIPS_PAGE << " has no mark";
  std::string wanted = page.str().substr(0, at) + mark + describeChips();
  if (std::getenv("TESSERA_WRITE_DOCS"))
    std::ofstream(TESSERA_CHIPS_PAGE) << wanted;
  else
    EXPECT_EQ(page.str(), wanted);
}

TEST(GpuFeatures, DescriptionsAgree) {
  for (const GpuDescription &gpu : GpuDescription::all()) {
    auto has = [&](const char *name) { return findGpuFeature(name)->isIn(gpu); };
    EXPECT_EQ(gpu.hasTileIR, has("tileir")) << gpu.chip;
    EXPECT_EQ(gpu.hasAsyncCopies, has("async copies")) << gpu.chip;
    EXPECT_EQ(gpu.hasBf16, has("bf16 arithmetic")) << gpu.chip;
    EXPECT_EQ(gpu.hasLargeMma, has("mma bf16")) << gpu.chip;
    EXPECT_EQ(gpu.hasClusters, has("clusters")) << gpu.chip;
    EXPECT_EQ(gpu.maxCluster() > 1, has("clusters")) << gpu.chip;
  }
}

TEST(GpuFeatures, Chips) {
  EXPECT_EQ(findGpuFeature("clusters")->chips(), "sm_90 and later");
  EXPECT_EQ(findGpuFeature("wgmma")->chips(), "sm_90 only");
  EXPECT_EQ(findGpuFeature("tensor memory")->chips(), "sm_100 to sm_103");
  EXPECT_EQ(findGpuFeature("tensors of fp4_e2m1")->chips(), "no chip");
  EXPECT_EQ(findGpuFeature("levitation"), nullptr);
}

TEST(TensorCores, Registers) {
  for (const TensorCoreShape &shape : tensorCoreShapes()) {
    ASSERT_TRUE(findGpuFeature(shape.feature)) << shape.feature;
    std::string type(shape.operands.substr(0, shape.operands.find(' ')));
    std::string sum(shape.sums.substr(shape.sums.rfind(' ') + 1));
    EXPECT_GE(shape.registersOfA(type), 1) << shape.name();
    EXPECT_GE(shape.registersOfB(type), 1) << shape.name();
    EXPECT_GE(shape.registersOfSum(sum), 2) << shape.name();
  }
  const TensorCoreShape &quarter = tensorCoreShapes()[0], &half = tensorCoreShapes()[2];
  EXPECT_EQ(quarter.name(), "m8n8k4");
  EXPECT_EQ(quarter.registersOfA("f16"), 2);
  EXPECT_EQ(quarter.registersOfSum("f32"), 8);
  EXPECT_EQ(half.name(), "m16n8k16");
  EXPECT_EQ(half.registersOfA("f16"), 4);
  EXPECT_EQ(half.registersOfB("f16"), 2);
  EXPECT_EQ(half.registersOfSum("f32"), 4);
  EXPECT_EQ(half.registersOfSum("f16"), 2);
  EXPECT_TRUE(hasType("s8 u8", "u8"));
  EXPECT_FALSE(hasType("bf16", "f16"));
  EXPECT_FALSE(hasType("s8 u8", ""));
}
