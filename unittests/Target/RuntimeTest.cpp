//===- RuntimeTest.cpp - The runtime's rules against the tables -----------===//
//
// The runtime includes no header of the compiler, so it has its own rules of targets and tensor
// maps. These tests hold them against the tables.
//
//===----------------------------------------------------------------------===//
#include "tessera/Target/Cpus.h"
#include "tessera/Target/CudaLimits.h"
#include "tessera_rt/program.h"
#include "tessera_rt/target.h"
#include <gtest/gtest.h>

#include <sstream>

using namespace tessera;

TEST(Runtime, ReadsTheNamesOfAllChips) {
  for (const Chip &chip : chips())
    for (std::string name : {chip.name(), std::string(chip.ptxName)}) {
      rt::Chip read;
      ASSERT_TRUE(rt::parseChip(name + ":ptx", read)) << name;
      EXPECT_EQ(read.major * 10 + read.minor, chip.number) << name;
      EXPECT_EQ(read.str(), name);
    }
}

TEST(Runtime, RunsCodeOnItsOwnChip) {
  for (const Chip &chip : chips()) {
    rt::Chip device;
    ASSERT_TRUE(rt::parseChip(chip.name(), device));
    std::string why;
    EXPECT_EQ(rt::chipFit(std::string(chip.ptxName) + ":ptx", false, device, why), rt::Fit::Exact)
        << why;
    EXPECT_EQ(rt::chipFit(chip.name() + ":tileir", false, device, why), rt::Fit::Exact) << why;
  }
}

/// What the tables ask of a CPU must be among what the runtime detects; a feature that it does not
/// know would never be enabled.
TEST(Runtime, DetectsTheFeaturesOfAllCpus) {
  auto check = [](std::string_view list) {
    std::istringstream words{std::string(list)};
    for (std::string name; words >> name;)
      EXPECT_TRUE(rt::knowsFeature(name)) << name;
  };
  for (const CpuLevel &level : cpuLevels()) {
    check(level.features);
    for (const CpuProperty &property : level.properties)
      check(property.features);
  }
}

TEST(Runtime, HasTheLimitsOfTensorMaps) {
  EXPECT_EQ(int64_t(rt::TensorMap::maxDims), CudaLimits::tmaDims);
  EXPECT_EQ(int64_t(rt::TensorMap::maxBox), CudaLimits::tmaBoxElements);
}
