//===- MergeRows.h - Dimensions that are walked as one ---------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_MERGEROWS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_MERGEROWS_H

#include "KernelPlan.h"

namespace tessera {

/// Walks the rows of all batches as one dimension where a product multiplies them by the same
/// matrix and nothing tells them apart.
void mergeRows(ExprPool &pool, const SizeFacts &facts, std::vector<KernelOutput> &outputs);

/// Walks what reductions go over as one dimension where it lies so in memory and the outputs do not
/// go over it again.
void mergeReduced(ExprPool &pool, std::vector<KernelOutput> &outputs);

} // namespace tessera

#endif
