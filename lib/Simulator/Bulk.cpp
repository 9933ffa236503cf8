//===- Bulk.cpp - Mbarriers, bulk copies and TMA --------------------------===//
//
// A thread issues a bulk copy or TMA load, which happens at any time until its full mbarrier
// completes a phase, or, for a bulk store, until it is waited for. An mbarrier counts its phases; a
// waiting warp sees the parity of that count. A copy sees a thread's write to shared memory if a
// proxy fence of the thread follows it and is ordered before the copy.
//
// A multicast is a copy into each CTA of the cluster. It counts at the mbarrier there, whose phase
// completes when that CTA has issued its own load as well. No warp may arrive at an mbarrier of a
// CTA that may have exited, nor copy into its memory.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

static constexpr int64_t kChunk = 16; // bytes

/// The misalignment of a row in elements. Tensors are aligned to 16 bytes.
static int64_t shiftOf(const Frame &frame, const GlobalAccess &row, const View &view) {
  int64_t place = view.offset;
  for (auto [dim, slot] : llvm::enumerate(row.coords))
    place += frame.slots[slot].scalar.integer * row.tileSizes[dim] * view.strides[dim];
  if (row.front)
    place -= frame.slots[row.front->second].scalar.integer;
  return place & (kChunk / row.element.bytes() - 1);
}

/// Whether a tensor map can describe a view: its address and its strides are multiples of 16 bytes,
/// and the strides are positive.
bool Machine::checkTensorMap(const Step &step) {
  const View &view = viewOf(*step.global);
  int64_t elements = kChunk / step.global->element.bytes();
  bool isValid = view.offset % elements == 0;
  for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides))
    isValid &= size <= 1 || stride == 1 || (stride > 0 && stride % elements == 0);
  if (!isValid)
    setup.findings.add(FindingKind::Misaligned, step.op,
                       "TMA requires a view whose address and strides are multiples of 16 bytes");
  return isValid;
}

