//===- Conversion.cpp - From one layout to another ------------------------===//
#include "tessera/Layout/Conversion.h"

using namespace tessera;

std::optional<Layout> tessera::holder(const Layout &from, const Layout &to, DimSet keep) {
  // The kept coordinates are appended to the element: one linear system solves for both.
  Layout source = from.broadcastTo(to.in().only(keep));
  const Space &places = source.in();
  uint64_t kept = places.mask(keep);
  unsigned above = source.out().bits();
  gf2::Subspace held;
  for (unsigned i = 0; i < places.bits(); ++i)
    held.add(source.columns()[i] | ((uint64_t(1) << i) & kept) << above);
  gf2::Vectors columns;
  for (unsigned i = 0; i < to.in().bits(); ++i) {
    uint64_t place = to.in().carry(uint64_t(1) << i, places) & kept;
    std::optional<uint64_t> found = held.express(to.columns()[i] | place << above);
    if (!found)
      return std::nullopt;
    columns.push_back(*found);
  }
  return Layout(to.in(), places, std::move(columns));
}

/// A warp barrier and the latency of shared memory, in units of half a wavefront.
static constexpr unsigned barrierCost = 16;

std::optional<ConversionPlan> tessera::planConversion(const Layout &source, const Layout &result,
                                                      unsigned bits, SharedFeatures features) {
  using Kind = ConversionPlan::Kind;
  using Scope = ConversionPlan::Scope;
  ConversionPlan plan;
  Layout from = source.broadcastTo(result.in().only(threadDims));
  Layout to = result.broadcastTo(source.in().only(threadDims));
  if (!holder(from, to, {}))
    return std::nullopt;
  if (from == to)
    return plan;
  if (std::optional<Layout> same = holder(from, to, threadDims)) {
    plan.kind = Kind::Registers;
    plan.registers = same->sublayout(allDims, {Dim::Register});
    return plan;
  }
  plan.scope = holder(from, to, {Dim::Warp, Dim::Block}) ? Scope::Warp
               : holder(from, to, {Dim::Block})          ? Scope::Block
                                                         : Scope::Cluster;
  std::optional<SharedExchange> exchange = planExchange(from, to, bits, features);
  if (plan.scope == Scope::Warp) {
    std::optional<ShuffleSchedule> shuffles = planShuffles(from, to, bits);
    if (!exchange || shuffles->cost(bits) <= exchange->cost() + barrierCost * exchange->passes()) {
      plan.kind = Kind::Shuffles;
      plan.shuffles = std::move(*shuffles);
      return plan;
    }
  }
  if (!exchange)
    return std::nullopt;
  plan.kind = Kind::Shared;
  plan.exchange = std::move(*exchange);
  return plan;
}
