//===- Cpus.cpp - The table of CPU instruction sets -----------------------===//
#include "tessera/Target/Cpus.h"

#include <algorithm>

namespace tessera {

using Cpu = CpuDescription;

static constexpr CpuProperty kAvx512[] = {
    {&Cpu::hasFma, "fma"},
    {&Cpu::hasHalfConversion, ""},
    {&Cpu::hasMaskedMemory, ""},
    {&Cpu::hasScaleF, ""},
    {&Cpu::hasEstimates, ""},
    {&Cpu::hasBf16Conversion, "avx512bf16"},
    {&Cpu::hasByteProducts, "avx512vnni"},
    {&Cpu::hasAmx, "amx-tile amx-bf16"},
};
static constexpr CpuProperty kAvx2[] = {
    {&Cpu::hasFma, "fma"},
    {&Cpu::hasHalfConversion, "f16c"},
    {&Cpu::hasHalfConversion, "avx512f"},
    {&Cpu::hasMaskedMemory, ""},
    {&Cpu::hasByteProducts, "avxvnni"},
};
static constexpr CpuProperty kSse2[] = {
    {&Cpu::hasFma, "fma"},
    {&Cpu::hasHalfConversion, "f16c"},
    {&Cpu::hasHalfConversion, "avx512f"},
};
static constexpr CpuProperty kNeon[] = {
    {&Cpu::hasFma, ""},
    {&Cpu::multipliesByLane, ""},
    {&Cpu::detectsStreams, ""},
    {&Cpu::hasHalfConversion, ""},
    {&Cpu::hasHalfProducts, "fp16fml"},
    {&Cpu::hasBf16Conversion, "bf16"},
    {&Cpu::hasBf16Products, "bf16"},
    {&Cpu::hasByteProducts, "dotprod"},
};

static constexpr Sourced<int64_t> vendor(int64_t bytes) { return {bytes}; }
static constexpr Sourced<int64_t> assumedBytes(int64_t bytes) { return {bytes, Source::Assumed}; }

// Caches are those of a typical server core of the level: Sapphire Rapids for AVX-512, Neoverse V1
// for Neon. Copies were measured on these: benchmarks/results, the lines of one thread of
// cpu-73baf50-x86_64.txt and cpu-59fdf3b-aarch64.txt.
static constexpr CpuLevel kLevels[] = {
    {.arch = Cpu::Arch::X86_64,
     .name = "AVX-512",
     .features = "avx512f avx512vl avx512bw avx512dq",
     .vectorBytes = 64,
     .vectorRegisters = 32,
     .l1Bytes = vendor(48 << 10),
     .l2Bytes = vendor(2 << 20),
     .properties = kAvx512,
     .copyBytes = measured(22.5e9)},
    {.arch = Cpu::Arch::X86_64,
     .name = "AVX2",
     .features = "avx2",
     .vectorBytes = 32,
     .vectorRegisters = 16,
     .l1Bytes = assumedBytes(32 << 10),
     .l2Bytes = assumedBytes(1 << 20),
     .properties = kAvx2},
    {.arch = Cpu::Arch::X86_64,
     .name = "SSE2",
     .features = "",
     .vectorBytes = 16,
     .vectorRegisters = 16,
     .l1Bytes = assumedBytes(32 << 10),
     .l2Bytes = assumedBytes(1 << 20),
     .properties = kSse2},
    {.arch = Cpu::Arch::AArch64,
     .name = "Neon",
     .features = "",
     .vectorBytes = 16,
     .vectorRegisters = 32,
     .l1Bytes = vendor(64 << 10),
     .l2Bytes = vendor(1 << 20),
     .properties = kNeon,
     .copyBytes = measured(53.8e9)},
};

std::span<const CpuLevel> cpuLevels() { return kLevels; }

const CpuRates &cpuRates() {
  static constexpr CpuRates rates = {
      .hertz = assumed(3e9),
      .vectorUnits = assumed(2),
      .memoryBytesPerCore = assumed(10e9),
      .amxFlopsPerCycle = derived(1024), // 16 × 16 × 32 multiply-adds in 16 cycles
      .bfmmlaSpeedup = derived(4),       // 16 multiply-adds, an FMA of fp32 has 4
      .launchSeconds = assumed(1e-6),
  };
  return rates;
}

bool hasFeatures(const std::set<std::string> &enabled, std::string_view list) {
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    if (!enabled.count(std::string(list.substr(0, end))))
      return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

} // namespace tessera
