//===- Wgmma.cpp - Warpgroup MMA ------------------------------------------===//
//
// Each warp of a warpgroup is assumed to read the rows of its own accumulator and all columns. It
// may read until it waits, so that no thread may write there; the simulator takes the data when the
// MMA is issued. An MMA sees registers that were written before the last wgmma fence. Registers of
// a left operand may not be overwritten until the warp waits.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

void Machine::issueWgmma(Cluster &cluster, Warp &warp, const Step &step) {
  for (unsigned slot : step.in)
    if (const TileRef &tile = warp.frame.slots[slot].tile; !tile->group && tile->made > warp.fenced)
      setup.findings.add(FindingKind::Unfenced, step.op,
                         threadText(cluster, warp, 0) +
                             " issues an MMA with no wgmma fence after its registers were written");
  unsigned number = warp.frame.warp;
  std::optional<int64_t> base = stageBase(cluster, warp, step);
  if (base)
    compareWithFences(cluster, warp, step, *base);
  access(cluster, warp, step);
  if (!base)
    return;
  Event &read = cluster.events.back();
  read.copy = cluster.copyCount++;
  read.isCopy = true;
  Copy copy{&step, number, ++warp.copies, read.copy, INT64_MAX, *base, read.data, warp.clock};
  copy.hasLanded = true;
  copy.mmaGroup = warp.frame.mmaGroup + 1;
  cluster.copies.push_back(std::move(copy));
  // After the accumulator comes a left operand in registers.
  for (unsigned slot : llvm::ArrayRef(step.in).drop_front())
    warp.held.push_back({&step, slot, warp.frame.slots[slot].tile, warp.frame.mmaGroup + 1});
}

void Machine::checkHeldRegisters(const Cluster &cluster, Warp &warp, const Step &step) {
  llvm::erase_if(warp.held, [&](const Held &each) {
    if (warp.frame.slots[each.slot].tile == each.tile)
      return false;
    setup.findings.add(FindingKind::EarlyUse, step.op,
                       threadText(cluster, warp, 0) +
                           " writes registers that an MMA may still read",
                       each.step->op, "the MMA is issued here");
    return true;
  });
}

void Machine::waitForWgmma(Cluster &cluster, Warp &warp, const Step &step) {
  int64_t done = warp.frame.mmaGroup - step.pending;
  finish(cluster, warp, [&](const Copy &copy) {
    return copy.mmaGroup && copy.warp == warp.frame.warp && copy.mmaGroup <= done;
  });
  llvm::erase_if(warp.held, [&](const Held &each) { return each.mmaGroup <= done; });
  for (auto [from, to] : llvm::zip_equal(step.in, step.out)) {
    const TileRef &acc = warp.frame.slots[from].tile;
    if (acc->group > done)
      setup.findings.add(FindingKind::EarlyUse, step.op,
                         threadText(cluster, warp, 0) +
                             " uses an accumulator that an MMA may still write");
    // The warp may write these registers from now on: the next MMA on them needs a fence.
    TileRef finished(new Tile(*acc));
    finished->made = ++Tile::count;
    finished->group = 0;
    warp.frame.slots[to].tile = finished;
  }
}
