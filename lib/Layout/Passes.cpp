//===- Passes.cpp - Exchanges in several passes ---------------------------===//
#include "Passes.h"

#include <tuple>

using namespace tessera;
using gf2::Vectors;

namespace {
/// Splits registers into passes: the vectors `steps` lead from one pass to another, `fixed` vectors
/// stay within a pass.
class Splitter {
public:
  Splitter(Vectors steps, gf2::VectorsRef fixed) : steps(std::move(steps)) {
    space.add(this->steps);
    space.add(fixed);
  }

  /// The layout of the first pass of a layout whose registers hold the steps, and the map from
  /// (register of the pass, pass) to its registers.
  std::pair<Layout, Layout> split(const Layout &layout, gf2::VectorsRef elements) {
    gf2::Subspace held(elements);
    Vectors leading, staying;
    for (uint64_t step : steps)
      leading.push_back(*held.express(step));
    for (uint64_t number : gf2::units(elements.size())) {
      uint64_t parts = *space.express(gf2::sum(elements, number));
      staying.push_back(number ^ gf2::sum(leading, parts & ((uint64_t(1) << steps.size()) - 1)));
    }
    staying = gf2::extend(leading, staying);

    Space registers{{Dim::Register, uint64_t(1) << staying.size()}};
    Space numbers = registers, places = layout.in();
    numbers.setBits(Dim::Round, leading.size());
    places.setBits(Dim::Register, staying.size());
    Vectors columns;
    for (uint64_t number : staying)
      columns.push_back(layout(number));
    return {Layout(places, layout.out(),
                   gf2::concat({columns, layout.columnsOf(~DimSet{Dim::Register})})),
            Layout(numbers, layout.in().only({Dim::Register}), gf2::concat({staying, leading}))};
  }

private:
  Vectors steps;
  gf2::Subspace space;
};
} // namespace

std::optional<Passes> tessera::splitPasses(const Layout &from, const Layout &to,
                                           const Layout &holds, unsigned passes) {
  // Elements of the slice of one CTA.
  Layout loaded = holds.sublayout(allDims, ~DimSet{Dim::Block}).then(from);
  gf2::VectorsRef stores = from.columns(Dim::Register), loads = loaded.columns(Dim::Register);
  Vectors threads =
      gf2::concat({from.columnsOf({Dim::Lane, Dim::Warp}), loaded.columnsOf(threadDims)});
  Vectors steps = gf2::extend(threads, gf2::intersect(stores, loads));
  if (steps.size() < passes)
    return std::nullopt;
  steps.erase(steps.begin(), steps.end() - passes); // the first ones allow wide accesses
  Splitter splitter(steps, gf2::concat({threads, stores, loads}));
  Passes result;
  std::tie(result.from, result.fromRegisters) = splitter.split(from, stores);
  std::tie(result.to, result.toRegisters) = splitter.split(to, loads);
  return result;
}
