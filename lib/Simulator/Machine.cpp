//===- Machine.cpp - Control of warps, clusters and copies ----------------===//
#include "Machine.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::simulator;

std::string simulator::indexText(llvm::ArrayRef<int64_t> index) {
  std::string text = "(";
  for (size_t i = 0; i < index.size(); ++i)
    text += (i ? ", " : "") + std::to_string(index[i]);
  return text + ")";
}

llvm::StringRef simulator::kindName(FindingKind kind) {
  static constexpr llvm::StringLiteral names[] = {"data race",
                                                  "use before wait",
                                                  "deadlock",
                                                  "out-of-bounds access",
                                                  "misaligned access",
                                                  "uninitialized read",
                                                  "order-dependent results",
                                                  "failed check",
                                                  "missing fence"};
  return names[size_t(kind)];
}

void Findings::add(FindingKind kind, mlir::Operation *op, const std::string &text,
                   mlir::Operation *other, const std::string &otherText) {
  auto [at, isNew] = known.try_emplace({kind, op, other}, list.size());
  if (isNew)
    list.push_back({kind, op, kindName(kind).str() + ": " + text, other, otherText});
  else
    ++list[at->second].count;
}

Machine::Machine(const Setup &given) : setup(given) {
  for (int64_t size : setup.launch.grid)
    clusterCount *= uint32_t(size);
  writes.resize(setup.memories.size());
  reads.resize(setup.memories.size());
  for (auto [argument, isWritten] : llvm::enumerate(setup.program.isWritten))
    if (isWritten) {
      unsigned memory = setup.launch.views[argument].memory;
      writes[memory].resize(setup.memories[memory].count());
    }
  while (clusters.size() < setup.residentClusters && nextCluster < clusterCount)
    begin(nextCluster++);
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

void Machine::begin(uint32_t number) {
  const Program &program = setup.program;
  auto cluster = std::make_unique<Cluster>();
  cluster->number = number;
  uint32_t rest = number;
  for (int64_t size : setup.launch.grid) {
    cluster->coords.push_back(rest % size);
    rest /= uint32_t(size);
  }
  cluster->shared.assign(program.sharedBytes * program.clusterSize, std::byte(0xff));
  cluster->isInitialized.assign(cluster->shared.size(), false);
  cluster->mbarriers.resize(program.mbarrierCounts.size() * program.clusterSize);
  cluster->warps.resize(program.allWarps());
  for (auto [i, warp] : llvm::enumerate(cluster->warps)) {
    warp.frame.warp = i;
    warp.frame.launch = &setup.launch;
    warp.frame.program = cluster->coords;
    warp.frame.slots.resize(program.slotCount);
    for (auto [argument, slot] : llvm::enumerate(program.argumentSlots))
      if (slot != ~0u)
        warp.frame.slots[slot].scalar = setup.launch.scalars[argument];
    warp.clock.assign(program.allWarps(), 0);
    warp.clock[i] = 1;
  }
  clusters.push_back(std::move(cluster));
  Cluster &added = *clusters.back();
  for (Warp &warp : added.warps)
    advance(added, warp);
  if (llvm::all_of(added.warps,
                   [](const Warp &warp) { return warp.state == Warp::State::Exited; })) {
    clusters.pop_back(); // it has no visible step
    if (nextCluster < clusterCount)
      begin(nextCluster++);
  }
}

Machine::Cluster &Machine::clusterOf(uint32_t number) {
  return **llvm::find_if(clusters, [&](const auto &cluster) { return cluster->number == number; });
}

std::string Machine::threadText(const Cluster &cluster, const Warp &warp, unsigned lane) const {
  unsigned number = warp.frame.warp % setup.program.warps;
  std::string text = "warp " + std::to_string(number) + ", lane " + std::to_string(lane);
  bool isCluster = setup.program.clusterSize > 1;
  if (isCluster)
    text = "CTA " + std::to_string(ctaOf(warp)) + ", " + text;
  if (clusterCount > 1)
    text = (isCluster ? "cluster " : "CTA ") + indexText(cluster.coords) + ", " + text;
  return text;
}

//===----------------------------------------------------------------------===//
// Transitions
//===----------------------------------------------------------------------===//

/// A warp at a wait continues when the copies that it waits for have landed.
bool Machine::canContinue(const Cluster &cluster, const Warp &warp) const {
  if (warp.state != Warp::State::Ready)
    return false;
  const Step &step = setup.program.steps[warp.at];
  if (step.kind == Step::Kind::MbarrierWait)
    return hasCompleted(cluster, warp, step.mbarriers, step.in[0], step.in[1]);
  if (step.kind == Step::Kind::AsyncLoad && step.empty &&
      warp.frame.warp % setup.program.warps == step.issuingWarp)
    return hasCompleted(cluster, warp, *step.empty, step.in[1], step.in[2]);
  if (step.kind == Step::Kind::BulkWait)
    return areBulkStoresDone(cluster, warp, step.pending);
  if (step.kind == Step::Kind::ClusterWait)
    return haveAllArrived(cluster);
  if (step.kind == Step::Kind::DsmemWait)
    return hasArrived(cluster, warp, step);
  return step.kind != Step::Kind::CpAsyncWait ||
         llvm::all_of(cluster.copies, [&](const Copy &copy) {
           return copy.warp != warp.frame.warp || copy.group >= warp.group - step.pending ||
                  copy.hasLanded;
         });
}

std::vector<Agent> Machine::enabled() const {
  std::vector<Agent> agents;
  for (const auto &cluster : clusters)
    for (const Warp &warp : cluster->warps)
      if (canContinue(*cluster, warp))
        agents.push_back({cluster->number, uint16_t(warp.frame.warp), 0});
  for (const auto &cluster : clusters)
    for (const Copy &copy : cluster->copies)
      if (!copy.hasLanded)
        agents.push_back({cluster->number, uint16_t(copy.warp), copy.number});
  return agents;
}

void Machine::execute(Agent agent) {
  Cluster &cluster = clusterOf(agent.cluster);
  Warp &warp = cluster.warps[agent.warp];
  if (setup.recordsTouches) {
    current = &transitions.emplace_back();
    current->agent = agent;
  }
  if (agent.copy) {
    Copy &copy = *llvm::find_if(cluster.copies, [&](const Copy &each) {
      return each.warp == agent.warp && each.number == agent.copy;
    });
    if (current) {
      current->clock = copy.clock;
      copy.transition = transitions.size() - 1;
    }
    land(cluster, copy);
    return retireIfDone(cluster);
  }
  const Step &step = setup.program.steps[warp.at];
  ++warp.clock[agent.warp];
  ++*setup.instructions;
  setup.reached->insert(step.op);
  if (current) {
    current->clock = warp.clock;
    current->time = warp.clock[agent.warp];
  }
  perform(cluster, warp, step);
  if (warp.state == Warp::State::Ready)
    advance(cluster, warp);
  retireIfDone(cluster);
}

/// A cluster runs until its copies have landed, waited for or not.
void Machine::retireIfDone(Cluster &cluster) {
  if (llvm::any_of(cluster.warps,
                   [](const Warp &warp) { return warp.state != Warp::State::Exited; }))
    return;
  reportUnfinished(cluster);
  if (llvm::any_of(cluster.copies, [](const Copy &copy) { return !copy.hasLanded; }))
    return;
  llvm::erase_if(clusters, [&](const auto &each) { return each.get() == &cluster; });
  if (nextCluster < clusterCount)
    begin(nextCluster++);
}

bool Machine::isVisible(const Step &step) const {
  switch (step.kind) {
  case Step::Kind::Global:
    return isWatched(step);
  case Step::Kind::Shared:
  case Step::Kind::CpAsync:
  case Step::Kind::CpAsyncWait:
  case Step::Kind::MbarrierAlloc:
  case Step::Kind::AsyncLoad:
  case Step::Kind::MbarrierWait:
  case Step::Kind::MbarrierArrive:
  case Step::Kind::BulkStore:
  case Step::Kind::BulkWait:
  case Step::Kind::FenceProxyAsync:
  case Step::Kind::WgmmaOperand:
  case Step::Kind::WgmmaWait:
  case Step::Kind::Barrier:
  case Step::Kind::WarpBarrier:
  case Step::Kind::ClusterArrive:
  case Step::Kind::ClusterWait:
  case Step::Kind::DsmemStore:
  case Step::Kind::DsmemWait:
  case Step::Kind::DsmemLoad:
    return true;
  default:
    return false;
  }
}

void Machine::moveSlots(Frame &frame, const std::vector<unsigned> &from,
                        const std::vector<unsigned> &to) {
  std::vector<Slot> moved;
  for (unsigned slot : from)
    moved.push_back(frame.slots[slot]);
  for (size_t i = 0; i < moved.size(); ++i)
    frame.slots[to[i]] = std::move(moved[i]);
}

void Machine::advance(Cluster &cluster, Warp &warp) {
  Frame &frame = warp.frame;
  auto scalar = [&](unsigned slot) { return frame.slots[slot].scalar.integer; };
  while (true) {
    const Step &step = setup.program.steps[warp.at];
    if (isVisible(step))
      return;
    ++*setup.instructions;
    if (llvm::is_contained(
            {Step::Kind::CpAsyncCommit, Step::Kind::WgmmaFence, Step::Kind::WgmmaCommit},
            step.kind))
      setup.reached->insert(step.op);
    unsigned next = warp.at + 1;
    switch (step.kind) {
    case Step::Kind::For: {
      // Lower and upper bound, step, then the initial values.
      std::vector<unsigned> from(step.in.begin() + 3, step.in.end()),
          to(step.out.begin() + 1, step.out.end());
      moveSlots(frame, from, to);
      frame.slots[step.out[0]].scalar = frame.slots[step.in[0]].scalar;
      if (scalar(step.in[0]) >= scalar(step.in[1])) {
        const Step &end = setup.program.steps[step.target];
        moveSlots(frame, to, end.out);
        next = step.target + 1;
      }
      break;
    }
    case Step::Kind::Next: {
      const Step &head = setup.program.steps[step.target];
      std::vector<unsigned> carried(head.out.begin() + 1, head.out.end());
      moveSlots(frame, step.in, carried);
      int64_t &counter = frame.slots[head.out[0]].scalar.integer;
      counter += scalar(head.in[2]);
      if (counter < scalar(head.in[1]))
        next = step.body;
      else
        moveSlots(frame, carried, step.out);
      break;
    }
    case Step::Kind::If:
      if (!scalar(step.in[0]))
        next = step.target;
      break;
    case Step::Kind::Jump:
      moveSlots(frame, step.in, step.out);
      next = step.target;
      break;
    case Step::Kind::Return:
      warp.state = Warp::State::Exited;
      return exitWarp(cluster, warp, step);
    case Step::Kind::CpAsyncCommit:
      ++warp.group;
      break;
    case Step::Kind::WgmmaFence:
      warp.fenced = Tile::count;
      break;
    case Step::Kind::WgmmaCommit:
      ++frame.mmaGroup;
      break;
    case Step::Kind::Check:
      if (!scalar(step.in[0]))
        setup.findings.add(FindingKind::Failure, step.op,
                           "the condition is false for " + std::to_string(scalar(step.in[1])));
      break;
    case Step::Kind::Global:
      perform(cluster, warp, step);
      next = warp.at;
      break;
    default:
      step.compute(frame);
      if (!step.op->getResults().empty())
        if (auto tile = llvm::dyn_cast<mlir::RankedTensorType>(step.op->getResult(0).getType()))
          *setup.elements += tile.getNumElements() / setup.program.allWarps();
    }
    checkHeldRegisters(cluster, warp, step);
    warp.at = next;
  }
}

void Machine::perform(Cluster &cluster, Warp &warp, const Step &step) {
  switch (step.kind) {
  case Step::Kind::Global:
    if (step.global->isWrite)
      store(cluster, warp, step);
    else
      warp.frame.slots[step.out[0]].tile = load(cluster, warp, step);
    break;
  case Step::Kind::Shared:
    access(cluster, warp, step);
    break;
  case Step::Kind::CpAsync:
    issueCpAsync(cluster, warp, step);
    break;
  case Step::Kind::CpAsyncWait:
    waitFor(cluster, warp, step.pending);
    break;
  case Step::Kind::MbarrierAlloc:
    initMbarriers(cluster, warp, step);
    break;
  case Step::Kind::AsyncLoad:
  case Step::Kind::BulkStore:
    issueBulkCopy(cluster, warp, step);
    break;
  case Step::Kind::MbarrierWait:
    passMbarrier(cluster, warp, step, step.mbarriers, step.in[0]);
    break;
  case Step::Kind::MbarrierArrive:
    arriveAtMbarrier(cluster, warp, step);
    break;
  case Step::Kind::BulkWait:
    waitForBulkStores(cluster, warp, step.pending);
    break;
  case Step::Kind::FenceProxyAsync:
    fence(cluster, warp);
    break;
  case Step::Kind::WgmmaOperand:
    issueWgmma(cluster, warp, step);
    break;
  case Step::Kind::WgmmaWait:
    waitForWgmma(cluster, warp, step);
    break;
  case Step::Kind::WarpBarrier:
    warp.lastSync = warp.clock[warp.frame.warp];
    break;
  case Step::Kind::ClusterArrive:
    warp.clusterArrived = warp.clock[warp.frame.warp];
    for (mlir::Value dsmem : step.op->getOperands())
      setup.reached->insert(dsmem.getDefiningOp());
    break;
  case Step::Kind::ClusterWait:
    passClusterBarrier(cluster, warp);
    break;
  case Step::Kind::DsmemStore:
    storeDsmem(cluster, warp, step);
    break;
  case Step::Kind::DsmemWait:
    passDsmemWait(cluster, warp, step);
    break;
  case Step::Kind::DsmemLoad:
    access(cluster, warp, step);
    ++warp.iterations[step.shared->buffer];
    break;
  default:
    return arrive(cluster, warp);
  }
  checkHeldRegisters(cluster, warp, step);
  ++warp.at;
}

//===----------------------------------------------------------------------===//
// Barriers and waits
//===----------------------------------------------------------------------===//

void Machine::arrive(Cluster &cluster, Warp &warp) {
  warp.state = Warp::State::AtBarrier;
  llvm::MutableArrayRef<Warp> warps = ctaWarps(cluster, warp);
  if (llvm::all_of(warps, [](const Warp &each) { return each.state == Warp::State::AtBarrier; }))
    release(cluster, warps);
}

void Machine::release(Cluster &cluster, llvm::MutableArrayRef<Warp> warps) {
  const Step &step = setup.program.steps[warps[0].at];
  for (Warp &warp : warps)
    if (warp.at != warps[0].at) {
      setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op,
                         threadText(cluster, warp, 0) + " waits here, warp 0 at another barrier",
                         step.op, "warp 0 waits here");
      broken = true;
      return;
    }
  for (Warp &warp : warps)
    joinClock(warps[0], warp.clock);
  for (Warp &warp : warps) {
    warp.clock = warps[0].clock;
    warp.lastSync = warp.clock[warp.frame.warp];
    warp.state = Warp::State::Ready;
    ++warp.at;
  }
  // Accesses that are ordered before every warp need not be compared again. Copies that are not
  // waited for are not, and other CTAs of the cluster take no part in this barrier.
  for (Event &event : cluster.events)
    if (llvm::any_of(event.known,
                     [&](const auto &each) { return isInSameCta(warps[0], each.first); }))
      for (const Warp &warp : warps)
        event.known.try_emplace(warp.frame.warp, warp.clock[warp.frame.warp]);
  llvm::erase_if(cluster.events, [&](const Event &event) {
    return (event.known.count(warps[0].frame.warp) && !event.step->isClusterWide) ||
           llvm::all_of(cluster.warps, [&](const Warp &warp) { return areInOrder(event, warp); });
  });
  llvm::erase_if(cluster.unfenced, [&](const Unfenced &each) {
    return isInSameCta(warps[0], each.warp) && each.fencedAt &&
           each.fencedAt <= warps[0].clock[each.warp];
  });
  for (Warp &warp : warps)
    advance(cluster, warp);
}

