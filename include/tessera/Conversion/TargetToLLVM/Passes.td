//===- Passes.td - Per-thread GPU kernels to LLVM -----------*- tablegen -*-===//
#ifndef TESSERA_CONVERSION_TARGETTOLLVM_PASSES
#define TESSERA_CONVERSION_TARGETTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertTargetToLLVM : Pass<"convert-target-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert per-thread GPU kernels to LLVM functions";
  let description = [{
    Converts each `tessera_target.kernel` with a `kernel_config` to an `llvm.func` at the end of the
    module.

    **Why.** Kernels that are written by hand in Target IR can then use LLVM's NVPTX back end.

    Argument words become 64-bit parameters, `scf` becomes branches, and `arith` becomes LLVM
    operations. GPU operations become convergent NVVM intrinsics where these exist, and inline PTX
    elsewhere. Shared memory is one external array, in which each `allocate` has an offset.

    **Input form.** Kernels of `arith`, `scf`, `llvm` and `tessera_target`.

    **Output form.** LLVM dialect. The block size, register limit and cluster of the configuration
    are attributes of the function. The launch sets the grid and the size of shared memory.

    **Declines.** Never. Another operation, or a kernel without a `kernel_config`, is an error.

    Before:
    ```mlir
    tessera_target.kernel @k config #tessera_target.kernel_config<block = [128]> {
    ^bb0(%x: !llvm.ptr<1>):
      tessera_target.barrier "block"
      tessera_target.return
    }
    ```
    After:
    ```mlir
    llvm.func ptx_kernelcc @k(%x: i64) attributes {passthrough = ["nounwind", ["nvvm.reqntid", "128,1,1"]]} {
      …
      llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%zero) : (i32) -> ()
      llvm.return
    }
    ```
  }];
}

#endif
