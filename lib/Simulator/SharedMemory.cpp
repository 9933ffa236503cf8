//===- SharedMemory.cpp - Accesses to shared memory -----------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

/// Whether a step accesses a value of the warp, in the shared memory of CTA `cta`. Of threads that
/// hold the same element one stores it; asynchronous copies copy all of them.
static bool accessesElement(const Step &step, unsigned warp, unsigned value, unsigned cta) {
  if (step.kind == Step::Kind::DsmemStore)
    return step.shared->isStoredTo(cta, warp, value);
  bool isAll = step.kind == Step::Kind::CpAsync ||
               step.kind == Step::Kind::AsyncLoad; // also by another warp than the first
  return isAll || !step.shared->isWrite || step.shared->places->isOwnerInCta(warp, value);
}

static std::string elementText(const Step &step, unsigned warp, unsigned value) {
  uint64_t element = step.shared->first ^ (*step.shared->places)(warp, value);
  llvm::SmallVector<int64_t> index(step.shared->shape.size());
  for (size_t dim = index.size(); dim-- > 0; element /= step.shared->shape[dim])
    index[dim] = element % step.shared->shape[dim];
  return "element " + indexText(index);
}

std::string Machine::stageText(const Warp &warp, const Step &step) const {
  if (step.kind == Step::Kind::DsmemStore || step.kind == Step::Kind::DsmemLoad)
    return " of iteration " + std::to_string(iterationOf(warp, step));
  return " of stage " + std::to_string(warp.frame.slots[step.shared->stageSlot].scalar.integer);
}

