//===- TuningTableTest.cpp - Tables are parsed, malformed lines are reported -===//
#include "tessera/Support/TuningTable.h"

#include "gtest/gtest.h"

using namespace tessera;

namespace {

const std::string kHead = "tessera tuning 1 sm_90\n";
const std::string kKey = "0123456789abcdef";

TEST(TuningTable, Lines) {
  std::vector<std::string> problems;
  TuningTable table = TuningTable::parse(
      kHead + "# kernel tiles fields ms first\n\n" + kKey +
          "  128x64x256\traster_group=8,num_warps=8  1.25 1.5  a row, NVIDIA H200 \r\n"
          "fedcba9876543210 1 - 1 1\n",
      "sm_90", problems);
  EXPECT_TRUE(problems.empty());
  const MeasuredChoice *choice = table.find(kKey);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->tiles, (std::vector<int64_t>{128, 64, 256}));
  using Fields = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(choice->fields, (Fields{{"raster_group", 8}, {"num_warps", 8}}));
  EXPECT_EQ(choice->milliseconds, 1.25);
  EXPECT_EQ(choice->firstMilliseconds, 1.5);
  EXPECT_EQ(choice->origin, "a row, NVIDIA H200");
  EXPECT_EQ(choice->line, 4u);
  EXPECT_TRUE(table.find("fedcba9876543210")->fields.empty());
  EXPECT_FALSE(table.find("0000000000000000"));
}

TEST(TuningTable, TheLastLineOfAKernelCounts) {
  std::vector<std::string> problems;
  TuningTable table =
      TuningTable::parse(kHead + kKey + " 1 - 1 1\n" + kKey + " 2 - 1 1", "sm_90", problems);
  EXPECT_EQ(table.find(kKey)->tiles.front(), 2);
}

TEST(TuningTable, BrokenLinesAreLeftOut) {
  for (const char *line :
       {"0123 1 - 1 1", "0123456789abcdeG 1 - 1 1", "0123456789abcdef", "0123456789abcdef 0 - 1 1",
        "0123456789abcdef 1x - 1", "0123456789abcdef 1y2 - 1 1", "0123456789abcdef 1 warps 1 1",
        "0123456789abcdef 1 =4 1 1", "0123456789abcdef 1 num_warps=4,, 1 1",
        "0123456789abcdef 1 - 0 1", "0123456789abcdef 1 - 1 nan", "0123456789abcdef 1 - 1e999 1",
        "\xff\xfe\x01"}) {
    std::vector<std::string> problems;
    TuningTable table =
        TuningTable::parse(kHead + line + "\nfedcba9876543210 1 - 1 1\n", "sm_90", problems);
    ASSERT_EQ(problems.size(), 1u) << line;
    EXPECT_EQ(problems[0].rfind("line 2: expected ", 0), 0u) << problems[0];
    EXPECT_FALSE(table.find(kKey)) << line;
    EXPECT_TRUE(table.find("fedcba9876543210"));
  }
}

TEST(TuningTable, OtherHeadsAreRefused) {
  for (const char *head : {"", "tessera tuning 2 sm_90", "tessera tuning 1 sm_80", "rubbish"}) {
    std::vector<std::string> problems;
    std::string text = std::string(head) + "\n" + kKey + " 1 - 1 1\n";
    EXPECT_TRUE(TuningTable::parse(text, "sm_90", problems).empty());
    ASSERT_EQ(problems.size(), 1u);
    std::string expected = "line 1: expected 'tessera tuning 1 sm_90', got '";
    EXPECT_EQ(problems[0], expected + head + "'");
  }
}

TEST(TuningTable, NoFileIsNoProblem) {
  std::vector<std::string> problems;
  EXPECT_TRUE(TuningTable::read("/nowhere/tuning-sm_90.txt", "sm_90", problems).empty());
  EXPECT_TRUE(problems.empty());
}

} // namespace
