//===- Cluster.cpp - Distributed shared memory ----------------------------===//
//
// An iteration of a dsmem buffer is complete when all bytes of its stage have arrived. A warp that
// has waited for it is ordered after all warps that stored to it, at the time of their stores.
// Nothing else orders them. Findings, whether they do harm in this run or not, are: a store into a
// CTA that may not have arrived at the cluster's barrier, one into a stage that a CTA may still
// read, and one that may arrive after its CTA has exited.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

using namespace tessera;
using namespace tessera::simulator;

bool Machine::haveAllArrived(const Cluster &cluster) const {
  return llvm::all_of(cluster.warps, [](const Warp &warp) { return warp.clusterArrived; });
}

void Machine::passClusterBarrier(Cluster &cluster, Warp &warp) {
  for (const Warp &each : cluster.warps) {
    uint32_t &known = warp.clock[each.frame.warp];
    known = std::max(known, each.clusterArrived);
  }
}

int64_t Machine::iterationOf(const Warp &warp, const Step &step) const {
  auto found = warp.iterations.find(step.shared->buffer);
  return found == warp.iterations.end() ? 0 : found->second;
}

int64_t Machine::dsmemBase(const Warp &warp, const Step &step, unsigned cta) const {
  const Buffer &buffer = setup.program.buffers[step.shared->buffer];
  return cta * setup.program.sharedBytes + buffer.begin +
         iterationOf(warp, step) % buffer.stages * buffer.stride;
}

bool Machine::hasArrived(const Cluster &cluster, const Warp &warp, const Step &step) const {
  auto iteration =
      cluster.iterations.find({ctaOf(warp), step.shared->buffer, iterationOf(warp, step)});
  return iteration != cluster.iterations.end() &&
         iteration->second.bytes >= setup.program.buffers[step.shared->buffer].bytes;
}

void Machine::storeDsmem(Cluster &cluster, Warp &warp, const Step &step) {
  const StageAccess &how = *step.shared;
  const Buffer &buffer = setup.program.buffers[how.buffer];
  unsigned number = warp.frame.warp, bytes = buffer.element.bytes();
  const std::vector<uint32_t> &offsets = how.offsets[number];
  const TileRef data = warp.frame.slots[step.in[0]].tile;
  for (unsigned cta = 0; cta < setup.program.clusterSize; ++cta) {
    auto isStored = [&](unsigned i) { return how.isStoredTo(cta, number, i); };
    if (llvm::none_of(llvm::seq<unsigned>(offsets.size()), isStored))
      continue;
    Iteration &iteration = cluster.iterations[{cta, how.buffer, iterationOf(warp, step)}];
    iteration.clock.resize(cluster.warps.size());
    for (size_t i = 0; i < iteration.clock.size(); ++i)
      iteration.clock[i] = std::max(iteration.clock[i], warp.clock[i]);
    llvm::ArrayRef<Warp> theirs = ctaWarps(cluster, cluster.warps[cta * setup.program.warps]);
    auto report = [&](const std::string &why) {
      setup.findings.add(FindingKind::Race, step.op,
                         threadText(cluster, warp, 0) + " stores to dsmem of CTA " +
                             std::to_string(cta) + ", " + why);
    };
    if (!theirs[0].clusterArrived || warp.clock[theirs[0].frame.warp] < theirs[0].clusterArrived)
      report("which may not have arrived at the cluster's barrier");
    if (hasExited(cluster, cta))
      report("which has exited");
    int64_t base = dsmemBase(warp, step, cta);
    compareWithEvents(cluster, warp, step, base, /*isWrite=*/true, data);
    for (unsigned i = 0; i < offsets.size(); ++i) {
      if (!isStored(i))
        continue;
      buffer.element.store(&cluster.shared[base + offsets[i]], data->values[i]);
      std::fill_n(&cluster.isInitialized[base + offsets[i]], bytes, 1);
      iteration.bytes += bytes;
    }
    touchShared(cluster, step, number, base, /*isWrite=*/true);
    addEvent(cluster,
             {&step, number, warp.clock[number], base, base + buffer.bytes, true, -1, false, data});
  }
  *setup.elements += offsets.size() * setup.program.clusterSize;
}

void Machine::passDsmemWait(Cluster &cluster, Warp &warp, const Step &step) {
  joinClock(warp,
            cluster.iterations[{ctaOf(warp), step.shared->buffer, iterationOf(warp, step)}].clock);
  warp.lastDsmemWait = warp.clock[warp.frame.warp];
}

/// The shared memory of a CTA is gone when it exits.
void Machine::exitWarp(Cluster &cluster, Warp &warp, const Step &step) {
  checkRemoteAccesses(cluster, warp, step);
  int64_t begin = ctaOf(warp) * setup.program.sharedBytes, end = begin + setup.program.sharedBytes;
  for (const Event &event : cluster.events) {
    if (event.step->kind != Step::Kind::DsmemStore || event.base < begin || event.base >= end ||
        areInOrder(event, warp))
      continue;
    setup.findings.add(
        FindingKind::Race, step.op,
        threadText(cluster, warp, 0) + " exits before a dsmem store to its CTA may have arrived",
        event.step->op, threadText(cluster, cluster.warps[event.warp], 0) + " stores here");
  }
}
