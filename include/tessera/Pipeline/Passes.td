//===- Passes.td - Passes on modules of any stage -----------*- tablegen -*-===//
#ifndef TESSERA_PIPELINE_PASSES
#define TESSERA_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"tessera-attach-target", "::mlir::ModuleOp"> {
  let summary = "set the chip that a module is compiled for";
  let description = [{
    Sets the attribute `tessera.target` of the module.

    **Why.** Later passes read features, limits and shared memory of the chip from this attribute.
    No pass has an option for the chip, so no two passes can work for different ones.

    **Input form.** A module of any stage.

    **Output form.** The same module with the attribute, which replaces an earlier one.

    **Declines.** Never. A name that is not in the table of chips ([chips.md](chips.md)) is an
    error.

    ```mlir
    module attributes {tessera.target = "sm_90a"} { … }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "", "the name of the chip: sm_80, sm_90a, ...">];
}

#endif
