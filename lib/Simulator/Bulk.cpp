//===- Bulk.cpp - Rows and boxes that are copied as a whole ---------------===//
//
// One thread of a block begins such a copy, which happens at any time until its gate is open, or until
// it is waited for as a send. A gate knows how often it has opened; who waits there sees the lowest bit of that.
// Copies see what threads have written into shared memory if these have fenced it since, and the one that
// begins the copy knows of that.
//
// What a block brings for all blocks of its cluster is a copy into each of them. It counts at the gate there, which opens
// when that block has begun its own as well. Nobody may tell gates of a block that may have ended, nor copy there.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

static constexpr int64_t kPiece = 16; // bytes

/// By how many elements a row lies behind a multiple of 16 bytes. Tensors begin at such a multiple.
static int64_t shiftOf(const Frame &frame, const GlobalAccess &row, const View &view) {
  int64_t place = view.offset;
  for (auto [dim, slot] : llvm::enumerate(row.coords))
    place += frame.slots[slot].scalar.integer * row.tileSizes[dim] * view.strides[dim];
  if (row.front)
    place -= frame.slots[row.front->second].scalar.integer;
  return place & (kPiece / row.element.bytes() - 1);
}

/// Whether a tensor copy takes boxes of a view: all but neighbours lie whole pieces apart, none of them backward.
bool Machine::isBoxed(const Step &step) {
  const View &view = viewOf(*step.global);
  int64_t elements = kPiece / step.global->element.bytes();
  bool isWhole = view.offset % elements == 0;
  for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides))
    isWhole &= size <= 1 || stride == 1 || (stride > 0 && stride % elements == 0);
  if (!isWhole)
    setup.findings.add(FindingKind::Misaligned, step.op,
                       "misaligned access: a tensor copy takes boxes of a view that begins and steps by multiples of 16 bytes");
  return isWhole;
}

