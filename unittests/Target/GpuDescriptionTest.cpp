//===- GpuDescriptionTest.cpp - What code generation asks of a GPU --------===//
#include "tessera/Target/GpuDescription.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(GpuDescription, Names) {
  EXPECT_EQ(GpuDescription::from("sm_90a")->chip, "sm_90");
  EXPECT_EQ(GpuDescription::from("sm_90")->ptxChip, "sm_90a");
  EXPECT_FALSE(GpuDescription::from("sm_60"));
  EXPECT_FALSE(GpuDescription::from("sm_"));
  EXPECT_TRUE(GpuDescription::knownChips().starts_with("sm_70, sm_75, sm_80"));
}

TEST(GpuDescription, CudaReleases) {
  EXPECT_EQ(GpuDescription::from("sm_70")->lastCuda, 1209u); // CUDA 13 dropped Volta
  EXPECT_EQ(GpuDescription::from("sm_80")->ptxVersion, 80u);
  EXPECT_EQ(GpuDescription::from("sm_103")->ptxVersion, 88u);
  EXPECT_EQ(GpuDescription::from("sm_103")->firstCuda, 1209u);
}

TEST(GpuDescription, Features) {
  auto has = [](const char *chip, GpuFeature feature) {
    return GpuDescription::from(chip)->has(feature);
  };
  EXPECT_FALSE(has("sm_75", GpuFeature::TileIR));
  EXPECT_TRUE(has("sm_80", GpuFeature::TileIR));
  EXPECT_TRUE(has("sm_90", GpuFeature::Wgmma));
  EXPECT_FALSE(has("sm_100", GpuFeature::Wgmma));
  // Where tensor cores read operands from shared memory.
  EXPECT_TRUE(GpuDescription::from("sm_89")->operandsInRegisters());
  EXPECT_FALSE(GpuDescription::from("sm_90")->operandsInRegisters());
  EXPECT_FALSE(GpuDescription::from("sm_103")->operandsInRegisters());
  EXPECT_TRUE(GpuDescription::from("sm_120")->operandsInRegisters());
}

TEST(GpuDescription, Occupancy) {
  GpuDescription hopper = *GpuDescription::from("sm_90");
  EXPECT_EQ(hopper.residentCtas(256, 32, 0), 8);         // warps
  EXPECT_EQ(hopper.residentCtas(256, 128, 0), 2);        // registers
  EXPECT_EQ(hopper.residentCtas(128, 33, 0), 12);        // in units of 256
  EXPECT_EQ(hopper.residentCtas(32, 95, 0), 20);         // in each of four partitions
  EXPECT_EQ(hopper.residentCtas(32, 16, 0), 32);         // CTAs
  EXPECT_EQ(hopper.residentCtas(128, 32, 100 << 10), 2); // shared memory
  EXPECT_EQ(hopper.residentCtas(128, 32, 227 << 10), 1);
  EXPECT_EQ(GpuDescription::from("sm_75")->residentCtas(256, 32, 0), 4);
  EXPECT_EQ(GpuDescription::from("sm_75")->residentCtas(32, 32, 64 << 10), 1); // none is reserved
  EXPECT_DOUBLE_EQ(hopper.occupancy(256, 128, 0), 0.25);
  EXPECT_DOUBLE_EQ(hopper.occupancy(33, 16, 0), 1); // two warps
}
