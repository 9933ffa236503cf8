//===- MachineModels.h - The cost model's view of a target -----*- C++ -*-===//
#ifndef TESSERA_COSTMODEL_MACHINEMODELS_H
#define TESSERA_COSTMODEL_MACHINEMODELS_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Target/CpuDescription.h"
#include "tessera/Target/GpuDescription.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// A CPU on which `cores` cores run grid tasks.
MachineModel machineModel(const CpuDescription &cpu, int64_t cores);
/// A GPU whose kernels the PTX backend generates.
MachineModel ptxMachineModel(const GpuDescription &gpu);
/// A GPU whose kernels the CUDA Tile IR backend generates.
MachineModel cudaTileMachineModel(const GpuDescription &gpu);
/// A GPU whose kernels either backend generates; the schedule chooses for each kernel.
MachineModel mixedMachineModel(const GpuDescription &gpu);

/// The model of a target by its name: a CPU as CpuTarget::parse reads it, or a GPU with the backend
/// ("sm_90:ptx", "sm_90:tileir", "sm_90:ptx+tileir"; "sm_90" has all backends that support it).
/// `cores` is for CPUs; 0 takes those of this machine. Nothing for an unknown name.
std::optional<MachineModel> parseMachineModel(llvm::StringRef target, int64_t cores = 0);

/// The cores that TESSERA_CORES says, else those of this machine, whichever of them this process
/// may use: how a reduction is split, and so its rounding, must not depend on who compiles.
int64_t configuredCores();

} // namespace tessera

#endif
