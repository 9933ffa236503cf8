//===- Passes.td - The CUDA Tile IR code generator as passes -*- tablegen -*-===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_PASSES
#define TESSERA_CODEGEN_CUDATILEIR_PASSES

include "mlir/Pass/PassBase.td"

def PrintCudaTile : Pass<"print-cuda-tile", "::mlir::ModuleOp"> {
  let summary = "prints the tile kernels of a module as CUDA Tile IR";
  let description = [{
    The kernels must hold primitive scalar operations, or those that are made of what CUDA Tile IR has itself
    (`tile-expand-math=native=exp,exp2,log,log2,sin,cos,tanh,rsqrt,sigmoid,silu,gelu_tanh`). With `assemble` each architecture that is named gets one line that says how
    large its cubin is; it needs NVIDIA's `tileiras`. The module is not changed.

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
    Option<"wide", "wide", "bool", "false", "sizes and coordinates of 64 bits">,
    ListOption<"assemble", "assemble", "std::string", "architectures to assemble for: sm_80, sm_90, ...">
  ];
}

#endif
