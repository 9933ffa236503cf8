//===- MaskRanges.h - Where a condition holds along a stream ---*- C++ -*-===//
//
// Interprets a mask's condition over a tile of rows: the interval of stream indices where some
// element of the tile may satisfy it (live), and the interval where every element does (full).
// Intervals are size expressions over `i.lo` and `i.hi`, the first and last index of the tile along
// dimension i. Data-dependent conditions, and conditions that are not affine with coefficient ±1 in
// the stream, are unknown: live everywhere, full nowhere.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_FUSION_MASKRANGES_H
#define TESSERA_FUSION_MASKRANGES_H

#include "tessera/Fusion/Expr.h"

namespace tessera {

struct Interval {
  SymExpr lo, hi; ///< [lo, hi)
};

struct MaskRange {
  Interval live;
  std::optional<Interval> full; ///< nullopt: no block is known to be full
  bool hasHoles = false;        ///< of one row, the condition may fail between two live elements
};

/// The constant c if e = c · dim + rest, and the rest.
std::optional<int64_t> coefficientOf(SymExpr e, const std::string &dim, SymExpr &rest);

/// The ranges of `condition` along dimension `stream` of size `size`. They may depend on the
/// `parallel` dimensions, whose tile is known before the stream.
MaskRange maskRange(const ExprPool &pool, Expr condition, const std::string &stream, SymExpr size,
                    const DimSet &parallel);

MaskRange intersect(const MaskRange &a, const MaskRange &b);

} // namespace tessera

#endif
