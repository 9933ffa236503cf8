//===- Explore.h - The orders in which a launch is run ---------*- C++ -*-===//
//
// Seed 0 runs warps as far as they can, one after the other, and copies land as late as possible.
// Seed 1 runs the last warp first, and copies land at once. Other seeds choose at random.
//
// All orders: two transitions commute unless they access the same bytes, one of them writes, and
// neither happens before the other. Dynamic partial-order reduction (Flanagan and Godefroid) with
// sleep sets runs one order of each class: it reverses pairs that do not commute, and nothing else.
// A launch without a race has one class, and its one run is the proof. Atomic additions commute.
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

  /// The tensors are those of the first run afterwards.
  void run();

private:
  void runSeeds(LaunchReport &launchReport);
  void runAll(LaunchReport &launchReport);
  Machine::Setup setup(unsigned residentClusters);
  void keepTensors();
  void restoreTensors();
  /// Compares the written tensors with those of the first run.
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
