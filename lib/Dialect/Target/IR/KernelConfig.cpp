//===- KernelConfig.cpp - How kernels are launched, and what chips allow --===//
#include "tessera/Dialect/Target/IR/Target.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// What CUDA allows on every chip.
static constexpr int64_t kMaxCluster = 16, kMaxBlockDepth = 64;
static constexpr int64_t kMaxGrid[] = {INT32_MAX, 65535, 65535};

/// The largest number where it does not fit.
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
  for (auto [sizes, what, mayBeUnknown] :
       {Sizes{grid, "grid", true}, Sizes{block, "block", false}, Sizes{cluster, "cluster", false}}) {
    if (sizes.size() > 3)
      return emitError() << "expected up to 3 sizes of a " << what << ", got " << sizes.size();
    for (int64_t size : sizes)
      if (size < 1 && !(mayBeUnknown && ShapedType::isDynamic(size)))
        return emitError() << "expected positive sizes of a " << what << ", got "
                           << (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  }
  for (auto [size, most] : llvm::zip(grid, kMaxGrid))
    if (size > most)
      return emitError() << "expected at most " << most << " blocks in this dimension of a grid, got "
                         << size;
  if (product(block) > GpuDescription::maxThreads)
    return emitError() << "expected a block of 1 to " << GpuDescription::maxThreads
                       << " threads, got " << product(block);
  if (block.size() == 3 && block[2] > kMaxBlockDepth)
    return emitError() << "expected at most " << kMaxBlockDepth
                       << " threads in a block's third dimension, got " << block[2];
  if (shared < 0)
    return emitError() << "expected non-negative bytes of shared memory, got " << shared;
  if (regs < 0 || regs > GpuDescription::maxRegisters)
    return emitError() << "expected at most " << GpuDescription::maxRegisters
                       << " registers of a thread, got " << regs;
  if (product(cluster) > kMaxCluster)
    return emitError() << "expected a cluster of 1 to " << kMaxCluster << " blocks, got "
                       << product(cluster);
  for (auto [blocks, size] : llvm::zip(grid, cluster))
    if (!ShapedType::isDynamic(blocks) && blocks % size)
      return emitError() << "expected a grid that is a multiple of its cluster, got " << blocks
                         << " blocks in clusters of " << size;
  return success();
}

LogicalResult target::verifyConfig(Operation *op, StringRef kernel, KernelConfigAttr config,
                                   const GpuDescription &gpu) {
  auto fail = [&] { return op->emitOpError("kernel '") << kernel << "' asks for "; };
  if (config.getShared() > gpu.multiprocessor.sharedOfBlock)
    return fail() << config.getShared() << " bytes of shared memory, a block of " << gpu.chip
                  << " has " << gpu.multiprocessor.sharedOfBlock;
  if (int64_t blocks = config.getClusterBlocks(); blocks > gpu.maxCluster()) {
    InFlightDiagnostic error = fail() << "a cluster of " << blocks << " blocks, " << gpu.chip << " has ";
    return gpu.hasClusters ? error << "at most " << gpu.maxCluster() : error << "none";
  }
  // Registers are given to whole warps, by eights.
  int64_t registers = llvm::alignTo(config.getRegs(), 8) * llvm::alignTo(config.getThreads(), 32);
  if (registers > gpu.multiprocessor.registers)
    return fail() << config.getRegs() << " registers in each of " << config.getThreads()
                  << " threads, a multiprocessor of " << gpu.chip << " has "
                  << gpu.multiprocessor.registers;
  return success();
}

std::optional<GpuDescription> target::gpuOf(Operation *op) {
  auto module = op->getParentOfType<target::ModuleOp>();
  return module ? GpuDescription::from(module.getCpu().str()) : std::nullopt;
}
