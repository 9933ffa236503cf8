//===- Blocks.h - Which blocks of a stream count, and without masks -------===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_BLOCKS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_BLOCKS_H

#include "KernelPlan.h"

#include "tessera/Fusion/MaskRanges.h"

namespace tessera {

/// What is known of a pass's blocks along its last stream dimension.
struct Blocks {
  Interval live, full;
  /// For each contribution to a state the conditions that it needs, where data decides or a range
  /// has holes; empty: nothing to test.
  std::vector<std::vector<Expr>> tests;
  /// The choices that have no effect in full blocks.
  std::set<Expr> masks;
};

/// Whether an expression depends on elements in memory.
bool readsData(Expr e);

/// Whether bounds over a block can decide a condition: comparisons of integers, and bools.
bool isDecided(Expr condition);

Blocks analyseBlocks(ExprPool &pool, const KernelPlan &plan, unsigned pass);

} // namespace tessera

#endif
