//===- Passes.td - Passes on Schedule IR --------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

class Schedule_TargetPass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "the target that kernels are scheduled for, as for `convert-graph-to-sched`">,
    Option<"cores", "cores", "int64_t", "0", "the cores of a CPU; 0: those of this machine">,
  ];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

def ScheduleMergeDims : Schedule_TargetPass<"sched-merge-dims"> {
  let summary = "merge dimensions that occur only together";
  let description = [{
    Replaces dimensions that occur only as the row-major number of one longer dimension by that dimension. These are
    dimensions of elementwise operations, dimensions that are reduced together, on GPUs the dimensions of short rows that
    are reduced or scanned, and on CPUs the batch and row dimensions of a contraction with a matrix that all batches
    share.

    **Why.** Vectors and copies are along the last dimension: short or odd rows waste lanes, and their copies are not
    aligned. One long dimension has neither rows nor remainders. A stream of one long dimension has more blocks to split,
    too. A few short rows leave most of a tile of a GPU empty. A grid task of a CPU packs the matrix for the rows
    of its tile. With few rows in each batch, packing would be most of the work.

    **Input form.** Schedule IR from `convert-graph-to-sched`, before tiles are chosen.

    **Output form.** The same with fewer dimensions. Elements are read and written by their row-major number.

    **Declines.** The pass leaves dimensions alone

    - if an operation uses one of them without the others: an index, a mask, a scan along it, a gather, a tensor with
      gaps;
    - of rows that are reduced or scanned, if one has more than 1024 elements;
    - of contractions, if rows of one batch are many (from 512 on), or no matrix is shared by all batches;
    - if a result has dimensions that are reduced, or elements are added to it;
    - if the function's numerics are batch-invariant.

    For `x86-64-v4`, before:
    ```mlir
    dims [parallel b = B tile 1, parallel s = 16 tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, s, b] {
      …
        %1 = sched.load %in["b", "s", "d"] : <B, 16, D, f32> -> <[b, s, d], f32>
    ```
    After:
    ```mlir
    dims [parallel i = "16*B" tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, i] {
      …
        %1 = sched.load %in["D*i + d"] : <B, 16, D, f32> -> <[i, d], f32>
    ```
  }];
}

def ScheduleSelectBackend : Schedule_TargetPass<"sched-select-backend"> {
  let summary = "choose the backend of each GPU kernel";
  let description = [{
    Sets `sched.backend` of each kernel to `ptx` or `cuda_tile`.

    **Why.** NVIDIA's tile compiler generates better code for some contractions, and Tessera's own PTX for
    others and for kernels that are bound by memory. One program may use both.

    **Input form.** Schedule IR. Tiles, launch and tuning are ignored.

    **Output form.** The same, with `sched.backend`.

    **Declines.** On CPUs, and on GPUs that have only one backend, or for a target that names one (`sm_90:ptx`).

    For `sm_90`, before:
    ```mlir
    %0 = sched.kernel @f(%in = %x : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>) dims [parallel i = S tile 1] order [i] {
    ```
    After:
    ```mlir
    %0 = sched.kernel @f(%in = %x : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>) dims [parallel i = S tile 1] order [i]
        attributes {sched.backend = "ptx"} {
    ```
  }];
}

def ScheduleSelectSchedule : Schedule_TargetPass<"sched-select-schedule"> {
  let summary = "choose tiles, launch and tuning of each kernel by the cost model";
  let description = [{
    Describes each kernel to the cost model (`CostModel.h`), and writes the tiles, the launch configuration and the tuning
    that the model chooses into the kernel.

    **Why.** The choice depends on the sizes and roles of all dimensions, on the contractions and on what the kernel
    reads and writes. All of this is in the kernel, so the choice can be tested and replaced by itself.

    **Input form.** Schedule IR with any tiles; `sched-select-backend` has run for GPUs with two backends.

    **Output form.** The same, with other tiles, launch and tuning.

    **Declines.** Never.

    For `sm_90:ptx`, before:
    ```mlir
    dims [parallel i = 4096 tile 1] order [i] {
    ```
    After:
    ```mlir
    dims [parallel i = 4096 tile 512] order [i] launch <num_warps = 4> {
    ```
  }];
}

def ScheduleLimitWork : Schedule_TargetPass<"sched-limit-work"> {
  let summary = "shrink tiles whose elementwise code is too long";
  let description = [{
    Estimates the instructions of a thread for the elementwise operations beside contractions. While there are too
    many, the operation with most of them gets a smaller tile along its longest dimension. In CUDA Tile IR, kernels without
    contractions whose elements need hundreds of instructions get one element per thread.

    **Why.** The code of a thread for its elements of a tile is unrolled. A sine takes dozens of instructions per
    element. ptxas and tileiras take minutes for the longest kernels, and have no registers for their live values.

    **Input form.** Schedule IR after `sched-select-schedule`.

    **Output form.** The same, with smaller tiles.

    **Declines.** CPUs, and for PTX kernels without contractions. Tiles do not become smaller than the instructions of the
    tensor cores, and warpgroups keep their rows and their K step.

    For `sm_90:ptx` and a contraction of sines, before:
    ```mlir
    dims [parallel i = 4096 tile 256, stream k = 4096 tile 64, parallel i1 = 4096 tile 128]
    ```
    After:
    ```mlir
    dims [parallel i = 4096 tile 128, stream k = 4096 tile 64, parallel i1 = 4096 tile 128]
    ```
  }];
}

