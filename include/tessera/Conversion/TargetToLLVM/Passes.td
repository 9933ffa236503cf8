//===- Passes.td - A GPU's per-thread kernels to LLVM -------*- tablegen -*-===//
#ifndef TESSERA_CONVERSION_TARGETTOLLVM_PASSES
#define TESSERA_CONVERSION_TARGETTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertTargetToLLVM : Pass<"convert-target-to-llvm", "::mlir::ModuleOp"> {
  let summary = "write per-thread kernels as LLVM functions";
  let description = [{
    Each `tessera_target.kernel` with a `kernel_config` becomes an `llvm.func` at the end of the module: the words are parameters of 64
    bits, `scf` becomes branches, `arith` operations of LLVM. What only a GPU has becomes an intrinsic of NVVM where there is one that is
    convergent, and PTX as inline assembly elsewhere. All shared memory is one external array, in which each `allocate` has its place. The
    configuration's block, registers and cluster are attributes of the function; the grid is the launch's, and so are the bytes of shared memory.

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
