//===- Performance.h - What a schedule should cost -------------*- C++ -*-===//
//
// Arithmetic, traffic and time of each kernel of a module of Schedule IR against the roofline of a
// target, at the given sizes, and at typical ones where none are given.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_PERFORMANCE_H
#define TESSERA_LIB_PIPELINE_PERFORMANCE_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Target/Roofline.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

struct KernelCost {
  double flops =
      0; ///< two for each multiplication of a contraction, one for any other float operation
  double bytes = 0;                  ///< every input once, every output once: the least traffic
  double programs = 0;               ///< of the grid
  double arithmeticMicroseconds = 0; ///< at the peak rates, if all cores had the same work
  double microseconds = 0;
  /// What rows cost on a CPU whose length is known at run time only and is no multiple of a vector.
  double remainderMicroseconds = 0;
  const char *bound = "launch"; ///< "compute", "memory", or "launch" where the kernel is tiny
};

/// Run-time sizes that are at hand, by name. Code does not depend on them: it is for a class of
/// sizes.
using SizesAtHand = std::map<std::string, int64_t>;

/// What an operation of a kernel computes.
struct OpWork {
  enum Unit { Products, Elementwise } unit = Elementwise;
  mlir::Operation *op = nullptr;
  double flops = 0;
  double seconds = 0; ///< at the peak rates, if all cores had the same work
};

/// The arithmetic of a kernel, operation by operation.
std::vector<OpWork> workOf(sched::KernelOp kernel, const Roofline &roofline,
                           const SizesAtHand &sizes = {});

/// The part of a stream's range that is visited, on the average over the grid.
double visitedShare(sched::StreamOp stream, const Roofline &roofline,
                    const SizesAtHand &sizes = {});

KernelCost estimateCost(sched::KernelOp kernel, const MachineModel &machine,
                        const Roofline &roofline, const SizesAtHand &sizes = {});

} // namespace tessera

#endif
