//===- Passes.td - The CPU code generator as passes ---------*- tablegen -*-===//
#ifndef TESSERA_CODEGEN_CPU_PASSES
#define TESSERA_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def ConvertTileToCpu : Pass<"convert-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "tile kernels and their host functions to a tessera_target module for a CPU";
  let description = [{
    Generates vector code from kernels and data from host functions. Tiles are evaluated in fused loop nests or kept in
    scratch memory. Contractions are register-blocked over packed operands.

    **Why.** LLVM does not fuse, block or pack. It gets loops over vectors of the target's width, and optimizes those.

    **Input form.** Tile IR with primitive scalar operations only (`tile-expand-math`).

    **Output form.** A `tessera_target` module: kernels are `scf` control flow over `llvm` operations, host functions
    `tessera_target.program`s.

    **Declines.** Never. Operations that are not primitive are errors.

    `target` is `cpu` for the host, a baseline (`x86-64-v2`, `x86-64-v3`, `x86-64-v4`, `aarch64`), or an architecture with
    features (`x86_64:avx2,fma`).
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "the CPU that the code is for">];
}

def PrintCpuPlan : Pass<"print-cpu-plan", "::mlir::ModuleOp"> {
  let summary = "print the loop nests and the buffers of tile kernels on a CPU";
  let description = [{
    Prints, for each kernel, the buffers in scratch memory with their form, offset and live range, then the items in the
    order in which they run: loop nests (groups) with what each evaluates, contractions with their operands, scans,
    control flow. The tiles of which only a part is demanded follow.

    **Why.** The code generator only emits this plan (`lib/CodeGen/CPU/Plan.h`). The printed form shows which tiles are
    stored, which loop nests are fused, and which buffers share memory.

    **Input form.** That of `convert-tile-to-cpu`; `target` is the same, too.

    **Output form.** The module is unchanged.

    **Declines.** Never. An accumulator in several parts is an error.

    ```
    plan of @double: 0 bytes of scratch memory
      0: scalar tile.program_id
      2: access tile.load
      4: access tile.store
      6: group 16: store
    demands of @double
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "the CPU that the plan is for">];
}

def PrintCpuCode : Pass<"print-cpu-code", "::mlir::ModuleOp"> {
  let summary = "print the LLVM IR or assembly of the kernels of a tessera_target module";
  let description = [{
    Prints optimized LLVM IR (`form=llvm`) or assembly (`form=asm`).

    **Why.** Tests of the code generator look at it.

    **Input form.** The output of `convert-tile-to-cpu`.

    **Output form.** The module is unchanged.

    **Declines.** Never. A module of another target is an error.
  }];
  let options = [Option<"form", "form", "std::string", "\"asm\"", "llvm or asm">];
}

#endif
