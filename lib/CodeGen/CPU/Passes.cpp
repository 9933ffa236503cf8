//===- Passes.cpp - The CPU code generator as passes ----------------------===//
#include "tessera/CodeGen/CPU/Passes.h"
#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::cpu {

#define GEN_PASS_DEF_CONVERTTILETOCPU
#define GEN_PASS_DEF_PRINTCPUCODE
#define GEN_PASS_DEF_PRINTCPUPLAN
#include "tessera/CodeGen/CPU/Passes.h.inc"

/// The target that an option names; none after an error.
static std::optional<CpuTarget> parseTarget(mlir::ModuleOp module, llvm::StringRef name) {
  std::optional<CpuTarget> target = CpuTarget::parse(name);
  if (!target)
    module.emitError("expected target cpu, x86-64-v2, x86-64-v3, x86-64-v4, aarch64 or an "
                     "architecture with features, got '")
        << name << "'";
  return target;
}

namespace {

struct ConvertTileToCpu : impl::ConvertTileToCpuBase<ConvertTileToCpu> {
  using ConvertTileToCpuBase::ConvertTileToCpuBase;

  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<target::TargetDialect, mlir::LLVM::LLVMDialect, mlir::scf::SCFDialect>();
  }

  void runOnOperation() override {
    std::optional<CpuTarget> machine = parseTarget(getOperation(), target);
    if (!machine || mlir::failed(lowerTileToCpu(getOperation(), *machine)))
      signalPassFailure();
  }
};

struct PrintCpuPlan : impl::PrintCpuPlanBase<PrintCpuPlan> {
  using PrintCpuPlanBase::PrintCpuPlanBase;

  void runOnOperation() override {
    std::optional<CpuTarget> machine = parseTarget(getOperation(), target);
    if (!machine || mlir::failed(printPlans(getOperation(), *machine, llvm::outs())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct PrintCpuCode : impl::PrintCpuCodeBase<PrintCpuCode> {
  using PrintCpuCodeBase::PrintCpuCodeBase;

  void runOnOperation() override {
    for (auto module : getOperation().getOps<target::ModuleOp>()) {
      auto text = emitText(module, form == "llvm" ? TextForm::OptimizedLLVM : TextForm::Assembly);
      if (mlir::failed(text))
        return signalPassFailure();
      llvm::outs() << *text;
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace tessera::cpu
