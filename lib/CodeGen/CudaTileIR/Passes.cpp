//===- Passes.cpp - The pass print-cuda-tile ------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Passes.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/CodeGen/CudaTileIR/CudaTileIR.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::cudatile {

#define GEN_PASS_DEF_PRINTCUDATILE
#include "tessera/CodeGen/CudaTileIR/Passes.h.inc"

namespace {
struct PrintCudaTile : impl::PrintCudaTileBase<PrintCudaTile> {
  using PrintCudaTileBase::PrintCudaTileBase;

  void runOnOperation() override {
    LoweringOptions options;
    options.version.minor = format;
    options.wideIndices = wide;
    auto module = lowerToCudaTile(getOperation(), options);
    if (mlir::failed(module))
      return signalPassFailure();
    llvm::outs() << printModule(*module);
    if (mlir::failed(write(*module)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  mlir::LogicalResult write(const Module &module) {
    std::string error;
    auto bytes = writeModule(module, error);
    if (!bytes)
      return getOperation().emitError(error);
    if (!bytecode.empty()) {
      std::error_code failure;
      llvm::raw_fd_ostream file(bytecode, failure);
      if (failure)
        return getOperation().emitError("cannot write '") << bytecode << "'";
      file.write(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    }
    if (assemble.empty())
      return mlir::success();
    auto tileiras = findTileiras(error);
    if (!tileiras)
      return getOperation().emitError(error);
    for (const std::string &architecture : assemble) {
      auto cubin = cudatile::assemble(*tileiras, *bytes, {.architecture = architecture}, error);
      if (!cubin)
        return getOperation().emitError(error);
      llvm::outs() << architecture << ": " << cubin->bytes.size() << " bytes\n";
    }
    return mlir::success();
  }
};
} // namespace
} // namespace tessera::cudatile
