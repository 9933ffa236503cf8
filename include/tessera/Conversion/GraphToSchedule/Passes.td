//===- Passes.td - From Graph IR to Schedule IR -------------*- tablegen -*-===//
#ifndef TESSERA_CONVERSION_GRAPHTOSCHEDULE_PASSES
#define TESSERA_CONVERSION_GRAPHTOSCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def ConvertGraphToSchedule : Pass<"convert-graph-to-sched", "::mlir::ModuleOp"> {
  let summary = "partition functions into scheduled kernels for a target";
  let description = [{
    Partitions the Graph IR of each function into `sched.kernel`s. The pass decides what is fused,
    what is stored between kernels, which dimensions are parallel and which are streamed. The passes
    after it choose tile sizes, launch, tuning and backends: here all tiles are 1.

    **Why.** These decisions depend on the target and on each other. For example, a reduction is fused
    with its consumers only if the remaining tiles still fill the device.

    *Partition.* The pass starts from the values that must be in memory: results, printed values,
    inputs of a concatenation, sources of a scatter. For each of them it builds one expression per
    element and plans a kernel by [the streaming rule](architecture.md#the-streaming-rule). If a value
    cannot be part of the kernel, or costs more inside it than stored, the value is stored, too, and
    the partition starts again. Kernels that read the same elements along the same dimensions are
    merged.

    *Notes.* The reason for each stored value is a note of the first kernel (`sched.notes`), which
    `tessera explain` prints.

    **Input form.** Graph IR without composite operations (`gir-decompose`), sorts
    (`gir-expand-sorts`) and accumulation policies (`gir-accumulate`).

    **Output form.** Functions whose only operations are `sched.kernel`, `gir.print` and
    `func.return`. `sched.contracts` marks kernels that contain a `gir.contract`, and
    `sched.pads_rows` kernels that copy an operand into memory with padded rows.

    **Declines.** Never: an operation that fuses with nothing gets a kernel of its own. A value that no
    kernel can compute is an error at the function.

    `target` names the target: a CPU (`cpu` for this machine, `x86-64-v4`, `aarch64`, `x86_64:avx2,fma`) or a GPU with
    its backend (`sm_90:ptx`, `sm_90:tileir`; `sm_90` means each backend that supports the chip, and the schedule chooses
    for every kernel).

    Before:
    ```mlir
    func.func @f(%a: !gir.tensor<512, 256, bf16> {gir.contiguous}, %b: !gir.tensor<256, 512, bf16> {gir.contiguous})
        -> !gir.tensor<512, 512, bf16> {
      %0 = gir.contract %a, %b batch [] x [] over [1] x [0]
         : (!gir.tensor<512, 256, bf16>, !gir.tensor<256, 512, bf16>) -> !gir.tensor<512, 512, bf16>
      return %0 : !gir.tensor<512, 512, bf16>
    }
    ```
    After, for `sm_80:ptx`:
    ```mlir
    func.func @f(%a: !gir.tensor<512, 256, bf16> {gir.contiguous}, %b: !gir.tensor<256, 512, bf16> {gir.contiguous})
        -> !gir.tensor<512, 512, bf16> {
      %0 = sched.kernel @f_0(%in = %a : !gir.tensor<512, 256, bf16>, %in_0 = %b : !gir.tensor<256, 512, bf16>)
          -> (%out : !gir.tensor<512, 512, bf16>)
          dims [parallel i = 512 tile 1, stream k = 256 tile 1, parallel i1 = 512 tile 1]
          order [i1, i] attributes {sched.contracts} {
        %1 = sched.stream over [k] live ["0", "256"] full ["0", "256"] lag 0.0 -> !sched.val<[i, i1], f32> {
          %3 = sched.load %in["i", "k"] : <512, 256, bf16> -> <[i, k], bf16>
          %4 = sched.cast %3 : <[i, k], bf16> -> <[i, k], f32>
          %5 = sched.load %in_0["k", "i1"] : <256, 512, bf16> -> <[k, i1], bf16>
          %6 = sched.cast %5 : <[k, i1], bf16> -> <[k, i1], f32>
          %7 = sched.accumulate sum(%4, %6)
             : (!sched.val<[i, k], f32>, !sched.val<[k, i1], f32>) -> !sched.val<[i, i1], f32>
          sched.yield %7 : !sched.val<[i, i1], f32>
        }
        %2 = sched.cast %1 : <[i, i1], f32> -> <[i, i1], bf16>
        sched.store %2, %out["i", "i1"] : <[i, i1], bf16>, <512, 512, bf16>
      }
      return %0 : !gir.tensor<512, 512, bf16>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "the target that kernels are scheduled for">,
    Option<"cores", "cores", "int64_t", "0", "the cores of a CPU; 0: those of this machine">,
  ];
  let dependentDialects = ["::tessera::sched::ScheduleDialect"];
}

#endif
