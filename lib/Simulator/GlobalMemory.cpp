//===- GlobalMemory.cpp - Accesses to tensors -----------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

std::vector<int64_t> Machine::addresses(Cluster &cluster, Warp &warp, const Step &step) {
  const GlobalAccess &how = *step.global;
  const View &view = viewOf(how);
  const Memory &memory = setup.memories[view.memory];
  const Frame &frame = warp.frame;
  unsigned rank = view.sizes.size(), given = how.coords.size();
  llvm::SmallVector<int64_t> first(given), index(rank);
  for (unsigned dim = 0; dim < given; ++dim)
    first[dim] = frame.slots[how.coords[dim]].scalar.integer * how.tileSizes[dim];
  if (how.front)
    first[how.front->first] -= frame.slots[how.front->second].scalar.integer;
  std::vector<int64_t> at(how.places->count());
  for (unsigned i = 0; i < at.size(); ++i) {
    uint64_t element = (*how.places)(frame.warp, i);
    bool isOutside = false, isSkipped = false;
    int64_t address = view.offset;
    for (unsigned dim = 0; dim < rank; ++dim) {
      if (dim < given) {
        index[dim] = first[dim];
        if (int along = how.tileDim[dim]; along >= 0)
          index[dim] += (element >> how.shift[along]) & (how.tileSizes[dim] - 1);
      } else {
        int64_t wanted = frame.slots[how.indices[dim - given]].tile->values[i].integer;
        // Indices outside of the view are left out by scatters and clamped by gathers.
        isSkipped |= how.isWrite && (wanted < 0 || wanted >= view.sizes[dim]);
        index[dim] = std::clamp<int64_t>(wanted, 0, view.sizes[dim] - 1);
      }
      isOutside |= index[dim] < 0 || index[dim] >= view.sizes[dim];
      address += index[dim] * view.strides[dim];
    }
    // What is copied before an aligned row belongs to no tile.
    bool isInFront = step.kind == Step::Kind::AsyncLoad && how.front && index[how.front->first] < 0;
    bool isLeftOut = isSkipped || isInFront || (isOutside && how.isChecked);
    int64_t number = address - memory.lowest;
    bool isInMemory = number >= 0 && number < memory.count();
    at[i] = isLeftOut ? -1 : number;
    // A replica that does not store may have any address.
    if (isLeftOut || (!isOutside && isInMemory) ||
        (how.isWrite && !how.places->isOwner(frame.warp, i)))
      continue;
    at[i] = -1;
    setup.findings.add(FindingKind::OutOfBounds, step.op,
                       threadText(cluster, warp, i % kLanes) + " " +
                           (how.isWrite ? "writes" : "reads") + " element " + indexText(index) +
                           " of " + memory.name + ", a view of sizes " + indexText(view.sizes));
  }
  return at;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool Machine::areInOrder(const Mark &mark, const Cluster &cluster, const Warp &warp,
                         unsigned lane) const {
  if (mark.cluster != cluster.number)
    return false;
  if (mark.warp != warp.frame.warp)
    return mark.time <= warp.clock[mark.warp];
  return mark.lane == lane || mark.time <= warp.lastSync;
}

void Machine::watch(Cluster &cluster, Warp &warp, const Step &step, const std::vector<int64_t> &at,
                    const TileRef &data) {
  const GlobalAccess &how = *step.global;
  bool isWrite = data.get();
  unsigned number = viewOf(how).memory;
  const Memory &memory = setup.memories[number];
  auto report = [&](const Mark &mark, unsigned i, bool wasWrite) {
    const Step &other = setup.program.steps[mark.step];
    std::string where = clusterCount > 1 ? (setup.program.clusterSize > 1 ? "cluster " : "CTA ") +
                                               std::to_string(mark.cluster) + ", "
                                         : "";
    setup.findings.add(FindingKind::Race, step.op,
                       threadText(cluster, warp, i % kLanes) + " " +
                           (isWrite ? "writes" : "reads") + " element " + std::to_string(at[i]) +
                           " of " + memory.name + ", which is not ordered with another access",
                       other.op,
                       where + "warp " + std::to_string(mark.warp) + ", lane " +
                           std::to_string(mark.lane) + (wasWrite ? " writes" : " reads") +
                           " it here");
  };
  for (unsigned i = 0; i < at.size(); ++i) {
    unsigned lane = i % kLanes;
    if (at[i] < 0 || (isWrite && !how.places->isOwner(warp.frame.warp, i)))
      continue;
    Mark mark{step.number,   cluster.number, warp.clock[warp.frame.warp], uint16_t(warp.frame.warp),
              uint8_t(lane), how.isAtomic};
    Mark &last = writes[number][at[i]];
    // The same operation may write the same value twice.
    if (isWrite)
      mark.bits = memory.element.encode(data->values[i]);
    bool isSame = isWrite && last.step == step.number && last.bits == mark.bits;
    if (last.isSet() && !(last.isAtomic && how.isAtomic) &&
        !areInOrder(last, cluster, warp, lane) && !isSame)
      report(last, i, /*wasWrite=*/true);
    if (isWrite) {
      auto found = reads[number].find(at[i]);
      if (found != reads[number].end()) {
        for (const Mark &read : found->second)
          if (!areInOrder(read, cluster, warp, lane))
            report(read, i, /*wasWrite=*/false);
        reads[number].erase(found);
      }
      last = mark;
    } else {
      auto &list = reads[number][at[i]];
      llvm::erase_if(list, [&](const Mark &read) {
        return read.cluster == mark.cluster && read.warp == mark.warp && read.lane == mark.lane;
      });
      list.push_back(mark);
    }
    if (current) {
      uint64_t bytes = memory.element.bytes(), begin = (uint64_t(number) << 40) + at[i] * bytes;
      current->touches.push_back({begin, begin + bytes, isWrite, how.isAtomic});
    }
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void Machine::checkVectors(Cluster &cluster, Warp &warp, const Step &step,
                           const std::vector<int64_t> &at) {
  const GlobalAccess &how = *step.global;
  const Memory &memory = setup.memories[viewOf(how).memory];
  for (unsigned i = 0; how.width > 1 && i < at.size(); ++i) {
    unsigned within = i / kLanes % how.width, first = i - within * kLanes;
    // Elements at the ends of an unaligned row are accessed one by one.
    if (how.front && at[i] < 0)
      continue;
    int64_t begin = how.front ? at[i] - within : at[first];
    bool isContiguous = begin < 0 ? at[i] < 0 : at[i] == begin + within;
    if (isContiguous && (begin < 0 || (begin + memory.lowest) % how.width == 0))
      continue;
    setup.findings.add(FindingKind::Misaligned, step.op,
                       threadText(cluster, warp, i % kLanes) + " accesses a vector of " +
                           std::to_string(how.width) + " elements that " +
                           (isContiguous
                                ? "begins at element " + std::to_string(begin + memory.lowest)
                                : "are not contiguous") +
                           " of " + memory.name);
    return;
  }
}

/// Counts the sectors of 32 bytes that a warp's instructions access, and the fewest that hold as
/// many distinct bytes.
void Machine::countSectors(const Step &step, const std::vector<int64_t> &at) {
  if (!setup.costs)
    return;
  constexpr int64_t kSector = 32;
  const GlobalAccess &how = *step.global;
  int64_t bytes = how.element.bytes();
  Cost &cost = (*setup.costs)[step.number];
  for (unsigned reg = 0; reg < how.places->registers(); reg += how.width) {
    llvm::SmallVector<int64_t, kLanes> elements;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (int64_t first = at[reg * kLanes + lane]; first >= 0)
        elements.push_back(first);
    if (elements.empty())
      continue;
    llvm::sort(elements);
    elements.erase(llvm::unique(elements), elements.end());
    int64_t sectors = 0, last = -1;
    for (int64_t first : elements)
      for (int64_t sector = std::max(first * bytes / kSector, last + 1);
           sector <= ((first + how.width) * bytes - 1) / kSector; ++sector) {
        ++sectors;
        last = sector;
      }
    ++cost.accesses;
    cost.units += sectors;
    cost.ideal += (int64_t(elements.size()) * how.width * bytes + kSector - 1) / kSector;
  }
}

TileRef Machine::load(Cluster &cluster, Warp &warp, const Step &step) {
  const GlobalAccess &how = *step.global;
  const Memory &memory = setup.memories[viewOf(how).memory];
  std::vector<int64_t> at = addresses(cluster, warp, step);
  *setup.elements += at.size();
  checkVectors(cluster, warp, step, at);
  countSectors(step, at);
  if (isWatched(step))
    watch(cluster, warp, step, at, TileRef());
  TileRef made(new Tile(at.size()));
  unsigned bytes = how.element.bytes();
  for (unsigned i = 0; i < at.size(); ++i) {
    made->values[i] = at[i] < 0 ? how.pad : how.element.load(&memory.bytes[at[i] * bytes]);
    if (at[i] >= 0 && !memory.isInitialized[at[i]])
      setup.findings.add(FindingKind::Uninitialized, step.op,
                         threadText(cluster, warp, i % kLanes) + " reads element " +
                             std::to_string(at[i]) + " of " + memory.name +
                             ", which nothing has written");
  }
  return made;
}

void Machine::store(Cluster &cluster, Warp &warp, const Step &step) {
  const GlobalAccess &how = *step.global;
  Memory &memory = setup.memories[viewOf(how).memory];
  std::vector<int64_t> at = addresses(cluster, warp, step);
  checkVectors(cluster, warp, step, at);
  for (unsigned i = 0; i < at.size(); ++i)
    if (!how.places->isOwner(warp.frame.warp, i))
      at[i] = -1;
  *setup.elements += at.size();
  countSectors(step, at);
  const TileRef data = warp.frame.slots[step.in[0]].tile;
  watch(cluster, warp, step, at, data);
  unsigned bytes = how.element.bytes();
  for (unsigned i = 0; i < at.size(); ++i) {
    if (at[i] < 0)
      continue;
    std::byte *to = &memory.bytes[at[i] * bytes];
    Number number = data->values[i];
    if (how.isAtomic)
      number = combine(ReduceOp::Sum, how.element, how.element.load(to), number, /*skipNan=*/false);
    how.element.store(to, number);
    memory.isInitialized[at[i]] = true;
  }
}
