//===- Cluster.cpp - Mailboxes between the blocks of a cluster ------------===//
//
// A turn of a mailbox is complete when all that belongs into its slot has come; who has received it
// knows all that its senders knew when they pushed. That is all the order there is: a push into a
// mailbox that may not be open, one into a slot that another block may still read, and one that a
// block may not live to see are findings, whether they do harm in this run or not.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

bool Machine::hasAllOpened(const Block &block) const {
  return llvm::all_of(block.warps, [](const Warp &warp) { return warp.opened; });
}

void Machine::meet(Block &block, Warp &warp) {
  for (const Warp &each : block.warps) {
    uint32_t &known = warp.clock[each.frame.warp];
    known = std::max(known, each.opened);
  }
}

int64_t Machine::turnOf(const Warp &warp, const Step &step) const {
  auto found = warp.turns.find(step.shared->buffer);
  return found == warp.turns.end() ? 0 : found->second;
}

int64_t Machine::mailboxBase(const Warp &warp, const Step &step, unsigned part) const {
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  return part * setup.program.sharedBytes + buffer.begin +
         turnOf(warp, step) % buffer.slots * buffer.stride;
}

bool Machine::hasCome(const Block &block, const Warp &warp, const Step &step) const {
  auto turn = block.turns.find({partOf(warp), step.shared->buffer, turnOf(warp, step)});
  return turn != block.turns.end() &&
         turn->second.bytes >= setup.program.buffers[step.shared->buffer].bytes;
}

void Machine::push(Block &block, Warp &warp, const Step &step) {
  const SlotAccess &how = *step.shared;
  const Buffer &buffer = setup.program.buffers[how.buffer];
  unsigned number = warp.frame.warp, bytes = buffer.element.bytes();
  const std::vector<uint32_t> &offsets = how.offsets[number];
  const TileRef data = warp.frame.slots[step.in[0]].tile;
  for (unsigned part = 0; part < setup.program.cluster; ++part) {
    auto sends = [&](unsigned i) { return how.isPushedTo(part, number, i); };
    if (llvm::none_of(llvm::seq<unsigned>(offsets.size()), sends))
      continue;
    Turn &turn = block.turns[{part, how.buffer, turnOf(warp, step)}];
    turn.clock.resize(block.warps.size());
    for (size_t i = 0; i < turn.clock.size(); ++i)
      turn.clock[i] = std::max(turn.clock[i], warp.clock[i]);
    llvm::ArrayRef<Warp> theirs = besides(block, block.warps[part * setup.program.warps]);
    auto complain = [&](const std::string &why) {
      setup.findings.add(FindingKind::Race, step.op,
                         "data race: " + placeOf(block, warp, 0) + " pushes to block " +
                             std::to_string(part) + ", " + why);
    };
    if (!theirs[0].opened || warp.clock[theirs[0].frame.warp] < theirs[0].opened)
      complain("whose mailboxes may not be open");
    if (hasEnded(block, part))
      complain("which has ended");
    int64_t base = mailboxBase(warp, step, part);
    compareWithEvents(block, warp, step, base, /*isWrite=*/true, data);
    for (unsigned i = 0; i < offsets.size(); ++i) {
      if (!sends(i))
        continue;
      buffer.element.store(&block.shared[base + offsets[i]], data->numbers[i]);
      std::fill_n(&block.isInitialized[base + offsets[i]], bytes, 1);
      turn.bytes += bytes;
    }
    touchShared(block, step, number, base, /*isWrite=*/true);
    addEvent(block, {&step, number, warp.clock[number], base, base + buffer.bytes, true, -1, false,
                     data});
  }
  *setup.elements += offsets.size() * setup.program.cluster;
}

void Machine::receive(Block &block, Warp &warp, const Step &step) {
  know(warp, block.turns[{partOf(warp), step.shared->buffer, turnOf(warp, step)}].clock);
  warp.lastReceived = warp.clock[warp.frame.warp];
}

/// A block that ends takes its memory away.
void Machine::leave(Block &block, Warp &warp, const Step &step) {
  reportUnknown(block, warp, step);
  int64_t begin = partOf(warp) * setup.program.sharedBytes, end = begin + setup.program.sharedBytes;
  for (const Event &event : block.events) {
    if (event.step->kind != Step::Kind::Push || event.base < begin || event.base >= end ||
        areInOrder(event, warp))
      continue;
    setup.findings.add(FindingKind::Race, step.op,
                       "data race: " + placeOf(block, warp, 0) +
                           " ends, and what is pushed to its block may not have come",
                       event.step->op, placeOf(block, block.warps[event.warp], 0) + " pushes here");
  }
}
