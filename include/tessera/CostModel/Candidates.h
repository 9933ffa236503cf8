//===- Candidates.h - The legal schedules of a kernel -----------*- C++ -*-===//
//
// The space that the choice of a schedule is made from, with a predicted time for each schedule.
//
// - Contractions by wgmma are enumerated completely, and the schedule with the smallest predicted
//   time is the cost model's choice.
// - Kernels of CPUs are enumerated, too. For streams of reductions the predicted time chooses, for
//   others rules do.
// - Of other GPU kernels, the candidates are the cost model's choice and its neighbours: each tile
//   halved, doubled and quadrupled, and other warps, stages and CTAs per SM.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_CANDIDATES_H
#define TESSERA_COSTMODEL_CANDIDATES_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/CostModel/PredictedTime.h"

#include <vector>

namespace tessera {

/// The work of a kernel, whatever its schedule is.
struct KernelWork {
  double bytes = 0;        ///< that must move between memory and the device
  double memoryUs = 0;     ///< the time for them at the peak rate
  double arithmeticUs = 0; ///< the time of all arithmetic at the peak rate
  double launchUs = 0;     ///< of an empty kernel
};

/// A legal schedule.
struct Candidate {
  KernelShape shape; ///< with its tiles, launch and tuning
  PredictedTime time;
  bool isChosen = false; ///< the cost model's choice
};

/// The schedules of a kernel, by predicted time; the cost model's choice is among them.
std::vector<Candidate> enumerateCandidates(const MachineModel &machine, const SizeFacts &facts,
                                           const KernelShape &shape, const KernelWork &work);

/// The tiles, launch and tuning of a schedule as `--schedule` takes them: "tile.m=128,num_warps=8".
/// Fields of `base` that the schedule does not have are `none`.
std::string scheduleText(const KernelShape &shape, const KernelShape &base);

} // namespace tessera

#endif
