//===- Passes.td - The PTX code generator as passes ---------*- tablegen -*-===//
#ifndef TESSERA_CODEGEN_PTX_PASSES
#define TESSERA_CODEGEN_PTX_PASSES

include "mlir/Pass/PassBase.td"

def PrintPtx : Pass<"print-ptx", "::mlir::ModuleOp"> {
  let summary = "prints the placed tile kernels of a module as PTX";
  let description = [{
    The kernels must hold primitive scalar operations (`tile-expand-math=native=exp2,rsqrt`), their tiles must have
    layouts (`tile-assign-layouts`), and what goes through shared memory must be said (`tile-expand-exchanges`,
    `tile-allocate-shared`, `tile-place-barriers`). The module is not changed.

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
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">,
    Option<"version", "version", "unsigned", "80", "the version of PTX: 80 is 8.0">,
    Option<"wide", "wide", "bool", "true", "whether tensors may reach over more than 2^31 elements">
  ];
}

#endif
