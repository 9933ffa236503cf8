//===- Passes.td - Passes on Schedule IR --------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ScheduleApplyTuning : Pass<"sched-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "give kernels of a GPU the tiles and hints that were measured to be the fastest";
  let description = [{
    Looks every kernel up in a table of measurements (TuningTable.h) by its signature: a hash of the schedule without its
    tiles and hints, with names of dimensions and sizes replaced by their order, the layouts of arguments, the classes of
    run-time sizes and the numerics policy. What stands there takes the place of the cost model's choice, and the
    attribute `sched.tuned` says what was gained by it. Kernels that are not in the table stay as they are.

    A line that does not fit its kernel (another number of dimensions, tiles that are no powers of two or are too large, unknown hints)
    is told and left aside.

    With a line `… 128x64x256 group=8,warps=8 1.0 1.5 a test`, before:
    ```mlir
    dims [parallel m = M tile 64, stream k = K tile 64, parallel n = N tile 128] order [n, m] hints {warps = 4} {
    ```
    After:
    ```mlir
    dims [parallel m = M tile 128, stream k = K tile 64, parallel n = N tile 256] order [n, m] hints {group = 8, warps = 8}
        attributes {sched.tuned = "1.50 times as fast as the cost model's choice (a test)"} {
    ```
  }];
  let options = [
    Option<"table", "table", "std::string", "", "the file that holds the table">,
    Option<"chip", "chip", "std::string", "\"sm_90\"", "the chip that it must be for">
  ];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

#endif
