//===- GpuDescriptionTest.cpp - What is known of a GPU by its name --------===//
#include "tessera/Support/GpuDescription.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(GpuDescription, Names) {
  EXPECT_EQ(GpuDescription::from("sm_90a")->chip, "sm_90");
  EXPECT_EQ(GpuDescription::from("sm_90")->ptxChip, "sm_90a");
  EXPECT_FALSE(GpuDescription::from("sm_60"));
  EXPECT_FALSE(GpuDescription::from("sm_"));
  EXPECT_EQ(GpuDescription::knownChips(),
            "sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120");
}

TEST(GpuDescription, ReleasesOfCuda) {
  EXPECT_EQ(GpuDescription::from("sm_70")->lastCuda, 1209u); // CUDA 13 has no Volta
  EXPECT_EQ(GpuDescription::from("sm_80")->ptxVersion, 80u);
  EXPECT_EQ(GpuDescription::from("sm_103")->ptxVersion, 88u);
  EXPECT_EQ(GpuDescription::from("sm_103")->firstCuda, 1209u);
  EXPECT_FALSE(GpuDescription::from("sm_75")->hasTileIR);
}

TEST(GpuDescription, ResidentBlocks) {
  GpuDescription hopper = *GpuDescription::from("sm_90");
  EXPECT_EQ(hopper.residentBlocks(256, 32, 0), 8);          // warps
  EXPECT_EQ(hopper.residentBlocks(256, 128, 0), 2);         // registers
  EXPECT_EQ(hopper.residentBlocks(128, 33, 0), 12);         // in steps of 256
  EXPECT_EQ(hopper.residentBlocks(32, 95, 0), 20);          // in each of four parts
  EXPECT_EQ(hopper.residentBlocks(32, 16, 0), 32);          // blocks
  EXPECT_EQ(hopper.residentBlocks(128, 32, 100 << 10), 2);  // shared memory
  EXPECT_EQ(hopper.residentBlocks(128, 32, 227 << 10), 1);
  EXPECT_EQ(GpuDescription::from("sm_75")->residentBlocks(256, 32, 0), 4);
}
