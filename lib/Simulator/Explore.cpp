//===- Explore.cpp - The orders in which a launch is run ------------------===//
#include "Explore.h"

#include <random>
#include <set>

using namespace tessera;
using namespace tessera::simulator;

Explorer::Explorer(const Program &program, const LaunchValues &launch,
                   std::vector<Memory> &memories, Findings &findings, const Options &options,
                   Report &report)
    : program(program), launch(launch), memories(memories), findings(findings), options(options),
      report(report) {}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::vector<unsigned> Explorer::written() const {
  std::set<unsigned> numbers;
  for (auto [argument, isWritten] : llvm::enumerate(program.isWritten))
    if (isWritten)
      numbers.insert(launch.views[argument].memory);
  return {numbers.begin(), numbers.end()};
}

void Explorer::keepTensors() {
  for (unsigned number : written())
    before.push_back(memories[number]);
}

void Explorer::restoreTensors() {
  for (auto [i, number] : llvm::enumerate(written()))
    memories[number] = before[i];
}

void Explorer::compare(const Machine &machine) {
  bool hasFloatAtomics = llvm::any_of(program.steps, [](const Step &step) {
    return step.global && step.global->isAtomic && step.global->element.isFloat();
  });
  if (!hasFirst) {
    hasFirst = true;
    for (unsigned number : written())
      first.push_back(memories[number]);
    return;
  }
  for (auto [i, number] : llvm::enumerate(written())) {
    const Memory &now = memories[number];
    if (hasFloatAtomics || now.bytes == first[i].bytes)
      continue;
    auto differs = std::mismatch(now.bytes.begin(), now.bytes.end(), first[i].bytes.begin()).first;
    int64_t element = (differs - now.bytes.begin()) / now.element.bytes();
    const Step *writer = machine.writerOf(number, element);
    mlir::Operation *op = writer ? writer->op : program.kernel.getOperation();
    findings.add(FindingKind::Order, op,
                 "element " + std::to_string(element) + " of " + now.name +
                     " differs from one run to another");
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Machine::Setup Explorer::setup(unsigned residentClusters) {
  return {program,           launch,
          memories,          findings,
          residentClusters,  /*recordsTouches=*/false,
          /*costs=*/nullptr, &report.instructions,
          &report.elements,  &report.reached};
}

namespace {
/// Chooses the next agent.
class Chooser {
public:
  explicit Chooser(uint64_t seed) : seed(seed), random(seed) {}

  Agent operator()(const std::vector<Agent> &enabled) {
    if (seed == 0)
      return enabled.front(); // copies come last
    if (seed == 1)
      return enabled.back();
    // The last agent continues with a probability of one half.
    bool stays = llvm::is_contained(enabled, last) && random() % 2;
    return last = stays ? last : enabled[random() % enabled.size()];
  }

private:
  uint64_t seed;
  std::mt19937_64 random;
  Agent last;
};
} // namespace

void Explorer::runSeeds(LaunchReport &launchReport) {
  for (uint64_t seed = options.firstSeed; seed < options.firstSeed + options.seeds; ++seed) {
    if (launchReport.runs)
      restoreTensors();
    Machine::Setup with = setup(options.residentClusters);
    std::vector<Cost> costs;
    if (!launchReport.runs) {
      // The accesses of steps, then those of cp.async to shared memory.
      for (bool isCopy : {false, true})
        for (const Step &step : program.steps)
          costs.push_back({step.op, isCopy || step.kind == Step::Kind::Shared ||
                                        step.kind == Step::Kind::WgmmaOperand ||
                                        step.kind == Step::Kind::DsmemLoad});
      with.costs = &costs;
    }
    Machine machine(with);
    Chooser choose(seed);
    while (!machine.isFinished() && !machine.isBroken()) {
      std::vector<Agent> enabled = machine.enabled();
      if (enabled.empty()) {
        machine.reportDeadlock();
        break;
      }
      machine.execute(choose(enabled));
      if (options.stopsAtFirst && !findings.empty())
        return;
    }
    for (const Cost &cost : costs)
      if (cost.accesses)
        launchReport.costs.push_back(cost);
    ++launchReport.runs;
    compare(machine);
  }
}

//===----------------------------------------------------------------------===//
// All orders
//===----------------------------------------------------------------------===//

static bool commute(const std::vector<Touch> &a, const std::vector<Touch> &b) {
  for (const Touch &x : a)
    for (const Touch &y : b)
      if ((x.isWrite || y.isWrite) && !(x.isAtomic && y.isAtomic) && x.begin < y.end &&
          y.begin < x.end)
        return false;
  return true;
}

/// Whether the first of two transitions must come before the second.
static bool isBefore(const Transition &a, const Transition &b) {
  if (a.agent.cluster != b.agent.cluster)
    return false;
  // A copy happens at the time of its wait; one that is not waited for comes before nothing. Its
  // clock is that of its issue.
  return a.time && a.time <= b.clock[a.agent.warp];
}

namespace {
/// A state of a run, with the agents that were tried and those to try.
struct State {
  std::vector<Agent> enabled;
  Agent chosen;
  std::set<Agent> wanted;
  std::map<Agent, std::vector<Touch>> done, sleeping;
};
} // namespace

void Explorer::runAll(LaunchReport &launchReport) {
  std::vector<State> stack;
  unsigned clusters = 1;
  for (int64_t size : launch.grid)
    clusters *= unsigned(size);
  auto countRaces = [&] {
    uint64_t count = 0;
    for (const Finding &finding : findings.list)
      count += finding.kind == FindingKind::Race || finding.kind == FindingKind::EarlyUse
                   ? finding.count
                   : 0;
    return count;
  };
  for (uint64_t tries = 0; tries < options.mostRuns; ++tries) {
    if (tries)
      restoreTensors();
    uint64_t races = countRaces();
    Machine::Setup with = setup(clusters);
    with.recordsTouches = true;
    Machine machine(with);
    std::map<Agent, std::vector<Touch>> sleeping;
    bool isPruned = false;
    for (size_t depth = 0; !machine.isFinished() && !machine.isBroken(); ++depth) {
      if (depth == stack.size()) {
        State state;
        state.enabled = machine.enabled();
        if (state.enabled.empty()) {
          machine.reportDeadlock();
          break;
        }
        state.sleeping = sleeping;
        auto next = llvm::find_if(state.enabled,
                                  [&](const Agent &agent) { return !sleeping.contains(agent); });
        isPruned = next == state.enabled.end();
        if (isPruned)
          break;
        state.chosen = *next;
        state.wanted.insert(*next);
        stack.push_back(std::move(state));
      }
      State &state = stack[depth];
      machine.execute(state.chosen);
      const std::vector<Touch> &touches = machine.transitions.back().touches;
      // An agent that commutes with this step need not be tried after it.
      sleeping.clear();
      for (const auto *list : {&state.sleeping, &state.done})
        for (const auto &[agent, theirs] : *list)
          if (agent != state.chosen && commute(theirs, touches))
            sleeping[agent] = theirs;
      state.done[state.chosen] = touches;
      if (options.stopsAtFirst && !findings.empty())
        return;
    }
    launchReport.runs += !isPruned;
    if (machine.isFinished() && !isPruned)
      compare(machine);
    if (countRaces() != races) {
      const std::vector<Transition> &steps = machine.transitions;
      for (size_t i = 0; i < steps.size() && i < stack.size(); ++i)
        for (size_t j = i; j-- > 0;) {
          if (steps[j].agent == steps[i].agent || isBefore(steps[j], steps[i]) ||
              commute(steps[j].touches, steps[i].touches))
            continue;
          State &state = stack[j];
          if (llvm::is_contained(state.enabled, steps[i].agent))
            state.wanted.insert(steps[i].agent);
          else
            state.wanted.insert(state.enabled.begin(), state.enabled.end());
          break;
        }
    }
    auto untried = [](State &state) {
      return llvm::find_if(state.wanted, [&](const Agent &agent) {
        return !state.done.contains(agent) && !state.sleeping.contains(agent);
      });
    };
    while (!stack.empty() && untried(stack.back()) == stack.back().wanted.end())
      stack.pop_back();
    if (stack.empty()) {
      launchReport.isComplete = true;
      return;
    }
    stack.back().chosen = *untried(stack.back());
  }
}

void Explorer::run() {
  LaunchReport &launchReport = report.launches.emplace_back();
  launchReport.kernel = program.kernel.getSymName().str();
  launchReport.grid = launch.grid;
  launchReport.warps = program.warps;
  launchReport.sharedBytes = program.sharedBytes;
  launchReport.isExhaustive = options.isExhaustive;
  keepTensors();
  if (options.isExhaustive)
    runAll(launchReport);
  else
    runSeeds(launchReport);
  for (auto [i, number] : llvm::enumerate(written()))
    if (hasFirst)
      memories[number] = first[i];
}
