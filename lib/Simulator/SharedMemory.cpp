//===- SharedMemory.cpp - Accesses to shared memory -----------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

/// Of threads that hold the same element one stores it; copies are made by all of them. What is pushed may be for one
/// block, the one of number `part`.
static bool takesPart(const Step &step, unsigned warp, unsigned number, unsigned part) {
  if (step.kind == Step::Kind::Push)
    return step.shared->isPushedTo(part, warp, number);
  bool isAll = step.kind == Step::Kind::Copy || step.kind == Step::Kind::Fetch; // also by another warp than the first
  return isAll || !step.shared->isWrite || step.shared->places->isOwnerInBlock(warp, number);
}

static std::string elementText(const Step &step, unsigned warp, unsigned number) {
  uint64_t element = step.shared->first ^ (*step.shared->places)(warp, number);
  llvm::SmallVector<int64_t> index(step.shared->shape.size());
  for (size_t dim = index.size(); dim-- > 0; element /= step.shared->shape[dim])
    index[dim] = element % step.shared->shape[dim];
  return "element " + indexText(index);
}

std::string Machine::slotText(const Warp &warp, const Step &step) const {
  if (step.kind == Step::Kind::Push || step.kind == Step::Kind::Take)
    return " of turn " + std::to_string(turnOf(warp, step));
  return " of slot " + std::to_string(warp.frame.slots[step.shared->slot].scalar.integer);
}

