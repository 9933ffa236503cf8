//===- MachineModels.cpp - The cost model's view of a target --------------===//
#include "tessera/CostModel/MachineModels.h"

#include "tessera/Target/Cpus.h"
#include "tessera/Target/CudaLimits.h"
#include "tessera/Target/GpuFeatures.h"
#include "tessera/Target/LLVM/CpuTarget.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

using namespace tessera;
using llvm::StringRef;

/// The rates of a core relative to its vectors: a multiply-add of each unit in a cycle. Bytes per
/// cycle and the times of loops, blocks and tasks are estimates: they order candidates, and choose
/// where a value would be computed many times.
static CpuCosts cpuCosts(const CpuDescription &cpu) {
  constexpr double l2Bytes = 20, dramBytes = 8;
  const CpuRates &rates = cpuRates();
  double cyclesPerUs = rates.hertz.value * 1e-6;
  int64_t lanes = cpu.lanes(4);
  MicroTile block =
      cpu.multipliesByLane ? interleavedMicroTile(cpu, lanes) : chooseMicroTile(cpu, 512);
  CpuCosts costs;
  costs.cyclesPerUs = cyclesPerUs;
  costs.l2BytesPerUs = l2Bytes * cyclesPerUs;
  costs.dramBytesPerUs = dramBytes * cyclesPerUs;
  costs.blockUs = 0.1;
  costs.taskUs = 0.2;
  costs.launchUs = rates.launchSeconds.value * 1e6;
  costs.instructionUs = 1 / (2 * cyclesPerUs);
  costs.productUs = 1 / (double(rates.vectorUnits.value) * cyclesPerUs);
  costs.loadsOfProduct = 1;
  costs.runUs = 6 / cyclesPerUs;
  costs.stepUs = 20 / cyclesPerUs;
  costs.disturbance = 0.2;
  costs.microRows = block.rows;
  costs.microColumns = block.vectors * lanes;
  costs.l1Bytes = cpu.l1Bytes;
  costs.l2Bytes = cpu.l2Bytes;
  costs.vectorBytes = cpu.vectorBytes;
  costs.fewRows = cpu.fewRows();
  costs.choosesTiles = cpu.arch == CpuDescription::Arch::X86_64;
  return costs;
}

MachineModel tessera::machineModel(const CpuDescription &cpu, int64_t cores) {
  MachineModel machine;
  machine.cores = cores;
  machine.vectorBytes = cpu.vectorBytes;
  machine.l1Bytes = cpu.l1Bytes;
  machine.l2Bytes = cpu.l2Bytes;
  machine.interleavesRows = cpu.multipliesByLane;
  if (cpu.hasAmx) {
    machine.blockRows = CpuDescription::amxRows;
    machine.blockDepth = CpuDescription::amxDepth;
  }
  machine.fewRows = cpu.fewRows();
  machine.detectsStreams = cpu.detectsStreams;
  machine.cpuCosts = cpuCosts(cpu);
  return machine;
}

MachineModel tessera::cudaTileMachineModel(const GpuDescription &gpu) {
  MachineModel machine;
  machine.isGpu = true;
  machine.cores = gpu.smCount;
  machine.l2Bytes = gpu.l2Bytes;
  machine.wholeRow = 16384;
  machine.rowAlignment = CudaLimits::bulkAlignment;
  machine.roofline = Roofline::ofChip(gpu.chip, /*tensorCores=*/true);
  machine.operandsInRegisters = gpu.operandsInRegisters();
  return machine;
}

MachineModel tessera::ptxMachineModel(const GpuDescription &gpu) {
  MachineModel machine = cudaTileMachineModel(gpu);
  machine.operandsInRegisters = true; // mma.sync
  machine.quadPairs = gpu.multipliesByQuadPairs();
  machine.multipliesBytes = gpu.has(GpuFeature::MmaInt8);
  machine.tilesInRegisters = true;
  machine.warpgroups = gpu.has(GpuFeature::Wgmma);
  if (machine.warpgroups)
    machine.warpgroupCosts = &kHopperCosts;
  machine.copiesRows = gpu.has(GpuFeature::Tma);
  machine.cachePolicies = gpu.has(GpuFeature::CachePolicies);
  machine.sharedBytes = gpu.sm.sharedBytes;
  machine.sharedOfBlock = gpu.sm.sharedBytesPerCta;
  machine.cluster = gpu.maxCluster;
  return machine;
}

MachineModel tessera::mixedMachineModel(const GpuDescription &gpu) {
  MachineModel machine = ptxMachineModel(gpu);
  machine.byTiles = std::make_shared<MachineModel>(cudaTileMachineModel(gpu));
  return machine;
}

int64_t tessera::configuredCores() {
  const char *named = std::getenv("TESSERA_CORES");
  int64_t cores = 0;
  if (named && !StringRef(named).getAsInteger(10, cores) && cores > 0)
    return cores;
  return std::max(1l, sysconf(_SC_NPROCESSORS_CONF));
}

std::optional<MachineModel> tessera::parseMachineModel(StringRef target, int64_t cores) {
  if (std::optional<CpuTarget> cpu = CpuTarget::parse(target))
    return machineModel(cpu->describe(), cores > 0 ? cores : configuredCores());
  auto [chip, backend] = target.split(':');
  std::optional<GpuDescription> gpu = GpuDescription::from(chip.str());
  if (!gpu)
    return std::nullopt;
  if (backend == "ptx" || (backend.empty() && !gpu->has(GpuFeature::TileIR)))
    return ptxMachineModel(*gpu);
  if (!gpu->has(GpuFeature::TileIR))
    return std::nullopt;
  if (backend == "tileir")
    return cudaTileMachineModel(*gpu);
  if (backend.empty() || backend == "ptx+tileir")
    return mixedMachineModel(*gpu);
  return std::nullopt;
}
