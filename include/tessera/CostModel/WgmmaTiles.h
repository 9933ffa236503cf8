//===- WgmmaTiles.h - When warpgroups multiply ------------------*- C++ -*-===//
//
// The thresholds for wgmma on 16-bit operands and tf32. The cost model chooses tiles by them, and
// the schedule its backend.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_WGMMATILES_H
#define TESSERA_COSTMODEL_WGMMATILES_H

#include <cstdint>

namespace tessera::grouped {

/// The shortest side that is worth wgmma, and the longest side of a tile.
inline constexpr int64_t kSide = 64, kTallest = 256;
/// The head dimension up to which a stream is shallow, and the largest one for which two warpgroups
/// share a CTA.
inline constexpr int64_t kShallow = 64, kDeep = 128;
/// The smallest number of waves of CTAs: fewer leave too many SMs idle.
inline constexpr double kFewestWaves = 0.75;
/// Whether this number of CTAs fills the device.
constexpr bool fillsDevice(int64_t blocks, int64_t smCount, double waves = kFewestWaves) {
  return double(blocks) >= waves * double(smCount);
}

} // namespace tessera::grouped

#endif
