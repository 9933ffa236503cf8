//===- KernelConfig.cpp - Launch configurations and limits of chips -------===//
#include "tessera/Dialect/Target/IR/Target.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// The product of sizes, saturated.
static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(result, size, result))
      return INT64_MAX;
  return result;
}

static std::array<int64_t, 3> threeOf(ArrayRef<int64_t> sizes) {
  std::array<int64_t, 3> three = {1, 1, 1};
  llvm::copy(sizes, three.begin());
  return three;
}

int64_t KernelConfigAttr::getThreads() const { return product(getBlock()); }
int64_t KernelConfigAttr::getClusterBlocks() const { return product(getCluster()); }
std::array<int64_t, 3> KernelConfigAttr::getBlockSizes() const { return threeOf(getBlock()); }
std::array<int64_t, 3> KernelConfigAttr::getClusterSizes() const { return threeOf(getCluster()); }

LogicalResult KernelConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       ArrayRef<int64_t> grid, ArrayRef<int64_t> block,
                                       int64_t shared, int64_t regs, ArrayRef<int64_t> cluster) {
  struct Sizes {
    ArrayRef<int64_t> sizes;
    StringRef what;
    bool mayBeUnknown;
  };
  for (auto [sizes, what, mayBeUnknown] : {Sizes{grid, "grid", true}, Sizes{block, "block", false},
                                           Sizes{cluster, "cluster", false}}) {
    if (sizes.size() > 3)
      return emitError() << "expected up to 3 sizes of a " << what << ", got " << sizes.size();
    for (int64_t size : sizes)
      if (size < 1 && !(mayBeUnknown && ShapedType::isDynamic(size)))
        return emitError() << "expected positive sizes of a " << what << ", got "
                           << (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  }
  for (auto [size, most] : llvm::zip(grid, CudaLimits::grid))
    if (size > most)
      return emitError() << "expected at most " << most << " CTAs in this dimension of a grid, got "
                         << size;
  if (product(block) > CudaLimits::threadsPerCta)
    return emitError() << "expected a block of 1 to " << CudaLimits::threadsPerCta
                       << " threads, got " << product(block);
  if (block.size() == 3 && block[2] > CudaLimits::ctaDepth)
    return emitError() << "expected at most " << CudaLimits::ctaDepth
                       << " threads in a block's third dimension, got " << block[2];
  if (shared < 0)
    return emitError() << "expected non-negative bytes of shared memory, got " << shared;
  if (regs < 0 || regs > CudaLimits::registersPerThread)
    return emitError() << "expected at most " << CudaLimits::registersPerThread
                       << " registers of a thread, got " << regs;
  if (product(cluster) > CudaLimits::ctasPerCluster)
    return emitError() << "expected a cluster of 1 to " << CudaLimits::ctasPerCluster
                       << " CTAs, got " << product(cluster);
  for (auto [ctas, size] : llvm::zip(grid, cluster))
    if (!ShapedType::isDynamic(ctas) && ctas % size)
      return emitError() << "expected a grid that is a multiple of its cluster, got " << ctas
                         << " CTAs in clusters of " << size;
  return success();
}

LogicalResult target::verifyConfig(Operation *op, StringRef kernel, KernelConfigAttr config,
                                   const GpuDescription &gpu) {
  auto fail = [&] { return op->emitOpError("kernel '") << kernel << "' requests "; };
  if (config.getShared() > gpu.sm.sharedBytesPerCta)
    return fail() << config.getShared() << " bytes of shared memory, a CTA of " << gpu.chip
                  << " has " << gpu.sm.sharedBytesPerCta;
  if (int64_t ctas = config.getClusterBlocks(); ctas > gpu.maxCluster) {
    InFlightDiagnostic error = fail()
                               << "a cluster of " << ctas << " CTAs, " << gpu.chip << " has ";
    return gpu.has(GpuFeature::Clusters) ? error << "at most " << gpu.maxCluster : error << "none";
  }
  // Registers are allocated to whole warps, in units of eight per thread.
  int64_t registers = llvm::alignTo(config.getRegs(), 8) * llvm::alignTo(config.getThreads(), 32);
  if (registers > CudaLimits::registersPerSm)
    return fail() << config.getRegs() << " registers in each of " << config.getThreads()
                  << " threads, an SM of " << gpu.chip << " has " << CudaLimits::registersPerSm;
  return success();
}

std::optional<GpuDescription> target::gpuOf(Operation *op) {
  auto module = op->getParentOfType<target::ModuleOp>();
  return module ? GpuDescription::from(module.getCpu().str()) : std::nullopt;
}
