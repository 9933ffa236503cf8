#include "tessera/Support/ScheduleOverride.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(ScheduleOverride, Groups) {
  std::string error;
  auto found = parseScheduleOverrides(
      " tile.m=128, num_stages=4 ;; kernel=f_1,persistent_ctas=none,backend=ptx;", error);
  ASSERT_TRUE(found) << error;
  ASSERT_EQ(found->size(), 2u);
  const ScheduleOverride &first = found->front(), &second = found->back();
  EXPECT_EQ(first.kernel, "0");
  EXPECT_EQ(first.tiles, (std::vector<std::pair<std::string, int64_t>>{{"m", 128}}));
  ASSERT_EQ(first.fields.size(), 1u);
  EXPECT_EQ(first.fields[0].first, "num_stages");
  EXPECT_EQ(first.fields[0].second, 4);
  EXPECT_EQ(second.kernel, "f_1");
  EXPECT_EQ(second.backend, "ptx");
  ASSERT_EQ(second.fields.size(), 1u);
  EXPECT_FALSE(second.fields[0].second);
  EXPECT_TRUE(parseScheduleOverrides("", error)->empty());
}

TEST(ScheduleOverride, Errors) {
  auto errorOf = [](const char *text) {
    std::string error;
    EXPECT_FALSE(parseScheduleOverrides(text, error));
    return error;
  };
  EXPECT_EQ(errorOf("tile.m"), "expected KEY=VALUE, got 'tile.m'");
  EXPECT_EQ(errorOf("=4"), "expected KEY=VALUE, got '=4'");
  EXPECT_EQ(errorOf("tile.m=0"), "expected a positive number for 'tile.m', got '0'");
  EXPECT_EQ(errorOf("tile.=4"), "expected a positive number for 'tile.', got '4'");
  EXPECT_EQ(errorOf("tile.m=none"), "expected a positive number for 'tile.m', got 'none'");
  EXPECT_EQ(errorOf("num_warps=4x"), "expected a number or none for 'num_warps', got '4x'");
  EXPECT_EQ(errorOf("num_warps=99999999999999999999"),
            "expected a number or none for 'num_warps', got '99999999999999999999'");
  EXPECT_EQ(errorOf("backend=cpu"), "expected ptx or tileir for 'backend', got 'cpu'");
}