/// The address of the tile in its stage; none, after a finding, if the copy is not possible.
std::optional<int64_t> Machine::copyBase(Cluster &cluster, Warp &warp, const Step &step) {
  std::optional<int64_t> base = stageBase(cluster, warp, step);
  if (step.isTma)
    return checkTensorMap(step) ? base : std::nullopt;
  int64_t shift = shiftOf(warp.frame, *step.global, viewOf(*step.global));
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  if (!base || shift <= buffer.slack)
    return base ? std::optional(*base + shift * buffer.element.bytes()) : std::nullopt;
  setup.findings.add(FindingKind::Misaligned, step.op,
                     "the row begins " + std::to_string(shift) +
                         " elements after a multiple of 16 bytes, its stage has slack for " +
                         std::to_string(buffer.slack));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void Machine::recordWrite(Cluster &cluster, const Warp &warp, const Step &step, int64_t base) {
  if (!setup.program.usesAsyncProxy)
    return;
  unsigned number = warp.frame.warp;
  llvm::erase_if(cluster.unfenced, [&](const Unfenced &each) {
    return each.step == &step && each.warp == number && each.base == base;
  });
  cluster.unfenced.push_back(
      {&step, number, base, base + setup.program.buffers[step.shared->buffer].tileBytes});
}

void Machine::fence(Cluster &cluster, const Warp &warp) {
  for (Unfenced &each : cluster.unfenced)
    if (each.warp == warp.frame.warp && !each.fencedAt)
      each.fencedAt = warp.clock[each.warp];
}

void Machine::compareWithFences(Cluster &cluster, Warp &warp, const Step &step, int64_t base) {
  int64_t end = base + setup.program.buffers[step.shared->buffer].tileBytes;
  for (const Unfenced &each : cluster.unfenced) {
    uint32_t known = each.warp == warp.frame.warp ? warp.lastSync : warp.clock[each.warp];
    if (each.end <= base || end <= each.base || (each.fencedAt && each.fencedAt <= known))
      continue;
    setup.findings.add(FindingKind::Unfenced, step.op,
                       threadText(cluster, warp, 0) +
                           " accesses shared memory through the async proxy with no proxy fence "
                           "after an earlier write",
                       each.step->op, "warp " + std::to_string(each.warp) + " writes here");
  }
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

Machine::Mbarrier *Machine::mbarrierOf(Cluster &cluster, Warp &warp, const Step &step,
                                       unsigned kind, unsigned indexSlot, unsigned cta) {
  Cluster::Mbarriers &mbarriers = cluster.mbarriers[mbarriersOf(cta, kind)];
  int64_t index = warp.frame.slots[indexSlot].scalar.integer,
          count = setup.program.mbarrierCounts[kind];
  if (index < 0 || index >= count) {
    setup.findings.add(FindingKind::OutOfBounds, step.op,
                       threadText(cluster, warp, 0) + " accesses mbarrier " +
                           std::to_string(index) + " of " + std::to_string(count));
    return nullptr;
  }
  bool isInitialized = !mbarriers.each.empty();
  unsigned initializer = cta * setup.program.warps;
  bool isOrdered = isInitialized && (warp.frame.warp == initializer ||
                                     mbarriers.initializedAt <= warp.clock[initializer]);
  if (!isOrdered)
    setup.findings.add(FindingKind::Race, step.op,
                       threadText(cluster, warp, 0) + " accesses an mbarrier " +
                           (cta == ctaOf(warp) ? "" : "of CTA " + std::to_string(cta) + " ") +
                           "that may not be initialized, with no barrier in between");
  if (cta != ctaOf(warp) && hasExited(cluster, cta))
    setup.findings.add(FindingKind::Race, step.op,
                       threadText(cluster, warp, 0) + " accesses an mbarrier of CTA " +
                           std::to_string(cta) + ", which has exited");
  return isInitialized ? &mbarriers.each[index] : nullptr;
}

void Machine::initMbarriers(Cluster &cluster, const Warp &warp, const Step &step) {
  if (isFirstOfCta(warp))
    cluster.mbarriers[mbarriersOf(ctaOf(warp), step.mbarriers)] = {
        std::vector<Mbarrier>(setup.program.mbarrierCounts[step.mbarriers]),
        warp.clock[warp.frame.warp]};
}

/// Compares parities, as `mbarrier.try_wait.parity` does.
bool Machine::hasCompleted(const Cluster &cluster, const Warp &warp, unsigned kind,
                           unsigned indexSlot, unsigned phaseSlot) const {
  const std::vector<Mbarrier> &mbarriers = cluster.mbarriers[mbarriersOf(ctaOf(warp), kind)].each;
  uint64_t index = warp.frame.slots[indexSlot].scalar.integer;
  // passMbarrier reports a wrong index when the warp continues.
  return index >= mbarriers.size() ||
         (mbarriers[index].phases & 1) != uint64_t(warp.frame.slots[phaseSlot].scalar.integer & 1);
}

void Machine::arriveAtMbarrier(Cluster &cluster, Warp &warp, const Step &step) {
  warp.lastSync = warp.clock[warp.frame.warp]; // one lane arrives for all
  for (unsigned cta = 0; cta < setup.program.clusterSize; ++cta) {
    if (cta != ctaOf(warp) && !step.isClusterWide)
      continue;
    Mbarrier *mbarrier = mbarrierOf(cluster, warp, step, step.mbarriers, step.in[0], cta);
    if (!mbarrier)
      continue;
    if (cta != ctaOf(warp))
      cluster.remoteArrivals.push_back({&step, warp.frame.warp, cta, warp.clock[warp.frame.warp]});
    mbarrier->arrivedClock.resize(warp.clock.size());
    for (size_t i = 0; i < warp.clock.size(); ++i)
      mbarrier->arrivedClock[i] = std::max(mbarrier->arrivedClock[i], warp.clock[i]);
    if (++mbarrier->arrived < setup.program.mbarrierArrivals[step.mbarriers])
      continue;
    mbarrier->clock = mbarrier->arrivedClock;
    mbarrier->arrived = 0;
    ++mbarrier->phases;
  }
}

/// The waiting warp is ordered after all warps that arrived in the phase.
void Machine::passMbarrier(Cluster &cluster, Warp &warp, const Step &step, unsigned kind,
                           unsigned indexSlot) {
  Mbarrier *mbarrier = mbarrierOf(cluster, warp, step, kind, indexSlot, ctaOf(warp));
  if (mbarrier && !mbarrier->clock.empty())
    joinClock(warp, mbarrier->clock);
  for (Event &event : cluster.events)
    if (mbarrier && event.mbarrier == mbarrier && event.hasLanded)
      event.known.try_emplace(warp.frame.warp, warp.clock[warp.frame.warp]);
}

/// One of the copies of a multicast counts as a part of a load.
void Machine::completeIfDone(Mbarrier &mbarrier, unsigned mbarriers) {
  int64_t arrivals = setup.program.mbarrierArrivals[mbarriers];
  if (mbarrier.arrived < arrivals || mbarrier.landed < arrivals * setup.program.clusterSize)
    return;
  mbarrier.arrived = mbarrier.landed = 0;
  ++mbarrier.phases;
}

bool Machine::hasExited(const Cluster &cluster, unsigned cta) const {
  llvm::ArrayRef<Warp> warps =
      llvm::ArrayRef(cluster.warps).slice(cta * setup.program.warps, setup.program.warps);
  return llvm::all_of(warps, [](const Warp &each) { return each.state == Warp::State::Exited; });
}

/// When the last warp of a CTA exits, the accesses of other CTAs to its memory must be ordered
/// before one of its warps.
void Machine::checkRemoteAccesses(Cluster &cluster, const Warp &warp, const Step &step) {
  unsigned cta = ctaOf(warp);
  if (!hasExited(cluster, cta))
    return;
  std::vector<uint32_t> clock(warp.clock.size());
  for (const Warp &each : ctaWarps(cluster, warp))
    for (size_t i = 0; i < clock.size(); ++i)
      clock[i] = std::max(clock[i], each.clock[i]);
  auto report = [&](const Step *other, unsigned by, const char *what) {
    setup.findings.add(FindingKind::Race, step.op,
                       "CTA " + std::to_string(cta) + " exits while another CTA may still " + what,
                       other->op, threadText(cluster, cluster.warps[by], 0) + " does so here");
  };
  for (const RemoteArrival &arrival : cluster.remoteArrivals)
    if (arrival.cta == cta && arrival.time > clock[arrival.warp])
      report(arrival.step, arrival.warp, "arrive at its mbarrier");
  for (const Copy &copy : cluster.copies)
    if (copy.mbarrier && !copy.hasLanded && ctaAt(copy.base) == cta &&
        !isInSameCta(warp, copy.warp))
      report(copy.step, copy.warp, "copy into its shared memory");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The data of a copy as it is issued: of the tensor for a load, of the stage for a store.
TileRef Machine::copiedData(Cluster &cluster, const Step &step, const Copy &copy) {
  TileRef data(new Tile(copy.at.size()));
  const Memory &memory = setup.memories[viewOf(*step.global).memory];
  const Element &element = step.global->element;
  const Element &held = setup.program.buffers[step.shared->buffer].element;
  for (unsigned i = 0; i < copy.at.size(); ++i) {
    if (copy.at[i] < 0) {
      data->values[i] = step.global->pad;
      continue;
    }
    if (step.kind == Step::Kind::AsyncLoad) {
      data->values[i] = element.load(&memory.bytes[copy.at[i] * element.bytes()]);
      if (held.isTf32())
        data->values[i] = held.convert(data->values[i], element);
      continue;
    }
    int64_t from = copy.base + step.shared->offsets[copy.warp][i];
    data->values[i] = element.load(&cluster.shared[from]);
    if (!cluster.isInitialized[from])
      setup.findings.add(FindingKind::Uninitialized, step.op,
                         "element " + std::to_string(i) +
                             " of a row is stored, which nothing has written");
  }
  return data;
}

void Machine::issueBulkCopy(Cluster &cluster, Warp &warp, const Step &step) {
  if (warp.frame.warp % setup.program.warps != step.issuingWarp)
    return;
  if (step.empty)
    passMbarrier(cluster, warp, step, *step.empty, step.in[1]);
  bool isLoad = step.kind == Step::Kind::AsyncLoad;
  unsigned number = warp.frame.warp;
  Copy copy{&step, number, ++warp.copies, cluster.copyCount++, INT64_MAX, 0, TileRef(), warp.clock};
  copy.at = addresses(cluster, warp, step);
  countSectors(step, copy.at);
  std::optional<int64_t> base = copyBase(cluster, warp, step);
  if (!base)
    return;
  copy.base = *base;
  copy.data = copiedData(cluster, step, copy);
  *setup.elements += copy.at.size();
  compareWithFences(cluster, warp, step, *base);
  if (!isLoad) {
    copy.bulkStore = ++warp.bulkStores;
    watch(cluster, warp, step, copy.at, copy.data);
  }
  for (unsigned cta = 0; cta < setup.program.clusterSize; ++cta) {
    bool isOwn = cta == ctaOf(warp);
    if (!isOwn && !step.isClusterWide)
      continue;
    Copy each = copy;
    if (!isOwn) {
      each.number = ++warp.copies;
      each.id = cluster.copyCount++;
      each.base += (int64_t(cta) - ctaOf(warp)) * setup.program.sharedBytes;
    }
    compareWithEvents(cluster, warp, step, each.base, isLoad, each.data);
    if (isLoad) {
      each.mbarrier = mbarrierOf(cluster, warp, step, step.mbarriers, step.in[0], cta);
      if (!each.mbarrier)
        continue;
      if (isOwn && ++each.mbarrier->arrived > setup.program.mbarrierArrivals[step.mbarriers])
        setup.findings.add(
            FindingKind::Race, step.op,
            "a load completes at an mbarrier whose phase another load has yet to complete");
    }
    addEvent(cluster, {&step, number, warp.clock[number], each.base,
                       each.base + setup.program.buffers[step.shared->buffer].tileBytes, isLoad,
                       each.id, true, each.data, each.mbarrier});
    if (each.mbarrier)
      completeIfDone(*each.mbarrier, step.mbarriers);
    cluster.copies.push_back(std::move(each));
  }
}

/// Elements outside of the view stay uninitialized after a bulk load; TMA writes zeros there.
void Machine::landBulkCopy(Cluster &cluster, Copy &copy) {
  const Step &step = *copy.step;
  const Element &element = step.global->element;
  Memory &memory = setup.memories[viewOf(*step.global).memory];
  for (auto [i, at] : llvm::enumerate(copy.at)) {
    int64_t address = copy.base + step.shared->offsets[copy.warp][i];
    if (copy.mbarrier) {
      element.store(&cluster.shared[address], copy.data->values[i]);
      std::fill_n(&cluster.isInitialized[address], element.bytes(), at >= 0 || step.isTma);
    } else if (at >= 0) {
      element.store(&memory.bytes[at * element.bytes()], element.load(&cluster.shared[address]));
      memory.isInitialized[at] = true;
    }
  }
  touchShared(cluster, step, copy.warp, copy.base, /*isWrite=*/bool(copy.mbarrier));
  copy.hasLanded = true;
  if (!copy.mbarrier)
    return;
  copy.mbarrier->landed += step.isClusterWide ? 1 : setup.program.clusterSize;
  completeIfDone(*copy.mbarrier, step.mbarriers);
  for (Event &event : cluster.events)
    event.hasLanded |= event.copy == copy.id;
}

bool Machine::areBulkStoresDone(const Cluster &cluster, const Warp &warp, int64_t pending) const {
  return llvm::all_of(cluster.copies, [&](const Copy &copy) {
    return !copy.bulkStore || copy.warp != warp.frame.warp ||
           copy.bulkStore > warp.bulkStores - pending || copy.hasLanded;
  });
}

void Machine::waitForBulkStores(Cluster &cluster, Warp &warp, int64_t pending) {
  finish(cluster, warp, [&](const Copy &copy) {
    return copy.bulkStore && copy.warp == warp.frame.warp &&
           copy.bulkStore <= warp.bulkStores - pending;
  });
}

void Machine::reportUnfinished(const Cluster &cluster) {
  for (const Copy &copy : cluster.copies)
    if (copy.mmaGroup)
      setup.findings.add(FindingKind::EarlyUse, copy.step->op,
                         "the CTA may exit while this MMA is in flight");
  for (const Copy &copy : cluster.copies)
    if (copy.bulkStore || (copy.mbarrier && !copy.hasLanded))
      setup.findings.add(FindingKind::EarlyUse, copy.step->op,
                         "the CTA may exit while this copy is in flight");
}
