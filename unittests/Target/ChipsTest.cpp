//===- ChipsTest.cpp - The tables of targets ------------------------------===//
#include "tessera/Target/Chips.h"
#include "tessera/Target/CudaLimits.h"
#include "tessera/Target/Roofline.h"
#include "tessera/Target/TensorCores.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace tessera;

/// With TESSERA_WRITE_DOCS in the environment the page is written instead.
TEST(Chips, ThePageIsMadeFromTheTable) {
  const std::string mark =
      "<!-- made by TargetTests from lib/Target/Chips.cpp and Cpus.cpp: TESSERA_WRITE_DOCS=1 -->\n";
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

/// The runtime's messages name limits of the table.
TEST(Chips, TheRuntimeHasTheLimitsOfTheTable) {
  std::stringstream file;
  file << std::ifstream(TESSERA_RUNTIME_LIMITS).rdbuf();
  if (std::getenv("TESSERA_WRITE_DOCS"))
    std::ofstream(TESSERA_RUNTIME_LIMITS) << describeRuntimeLimits();
  else
    EXPECT_EQ(file.str(), describeRuntimeLimits());
}

/// What every entry must satisfy, so that a new one with a slip is found.
TEST(Chips, EntriesAreConsistent) {
  int last = 0;
  for (const Chip &chip : chips()) {
    std::string name = chip.name();
    EXPECT_GT(chip.number, last) << name;
    last = chip.number;
    EXPECT_TRUE(chip.ptxName == name || chip.ptxName == name + "a") << name;
    EXPECT_LE(chip.firstCuda, chip.lastCuda) << name;
    EXPECT_GE(chip.ptxVersion, 80u) << name;
    // The occupancy rule reads the reserved bytes from the difference.
    int64_t reserved = chip.sm.sharedBytes - chip.sm.sharedBytesPerCta;
    EXPECT_TRUE(reserved == 0 || reserved == CudaLimits::reservedSharedBytes) << name;
    EXPECT_EQ(chip.maxCluster > 1, chip.features.has(GpuFeature::Clusters)) << name;
    EXPECT_LE(chip.maxCluster, CudaLimits::ctasPerCluster) << name;
    EXPECT_FALSE(chip.features.has(GpuFeature::Wgmma) &&
                 chip.features.has(GpuFeature::TensorMemory))
        << name;
    for (double rate : {double(chip.peak.bytes), double(chip.peak.vector), double(chip.peak.mma8),
                        double(chip.peak.mma16), double(chip.peak.tf32), double(chip.peak.mma64)})
      EXPECT_GT(rate, 0) << name;
    EXPECT_GE(chip.peak.mma16.value, chip.peak.vector.value) << name;
    // What programs reached is below the peak, and measured.
    EXPECT_LT(double(chip.reached.copyBytes), double(chip.peak.bytes)) << name;
    EXPECT_LT(double(chip.reached.mma16), double(chip.peak.mma16)) << name;
    for (const Sourced<double> &number :
         {chip.reached.copyBytes, chip.reached.mma16, chip.reached.graphKernelSeconds})
      EXPECT_EQ(number != 0, number.source == Source::Measured) << name;
  }
}

TEST(Chips, FeaturesAsText) {
  EXPECT_EQ(nameOf(GpuFeature::CpAsync), "cp.async");
  EXPECT_EQ(chipsWith(GpuFeature::Clusters), "sm_90 and later");
  EXPECT_EQ(chipsWith(GpuFeature::Wgmma), "sm_90 only");
  EXPECT_EQ(chipsWith(GpuFeature::TensorMemory), "sm_100 to sm_103");
  EXPECT_EQ(chipsWith(GpuFeature::TensorsFp4E2M1), "no chip");
  EXPECT_EQ(firstChipWith(GpuFeature::TileIR), "sm_80");
  EXPECT_EQ(firstChipWith(GpuFeature::TensorsFp4E2M1), "");
}

TEST(Roofline, Chips) {
  Roofline hopper = Roofline::ofChip("sm_90", /*tensorCores=*/true);
  EXPECT_DOUBLE_EQ(hopper.bytesPerSecond, 4.8e12);
  EXPECT_DOUBLE_EQ(hopper.mma16, 989e12);
  EXPECT_DOUBLE_EQ(hopper.mma32, 494e12 / 3); // three tf32 MMA
  EXPECT_DOUBLE_EQ(Roofline::ofChip("sm_90", false).mma16, 67e12);
  EXPECT_DOUBLE_EQ(Roofline::ofChip("sm_75", true).mma32, 8.1e12); // no tf32
  EXPECT_DOUBLE_EQ(Roofline::ofChip("unknown", true).mma16, 989e12);
}

TEST(Roofline, Cpus) {
  auto of = [](const char *arch, std::set<std::string> features) {
    return Roofline::ofCpu(CpuDescription::from(arch, features), 2);
  };
  std::set<std::string> avx512 = {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"};
  EXPECT_DOUBLE_EQ(of("x86_64", {}).vectorFlops, 2 * 4 * 2 * 3e9);
  EXPECT_DOUBLE_EQ(of("x86_64", avx512).vectorFlops, 2 * 16 * 2 * 2 * 3e9);
  avx512.insert({"amx-tile", "amx-bf16"});
  EXPECT_DOUBLE_EQ(of("x86_64", avx512).mma16, 2 * 1024 * 3e9);
  EXPECT_DOUBLE_EQ(of("aarch64", {"bf16"}).mma16, 4 * of("aarch64", {}).vectorFlops);
}

TEST(CpuDescription, Levels) {
  CpuDescription sse = CpuDescription::from("x86_64", {});
  EXPECT_EQ(sse.vectorBytes, 16);
  EXPECT_FALSE(sse.hasFma || sse.hasMaskedMemory || sse.hasHalfConversion);
  CpuDescription avx2 = CpuDescription::from("x86_64", {"avx2", "fma", "f16c"});
  EXPECT_EQ(avx2.vectorBytes, 32);
  EXPECT_EQ(avx2.vectorRegisters, 16);
  EXPECT_TRUE(avx2.hasFma && avx2.hasMaskedMemory && avx2.hasHalfConversion);
  // Without the other extensions AVX-512F adds no wider vectors.
  CpuDescription partial = CpuDescription::from("x86_64", {"avx2", "avx512f"});
  EXPECT_EQ(partial.vectorBytes, 32);
  EXPECT_TRUE(partial.hasHalfConversion);
  EXPECT_FALSE(partial.hasScaleF || partial.hasFma);
  CpuDescription avx512 =
      CpuDescription::from("x86_64", {"avx512f", "avx512vl", "avx512bw", "avx512dq", "amx-tile"});
  EXPECT_EQ(avx512.vectorBytes, 64);
  EXPECT_EQ(avx512.l2Bytes, 2 << 20);
  EXPECT_TRUE(avx512.hasScaleF && avx512.hasEstimates && avx512.hasHalfConversion);
  EXPECT_FALSE(avx512.hasAmx || avx512.hasBf16Conversion); // AMX needs both features
  CpuDescription neon = CpuDescription::from("arm64", {"fp16fml"});
  EXPECT_EQ(neon.arch, CpuDescription::Arch::AArch64);
  EXPECT_EQ(neon.vectorRegisters, 32);
  EXPECT_TRUE(neon.hasFma && neon.multipliesByLane && neon.hasHalfProducts);
  EXPECT_FALSE(neon.hasBf16Products || neon.hasMaskedMemory || neon.hasByteProducts);
  EXPECT_TRUE(CpuDescription::from("aarch64", {"dotprod"}).hasByteProducts);
  EXPECT_TRUE(CpuDescription::from("x86_64", {"avx2", "avxvnni"}).hasByteProducts);
}

TEST(TensorCores, Registers) {
  for (const TensorCoreShape &shape : tensorCoreShapes()) {
    std::string type(shape.operands.substr(0, shape.operands.find(' ')));
    std::string sum(shape.accumulators.substr(shape.accumulators.rfind(' ') + 1));
    EXPECT_GE(shape.registersOfA(type), 1) << shape.name();
    EXPECT_GE(shape.registersOfB(type), 1) << shape.name();
    EXPECT_GE(shape.registersOfAccumulator(sum), 2) << shape.name();
  }
  const TensorCoreShape &quadPair = tensorCoreShapes()[0], &fp16 = tensorCoreShapes()[2];
  EXPECT_EQ(quadPair.name(), "m8n8k4");
  EXPECT_EQ(quadPair.registersOfA("f16"), 2);
  EXPECT_EQ(quadPair.registersOfAccumulator("f32"), 8);
  EXPECT_EQ(fp16.name(), "m16n8k16");
  EXPECT_EQ(fp16.registersOfA("f16"), 4);
  EXPECT_EQ(fp16.registersOfB("f16"), 2);
  EXPECT_EQ(fp16.registersOfAccumulator("f32"), 4);
  EXPECT_EQ(fp16.registersOfAccumulator("f16"), 2);
  EXPECT_TRUE(hasType("s8 u8", "u8"));
  EXPECT_FALSE(hasType("bf16", "f16"));
  EXPECT_FALSE(hasType("s8 u8", ""));
}
