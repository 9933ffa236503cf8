//===- Reduction.cpp - Who must be added to whom --------------------------===//
#include "tessera/Layout/Reduction.h"

using namespace tessera;

ReductionPlan tessera::planReduction(const Layout &layout, unsigned dim) {
  ReductionPlan plan;
  plan.result = layout.withoutDim(dim);
  // Places are packed with registers first, so a scope is a number of first columns.
  const Space &places = layout.in();
  gf2::Vectors known = gf2::kernel(layout.columns());
  auto within = [&](Dim next) {
    gf2::Vectors same = gf2::kernel(plan.result.columns().subspan(0, places.shift(next)));
    gf2::Vectors steps = gf2::extend(known, same);
    known = gf2::concat({known, steps});
    return steps;
  };
  plan.registers = within(Dim::Lane);
  plan.lanes = within(Dim::Warp);
  plan.warps = within(Dim::Block);
  plan.blocks = within(Dim::Round);
  return plan;
}
