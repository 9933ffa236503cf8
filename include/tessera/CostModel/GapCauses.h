//===- GapCauses.h - Why a schedule takes longer than the roofline -*- C++ -*-===//
//
// A predicted time is taken apart into the roofline and the causes of the rest. The roofline is the
// time of the slowest of tensor cores, vector units and memory at their peak rates. Causes are
// switched on one after another, in a fixed order, and each one has what the time grows by. So they
// are never negative, and together with the roofline they are the predicted time.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_GAPCAUSES_H
#define TESSERA_COSTMODEL_GAPCAUSES_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/CostModel/PredictedTime.h"

namespace tessera {

/// What a kernel has to do, and what its schedule makes of it.
struct ProfiledWork {
  double productUs = 0;     ///< of contractions at their peak rate
  double elementwiseUs = 0; ///< of everything else
  double memoryUs = 0;      ///< every element that is used, once
  double launchUs = 0;
  double bytes = 0;       ///< the elements of `memoryUs`
  double sectorBytes = 0; ///< the same in whole sectors or cache lines
  double movedBytes = 0;  ///< between the L2 cache and cores, with what is read again
  double storedBytes = 0; ///< of results
  double slowdown = 1;    ///< of contractions that are not on the fastest units of the chip
};

/// A predicted time, the roofline, and the causes of the difference.
struct ExplainedTime {
  double microseconds = 0, roofline = 0;
  llvm::SmallVector<TimeTerm, 8> causes;
};

/// The time of a kernel with the tiles, launch and tuning of its description.
ExplainedTime explainTime(const MachineModel &machine, const SizeFacts &facts,
                          const KernelShape &shape, const ProfiledWork &work);

} // namespace tessera

#endif
