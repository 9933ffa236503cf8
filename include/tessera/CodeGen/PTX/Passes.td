//===- Passes.td - The PTX code generator as passes ---------*- tablegen -*-===//
#ifndef TESSERA_CODEGEN_PTX_PASSES
#define TESSERA_CODEGEN_PTX_PASSES

include "mlir/Pass/PassBase.td"

def PrintPtx : Pass<"print-ptx", "::mlir::ModuleOp"> {
  let summary = "print the placed tile kernels of a module as PTX";
  let description = [{
    Compiles the kernels through LLVM and prints the PTX.

    **Why.** Tests of the code generator look at it.

    **Input form.** Placed Tile IR. The scalar operations are primitive (`tile-expand-math`), tiles
    have layouts (`tile-assign-layouts`), and accesses to shared memory are explicit (`tile-lower-layout-conversions`,
    `tile-allocate-shared`, `tile-place-barriers`).

    **Output form.** The module is unchanged.

    **Declines.** Never. Another operation, or a chip that is not in the table of targets, is an error.

    ```mlir
    %d = tile.map add(%t, %t) : (tensor<256xf32, #layout>, tensor<256xf32, #layout>) -> tensor<256xf32, #layout>
    ```
    is printed as
    ```
    add.f32 %f3, %f1, %f1;
    add.f32 %f4, %f2, %f2;
    ```
  }];
  let options = [
    Option<"version", "version", "unsigned", "0", "the version of PTX: 80 is 8.0; 0: the one of the chip">,
    Option<"wide", "wide", "bool", "true", "whether indices have 64 bits, for tensors of more than 2^31 elements">,
    Option<"fuse", "fuse", "bool", "true", "whether a product may go into a sum without being rounded">
  ];
}

#endif
