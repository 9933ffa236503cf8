//===- Passes.td - Passes on modules of any stage -----------*- tablegen -*-===//
#ifndef TESSERA_PIPELINE_PASSES
#define TESSERA_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"tessera-attach-target", "::mlir::ModuleOp"> {
  let summary = "set the target that a module is compiled for";
  let description = [{
    Sets the attribute `tessera.target` of the module.

    **Why.** Later passes read features, limits, shared memory and the scalar operations of the
    target from this attribute. No pass has an option for them, so no two passes can work for
    different targets.

    **Input form.** A module of any stage.

    **Output form.** The same module with the attribute, which replaces an earlier one.

    **Declines.** Never. A name that is neither in the table of chips ([chips.md](chips.md)) nor a
    CPU is an error. A chip without a backend is compiled by PTX; `sm_90:tileir` names CUDA Tile IR.

    ```mlir
    module attributes {tessera.target = "sm_90a"} { … }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "", "the name of the chip, with or without its backend, or of a CPU: sm_80, sm_90:tileir, x86-64-v4, ...">];
}

#endif
