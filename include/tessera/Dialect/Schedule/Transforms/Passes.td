//===- Passes.td - Passes on Schedule IR --------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ScheduleApplyTuning : Pass<"sched-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "replace tiles and hints of GPU kernels by measured ones";
  let description = [{
    Looks every kernel up in a table of measurements (TuningTable.h) by its signature: a hash of the schedule without its
    tiles and hints, with names of dimensions and sizes replaced by their order, the layouts of arguments, the classes of
    run-time sizes and the numerics policy. The table's entry replaces the cost model's choice, and the attribute
    `sched.tuned` records the speedup. Kernels that are not in the table are unchanged.

    A line that does not match its kernel (another number of dimensions, tiles that are not powers of two or are too
    large, unknown hints) is reported and ignored.

    With a line `… 128x64x256 group=8,warps=8 1.0 1.5 a test`, before:
    ```mlir
    dims [parallel m = M tile 64, stream k = K tile 64, parallel n = N tile 128] order [n, m] hints {num_warps = 4} {
    ```
    After:
    ```mlir
    dims [parallel m = M tile 128, stream k = K tile 64, parallel n = N tile 256] order [n, m] hints {num_warps = 8, raster_group = 8}
        attributes {sched.tuned = "1.50 times as fast as the cost model's choice (a test)"} {
    ```
  }];
  let options = [Option<"table", "table", "std::string", "", "the file that holds the table, for the chip of the module">];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

#endif