std::optional<int64_t> Machine::slotBase(Block &block, Warp &warp, const Step &step) {
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  if (step.kind == Step::Kind::Take)
    return mailboxBase(warp, step, partOf(warp));
  int64_t slot = warp.frame.slots[step.shared->slot].scalar.integer;
  int64_t behind = step.shared->behind ? warp.frame.slots[*step.shared->behind].scalar.integer : 0;
  if (behind < 0 || behind > buffer.slack) {
    setup.findings.add(FindingKind::OutOfBounds, step.op,
                       "access out of bounds: " + placeOf(block, warp, 0) + " names a tile behind " +
                           std::to_string(behind) + " elements of a slot with slack for " +
                           std::to_string(buffer.slack));
    return std::nullopt;
  }
  if (slot >= 0 && slot < buffer.slots)
    return partOf(warp) * setup.program.sharedBytes + buffer.begin + slot * buffer.stride + behind * buffer.element.bytes();
  setup.findings.add(FindingKind::OutOfBounds, step.op,
                     "access out of bounds: " + placeOf(block, warp, 0) + " names slot " +
                         std::to_string(slot) + " of a buffer of " + std::to_string(buffer.slots));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// For all lanes of the warp.
bool Machine::areInOrder(const Event &event, const Warp &warp) const {
  if (event.known.count(warp.frame.warp))
    return true;
  // Of what has come into another block, who has heard of a warp there that has waited for it.
  if (event.gate && partOf(warp) != partAt(event.base))
    return llvm::any_of(event.known, [&](const auto &each) { return each.second <= warp.clock[each.first]; });
  if (event.copy >= 0)
    return false;
  if (event.step->kind == Step::Kind::Push && event.warp == warp.frame.warp)
    return event.time <= warp.lastReceived;
  return event.time <= (event.warp == warp.frame.warp ? warp.lastSync : warp.clock[event.warp]);
}

std::optional<Machine::Overlap> Machine::overlap(const Event &event, const Step &step,
                                                 unsigned warp, int64_t base, bool isWrite,
                                                 const TileRef &data) {
  const Program &program = setup.program;
  const Element &one = program.buffers[event.step->shared->buffer].element,
                &two = program.buffers[step.shared->buffer].element;
  bool isAnyLane = event.warp != warp || event.copy >= 0;
  auto key = std::make_tuple(event.step, event.warp * 2 + isAnyLane, event.base, &step, warp, base);
  if (auto cached = areApart.find(key); cached != areApart.end() && cached->second)
    return std::nullopt;
  // By bytes: a number of the event, and another one of a different lane.
  const std::vector<uint32_t> &before = event.step->shared->offsets[event.warp],
                              &now = step.shared->offsets[warp];
  unsigned partBefore = event.base / program.sharedBytes, part = base / program.sharedBytes;
  std::vector<std::pair<int, int>> held(event.end - event.base, {-1, -1});
  for (unsigned i = 0; i < before.size(); ++i)
    for (unsigned byte = 0; takesPart(*event.step, event.warp, i, partBefore) && byte < one.bytes(); ++byte) {
      auto &[first, second] = held[before[i] + byte];
      if (first < 0)
        first = int(i);
      else if (first % int(kLanes) != int(i % kLanes))
        second = int(i);
    }
  bool isApart = true;
  std::optional<Overlap> found;
  for (unsigned i = 0; i < now.size() && !found; ++i)
    for (unsigned byte = 0; takesPart(step, warp, i, part) && byte < two.bytes() && !found; ++byte) {
      int64_t at = base + now[i] + byte - event.base;
      if (at < 0 || at >= int64_t(held.size()))
        continue;
      auto [first, second] = held[at];
      int other =
          isAnyLane || (first >= 0 && first % int(kLanes) != int(i % kLanes)) ? first : second;
      if (other < 0)
        continue;
      isApart = false;
      // The same number twice by the same operation does no harm.
      bool isSame = event.isWrite && isWrite && event.step == &step &&
                    one.encode(event.data->numbers[other]) == two.encode(data->numbers[i]);
      if (!isSame)
        found = Overlap{unsigned(other), i, base + now[i]};
    }
  areApart[key] = isApart;
  return found;
}

bool Machine::compareWithEvents(Block &block, Warp &warp, const Step &step, int64_t base,
                                bool isWrite, const TileRef &data) {
  int64_t end = base + setup.program.buffers[step.shared->buffer].tileBytes;
  bool isWrong = false;
  for (const Event &event : block.events) {
    if ((!event.isWrite && !isWrite) || event.end <= base || end <= event.base ||
        areInOrder(event, warp))
      continue;
    std::optional<Overlap> both = overlap(event, step, warp.frame.warp, base, isWrite, data);
    if (!both)
      continue;
    isWrong = true;
    const Warp &other = block.warps[event.warp];
    bool isCopy = step.kind == Step::Kind::Copy || step.kind == Step::Kind::Fetch;
    bool isEarly = event.copy >= 0 && !isCopy;
    std::string verb = isCopy                          ? "copies to "
                       : step.kind == Step::Kind::Push ? "pushes "
                       : isWrite                       ? "writes "
                                                       : "reads ";
    std::string what = verb + elementText(step, warp.frame.warp, both->second) + slotText(warp, step);
    std::string why = isEarly && event.isWrite        ? ", which a copy may still fill"
                      : isEarly                       ? ", which a copy may still read"
                      : event.warp == warp.frame.warp ? ", with no barrier between the lanes"
                                                      : ", with no barrier in between";
    std::string otherVerb = event.isCopy                            ? "copies"
                            : event.step->kind == Step::Kind::Push ? "pushes"
                            : event.isWrite                         ? "writes"
                                                                    : "reads";
    FindingKind kind = isEarly ? FindingKind::EarlyUse : FindingKind::Race;
    setup.findings.add(kind, step.op,
                       kindName(kind).str() + ": " + placeOf(block, warp, both->second % kLanes) +
                           " " + what + why,
                       event.step->op,
                       placeOf(block, other, both->first % kLanes) + " " + otherVerb + " here " +
                           elementText(*event.step, event.warp, both->first) +
                           (event.isCopy && event.copy < 0 ? " and has waited for it" : ""));
  }
  return isWrong;
}

/// An older access of the same kind to the same place is forgotten: whoever knows of this one knows
/// of that.
void Machine::addEvent(Block &block, Event event) {
  llvm::erase_if(block.events, [&](const Event &each) {
    return each.step == event.step && each.warp == event.warp && each.base == event.base &&
           each.copy < 0 && event.copy < 0;
  });
  block.events.push_back(std::move(event));
}

void Machine::touchShared(const Block &block, const Step &step, unsigned warp, int64_t base,
                          bool isWrite) {
  if (!current)
    return;
  // All blocks' shared memories stand above all tensors.
  uint64_t start = (uint64_t(1) << 63) + (uint64_t(block.number) << 24) + base;
  uint64_t bytes = setup.program.buffers[step.shared->buffer].element.bytes();
  std::vector<uint32_t> offsets;
  for (auto [i, offset] : llvm::enumerate(step.shared->offsets[warp]))
    if (takesPart(step, warp, i, base / setup.program.sharedBytes))
      offsets.push_back(offset);
  llvm::sort(offsets);
  for (uint32_t offset : offsets) {
    uint64_t begin = start + offset;
    std::vector<Touch> &touches = current->touches;
    if (!touches.empty() && touches.back().isWrite == isWrite && touches.back().begin <= begin &&
        begin <= touches.back().end)
      touches.back().end = std::max(touches.back().end, begin + bytes);
    else
      touches.push_back({begin, begin + bytes, isWrite, false});
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void Machine::access(Block &block, Warp &warp, const Step &step) {
  const SlotAccess &how = *step.shared;
  const Buffer &buffer = setup.program.buffers[how.buffer];
  unsigned number = warp.frame.warp;
  const std::vector<uint32_t> &offsets = how.offsets[number];
  *setup.elements += offsets.size();
  if (setup.costs) {
    Cost &cost = (*setup.costs)[step.number];
    cost.accesses += how.accesses;
    cost.units += how.wavefronts;
    cost.ideal += how.ideal;
  }
  TileRef data =
      how.isWrite ? warp.frame.slots[step.in[0]].tile : TileRef(new Tile(offsets.size()));
  std::optional<int64_t> base = slotBase(block, warp, step);
  bool isWrong = base && compareWithEvents(block, warp, step, *base, how.isWrite, data);
  int64_t below = how.below ? warp.frame.slots[*how.below].scalar.integer : INT64_MAX;
  int64_t from = how.from ? warp.frame.slots[*how.from].scalar.integer : 0;
  for (unsigned i = 0; base && i < offsets.size(); ++i) {
    int64_t at = *base + offsets[i], element = (*how.places)(number, i);
    if (element < from || element >= below) {
      data->numbers[i] = how.pad;
      continue;
    }
    if (how.isWrite && takesPart(step, number, i, partOf(warp))) {
      buffer.element.store(&block.shared[at], data->numbers[i]);
      std::fill_n(&block.isInitialized[at], buffer.element.bytes(), 1);
    } else if (!how.isWrite) {
      data->numbers[i] = buffer.element.load(&block.shared[at]);
      if (!block.isInitialized[at] && !isWrong) {
        isWrong = true;
        setup.findings.add(FindingKind::Uninitialized, step.op,
                           "uninitialised read: " + placeOf(block, warp, i % kLanes) + " reads " +
                               elementText(step, number, i) + slotText(warp, step) +
                               ", which nothing has written");
      }
    }
  }
  if (!how.isWrite)
    warp.frame.slots[step.out[0]].tile = data;
  if (!base)
    return;
  if (how.isWrite)
    noteWrite(block, warp, step, *base);
  touchShared(block, step, number, *base, how.isWrite);
  addEvent(block, {&step, number, warp.clock[number], *base, *base + buffer.tileBytes, how.isWrite, -1,
                   false, data});
}

void Machine::beginCopy(Block &block, Warp &warp, const Step &step) {
  unsigned number = warp.frame.warp;
  bool isRead = step.in.empty() || warp.frame.slots[step.in[0]].scalar.integer;
  TileRef data = isRead ? load(block, warp, step)
                        : TileRef(new Tile(step.global->places->count(), step.global->pad));
  ++warp.copies;
  if (setup.costs) {
    Cost &cost = (*setup.costs)[setup.program.steps.size() + step.number];
    cost.accesses += step.shared->accesses;
    cost.units += step.shared->wavefronts;
    cost.ideal += step.shared->ideal;
  }
  std::optional<int64_t> base = slotBase(block, warp, step);
  if (!base)
    return;
  compareWithEvents(block, warp, step, *base, /*isWrite=*/true, data);
  int id = block.copyCount++;
  block.copies.push_back({&step, number, warp.copies, id, warp.group, *base, data, warp.clock});
  int64_t end = *base + setup.program.buffers[step.shared->buffer].tileBytes;
  addEvent(block, {&step, number, warp.clock[number], *base, end, true, id, true, data});
}

void Machine::land(Block &block, Copy &copy) {
  const Step &step = *copy.step;
  if (!copy.at.empty())
    return landRow(block, copy);
  const Element &element = setup.program.buffers[step.shared->buffer].element;
  for (auto [i, offset] : llvm::enumerate(step.shared->offsets[copy.warp])) {
    int64_t at = copy.base + offset;
    element.store(&block.shared[at], copy.data->numbers[i]);
    std::fill_n(&block.isInitialized[at], element.bytes(), 1);
  }
  copy.hasLanded = true;
  touchShared(block, step, copy.warp, copy.base, /*isWrite=*/true);
}
