//===- BackendChoice.h - By which backend a kernel goes to a GPU ----*- C++ -*-===//
//
// NVIDIA's tile compiler is taken for a product where our own PTX is not expected to be faster.
// That is:
// - what is bound by memory,
// - products of 16 bits that warpgroups make of tensors as they lie in memory, by tiles that fill
// the machine,
// - small products that blocks of clusters share, for which the other backend takes a second
// kernel,
// - streams of two products that such groups make, deep ones and with little work between them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_BACKENDCHOICE_H
#define TESSERA_COSTMODEL_BACKENDCHOICE_H

#include "tessera/CostModel/CostModel.h"

namespace tessera {

/// Whether a kernel goes by our own PTX; `shape` has the tiles and hints that the cost model gives
/// it for that backend.
bool usesPtx(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape);

} // namespace tessera

#endif
