//===- Explore.h - The orders in which a launch is run ---------*- C++ -*-===//
//
// Seed 0 lets warps run as far as they can, one after the other, and copies land as late as they
// may; seed 1 takes the last warp first, and copies land at once; others choose at random.
//
// All orders: two transitions commute unless they touch the same bytes, one writes, and nothing
// puts them in order. Dynamic partial-order reduction (Flanagan and Godefroid) with sleep sets runs
// one order of each class: it reverses pairs that do not commute, and nothing else. A launch
// without a race has one class, and its one run is the proof. Atomic additions count as commuting.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_EXPLORE_H
#define TESSERA_LIB_SIMULATOR_EXPLORE_H

#include "Machine.h"

namespace tessera::simulator {

class Explorer {
public:
  Explorer(const Program &program, const LaunchValues &launch, std::vector<Memory> &memories,
           Findings &findings, const Options &options, Report &report);

  /// Leaves the tensors as the first run does.
  void run();

private:
  void runSeeds(LaunchReport &launchReport);
  void runAll(LaunchReport &launchReport);
  Machine::Setup setup(unsigned residents);
  void keepTensors();
  void restoreTensors();
  /// Compares what was written with what the first run wrote.
  void compare(const Machine &machine);
  std::vector<unsigned> written() const;

  const Program &program;
  const LaunchValues &launch;
  std::vector<Memory> &memories;
  Findings &findings;
  const Options &options;
  Report &report;
  std::vector<Memory> before, first; // the written tensors
  bool hasFirst = false;
};

} // namespace tessera::simulator

#endif
