//===- Reduction.h - Butterfly reductions ----------------------*- C++ -*-===//
//
// A reduction along dimensions combines the elements of all locations that differ only along them.
// These locations are a coset of a subspace: the kernel of the layout without those dimensions,
// modulo the kernel of the layout itself, because replicas of an element count once. With any basis
// v1, v2, … of it, the steps  x[p] += x[p ^ v1],  x[p] += x[p ^ v2],  …  for all locations p leave
// the sum at every location: a butterfly of shuffles (shfl.bfly). The cheapest basis stays within
// the thread if possible, then within the warp, then within the CTA.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_REDUCTION_H
#define TESSERA_LAYOUT_REDUCTION_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// Steps as packed locations of the layout. A step of `lanes` may also change the register, a step
/// of `warps` the lane, a step of `blocks` the warp.
struct ReductionPlan {
  gf2::Vectors registers, lanes, warps, blocks;
  /// The replicated result at the same locations, without the reduced dimensions.
  Layout result;
  /// Differences between locations of the same element.
  gf2::Vectors copies;

  /// The partial results before the steps of warps and blocks: the same locations with one more
  /// dimension, `last`, that numbers the partial results, the warps of a CTA first.
  Layout partial(unsigned last) const;
};
/// Along several dimensions, in increasing order.
ReductionPlan planReduction(const Layout &layout, std::span<const unsigned> dims);
inline ReductionPlan planReduction(const Layout &layout, std::initializer_list<unsigned> dims) {
  return planReduction(layout, std::span(dims.begin(), dims.size()));
}

} // namespace tessera

#endif
