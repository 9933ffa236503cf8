//===- WgmmaTiles.h - When warpgroups multiply ------------------*- C++ -*-===//
//
// The thresholds for wgmma on 16-bit operands. The cost model chooses tiles by them, and the
// schedule its backend.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_WGMMATILES_H
#define TESSERA_COSTMODEL_WGMMATILES_H

#include <cstdint>

namespace tessera::grouped {

/// The smallest tile, the shortest side that is worth wgmma, and the longest side.
inline constexpr int64_t kHeight = 64, kWidth = 128, kSide = 64, kTallest = 256;
/// The head dimension up to which a stream is shallow, and the largest one for which two warpgroups
/// share a CTA.
inline constexpr int64_t kShallow = 64, kDeep = 128;
/// The smallest number of waves of CTAs: fewer leave too many SMs idle.
inline constexpr double kFewestWaves = 0.75;
/// The CTAs of a cluster that share a tile, and the smallest K dimension for that: exchanging
/// partial sums takes some of the time that it saves.
inline constexpr int64_t kSharers = 2, kSharedSum = 1024;

/// Whether this number of CTAs fills the device.
constexpr bool fillsDevice(int64_t blocks, int64_t smCount, double waves = kFewestWaves) {
  return double(blocks) >= waves * double(smCount);
}
/// Whether this number of tiles, each shared by a cluster, fills the device in one wave; a second
/// wave would take as long as the first.
constexpr bool fillsDeviceInClusters(int64_t tiles, int64_t smCount) {
  return fillsDevice(kSharers * tiles, smCount) && kSharers * tiles <= smCount;
}

} // namespace tessera::grouped

#endif
