//===- Passes.td - Passes on modules of any stage -----------*- tablegen -*-===//
#ifndef TESSERA_PIPELINE_PASSES
#define TESSERA_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"tessera-attach-target", "::mlir::ModuleOp"> {
  let summary = "set the chip that a module is compiled for";
  let description = [{
    Sets the attribute `tessera.target` of the module. The passes after it read features, limits and shared memory of the
    chip from there, so that no pass has an option for the chip and no two passes work for different ones.

    Input form: a module of any stage. Output form: the same module with the attribute, in place of one that it had. A
    name that is not in the table of chips ([chips.md](chips.md)) is an error.

    ```mlir
    module attributes {tessera.target = "sm_90a"} { … }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "", "the name of the chip: sm_80, sm_90a, ...">];
}

#endif
