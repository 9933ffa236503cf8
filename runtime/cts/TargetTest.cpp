//===- TargetTest.cpp - Which code runs on which target -------------------===//

#include "tessera_rt/target.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

TEST(Target, Chips) {
  Chip chip;
  ASSERT_TRUE(parseChip("sm_90:tileir", chip));
  EXPECT_EQ(chip.str(), "sm_90");
  ASSERT_TRUE(parseChip("sm_103a", chip));
  EXPECT_EQ(chip.major, 10);
  EXPECT_EQ(chip.minor, 3);
  EXPECT_EQ(chip.suffix, 'a');
  EXPECT_EQ(chip.str(), "sm_103a");
  for (const char *wrong : {"", "sm_", "sm_9", "sm_9x", "sm_1000", "sm_90b", "x86_64:", "SM_90"})
    EXPECT_FALSE(parseChip(wrong, chip)) << wrong;
}

TEST(Target, Backends) {
  EXPECT_TRUE(hasBackend("sm_90:tileir,x86_64", "tileir"));
  EXPECT_FALSE(hasBackend("sm_90:tileir,x86_64", "ptx"));
  EXPECT_FALSE(hasBackend("sm_90", "ptx"));
  EXPECT_FALSE(hasBackend("sm_90:ptxas", "ptx"));
}

TEST(Target, Fits) {
  std::string why;
  auto fit = [&](const char *target, bool isPtx, Chip device) {
    return chipFit(target, isPtx, device, why);
  };
  const Chip ampere = {8, 0}, ada = {8, 9}, hopper = {9, 0}, blackwell = {10, 3};
  EXPECT_EQ(fit("sm_80", false, ampere), Fit::Exact);
  EXPECT_EQ(fit("sm_80", false, ada), Fit::Later);
  EXPECT_EQ(fit("sm_89", false, ampere), Fit::None);
  EXPECT_EQ(why, "the code is for sm_89, the GPU is sm_80");
  EXPECT_EQ(fit("sm_80", false, hopper), Fit::None);
  EXPECT_EQ(fit("sm_80", true, hopper), Fit::Compiled);
  EXPECT_EQ(fit("sm_90", true, ada), Fit::None);
  EXPECT_EQ(why, "the code is for sm_90 (PTX), the GPU is sm_89");
  EXPECT_EQ(fit("sm_90a:ptx", false, hopper), Fit::Exact);
  EXPECT_EQ(fit("sm_90a:ptx", true, blackwell), Fit::None);
  EXPECT_EQ(fit("sm_100f", false, blackwell), Fit::Later);
  EXPECT_EQ(fit("sm_100a", false, blackwell), Fit::None);
  EXPECT_EQ(fit("sm_90:warp-drive", false, hopper), Fit::None);
  EXPECT_NE(why.find("'warp-drive'"), std::string::npos);
  std::string host = hostTarget().substr(0, hostTarget().find(':'));
  std::string other = host == "x86_64" ? "aarch64" : "x86_64";
  EXPECT_EQ(fit(("sm_90:tileir," + host).c_str(), false, hopper), Fit::Exact);
  EXPECT_EQ(fit(("sm_90:tileir," + other).c_str(), false, hopper), Fit::None);
  EXPECT_EQ(why, "the code needs a host of " + other + ", this machine is " + host);
}
