//===- CpuDescription.cpp - What code generation asks of a CPU ------------===//
#include "tessera/Support/CpuDescription.h"

#include <algorithm>
#include <cassert>

using namespace tessera;

CpuDescription CpuDescription::from(std::string_view arch, const std::set<std::string> &features) {
  auto has = [&](const char *name) { return features.count(name) != 0; };
  CpuDescription cpu;
  if (arch == "aarch64" || arch == "arm64") {
    cpu.arch = Arch::AArch64;
    cpu.vectorRegisters = 32;
    cpu.hasFma = true;
    cpu.multipliesByLane = true;
    cpu.detectsStreams = true;
    cpu.hasHalfConversion = true;
    cpu.hasHalfProducts = has("fp16fml");
    cpu.hasBf16Conversion = has("bf16");
    cpu.hasBf16Products = has("bf16");
    cpu.l1Bytes = 64 << 10;
    return cpu;
  }
  cpu.hasFma = has("fma");
  cpu.hasHalfConversion = has("f16c") || has("avx512f");
  if (has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq")) {
    cpu.vectorBytes = 64;
    cpu.vectorRegisters = 32;
    cpu.hasMaskedMemory = true;
    cpu.hasScaleF = true;
    cpu.hasEstimates = true;
    cpu.hasBf16Conversion = has("avx512bf16");
    cpu.hasTileUnit = has("amx-tile") && has("amx-bf16");
    cpu.l1Bytes = 48 << 10;
    cpu.l2Bytes = 2 << 20;
  } else if (has("avx2")) {
    cpu.vectorBytes = 32;
    cpu.hasMaskedMemory = true;
  }
  return cpu;
}

MicroTile tessera::chooseMicroTile(const CpuDescription &cpu, int64_t tileRows, bool endsAnywhere) {
  // Accumulators, one vector of the right-hand side per column, and of the left-hand side a broadcast, or one vector
  // per row whose lanes are taken in turns.
  int64_t vectors = cpu.multipliesByLane ? 4 : 2;
  int64_t most = (cpu.vectorRegisters - vectors - 1) / (vectors + cpu.multipliesByLane);
  int64_t least = most >= 12 ? 8 : most >= 5 ? 4 : 2;
  if (tileRows <= most)
    return {tileRows, vectors};
  // Rows that may end anywhere leave a remainder in any case; halves of a block may take it.
  int64_t best = most >= 12 ? 12 : most / 2 * 2;
  for (int64_t rows = most; rows >= least && !endsAnywhere; --rows)
    if (tileRows % rows == 0)
      return {rows, vectors};
  return {best, vectors};
}

MicroTile tessera::interleavedMicroTile(const CpuDescription &cpu, int64_t lanes) {
  // With 32 registers 24 sums, two of rows and three of columns.
  MicroTile block{2 * lanes, 3};
  assert(cpu.multipliesByLane && (block.rows + 1) * block.vectors + 2 <= cpu.vectorRegisters && "too few registers");
  return block;
}
