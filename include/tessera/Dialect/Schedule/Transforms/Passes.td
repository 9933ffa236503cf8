//===- Passes.td - Passes on Schedule IR --------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ScheduleApplyTuning : Pass<"sched-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "replace tiles, launch and tuning of GPU kernels by measured ones";
  let description = [{
    Replaces the tile sizes, launch and tuning of a kernel by those of a table of measurements
    (TuningTable.h).

    **Why.** The cost model is a model. Where `tessera tune` has measured a kernel, the measurement
    wins.

    A kernel is looked up by its signature. This is a hash of the schedule without tiles, launch and tuning,
    the layouts of the arguments, the classes of run-time sizes and the numerics policy. Names of
    dimensions and sizes are replaced by their order.

    **Input form.** Schedule IR in a module with `tessera.target`.

    **Output form.** The same, with other tiles, launch and tuning. The attribute `sched.tuned` records the
    speedup over the cost model's choice.

    **Declines.** Kernels that are not in the table, and kernels of the PTX backend
    (`sched.backend`). A line that does not match its kernel is reported as a warning and ignored:
    another number of dimensions, tiles that are not powers of two or are too large, unknown fields
    or values out of range.

    With a line `… 128x64x256 raster_group=8,num_warps=8 1.0 1.5 a test`, before:
    ```mlir
    dims [parallel m = M tile 64, stream k = K tile 64, parallel n = N tile 128] order [n, m] launch <num_warps = 4> {
    ```
    After:
    ```mlir
    dims [parallel m = M tile 128, stream k = K tile 64, parallel n = N tile 256] order [n, m] launch <num_warps = 8> tuning <raster_group = 8>
        attributes {sched.changed = ["num_warps 4 -> 8: measured"],
                    sched.tuned = "1.50 times as fast as the cost model's choice (a test)"} {
    ```
  }];
  let options = [Option<"table", "table", "std::string", "", "the file that holds the table, for the chip of the module">];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

#endif
