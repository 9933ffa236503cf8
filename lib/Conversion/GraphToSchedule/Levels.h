//===- Levels.h - Reductions along the stream into passes and states ------===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LEVELS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LEVELS_H

#include "KernelPlan.h"

namespace tessera {

/// Assigns passes to the levels of a plan and resolves them, and its outputs, to states. Where
/// passes are `free`, what takes several sums to separate waits for the statistic instead.
std::optional<Cut> planLevels(ExprPool &pool, KernelPlan &plan, bool free);

} // namespace tessera

#endif
