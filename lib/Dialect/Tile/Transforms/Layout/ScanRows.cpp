//===- ScanRows.cpp - Layouts for scans and sorts of rows -----------------===//
//
// Where each lane has one element of a row, every element takes a shuffle and four other
// instructions for each bit of the row's length. A thread with a whole row takes one instruction
// for an element, and the two conversions around it a few.
//
//===----------------------------------------------------------------------===//
#include "Layout/ScanRows.h"

#include "tessera/Layout/Families.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <numeric>

using namespace tessera;

std::optional<Layout> tile::rowsInThreads(const Layout &layout, Dim dim) {
  constexpr unsigned fewestLanes = 4; // 16 lanes: conversions cost as much as fewer shuffles
  const Space &in = layout.in(), &out = layout.out();
  llvm::SmallVector<unsigned> along, others; // numbers of columns: lanes, and registers
  bool areRegisters = false;
  auto isAlong = [&](uint64_t column) { return out.unpack(column)[dim] != 0; };
  for (auto [bit, column] : llvm::enumerate(layout.columns(Dim::Lane)))
    if (isAlong(column))
      along.push_back(in.shift(Dim::Lane) + bit);
  for (auto [bit, column] : llvm::enumerate(layout.columns(Dim::Register))) {
    areRegisters |= isAlong(column);
    if (column && !isAlong(column))
      others.push_back(in.shift(Dim::Register) + bit);
  }
  if (areRegisters || along.size() < fewestLanes || others.size() < along.size() ||
      llvm::any_of(layout.columns(Dim::Warp), isAlong))
    return std::nullopt;
  gf2::Vectors columns(layout.columns().begin(), layout.columns().end());
  for (auto [lane, reg] : llvm::zip(along, others))
    std::swap(columns[lane], columns[reg]);
  return Layout(in, out, std::move(columns));
}

Layout tile::sortedRows(llvm::ArrayRef<int64_t> shape, unsigned dim, unsigned warps) {
  constexpr unsigned lanes = 32;
  std::vector<unsigned> sizes(shape.begin(), shape.end()), order = {dim};
  for (unsigned other = sizes.size(); other-- > 0;)
    if (other != dim)
      order.push_back(other);
  std::vector<unsigned> left = sizes, ones(sizes.size(), 1);
  unsigned elements = std::accumulate(sizes.begin(), sizes.end(), 1u, std::multiplies<>());
  // Threads take their parts along the dimensions in turn.
  auto divide = [&](unsigned among) {
    std::vector<unsigned> parts = ones;
    for (unsigned each : order) {
      parts[each] = std::min(left[each], among);
      left[each] /= parts[each];
      among /= parts[each];
    }
    return parts;
  };
  Blocked how{.perThread = ones, .lanes = {}, .warps = {}, .order = order};
  how.perThread[dim] = std::min(sizes[dim], std::max(1u, elements / (lanes * warps)));
  left[dim] /= how.perThread[dim];
  how.lanes = divide(lanes);
  how.warps = divide(warps);
  return blocked(sizes, how);
}
