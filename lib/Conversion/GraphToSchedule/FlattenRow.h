//===- FlattenRow.h - Several dimensions of a stored row as one -*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_FLATTENROW_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_FLATTENROW_H

#include "KernelPlan.h"

namespace tessera {

/// The dimensions of outputs that may be the row that `reduce` goes along: any one, or the last
/// ones together.
std::vector<std::vector<std::string>> rowCandidates(ExprPool &pool, const SizeFacts &facts,
                                                    const MachineModel &machine,
                                                    const KernelPlan &plan, Expr reduce);

/// Whether the stream has several dimensions, and an output has them, too.
bool isStoredAlong(const KernelPlan &plan);

/// Replaces the dimensions of the stream by one if everything that has them is contiguous along
/// them; false if not.
bool flattenRow(ExprPool &pool, KernelPlan &plan);

} // namespace tessera

#endif
