//===- WgmmaTiles.h - When warpgroups multiply ------------*- C++ -*-===//
//
// What decides that warpgroups make a product of 16 bits: the cost model chooses tiles by it, and a
// program its backend.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_WGMMATILES_H
#define TESSERA_COSTMODEL_WGMMATILES_H

#include <cstdint>

namespace tessera::grouped {

/// The smallest tile, the shortest side that is worth it, and the longest.
inline constexpr int64_t kHeight = 64, kWidth = 128, kSide = 64, kTallest = 256;
/// Products of a stream whose sums are shallow, and the deepest ones of which two groups share a
/// block.
inline constexpr int64_t kShallow = 64, kDeep = 128;
/// Waves of blocks at least: less leaves too much of the machine idle.
inline constexpr double kFewestWaves = 0.75;
/// Blocks of a cluster that share a tile, and what a product sums over at least where they do: the
/// exchange of their sums takes some of the time that they save.
inline constexpr int64_t kSharers = 2, kSharedSum = 1024;

/// Whether so many blocks fill the machine.
constexpr bool fillsDevice(int64_t blocks, int64_t smCount, double waves = kFewestWaves) {
  return double(blocks) >= waves * double(smCount);
}
/// Whether so many tiles, each shared by blocks, fill it at once; a second wave would take as long
/// as the first.
constexpr bool fillsDeviceInClusters(int64_t tiles, int64_t smCount) {
  return fillsDevice(kSharers * tiles, smCount) && kSharers * tiles <= smCount;
}

} // namespace tessera::grouped

#endif
