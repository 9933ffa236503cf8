//===- AccessCosts.h - Bytes of each load and store -------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_ACCESSCOSTS_H
#define TESSERA_LIB_PIPELINE_ACCESSCOSTS_H

#include "Performance.h"

#include <string>
#include <vector>

namespace tessera {

/// What a load or a store moves.
struct AccessCost {
  mlir::Operation *op = nullptr;
  std::string tensor; ///< an argument's name, "result", or the kernel that computes it
  bool isStore = false;
  double bytes = 0;      ///< of elements, each once in the kernel
  double sectors = 0;    ///< the same in whole sectors (GPU) or cache lines (CPU)
  double moved = 0;      ///< of elements, with what the grid reads again
  double stride = 1;     ///< elements from one to the next along the tile, in memory
  int64_t argument = -1; ///< of the function; -1 for others
};

/// The loads and stores of a kernel. An element counts where it is first accessed.
std::vector<AccessCost> accessesOf(sched::KernelOp kernel, const MachineModel &machine,
                                   const Roofline &roofline, const SizesAtHand &sizes);

} // namespace tessera

#endif
