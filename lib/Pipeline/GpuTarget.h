//===- GpuTarget.h - What the GPU backends share ----------------*- C++ -*-===//
//
// CUDA Tile IR or our own PTX generates the code of a GPU. Both start from Tile IR and end with a
// target module that holds the host program and one image of all kernels.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_GPUTARGET_H
#define TESSERA_LIB_PIPELINE_GPUTARGET_H

#include "mlir/Pass/PassManager.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/CostModel/MachineModels.h"
#include "tessera/Dialect/Tile/Analysis/IndexWidth.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera {

/// "sm_90", "sm_90:ptx", "sm_90:tileir,aarch64".
struct GpuTarget {
  GpuDescription gpu;
  std::string backend; ///< "tileir", "ptx", or "" where the name has none
  std::string host; ///< the architecture of the machine that has the GPU; this one's if not named

  /// Nothing for a name that is none of this kind.
  static std::optional<GpuTarget> parse(llvm::StringRef name);

  /// The backend that `via` ("auto", "tileir", "ptx", "ptx+tileir") means here; "" if there is
  /// none, and `error` says why.
  std::string choose(llvm::StringRef via, std::string &error) const;
};

/// The passes on whole-tile programs that both backends share: MMAs in types that the tensor cores
/// have, narrow indices, and scalar operations that the target has or that are expanded.
void addGpuPasses(mlir::OpPassManager &manager, const GpuDescription &gpu, bool tensorCores);

/// The kernels of a module in a format of their own.
struct GpuImage {
  std::string format; ///< "tileir", "ptx"
  llvm::ArrayRef<char> code;
  mlir::ArrayAttr configs; ///< how each kernel is launched, in their order; null: as tile blocks
  mlir::DictionaryAttr changed = {}; ///< the changed fields of kernels, by their names
};

/// Adds an image with the kernels of these names to a target module.
void addImage(target::ModuleOp module, mlir::ArrayAttr kernels, const GpuImage &image);

/// Replaces the functions and kernels of `module` by a target module with their host programs and
/// the image, which gets the changed fields of the kernels.
mlir::LogicalResult packGpuModule(mlir::ModuleOp module, llvm::StringRef chip,
                                  llvm::StringRef features, const HostProgramOptions &host,
                                  GpuImage image);

/// Replaces the per-thread kernels of a target module by an image of PTX.
mlir::LogicalResult assembleKernels(target::ModuleOp module, const GpuDescription &gpu,
                                    int optimizationLevel);

} // namespace tessera

#endif
