//===- Passes.cpp - The pass print-ptx ------------------------------------===//
#include "tessera/CodeGen/PTX/Passes.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::ptx {

#define GEN_PASS_DEF_PRINTPTX
#include "tessera/CodeGen/PTX/Passes.h.inc"

namespace {
struct PrintPtx : impl::PrintPtxBase<PrintPtx> {
  using PrintPtxBase::PrintPtxBase;

  void runOnOperation() override {
    auto module = lowerToPtx(getOperation(),
                             {.version = version, .wideIndices = wide, .fusesArithmetic = fuse});
    if (mlir::failed(module))
      return signalPassFailure();
    llvm::outs() << module->text;
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace tessera::ptx
