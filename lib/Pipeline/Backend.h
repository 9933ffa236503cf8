//===- Backend.h - From Tile IR to machine code -----------------*- C++ -*-===//
//
// The last stages of a compilation for one target. CPUs: target → llvm → asm → bundle. GPUs by CUDA
// Tile IR: target → tileir → tileir-bytecode → cubin → bundle. GPUs by our own PTX: placed → target
// → ptx → cubin → bundle.
//
// Both GPU backends may compile kernels of one program: each then has its own image in the module,
// and its own code in the bundle.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_BACKEND_H
#define TESSERA_LIB_PIPELINE_BACKEND_H

#include "Compilation.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Target/Roofline.h"

#include <memory>

namespace tessera {

struct GpuTarget;

class Backend {
public:
  virtual ~Backend() = default;

  /// "cpu", a baseline ("x86-64-v3", "aarch64"), an architecture with features
  /// ("x86_64:avx2,fma"), or a GPU ("sm_90", "sm_90:tileir,aarch64" where its host is another
  /// machine than this) by the backend that the name or `via` says; null where there is none, and
  /// `error` says why.
  static std::unique_ptr<Backend> forTarget(const std::string &name, const CodeOptions &options,
                                            llvm::StringRef via, std::string &error);
  /// The target as the runtime writes it.
  virtual std::string name() const = 0;
  /// Whether a stage after Tile IR exists here; those before it and Target IR always do.
  virtual bool hasStage(Stage stage) const = 0;
  /// The target as the option `target` of passes takes it.
  virtual std::string specification() const = 0;
  /// The cost model's view of the target.
  virtual MachineModel machine() const = 0;
  /// The backend of a GPU, "tileir" or "ptx", or "ptx+tileir" if kernels use both; "" for a CPU.
  virtual std::string via() const { return ""; }
  /// A GPU's name without its backend and host, as users write it.
  std::string chip() const { return llvm::StringRef(name()).split(':').first.rtrim('a').str(); }
  /// Whether measured choices apply: they were measured with default options.
  bool takesMeasurements() const {
    return codeOptions.tuning && codeOptions.tensorCores &&
           codeOptions.optimizationLevel == CodeOptions().optimizationLevel;
  }
  /// How machine code is made.
  const CodeOptions &options() const { return codeOptions; }
  /// The roofline of the target.
  virtual Roofline roofline() const;

  /// Adds the passes from Tile IR to placed Tile IR, where that stage exists.
  virtual void addPlacingPasses(mlir::OpPassManager &manager) const {}
  /// Adds the passes from Tile IR, placed where that stage exists, to the form that `lower`
  /// accepts.
  virtual void addLoweringPasses(mlir::OpPassManager &manager) const {}

  /// Continues from Tile or Target IR to stage `last`. False after an error.
  bool finish(Compilation &compilation, Stage last) const;

  /// Tile IR to placed Tile IR, where that stage exists.
  mlir::LogicalResult place(mlir::ModuleOp module) const;
  /// Tile IR, placed where that stage exists, to Target IR.
  mlir::LogicalResult convertToTarget(mlir::ModuleOp module) const;

protected:
  /// Converts the result of the passes to Target IR.
  virtual mlir::LogicalResult lower(mlir::ModuleOp module) const = 0;
  /// Keeps the texts that are wanted of the stages after Target IR, and the bundle if that is last.
  virtual mlir::LogicalResult emit(Compilation &compilation, target::ModuleOp module,
                                   Stage last) const = 0;

  CodeOptions codeOptions;
};

/// A GPU backend, or both together.
class GpuBackend : public Backend {
public:
  /// Keeps the texts that are wanted of an image, and assembles it if a stage from the cubin on is.
  virtual mlir::LogicalResult assemble(Compilation &compilation, target::ImageOp image, Stage last,
                                       Cubin &cubin) const = 0;
  /// Replaces per-thread kernels of Target IR by an image.
  virtual mlir::LogicalResult makeImages(target::ModuleOp module) const { return mlir::success(); }

protected:
  /// The back end of an image's format; null if it is none of this one's.
  virtual const GpuBackend *backendOf(llvm::StringRef format) const {
    return format == via() ? this : nullptr;
  }
  mlir::LogicalResult emit(Compilation &compilation, target::ModuleOp module,
                           Stage last) const override;
};

/// Null for a name that is no CPU's.
std::unique_ptr<Backend> createCpuBackend(const std::string &name, const CodeOptions &options);
std::unique_ptr<GpuBackend> createCudaTileBackend(const GpuTarget &target);
std::unique_ptr<GpuBackend> createPtxBackend(const GpuTarget &target);
std::unique_ptr<GpuBackend> createMixedBackend(std::unique_ptr<GpuBackend> threads,
                                               std::unique_ptr<GpuBackend> tiles);

} // namespace tessera

#endif
