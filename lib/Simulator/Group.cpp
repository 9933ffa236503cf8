//===- Group.cpp - Products that groups of warps begin --------------------===//
//
// Each warp of a group is taken to read the rows of its own sums and all columns. It reads at some time until it waits, so
// that nobody may write there; what it reads is known at once. Registers are seen by products behind a fence that
// comes after what was put there; a left operand that lies in them stays there until the warp waits.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

void Machine::beginProduct(Block &block, Warp &warp, const Step &step) {
  for (unsigned slot : step.in)
    if (const TileRef &tile = warp.frame.slots[slot].tile; !tile->group && tile->made > warp.fenced)
      setup.findings.add(FindingKind::Unfenced, step.op,
                         "write that a product may not see: " + placeOf(block, warp, 0) +
                             " begins a product with no fence behind what is in its registers");
  unsigned number = warp.frame.warp;
  std::optional<int64_t> base = slotBase(block, warp, step);
  if (base)
    compareWithFences(block, warp, step, *base);
  access(block, warp, step);
  if (!base)
    return;
  Event &read = block.events.back();
  read.copy = block.copyCount++;
  read.isCopy = true;
  Copy copy{&step, number, ++warp.copies, read.copy, INT64_MAX, *base, read.data, warp.clock};
  copy.hasLanded = true;
  copy.product = warp.frame.group + 1;
  block.copies.push_back(std::move(copy));
  // Behind the sums, what it takes from registers.
  for (unsigned slot : llvm::ArrayRef(step.in).drop_front())
    warp.held.push_back({&step, slot, warp.frame.slots[slot].tile, warp.frame.group + 1});
}

void Machine::compareWithHeld(const Block &block, Warp &warp, const Step &step) {
  llvm::erase_if(warp.held, [&](const Held &each) {
    if (warp.frame.slots[each.slot].tile == each.tile)
      return false;
    setup.findings.add(FindingKind::EarlyUse, step.op,
                       std::string(kindName(FindingKind::EarlyUse)) + ": " + placeOf(block, warp, 0) +
                           " puts a tile into registers that a product may still read",
                       each.step->op, "the product is begun here");
    return true;
  });
}

void Machine::waitForProducts(Block &block, Warp &warp, const Step &step) {
  int64_t done = warp.frame.group - step.pending;
  finish(block, warp, [&](const Copy &copy) {
    return copy.product && copy.warp == warp.frame.warp && copy.product <= done;
  });
  llvm::erase_if(warp.held, [&](const Held &each) { return each.product <= done; });
  for (auto [from, to] : llvm::zip_equal(step.in, step.out)) {
    const TileRef &sums = warp.frame.slots[from].tile;
    if (sums->group > done)
      setup.findings.add(FindingKind::EarlyUse, step.op,
                         std::string(kindName(FindingKind::EarlyUse)) + ": " + placeOf(block, warp, 0) +
                             " takes sums to which a product may still add");
    // From now on the warp may touch these registers: another product that adds to them wants a fence behind.
    TileRef finished(new Tile(*sums));
    finished->made = ++Tile::count;
    finished->group = 0;
    warp.frame.slots[to].tile = finished;
  }
}
