//===- CpuDescription.cpp - What code generation asks of a CPU ------------===//
#include "tessera/Target/CpuDescription.h"
#include "tessera/Target/Cpus.h"

#include <algorithm>
#include <cassert>

using namespace tessera;

CpuDescription CpuDescription::from(std::string_view arch, const std::set<std::string> &features) {
  CpuDescription cpu;
  cpu.arch = arch == "aarch64" || arch == "arm64" ? Arch::AArch64 : Arch::X86_64;
  auto levels = cpuLevels();
  auto level = std::find_if(levels.begin(), levels.end(), [&](const CpuLevel &each) {
    return each.arch == cpu.arch && hasFeatures(features, each.features);
  });
  cpu.vectorBytes = level->vectorBytes;
  cpu.vectorRegisters = level->vectorRegisters;
  cpu.l1Bytes = level->l1Bytes;
  cpu.l2Bytes = level->l2Bytes;
  for (const CpuProperty &property : level->properties)
    cpu.*property.member |= hasFeatures(features, property.features);
  return cpu;
}

MicroTile tessera::chooseMicroTile(const CpuDescription &cpu, int64_t tileRows, bool isRagged) {
  // Registers hold the accumulators, one vector of the right-hand side per column, and for the
  // left-hand side a broadcast, or one vector per row whose lanes are used one after the other.
  int64_t vectors = cpu.multipliesByLane ? 4 : 2;
  int64_t most = (cpu.vectorRegisters - vectors - 1) / (vectors + cpu.multipliesByLane);
  int64_t least = most >= 12 ? 8 : most >= 5 ? 4 : 2;
  if (tileRows <= most)
    return {tileRows, vectors};
  // A ragged tile leaves a tail in any case, so no divisor is looked for. An even height lets
  // half a micro-tile compute the tail.
  int64_t best = most >= 12 ? 12 : most / 2 * 2;
  for (int64_t rows = most; rows >= least && !isRagged; --rows)
    if (tileRows % rows == 0)
      return {rows, vectors};
  return {best, vectors};
}

MicroTile tessera::interleavedMicroTile(const CpuDescription &cpu, int64_t lanes) {
  // 32 registers: 24 accumulators, two vectors of rows and three of columns.
  MicroTile block{2 * lanes, 3};
  assert(cpu.multipliesByLane && (block.rows + 1) * block.vectors + 2 <= cpu.vectorRegisters &&
         "too few registers");
  return block;
}
