//===- BackendChoice.h - Which backend compiles a GPU kernel ----*- C++ -*-===//
//
// NVIDIA's tile compiler compiles a contraction unless our own PTX is expected to be faster. The
// PTX backend compiles
//
// - kernels that are bound by memory;
// - contractions of 16-bit tensors by wgmma, with operands as they are in memory and tiles that
//   fill the device;
// - small contractions whose K dimension a cluster splits, for which the other backend needs a
//   second kernel;
// - streams of two contractions by wgmma, with a large head dimension and little
//   elementwise work.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_BACKENDCHOICE_H
#define TESSERA_COSTMODEL_BACKENDCHOICE_H

#include "tessera/CostModel/CostModel.h"

namespace tessera {

/// Whether the PTX backend compiles a kernel; `shape` has the tiles, launch and tuning that the
/// cost model chose for it.
bool usesPtx(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape);

} // namespace tessera

#endif
