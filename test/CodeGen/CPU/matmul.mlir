// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=AVX512
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v3 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=AVX2
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 | FileCheck %s --check-prefix=LANES
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=NEON

// The accumulator is updated in place over the loop: its buffer, the packed left side and one panel of the right side
// are all the memory there is. The loop that multiplies brings the next panel near, by the ends of its lines.
// CHECK: tessera_target.kernel @matmul config #tessera_target.range_config<grid_rank = 2, words = 17, scratch_bytes = 40960>
// CHECK: scf.for
// AVX512: prefetcht1 255(
// AVX512: vfmadd231ps {{.*}}zmm
// AVX512-NOT: call
// AVX2: vfmadd231ps {{.*}}ymm
// AVX2-NOT: zmm

// Where one lane is multiplied by a vector, eight rows are put side by side, and a block is three vectors wide: the
// buffer of sums, the rows, and four panels of 64 steps, which are packed together with a look ahead.
// LANES: tessera_target.kernel @matmul {{.*}}scratch_bytes = 45056{{.*}}tessera_target.ordered
// NEON: zip1 v{{.*}}.4s
// NEON: prfum pldl1keep
// NEON: fmla v{{.*}}.4s, v{{.*}}.4s, v[[A:[0-9]+]].s[0]
// NEON: fmla v{{.*}}.4s, v{{.*}}.4s, v[[A]].s[3]
// NEON-NOT: bl
!v = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @matmul(%a: !v, %b: !v, %c: !v) grid 2 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %i = tile.program_id 0
  %j = tile.program_id 1
  %size = tile.dim %a, 1 : !v
  %n = arith.ceildivsi %size, %c64 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %a[%i, %k] dims [0, 1] pad 0.0 : f32 : !v -> tensor<64x64xf32>
    %y = tile.load %b[%k, %j] dims [0, 1] pad 0.0 : f32 : !v -> tensor<64x64xf32>
    %m = tile.mma %x, %y, %acc : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }
  tile.store %sum, %c[%i, %j] dims [0, 1] bounded : tensor<64x64xf32>, !v
  tile.return
}