def ScheduleOverrideSchedule : Schedule_TargetPass<"sched-override-schedule"> {
  let summary = "replace tiles, launch, tuning and backends by those that a user gives";
  let description = [{
    Replaces the choices of the cost model by those of a text such as `tile.m=128,num_stages=4;kernel=1,num_warps=8`
    (ScheduleOverride.h): tiles by the names of dimensions, fields of launch and tuning by their names. A group between
    semicolons is for one kernel, by its number or its name; without `kernel` it is the first.

    **Why.** A user may know better, and the tuner measures schedules by overriding the model's choice.

    **Input form.** Schedule IR after `sched-limit-work`; with `only-backends`, after `sched-select-backend`, and
    only `backend` of each group is applied.

    **Output form.** The same, with other tiles, launch and tuning. `sched.changed` lists the fields that changed,
    and `sched.overridden` those that were given: it is an error if a later pass cannot keep them.

    **Declines.** Never. It is an error if there is no such kernel, dimension or field, or if a value is out of range or
    no power of two where the target needs one. What a target cannot hold is an error of the pass that lowers it.

    With `schedule=tile.i=64,num_warps=2`, before:
    ```mlir
    dims [parallel i = 4096 tile 512] order [i] launch <num_warps = 4> {
    ```
    After:
    ```mlir
    dims [parallel i = 4096 tile 64] order [i] launch <num_warps = 2>
        attributes {sched.changed = ["num_warps 4 -> 2: the user's schedule"], sched.overridden = ["num_warps"]} {
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "the target that kernels are scheduled for, as for `convert-graph-to-sched`">,
    Option<"cores", "cores", "int64_t", "0", "the cores of a CPU; 0: those of this machine">,
    Option<"schedule", "schedule", "std::string", "", "the text">,
    Option<"onlyBackends", "only-backends", "bool", "false", "apply only the backends">,
  ];
}

def ScheduleSplitStreams : Schedule_TargetPass<"sched-split-streams"> {
  let summary = "split long streams of kernels with a small grid into parts";
  let description = [{
    Replaces a kernel by two. The first computes the states of the stream for parts of it, in parallel, and stores them.
    The second combines the parts by one more stream, over the parts, and computes the results. A state that is relative
    to a gauge is rescaled from the gauge of its part to the gauge of all parts. For a contraction this is split-K.

    **Why.** A grid with fewer CTAs than the device has SMs leaves the others idle for the whole stream.

    **Input form.** Schedule IR after `sched-select-schedule`.

    **Output form.** Schedule IR in which split kernels are `NAME_parts` and `NAME_merge`.

    **Declines.** The pass leaves a kernel alone

    - if it has several streams, or stores along its stream;
    - if its grid has enough CTAs, or the stream too few blocks or elements;
    - if the function's numerics are batch-invariant, since the number of parts depends on the grid.

    Before:
    ```mlir
    %0 = sched.kernel @sum(%in = %x : !gir.tensor<1048576, f32>) -> (%out : !gir.tensor<f32>)
        dims [stream n = 1048576 tile 4096] order [] {
    ```
    After:
    ```mlir
    %0 = sched.kernel @sum_parts(%in = %x : !gir.tensor<1048576, f32>) -> (%out : !gir.tensor<64, f32>)
        dims [parallel part = 64 tile 1, stream n = 1048576 tile 4096] order [part] {
      …
    %1 = sched.kernel @sum_merge(%in = %0 : !gir.tensor<64, f32>) -> (%out : !gir.tensor<f32>)
        dims [stream part = 64 tile 64] order [] {
    ```
  }];
}

def ScheduleApplyTuning : Pass<"sched-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "replace tiles, launch and tuning of kernels by measured ones";
  let description = [{
    Replaces the tile sizes, launch and tuning of a kernel by those of a table of measurements
    (TuningTable.h).

    **Why.** The cost model is a model. Where `tessera tune` has measured a kernel, the measurement
    wins.

    A kernel is looked up by its signature. This is a hash of the schedule without tiles, launch and tuning,
    the layouts of the arguments, the classes of run-time sizes and the numerics policy. Names of
    dimensions and sizes are replaced by their order.

    **Input form.** Schedule IR before long streams are split; for a table in a file, in a module with `tessera.target`.

    **Output form.** The same, with other tiles, launch and tuning. The attribute `sched.tuned` records the
    speedup over the cost model's choice.

    **Declines.** Kernels that are not in the table for their backend (`sched.backend`, otherwise the option `via`).
    A line that does not match its kernel is reported as a warning and ignored:
    another number of dimensions, tiles that are not powers of two or are too large, unknown fields
    or values out of range.

    With a line `… tileir 128x64x256 raster_group=8,num_warps=8 1.0 1.5 - a test`, before:
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
  let options = [
    Option<"table", "table", "std::string", "", "the file that holds the table, for the chip of the module">,
    Option<"via", "via", "std::string", "\"tileir\"", "the backend of kernels that do not name one">,
  ];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

#endif
