//===- MaskShares.h - How much of a stream its masks leave ------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_MASKSHARES_H
#define TESSERA_LIB_PIPELINE_MASKSHARES_H

#include "Performance.h"

#include <vector>

namespace tessera {

/// A mask in a stream, or a select that stands for one.
struct MaskShare {
  mlir::Operation *op = nullptr;
  bool isSentinel = false; ///< a select with a finite number in place of -inf
  double visited = 1;      ///< the part of the blocks that the stream visits
  double needed = 1;       ///< the part in which the mask leaves an element
};

/// The masks of a kernel whose conditions depend on indices alone: others are not known before a
/// call. Shares are averages over samples of the grid.
std::vector<MaskShare> masksOf(sched::KernelOp kernel, const Roofline &roofline,
                               const SizesAtHand &sizes);

} // namespace tessera

#endif
