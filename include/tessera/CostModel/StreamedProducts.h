//===- StreamedProducts.h - Contractions inside a stream --------*- C++ -*-===//
//
// A stream computes a contraction tile by tile, and its result is never stored: scores, the hidden
// layer of a network, logits that are reduced. This saves the memory traffic of the result. The
// price is a smaller tile, since other values of the stream need registers, and grids that only the
// stream's rows fill. A contraction with a long K dimension is better computed by a kernel of its
// own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_STREAMEDPRODUCTS_H
#define TESSERA_COSTMODEL_STREAMEDPRODUCTS_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera {

/// Whether the contractions inside the stream of a kernel are predicted to take less time in
/// kernels of their own, which store their results. `shape` has the tiles and the launch that the
/// cost model chose for the kernel.
bool paysToStoreProducts(const MachineModel &machine, const SizeFacts &facts,
                         const KernelShape &shape);

/// Whether CTAs divide an accumulator of the stream, and each computes the contractions inside it.
bool repeatsProducts(const SizeFacts &facts, const KernelShape &shape);

/// Whether each of several kernels computes a contraction again: its result has more elements than
/// each argument and result of the function, and this is at most as much work as all contractions
/// of the function.
bool paysToRecompute(const MachineModel &machine, const SizeFacts &facts, gir::ContractOp product,
                     unsigned kernels);

} // namespace tessera

#endif