void Machine::joinClock(Warp &warp, const std::vector<uint32_t> &clock) {
  for (size_t i = 0; i < clock.size(); ++i)
    warp.clock[i] = std::max(warp.clock[i], clock[i]);
}

void Machine::waitFor(Cluster &cluster, Warp &warp, int64_t pending) {
  finish(cluster, warp, [&](const Copy &copy) {
    return copy.warp == warp.frame.warp && copy.group < warp.group - pending;
  });
}

void Machine::finish(Cluster &cluster, Warp &warp, llvm::function_ref<bool(const Copy &)> isOver) {
  uint32_t now = warp.clock[warp.frame.warp];
  llvm::erase_if(cluster.copies, [&](const Copy &copy) {
    if (!isOver(copy))
      return false;
    if (copy.transition < transitions.size())
      transitions[copy.transition].time = now;
    for (Event &event : cluster.events)
      if (event.copy == copy.id) {
        event.copy = -1;
        event.time = now;
      }
    return true;
  });
}

void Machine::reportDeadlock() {
  for (const auto &cluster : clusters)
    for (const Warp &warp : cluster->warps)
      if (const Step &step = setup.program.steps[warp.at];
          warp.state == Warp::State::Ready && step.kind == Step::Kind::MbarrierWait)
        return setup.findings.add(FindingKind::Deadlock, step.op,
                                  threadText(*cluster, warp, 0) +
                                      " waits at this mbarrier forever");
  for (const auto &cluster : clusters)
    for (const Warp &warp : cluster->warps) {
      if (warp.state == Warp::State::Ready)
        return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op,
                                  threadText(*cluster, warp, 0) + " waits here forever");
      if (warp.state != Warp::State::AtBarrier)
        continue;
      auto exited = llvm::find_if(
          cluster->warps, [](const Warp &each) { return each.state == Warp::State::Exited; });
      std::string text = threadText(*cluster, warp, 0) + " waits at this barrier forever";
      if (exited == cluster->warps.end())
        return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op, text);
      return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op, text,
                                setup.program.steps[exited->at].op,
                                "warp " + std::to_string(exited->frame.warp) + " exits here");
    }
}
