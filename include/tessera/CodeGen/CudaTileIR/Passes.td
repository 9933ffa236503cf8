//===- Passes.td - The CUDA Tile IR code generator as passes -*- tablegen -*-===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_PASSES
#define TESSERA_CODEGEN_CUDATILEIR_PASSES

include "mlir/Pass/PassBase.td"

def PrintCudaTile : Pass<"print-cuda-tile", "::mlir::ModuleOp"> {
  let summary = "print the tile kernels of a module as CUDA Tile IR";
  let description = [{
    Lowers the kernels and prints the result. With `assemble`, NVIDIA's `tileiras` assembles the bytecode for each
    architecture, and a line has the size of the cubin.

    **Why.** Tests of the code generator look at it.

    **Input form.** Tile IR whose scalar operations are primitive or native to CUDA Tile IR (`tile-expand-math` for a
    target such as `sm_90:tileir`), with tile sizes that are powers of two.

    **Output form.** The module is unchanged.

    **Declines.** Never. Other kernels are an error.

    ```mlir
    %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    ```
    is printed as
    ```
    %17 = addf %15, %15 : tile<256xf32>
    ```
  }];
  let options = [
    Option<"format", "format", "unsigned", "3", "the minor version of the bytecode, 1 to 4">,
    Option<"bytecode", "bytecode", "std::string", "", "a file to write the bytecode to">,
    Option<"wide", "wide", "bool", "false", "whether sizes and coordinates have 64 bits">,
    ListOption<"assemble", "assemble", "std::string", "architectures to assemble for: sm_80, sm_90, ...">
  ];
}

#endif
