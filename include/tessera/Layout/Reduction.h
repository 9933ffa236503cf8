//===- Reduction.h - Who must be added to whom -----------------*- C++ -*-===//
//
// A reduction along dimensions adds the elements of all places that differ along them alone. These
// places are a coset of a subspace, the kernel of the layout without those dimensions; less the
// kernel of the layout itself, since copies of one element count once. With any basis v1, v2, … of
// it, the steps  x[p] += x[p ^ v1],  x[p] += x[p ^ v2],  …  for all places p at once leave the sum
// at every place: the butterfly of exclusive-or shuffles. The basis that stays in the thread as far
// as it can, then in the warp, then in the block, is the cheapest.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_REDUCTION_H
#define TESSERA_LAYOUT_REDUCTION_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// Steps as packed places of the layout. A step of `lanes` may also change the register, one of
/// `warps` the lane, one of `blocks` the warp.
struct ReductionPlan {
  gf2::Vectors registers, lanes, warps, blocks;
  /// The result, at the same places: in order of the remaining dimensions, with copies.
  Layout result;
  /// Places of the same element.
  gf2::Vectors copies;

  /// Before the steps of warps and blocks: the same places with one more dimension, `last`, that
  /// numbers what is still apart, the warps of a block one after the other.
  Layout partial(unsigned last) const;
};
/// Along several dimensions, in increasing order.
ReductionPlan planReduction(const Layout &layout, std::span<const unsigned> dims);
inline ReductionPlan planReduction(const Layout &layout, std::initializer_list<unsigned> dims) {
  return planReduction(layout, std::span(dims.begin(), dims.size()));
}

} // namespace tessera

#endif
