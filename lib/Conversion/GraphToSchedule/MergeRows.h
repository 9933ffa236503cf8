//===- MergeRows.h - Merges dimensions that occur only together *- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_MERGEROWS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_MERGEROWS_H

#include "KernelPlan.h"

namespace tessera {

/// Merges the batch and row dimensions of a contraction with a matrix that all batches share, if
/// nothing uses them separately.
void mergeRows(ExprPool &pool, const SizeFacts &facts, std::vector<KernelOutput> &outputs);

/// Merges dimensions that are reduced together and adjacent in memory, unless the outputs have
/// them, too.
void mergeReduced(ExprPool &pool, std::vector<KernelOutput> &outputs);

} // namespace tessera

#endif