/// Where the row begins in its slot; nothing, after a finding, where it cannot.
std::optional<int64_t> Machine::rowBase(Block &block, Warp &warp, const Step &step) {
  std::optional<int64_t> base = slotBase(block, warp, step);
  if (step.isBox)
    return isBoxed(step) ? base : std::nullopt;
  int64_t shift = shiftOf(warp.frame, *step.global, viewOf(*step.global));
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  if (!base || shift <= buffer.slack)
    return base ? std::optional(*base + shift * buffer.element.bytes()) : std::nullopt;
  setup.findings.add(FindingKind::Misaligned, step.op,
                     "misaligned access: the row lies " + std::to_string(shift) +
                         " elements behind a multiple of 16 bytes, its slot has slack for " +
                         std::to_string(buffer.slack));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void Machine::noteWrite(Block &block, const Warp &warp, const Step &step, int64_t base) {
  if (!setup.program.hasRows)
    return;
  unsigned number = warp.frame.warp;
  llvm::erase_if(block.unfenced, [&](const Unfenced &each) {
    return each.step == &step && each.warp == number && each.base == base;
  });
  block.unfenced.push_back({&step, number, base, base + setup.program.buffers[step.shared->buffer].tileBytes});
}

void Machine::fence(Block &block, const Warp &warp) {
  for (Unfenced &each : block.unfenced)
    if (each.warp == warp.frame.warp && !each.fencedAt)
      each.fencedAt = warp.clock[each.warp];
}

void Machine::compareWithFences(Block &block, Warp &warp, const Step &step, int64_t base) {
  int64_t end = base + setup.program.buffers[step.shared->buffer].tileBytes;
  for (const Unfenced &each : block.unfenced) {
    uint32_t known = each.warp == warp.frame.warp ? warp.lastSync : warp.clock[each.warp];
    if (each.end <= base || end <= each.base || (each.fencedAt && each.fencedAt <= known))
      continue;
    setup.findings.add(FindingKind::Unfenced, step.op,
                       "write that a copy may not see: " + placeOf(block, warp, 0) +
                           " begins a copy with no fence behind what was written here before",
                       each.step->op, "warp " + std::to_string(each.warp) + " writes here");
  }
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

Machine::Gate *Machine::gateOf(Block &block, Warp &warp, const Step &step, unsigned kind, unsigned slot, unsigned part) {
  Block::Gates &gates = block.gates[gatesOf(part, kind)];
  int64_t number = warp.frame.slots[slot].scalar.integer, count = setup.program.gateCounts[kind];
  if (number < 0 || number >= count) {
    setup.findings.add(FindingKind::OutOfBounds, step.op,
                       "access out of bounds: " + placeOf(block, warp, 0) + " names gate " +
                           std::to_string(number) + " of " + std::to_string(count));
    return nullptr;
  }
  bool isMade = !gates.each.empty();
  unsigned maker = part * setup.program.warps;
  bool isKnown = isMade && (warp.frame.warp == maker || gates.madeAt <= warp.clock[maker]);
  if (!isKnown)
    setup.findings.add(FindingKind::Race, step.op,
                       "data race: " + placeOf(block, warp, 0) + " comes to a gate " +
                           (part == partOf(warp) ? "" : "of block " + std::to_string(part) + " ") +
                           "that may not be made yet, with no barrier in between");
  if (part != partOf(warp) && hasEnded(block, part))
    setup.findings.add(FindingKind::Race, step.op,
                       "data race: " + placeOf(block, warp, 0) + " comes to a gate of block " + std::to_string(part) + ", which has ended");
  return isMade ? &gates.each[number] : nullptr;
}

void Machine::makeGates(Block &block, const Warp &warp, const Step &step) {
  if (isFirstOfBlock(warp))
    block.gates[gatesOf(partOf(warp), step.gates)] = {std::vector<Gate>(setup.program.gateCounts[step.gates]), warp.clock[warp.frame.warp]};
}

/// Whether the gate has opened, as far as its lowest bit tells.
bool Machine::isOpen(const Block &block, const Warp &warp, unsigned kind, unsigned slot, unsigned phase) const {
  const std::vector<Gate> &gates = block.gates[gatesOf(partOf(warp), kind)].each;
  uint64_t number = warp.frame.slots[slot].scalar.integer;
  // What is wrong with the gate is told when the warp goes on.
  return number >= gates.size() || (gates[number].opened & 1) != uint64_t(warp.frame.slots[phase].scalar.integer & 1);
}

void Machine::arriveAtGate(Block &block, Warp &warp, const Step &step) {
  warp.lastSync = warp.clock[warp.frame.warp]; // one lane tells for all
  for (unsigned part = 0; part < setup.program.cluster; ++part) {
    if (part != partOf(warp) && !step.ofCluster)
      continue;
    Gate *gate = gateOf(block, warp, step, step.gates, step.in[0], part);
    if (!gate)
      continue;
    if (part != partOf(warp))
      block.told.push_back({&step, warp.frame.warp, part, warp.clock[warp.frame.warp]});
    gate->told.resize(warp.clock.size());
    for (size_t i = 0; i < warp.clock.size(); ++i)
      gate->told[i] = std::max(gate->told[i], warp.clock[i]);
    if (++gate->arrived < setup.program.gateArrivals[step.gates])
      continue;
    gate->clock = gate->told;
    gate->arrived = 0;
    ++gate->opened;
  }
}

/// Who waits knows what those knew who have told the gate.
void Machine::passGate(Block &block, Warp &warp, const Step &step, unsigned kind, unsigned slot) {
  Gate *gate = gateOf(block, warp, step, kind, slot, partOf(warp));
  if (gate && !gate->clock.empty())
    know(warp, gate->clock);
  for (Event &event : block.events)
    if (gate && event.gate == gate && event.hasLanded)
      event.known.try_emplace(warp.frame.warp, warp.clock[warp.frame.warp]);
}

/// A copy for all blocks counts as a part of one.
void Machine::openIfComplete(Gate &gate, unsigned gates) {
  int64_t arrivals = setup.program.gateArrivals[gates];
  if (gate.arrived < arrivals || gate.landed < arrivals * setup.program.cluster)
    return;
  gate.arrived = gate.landed = 0;
  ++gate.opened;
}

bool Machine::hasEnded(const Block &block, unsigned part) const {
  llvm::ArrayRef<Warp> warps = llvm::ArrayRef(block.warps).slice(part * setup.program.warps, setup.program.warps);
  return llvm::all_of(warps, [](const Warp &each) { return each.state == Warp::State::Ended; });
}

/// When the last warp of a block ends: what other blocks do there must be over, and known to one of its warps.
void Machine::reportUnknown(Block &block, const Warp &warp, const Step &step) {
  unsigned part = partOf(warp);
  if (!hasEnded(block, part))
    return;
  std::vector<uint32_t> clock(warp.clock.size());
  for (const Warp &each : besides(block, warp))
    for (size_t i = 0; i < clock.size(); ++i)
      clock[i] = std::max(clock[i], each.clock[i]);
  auto complain = [&](const Step *other, unsigned by, const char *what) {
    setup.findings.add(FindingKind::Race, step.op, "data race: block " + std::to_string(part) + " ends, and " + what, other->op,
                       placeOf(block, block.warps[by], 0) + " does so here");
  };
  for (const Told &told : block.told)
    if (told.part == part && told.time > clock[told.warp])
      complain(told.step, told.warp, "another one may still tell its gate");
  for (const Copy &copy : block.copies)
    if (copy.gate && !copy.hasLanded && partAt(copy.base) == part && !isOfBlock(warp, copy.warp))
      complain(copy.step, copy.warp, "another one may still copy into its memory");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Machine::beginRow(Block &block, Warp &warp, const Step &step) {
  if (warp.frame.warp % setup.program.warps != step.by)
    return;
  if (step.left)
    passGate(block, warp, step, *step.left, step.in[1]);
  bool isFetch = step.kind == Step::Kind::Fetch;
  unsigned number = warp.frame.warp;
  Copy copy{&step, number, ++warp.copies, block.copyCount++, INT64_MAX, 0, TileRef(), warp.clock};
  copy.at = addresses(block, warp, step);
  countSectors(step, copy.at);
  std::optional<int64_t> base = rowBase(block, warp, step);
  if (!base)
    return;
  copy.base = *base;
  copy.data = TileRef(new Tile(copy.at.size()));
  const Memory &memory = setup.memories[viewOf(*step.global).memory];
  const Element &element = step.global->element;
  for (unsigned i = 0; i < copy.at.size(); ++i) {
    if (copy.at[i] < 0) {
      copy.data->numbers[i] = step.global->pad;
      continue;
    }
    if (isFetch) {
      copy.data->numbers[i] = element.load(&memory.bytes[copy.at[i] * element.bytes()]);
      continue;
    }
    int64_t from = *base + step.shared->offsets[number][i];
    copy.data->numbers[i] = element.load(&block.shared[from]);
    if (!block.isInitialized[from])
      setup.findings.add(FindingKind::Uninitialized, step.op,
                         "uninitialised read: element " + std::to_string(i) +
                             " of a row is sent, which nothing has written");
  }
  *setup.elements += copy.at.size();
  compareWithFences(block, warp, step, *base);
  if (!isFetch) {
    copy.send = ++warp.sends;
    watch(block, warp, step, copy.at, copy.data);
  }
  for (unsigned part = 0; part < setup.program.cluster; ++part) {
    bool isOwn = part == partOf(warp);
    if (!isOwn && !step.ofCluster)
      continue;
    Copy each = copy;
    if (!isOwn) {
      each.number = ++warp.copies;
      each.id = block.copyCount++;
      each.base += (int64_t(part) - partOf(warp)) * setup.program.sharedBytes;
    }
    compareWithEvents(block, warp, step, each.base, isFetch, each.data);
    if (isFetch) {
      each.gate = gateOf(block, warp, step, step.gates, step.in[0], part);
      if (!each.gate)
        continue;
      if (isOwn && ++each.gate->arrived > setup.program.gateArrivals[step.gates])
        setup.findings.add(FindingKind::Race, step.op,
                           "data race: a copy is to open a gate that another one has yet to open");
    }
    addEvent(block, {&step, number, warp.clock[number], each.base, each.base + setup.program.buffers[step.shared->buffer].tileBytes,
                     isFetch, each.id, true, each.data, each.gate});
    if (each.gate)
      openIfComplete(*each.gate, step.gates);
    block.copies.push_back(std::move(each));
  }
}

/// Of a row that ends before its slot does, what is behind it is not to be read. Boxes have zeros there.
void Machine::landRow(Block &block, Copy &copy) {
  const Step &step = *copy.step;
  const Element &element = step.global->element;
  Memory &memory = setup.memories[viewOf(*step.global).memory];
  for (auto [i, at] : llvm::enumerate(copy.at)) {
    int64_t place = copy.base + step.shared->offsets[copy.warp][i];
    if (copy.gate) {
      element.store(&block.shared[place], copy.data->numbers[i]);
      std::fill_n(&block.isInitialized[place], element.bytes(), at >= 0 || step.isBox);
    } else if (at >= 0) {
      element.store(&memory.bytes[at * element.bytes()], element.load(&block.shared[place]));
      memory.isInitialized[at] = true;
    }
  }
  touchShared(block, step, copy.warp, copy.base, /*isWrite=*/bool(copy.gate));
  copy.hasLanded = true;
  if (!copy.gate)
    return;
  copy.gate->landed += step.ofCluster ? 1 : setup.program.cluster;
  openIfComplete(*copy.gate, step.gates);
  for (Event &event : block.events)
    event.hasLanded |= event.copy == copy.id;
}

bool Machine::areSent(const Block &block, const Warp &warp, int64_t pending) const {
  return llvm::all_of(block.copies, [&](const Copy &copy) {
    return !copy.send || copy.warp != warp.frame.warp || copy.send > warp.sends - pending || copy.hasLanded;
  });
}

void Machine::waitForSends(Block &block, Warp &warp, int64_t pending) {
  finish(block, warp, [&](const Copy &copy) {
    return copy.send && copy.warp == warp.frame.warp && copy.send <= warp.sends - pending;
  });
}

void Machine::reportUnfinished(const Block &block) {
  for (const Copy &copy : block.copies)
    if (copy.product)
      setup.findings.add(FindingKind::EarlyUse, copy.step->op,
                         std::string(kindName(FindingKind::EarlyUse)) + ": the block may end while this product goes on");
  for (const Copy &copy : block.copies)
    if (copy.send || (copy.gate && !copy.hasLanded))
      setup.findings.add(FindingKind::EarlyUse, copy.step->op,
                         std::string(kindName(FindingKind::EarlyUse)) +
                             ": the block may end while the machine still copies this row");
}
