//===- Machine.cpp - Control of warps, blocks and copies ------------------===//
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
                                                  "use of a copy before its wait",
                                                  "dead-lock",
                                                  "access out of bounds",
                                                  "misaligned access",
                                                  "uninitialised read",
                                                  "results that depend on the order",
                                                  "failed check",
                                                  "write that a copy may not see"};
  return names[size_t(kind)];
}

void Findings::add(FindingKind kind, mlir::Operation *op, const std::string &text,
                   mlir::Operation *other, const std::string &otherText) {
  auto [at, isNew] = known.try_emplace({kind, op, other}, list.size());
  if (isNew)
    list.push_back({kind, op, text, other, otherText});
  else
    ++list[at->second].count;
}

Machine::Machine(const Setup &given) : setup(given) {
  for (int64_t size : setup.launch.grid)
    blockCount *= uint32_t(size);
  writes.resize(setup.memories.size());
  reads.resize(setup.memories.size());
  for (auto [argument, isWritten] : llvm::enumerate(setup.program.isWritten))
    if (isWritten) {
      unsigned memory = setup.launch.views[argument].memory;
      writes[memory].resize(setup.memories[memory].count());
    }
  while (blocks.size() < setup.residents && nextBlock < blockCount)
    begin(nextBlock++);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Machine::begin(uint32_t number) {
  const Program &program = setup.program;
  auto block = std::make_unique<Block>();
  block->number = number;
  uint32_t rest = number;
  for (int64_t size : setup.launch.grid) {
    block->coords.push_back(rest % size);
    rest /= uint32_t(size);
  }
  block->shared.assign(program.sharedBytes * program.cluster, std::byte(0xff));
  block->isInitialized.assign(block->shared.size(), false);
  block->gates.resize(program.gateCounts.size() * program.cluster);
  block->warps.resize(program.allWarps());
  for (auto [i, warp] : llvm::enumerate(block->warps)) {
    warp.frame.warp = i;
    warp.frame.launch = &setup.launch;
    warp.frame.program = block->coords;
    warp.frame.slots.resize(program.slotCount);
    for (auto [argument, slot] : llvm::enumerate(program.argumentSlots))
      if (slot != ~0u)
        warp.frame.slots[slot].scalar = setup.launch.scalars[argument];
    warp.clock.assign(program.allWarps(), 0);
    warp.clock[i] = 1;
  }
  blocks.push_back(std::move(block));
  Block &added = *blocks.back();
  for (Warp &warp : added.warps)
    advance(added, warp);
  if (llvm::all_of(added.warps,
                   [](const Warp &warp) { return warp.state == Warp::State::Ended; })) {
    blocks.pop_back(); // nothing in it can be noticed
    if (nextBlock < blockCount)
      begin(nextBlock++);
  }
}

Machine::Block &Machine::blockOf(uint32_t number) {
  return **llvm::find_if(blocks, [&](const auto &block) { return block->number == number; });
}

std::string Machine::placeOf(const Block &block, const Warp &warp, unsigned lane) const {
  unsigned number = warp.frame.warp % setup.program.warps;
  std::string text = "warp " + std::to_string(number) + ", lane " + std::to_string(lane);
  bool isCluster = setup.program.cluster > 1;
  if (isCluster)
    text = "block " + std::to_string(partOf(warp)) + ", " + text;
  if (blockCount > 1)
    text = (isCluster ? "cluster " : "block ") + indexText(block.coords) + ", " + text;
  return text;
}

//===----------------------------------------------------------------------===//
// Transitions
//===----------------------------------------------------------------------===//

/// A warp at a wait goes on when the copies have landed that it waits for.
bool Machine::canGoOn(const Block &block, const Warp &warp) const {
  if (warp.state != Warp::State::Ready)
    return false;
  const Step &step = setup.program.steps[warp.at];
  if (step.kind == Step::Kind::Await)
    return isOpen(block, warp, step.gates, step.in[0], step.in[1]);
  if (step.kind == Step::Kind::Fetch && step.left && warp.frame.warp % setup.program.warps == step.by)
    return isOpen(block, warp, *step.left, step.in[1], step.in[2]);
  if (step.kind == Step::Kind::Sent)
    return areSent(block, warp, step.pending);
  if (step.kind == Step::Kind::Meet)
    return hasAllOpened(block);
  if (step.kind == Step::Kind::Receive)
    return hasCome(block, warp, step);
  return step.kind != Step::Kind::Wait || llvm::all_of(block.copies, [&](const Copy &copy) {
           return copy.warp != warp.frame.warp || copy.group >= warp.group - step.pending ||
                  copy.hasLanded;
         });
}

std::vector<Agent> Machine::enabled() const {
  std::vector<Agent> agents;
  for (const auto &block : blocks)
    for (const Warp &warp : block->warps)
      if (canGoOn(*block, warp))
        agents.push_back({block->number, uint16_t(warp.frame.warp), 0});
  for (const auto &block : blocks)
    for (const Copy &copy : block->copies)
      if (!copy.hasLanded)
        agents.push_back({block->number, uint16_t(copy.warp), copy.number});
  return agents;
}

void Machine::execute(Agent agent) {
  Block &block = blockOf(agent.block);
  Warp &warp = block.warps[agent.warp];
  if (setup.recordsTouches) {
    current = &transitions.emplace_back();
    current->agent = agent;
  }
  if (agent.copy) {
    Copy &copy = *llvm::find_if(block.copies, [&](const Copy &each) {
      return each.warp == agent.warp && each.number == agent.copy;
    });
    if (current) {
      current->clock = copy.clock;
      copy.transition = transitions.size() - 1;
    }
    land(block, copy);
    return endIfOver(block);
  }
  const Step &step = setup.program.steps[warp.at];
  ++warp.clock[agent.warp];
  ++*setup.instructions;
  setup.reached->insert(step.op);
  if (current) {
    current->clock = warp.clock;
    current->time = warp.clock[agent.warp];
  }
  perform(block, warp, step);
  if (warp.state == Warp::State::Ready)
    advance(block, warp);
  endIfOver(block);
}

/// A block lasts until its copies have landed, waited for or not.
void Machine::endIfOver(Block &block) {
  if (llvm::any_of(block.warps,
                   [](const Warp &warp) { return warp.state != Warp::State::Ended; }))
    return;
  reportUnfinished(block);
  if (llvm::any_of(block.copies, [](const Copy &copy) { return !copy.hasLanded; }))
    return;
  llvm::erase_if(blocks, [&](const auto &each) { return each.get() == &block; });
  if (nextBlock < blockCount)
    begin(nextBlock++);
}

bool Machine::isVisible(const Step &step) const {
  switch (step.kind) {
  case Step::Kind::Global:
    return isWatched(step);
  case Step::Kind::Shared:
  case Step::Kind::Copy:
  case Step::Kind::Wait:
  case Step::Kind::Gates:
  case Step::Kind::Fetch:
  case Step::Kind::Await:
  case Step::Kind::Arrive:
  case Step::Kind::Send:
  case Step::Kind::Sent:
  case Step::Kind::Fence:
  case Step::Kind::Product:
  case Step::Kind::MmaWait:
  case Step::Kind::Barrier:
  case Step::Kind::WarpBarrier:
  case Step::Kind::Open:
  case Step::Kind::Meet:
  case Step::Kind::Push:
  case Step::Kind::Receive:
  case Step::Kind::Take:
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

void Machine::advance(Block &block, Warp &warp) {
  Frame &frame = warp.frame;
  auto scalar = [&](unsigned slot) { return frame.slots[slot].scalar.integer; };
  while (true) {
    const Step &step = setup.program.steps[warp.at];
    if (isVisible(step))
      return;
    ++*setup.instructions;
    if (llvm::is_contained({Step::Kind::Commit, Step::Kind::MmaFence, Step::Kind::MmaCommit}, step.kind))
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
      warp.state = Warp::State::Ended;
      return leave(block, warp, step);
    case Step::Kind::Commit:
      ++warp.group;
      break;
    case Step::Kind::MmaFence:
      warp.fenced = Tile::count;
      break;
    case Step::Kind::MmaCommit:
      ++frame.group;
      break;
    case Step::Kind::Check:
      if (!scalar(step.in[0]))
        setup.findings.add(FindingKind::Failure, step.op,
                           "the program's check fails for " + std::to_string(scalar(step.in[1])));
      break;
    case Step::Kind::Global:
      perform(block, warp, step);
      next = warp.at;
      break;
    default:
      step.compute(frame);
      if (!step.op->getResults().empty())
        if (auto tile = llvm::dyn_cast<mlir::RankedTensorType>(step.op->getResult(0).getType()))
          *setup.elements += tile.getNumElements() / setup.program.allWarps();
    }
    compareWithHeld(block, warp, step);
    warp.at = next;
  }
}

void Machine::perform(Block &block, Warp &warp, const Step &step) {
  switch (step.kind) {
  case Step::Kind::Global:
    if (step.global->isWrite)
      store(block, warp, step);
    else
      warp.frame.slots[step.out[0]].tile = load(block, warp, step);
    break;
  case Step::Kind::Shared:
    access(block, warp, step);
    break;
  case Step::Kind::Copy:
    beginCopy(block, warp, step);
    break;
  case Step::Kind::Wait:
    waitFor(block, warp, step.pending);
    break;
  case Step::Kind::Gates:
    makeGates(block, warp, step);
    break;
  case Step::Kind::Fetch:
  case Step::Kind::Send:
    beginRow(block, warp, step);
    break;
  case Step::Kind::Await:
    passGate(block, warp, step, step.gates, step.in[0]);
    break;
  case Step::Kind::Arrive:
    arriveAtGate(block, warp, step);
    break;
  case Step::Kind::Sent:
    waitForSends(block, warp, step.pending);
    break;
  case Step::Kind::Fence:
    fence(block, warp);
    break;
  case Step::Kind::Product:
    beginProduct(block, warp, step);
    break;
  case Step::Kind::MmaWait:
    waitForProducts(block, warp, step);
    break;
  case Step::Kind::WarpBarrier:
    warp.lastSync = warp.clock[warp.frame.warp];
    break;
  case Step::Kind::Open:
    warp.opened = warp.clock[warp.frame.warp];
    for (mlir::Value mailbox : step.op->getOperands())
      setup.reached->insert(mailbox.getDefiningOp());
    break;
  case Step::Kind::Meet:
    meet(block, warp);
    break;
  case Step::Kind::Push:
    push(block, warp, step);
    break;
  case Step::Kind::Receive:
    receive(block, warp, step);
    break;
  case Step::Kind::Take:
    access(block, warp, step);
    ++warp.turns[step.shared->buffer];
    break;
  default:
    return arrive(block, warp);
  }
  compareWithHeld(block, warp, step);
  ++warp.at;
}

//===----------------------------------------------------------------------===//
// Barriers and waits
//===----------------------------------------------------------------------===//

void Machine::arrive(Block &block, Warp &warp) {
  warp.state = Warp::State::AtBarrier;
  llvm::MutableArrayRef<Warp> warps = besides(block, warp);
  if (llvm::all_of(warps, [](const Warp &each) { return each.state == Warp::State::AtBarrier; }))
    release(block, warps);
}

void Machine::release(Block &block, llvm::MutableArrayRef<Warp> warps) {
  const Step &step = setup.program.steps[warps[0].at];
  for (Warp &warp : warps)
    if (warp.at != warps[0].at) {
      setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op,
                         "dead-lock: " + placeOf(block, warp, 0) +
                             " waits here, warp 0 at another barrier",
                         step.op, "warp 0 waits here");
      broken = true;
      return;
    }
  for (Warp &warp : warps)
    know(warps[0], warp.clock);
  for (Warp &warp : warps) {
    warp.clock = warps[0].clock;
    warp.lastSync = warp.clock[warp.frame.warp];
    warp.state = Warp::State::Ready;
    ++warp.at;
  }
  // What everybody knows of need not be compared again; of copies that are not waited for nobody knows, and other blocks
  // of the cluster know nothing of all this.
  for (Event &event : block.events)
    if (llvm::any_of(event.known, [&](const auto &each) { return isOfBlock(warps[0], each.first); }))
      for (const Warp &warp : warps)
        event.known.try_emplace(warp.frame.warp, warp.clock[warp.frame.warp]);
  llvm::erase_if(block.events, [&](const Event &event) {
    return (event.known.count(warps[0].frame.warp) && !event.step->ofCluster) ||
           llvm::all_of(block.warps, [&](const Warp &warp) { return areInOrder(event, warp); });
  });
  llvm::erase_if(block.unfenced, [&](const Unfenced &each) {
    return isOfBlock(warps[0], each.warp) && each.fencedAt && each.fencedAt <= warps[0].clock[each.warp];
  });
  for (Warp &warp : warps)
    advance(block, warp);
}

void Machine::know(Warp &warp, const std::vector<uint32_t> &clock) {
  for (size_t i = 0; i < clock.size(); ++i)
    warp.clock[i] = std::max(warp.clock[i], clock[i]);
}

void Machine::waitFor(Block &block, Warp &warp, int64_t pending) {
  finish(block, warp, [&](const Copy &copy) {
    return copy.warp == warp.frame.warp && copy.group < warp.group - pending;
  });
}

void Machine::finish(Block &block, Warp &warp, llvm::function_ref<bool(const Copy &)> isOver) {
  uint32_t now = warp.clock[warp.frame.warp];
  llvm::erase_if(block.copies, [&](const Copy &copy) {
    if (!isOver(copy))
      return false;
    if (copy.transition < transitions.size())
      transitions[copy.transition].time = now;
    for (Event &event : block.events)
      if (event.copy == copy.id) {
        event.copy = -1;
        event.time = now;
      }
    return true;
  });
}

void Machine::reportDeadlock() {
  for (const auto &block : blocks)
    for (const Warp &warp : block->warps)
      if (const Step &step = setup.program.steps[warp.at];
          warp.state == Warp::State::Ready && step.kind == Step::Kind::Await)
        return setup.findings.add(FindingKind::Deadlock, step.op,
                                  "dead-lock: " + placeOf(*block, warp, 0) + " waits at this gate for ever");
  for (const auto &block : blocks)
    for (const Warp &warp : block->warps) {
      if (warp.state == Warp::State::Ready)
        return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op,
                                  "dead-lock: " + placeOf(*block, warp, 0) + " waits here for ever");
      if (warp.state != Warp::State::AtBarrier)
        continue;
      auto ended = llvm::find_if(block->warps,
                                 [](const Warp &each) { return each.state == Warp::State::Ended; });
      std::string text =
          "dead-lock: " + placeOf(*block, warp, 0) + " waits at this barrier for ever";
      if (ended == block->warps.end())
        return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op, text);
      return setup.findings.add(FindingKind::Deadlock, setup.program.steps[warp.at].op, text,
                                setup.program.steps[ended->at].op,
                                "warp " + std::to_string(ended->frame.warp) + " has ended here");
    }
}
