//===- Passes.cpp - The PTX code generator as passes ----------------------===//
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
    auto module = lowerToPtx(getOperation(), {.chip = chip, .version = version, .wideIndices = wide});
    if (mlir::failed(module))
      return signalPassFailure();
    llvm::outs() << module->text;
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace tessera::ptx
