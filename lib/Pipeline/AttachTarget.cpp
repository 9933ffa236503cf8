//===- AttachTarget.cpp - The pass tessera-attach-target ------------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Pipeline/Passes.h"

namespace tessera {

#define GEN_PASS_DEF_ATTACHTARGET
#include "tessera/Pipeline/Passes.h.inc"

namespace {
struct AttachTarget : impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    setTarget(getOperation(), chip);
    if (mlir::failed(mathOf(getOperation())))
      signalPassFailure();
  }
};
} // namespace
} // namespace tessera
