//===- TuningTableTest.cpp - Tables are parsed, malformed lines are reported -===//
#include "tessera/Support/TuningTable.h"

#include "gtest/gtest.h"

using namespace tessera;

namespace {

const std::string kHead = "tessera tuning 2 sm_90\n";
const std::string kKey = "0123456789abcdef";

TEST(TuningTable, Lines) {
  std::vector<std::string> problems;
  TuningTable table = TuningTable::parse(
      kHead + "# kernel tiles fields ms first\n\n" + kKey +
          "  ptx 128x64x256\traster_group=8,num_warps=8  1.25 1.5 -  a row, NVIDIA H200 \r\n"
          "fedcba9876543210 tileir 1 - 1 1 -\n",
      "sm_90", {}, problems);
  EXPECT_TRUE(problems.empty());
  const MeasuredChoice *choice = table.find(kKey, "ptx");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->tiles, (std::vector<int64_t>{128, 64, 256}));
  using Fields = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(choice->fields, (Fields{{"raster_group", 8}, {"num_warps", 8}}));
  EXPECT_EQ(choice->milliseconds, 1.25);
  EXPECT_EQ(choice->firstMilliseconds, 1.5);
  EXPECT_EQ(choice->origin, "a row, NVIDIA H200");
  EXPECT_EQ(choice->line, 4u);
  EXPECT_TRUE(table.find("fedcba9876543210", "tileir")->fields.empty());
  EXPECT_FALSE(table.find("0000000000000000", "ptx"));
}

TEST(TuningTable, TheLastLineOfAKernelCounts) {
  std::vector<std::string> problems;
  TuningTable table = TuningTable::parse(
      kHead + kKey + " ptx 1 - 1 1 -\n" + kKey + " ptx 2 - 1 1 -", "sm_90", {}, problems);
  EXPECT_EQ(table.find(kKey, "ptx")->tiles.front(), 2);
}

TEST(TuningTable, BrokenLinesAreLeftOut) {
  for (const char *line :
       {"0123 ptx 1 - 1 1 -", "0123456789abcdef gpu 1 - 1 1 -", "0123456789abcdef ptx 1 - 1 1",
        "0123456789abcdeG ptx 1 - 1 1 -", "0123456789abcdef", "0123456789abcdef ptx 0 - 1 1 -",
        "0123456789abcdef ptx 1x - 1 -", "0123456789abcdef ptx 1y2 - 1 1 -",
        "0123456789abcdef ptx 1 warps 1 1 -", "0123456789abcdef ptx 1 =4 1 1 -",
        "0123456789abcdef ptx 1 num_warps=4,, 1 1 -", "0123456789abcdef ptx 1 - 0 1 -",
        "0123456789abcdef ptx 1 - 1 nan -", "0123456789abcdef ptx 1 - 1e999 1 -", "\xff\xfe\x01"}) {
    std::vector<std::string> problems;
    TuningTable table = TuningTable::parse(kHead + line + "\nfedcba9876543210 tileir 1 - 1 1 -\n",
                                           "sm_90", {}, problems);
    ASSERT_EQ(problems.size(), 1u) << line;
    EXPECT_EQ(problems[0].rfind("line 2: expected ", 0), 0u) << problems[0];
    EXPECT_FALSE(table.find(kKey, "ptx")) << line;
    EXPECT_TRUE(table.find("fedcba9876543210", "tileir"));
  }
}

/// A kernel has one choice for each backend, and those of other compilers and drivers do not count.
TEST(TuningTable, BackendsAndVersions) {
  std::vector<std::string> problems;
  std::string text = kHead + kKey + " ptx 1 - 1 1 0.1.0/13.0\n" + kKey +
                     " tileir 2 - 1 1 0.1.0/-\n" + kKey + " cpu 4 - 1 1 0.1.0\n";
  auto tile = [&](const char *via, const TuningVersions &versions) -> int64_t {
    TuningTable table = TuningTable::parse(text, "sm_90", versions, problems);
    const MeasuredChoice *choice = table.find(kKey, via);
    return choice ? choice->tiles.front() : 0;
  };
  EXPECT_EQ(tile("ptx", {"0.1.0", "13.0"}), 1);
  EXPECT_EQ(tile("ptx", {"0.1.0", ""}), 1);
  EXPECT_EQ(tile("ptx", {"0.1.0", "12.8"}), 0);
  EXPECT_EQ(tile("ptx", {"0.2.0", "13.0"}), 0);
  EXPECT_EQ(tile("tileir", {"0.1.0", "12.8"}), 2);
  EXPECT_EQ(tile("cpu", {"0.1.0", "12.8"}), 4);
  EXPECT_TRUE(problems.empty());
}

TEST(TuningTable, OtherHeadsAreRefused) {
  for (const char *head : {"", "tessera tuning 1 sm_90", "tessera tuning 2 sm_80", "rubbish"}) {
    std::vector<std::string> problems;
    std::string text = std::string(head) + "\n" + kKey + " ptx 1 - 1 1 -\n";
    EXPECT_TRUE(TuningTable::parse(text, "sm_90", {}, problems).empty());
    ASSERT_EQ(problems.size(), 1u);
    std::string expected = "line 1: expected 'tessera tuning 2 sm_90', got '";
    EXPECT_EQ(problems[0], expected + head + "'");
  }
}

TEST(TuningTable, NoFileIsNoProblem) {
  std::vector<std::string> problems;
  EXPECT_TRUE(TuningTable::read("/nowhere/tuning-sm_90.txt", "sm_90", {}, problems).empty());
  EXPECT_TRUE(problems.empty());
}

} // namespace