std::optional<int64_t> Machine::stageBase(Cluster &cluster, Warp &warp, const Step &step) {
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  if (step.kind == Step::Kind::DsmemLoad)
    return dsmemBase(warp, step, ctaOf(warp));
  int64_t stage = warp.frame.slots[step.shared->stageSlot].scalar.integer;
  int64_t shift = step.shared->shift ? warp.frame.slots[*step.shared->shift].scalar.integer : 0;
  if (shift < 0 || shift > buffer.slack) {
    setup.findings.add(FindingKind::OutOfBounds, step.op,
                       threadText(cluster, warp, 0) + " shifts a tile by " + std::to_string(shift) +
                           " elements in a stage with slack for " + std::to_string(buffer.slack));
    return std::nullopt;
  }
  if (stage >= 0 && stage < buffer.stages)
    return ctaOf(warp) * setup.program.sharedBytes + buffer.begin + stage * buffer.stride +
           shift * buffer.element.bytes();
  setup.findings.add(FindingKind::OutOfBounds, step.op,
                     threadText(cluster, warp, 0) + " accesses stage " + std::to_string(stage) +
                         " of a buffer with " + std::to_string(buffer.stages) + " stages");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Whether an access is ordered before all lanes of the warp.
bool Machine::areInOrder(const Event &event, const Warp &warp) const {
  if (event.known.count(warp.frame.warp))
    return true;
  // A copy into another CTA's memory is ordered by a warp of that CTA that has waited for it.
  if (event.mbarrier && ctaOf(warp) != ctaAt(event.base))
    return llvm::any_of(event.known,
                        [&](const auto &each) { return each.second <= warp.clock[each.first]; });
  if (event.copy >= 0)
    return false;
  if (event.step->kind == Step::Kind::DsmemStore && event.warp == warp.frame.warp)
    return event.time <= warp.lastDsmemWait;
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
  // By byte: a value of the event, and another one of a different lane.
  const std::vector<uint32_t> &before = event.step->shared->offsets[event.warp],
                              &now = step.shared->offsets[warp];
  unsigned ctaBefore = event.base / program.sharedBytes, cta = base / program.sharedBytes;
  std::vector<std::pair<int, int>> held(event.end - event.base, {-1, -1});
  for (unsigned i = 0; i < before.size(); ++i)
    for (unsigned byte = 0;
         accessesElement(*event.step, event.warp, i, ctaBefore) && byte < one.bytes(); ++byte) {
      auto &[first, second] = held[before[i] + byte];
      if (first < 0)
        first = int(i);
      else if (first % int(kLanes) != int(i % kLanes))
        second = int(i);
    }
  bool isApart = true;
  std::optional<Overlap> found;
  for (unsigned i = 0; i < now.size() && !found; ++i)
    for (unsigned byte = 0; accessesElement(step, warp, i, cta) && byte < two.bytes() && !found;
         ++byte) {
      int64_t at = base + now[i] + byte - event.base;
      if (at < 0 || at >= int64_t(held.size()))
        continue;
      auto [first, second] = held[at];
      int other =
          isAnyLane || (first >= 0 && first % int(kLanes) != int(i % kLanes)) ? first : second;
      if (other < 0)
        continue;
      isApart = false;
      // The same operation may write the same value twice.
      bool isSame = event.isWrite && isWrite && event.step == &step &&
                    one.encode(event.data->values[other]) == two.encode(data->values[i]);
      if (!isSame)
        found = Overlap{unsigned(other), i, base + now[i]};
    }
  areApart[key] = isApart;
  return found;
}

bool Machine::compareWithEvents(Cluster &cluster, Warp &warp, const Step &step, int64_t base,
                                bool isWrite, const TileRef &data) {
  int64_t end = base + setup.program.buffers[step.shared->buffer].tileBytes;
  bool isWrong = false;
  for (const Event &event : cluster.events) {
    if ((!event.isWrite && !isWrite) || event.end <= base || end <= event.base ||
        areInOrder(event, warp))
      continue;
    std::optional<Overlap> both = overlap(event, step, warp.frame.warp, base, isWrite, data);
    if (!both)
      continue;
    isWrong = true;
    const Warp &other = cluster.warps[event.warp];
    bool isCopy = step.kind == Step::Kind::CpAsync || step.kind == Step::Kind::AsyncLoad;
    bool isEarly = event.copy >= 0 && !isCopy;
    std::string verb = isCopy                                ? "copies to "
                       : step.kind == Step::Kind::DsmemStore ? "stores to dsmem "
                       : isWrite                             ? "writes "
                                                             : "reads ";
    std::string what =
        verb + elementText(step, warp.frame.warp, both->second) + stageText(warp, step);
    std::string why = isEarly && event.isWrite ? ", which a copy may still write"
                      : isEarly                ? ", which an asynchronous operation may still read"
                      : event.warp == warp.frame.warp ? ", with no barrier between the lanes"
                                                      : ", with no barrier in between";
    std::string otherVerb = event.isCopy                                 ? "copies"
                            : event.step->kind == Step::Kind::DsmemStore ? "stores to dsmem"
                            : event.isWrite                              ? "writes"
                                                                         : "reads";
    FindingKind kind = isEarly ? FindingKind::EarlyUse : FindingKind::Race;
    setup.findings.add(kind, step.op,
                       threadText(cluster, warp, both->second % kLanes) + " " + what + why,
                       event.step->op,
                       threadText(cluster, other, both->first % kLanes) + " " + otherVerb + " " +
                           elementText(*event.step, event.warp, both->first) + " here" +
                           (event.isCopy && event.copy < 0 ? " and has waited for it" : ""));
  }
  return isWrong;
}

/// Replaces an older access of the same step to the same address: what is ordered after this one is
/// ordered after that one.
void Machine::addEvent(Cluster &cluster, Event event) {
  llvm::erase_if(cluster.events, [&](const Event &each) {
    return each.step == event.step && each.warp == event.warp && each.base == event.base &&
           each.copy < 0 && event.copy < 0;
  });
  cluster.events.push_back(std::move(event));
}

void Machine::touchShared(const Cluster &cluster, const Step &step, unsigned warp, int64_t base,
                          bool isWrite) {
  if (!current)
    return;
  // The shared memories of all clusters have addresses above those of all tensors.
  uint64_t start = (uint64_t(1) << 63) + (uint64_t(cluster.number) << 24) + base;
  uint64_t bytes = setup.program.buffers[step.shared->buffer].element.bytes();
  std::vector<uint32_t> offsets;
  for (auto [i, offset] : llvm::enumerate(step.shared->offsets[warp]))
    if (accessesElement(step, warp, i, base / setup.program.sharedBytes))
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

void Machine::access(Cluster &cluster, Warp &warp, const Step &step) {
  const StageAccess &how = *step.shared;
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
  std::optional<int64_t> base = stageBase(cluster, warp, step);
  bool isWrong = base && compareWithEvents(cluster, warp, step, *base, how.isWrite, data);
  int64_t below = how.below ? warp.frame.slots[*how.below].scalar.integer : INT64_MAX;
  int64_t from = how.from ? warp.frame.slots[*how.from].scalar.integer : 0;
  for (unsigned i = 0; base && i < offsets.size(); ++i) {
    int64_t at = *base + offsets[i], element = (*how.places)(number, i);
    if (element < from || element >= below) {
      data->values[i] = how.pad;
      continue;
    }
    if (how.isWrite && accessesElement(step, number, i, ctaOf(warp))) {
      buffer.element.store(&cluster.shared[at], data->values[i]);
      std::fill_n(&cluster.isInitialized[at], buffer.element.bytes(), 1);
    } else if (!how.isWrite) {
      data->values[i] = buffer.element.load(&cluster.shared[at]);
      if (!cluster.isInitialized[at] && !isWrong) {
        isWrong = true;
        setup.findings.add(FindingKind::Uninitialized, step.op,
                           threadText(cluster, warp, i % kLanes) + " reads " +
                               elementText(step, number, i) + stageText(warp, step) +
                               ", which nothing has written");
      }
    }
  }
  if (!how.isWrite)
    warp.frame.slots[step.out[0]].tile = data;
  if (!base)
    return;
  if (how.isWrite)
    recordWrite(cluster, warp, step, *base);
  touchShared(cluster, step, number, *base, how.isWrite);
  addEvent(cluster, {&step, number, warp.clock[number], *base, *base + buffer.tileBytes,
                     how.isWrite, -1, false, data});
}

void Machine::issueCpAsync(Cluster &cluster, Warp &warp, const Step &step) {
  unsigned number = warp.frame.warp;
  bool isRead = step.in.empty() || warp.frame.slots[step.in[0]].scalar.integer;
  TileRef data = isRead ? load(cluster, warp, step)
                        : TileRef(new Tile(step.global->places->count(), step.global->pad));
  ++warp.copies;
  if (setup.costs) {
    Cost &cost = (*setup.costs)[setup.program.steps.size() + step.number];
    cost.accesses += step.shared->accesses;
    cost.units += step.shared->wavefronts;
    cost.ideal += step.shared->ideal;
  }
  std::optional<int64_t> base = stageBase(cluster, warp, step);
  if (!base)
    return;
  compareWithEvents(cluster, warp, step, *base, /*isWrite=*/true, data);
  int id = cluster.copyCount++;
  cluster.copies.push_back({&step, number, warp.copies, id, warp.group, *base, data, warp.clock});
  int64_t end = *base + setup.program.buffers[step.shared->buffer].tileBytes;
  addEvent(cluster, {&step, number, warp.clock[number], *base, end, true, id, true, data});
}

void Machine::land(Cluster &cluster, Copy &copy) {
  const Step &step = *copy.step;
  if (!copy.at.empty())
    return landBulkCopy(cluster, copy);
  const Element &element = setup.program.buffers[step.shared->buffer].element;
  for (auto [i, offset] : llvm::enumerate(step.shared->offsets[copy.warp])) {
    int64_t at = copy.base + offset;
    element.store(&cluster.shared[at], copy.data->values[i]);
    std::fill_n(&cluster.isInitialized[at], element.bytes(), 1);
  }
  copy.hasLanded = true;
  touchShared(cluster, step, copy.warp, copy.base, /*isWrite=*/true);
}
