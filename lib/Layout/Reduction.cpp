//===- Reduction.cpp - Butterfly reductions -------------------------------===//
#include "tessera/Layout/Reduction.h"

using namespace tessera;

ReductionPlan tessera::planReduction(const Layout &layout, std::span<const unsigned> dims) {
  ReductionPlan plan;
  plan.result = layout;
  for (size_t i = dims.size(); i-- > 0;)
    plan.result = plan.result.withoutDim(dims[i]);
  // Locations are packed with registers first, so a scope is a prefix of the columns.
  const Space &places = layout.in();
  plan.copies = gf2::kernel(layout.columns());
  gf2::Vectors known = plan.copies;
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

Layout ReductionPlan::partial(unsigned last) const {
  // A location is a sum of steps and of locations that no step reaches; its steps of warps and
  // blocks are its number.
  gf2::Vectors apart = gf2::concat({copies, registers, lanes});
  gf2::Vectors steps = gf2::concat({apart, warps, blocks});
  unsigned bits = warps.size() + blocks.size();
  gf2::Vectors others = gf2::extend(steps, gf2::units(result.in().bits()));
  gf2::Subspace places(gf2::concat({steps, others}));
  Space out = result.out();
  out.setBits(tensorDim(last), bits);
  gf2::Vectors columns;
  for (unsigned i = 0; i < result.in().bits(); ++i) {
    uint64_t number =
        *places.express(uint64_t(1) << i) >> apart.size() & ((uint64_t(1) << bits) - 1);
    columns.push_back(result.out().carry(result.columns()[i], out) |
                      number << out.shift(tensorDim(last)));
  }
  return Layout(result.in(), out, std::move(columns));
}
