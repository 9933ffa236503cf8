//===- RuntimeLimits.cpp - runtime/src/ChipLimits.def from the tables -----===//
#include "tessera/Target/Chips.h"
#include "tessera/Target/CudaLimits.h"

namespace tessera {

std::string describeRuntimeLimits() {
  std::string text =
      "//===- ChipLimits.def - What messages of the runtime name of GPUs ---------===//\n"
      "//\n"
      "// Made by TargetTests from lib/Target/Chips.cpp and CudaLimits.h: TESSERA_WRITE_DOCS=1\n"
      "//\n"
      "//   TESSERA_CUDA_LIMIT(name, value)\n"
      "//   TESSERA_CHIP(number, sharedBytesPerCta, ctasPerCluster)\n"
      "//\n"
      "//===----------------------------------------------------------------------===//\n\n";
  auto limit = [&](const char *name, int64_t value) {
    text += std::string("TESSERA_CUDA_LIMIT(") + name + ", " + std::to_string(value) + ")\n";
  };
  limit("threadsPerCta", CudaLimits::threadsPerCta);
  limit("registersPerSm", CudaLimits::registersPerSm);
  limit("gridX", CudaLimits::grid[0]);
  limit("gridYZ", CudaLimits::grid[1]);
  limit("portableCluster", CudaLimits::portableCluster);
  limit("firstCuda", CudaLimits::firstCuda);
  limit("firstDriver", CudaLimits::firstDriver);
  text += "\n";
  for (const Chip &chip : chips())
    text += "TESSERA_CHIP(" + std::to_string(chip.number) + ", " +
            std::to_string(chip.sm.sharedBytesPerCta) + ", " + std::to_string(chip.maxCluster) +
            ")\n";
  return text;
}

} // namespace tessera
