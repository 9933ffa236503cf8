// RUN: %tessera_opt %s -print-cuda-tile -o /dev/null | FileCheck %s

// Operands that were widened only for the MMA are used before the cast; a transposed block is a permuted view.
// CHECK-LABEL: entry @matmul
// CHECK: [[A:%[0-9]+]] = make_partition_view {{.*}}tile=(64x32), dim_map=[0, 1]
// CHECK: [[B:%[0-9]+]] = make_partition_view {{.*}}tile=(32x64), dim_map=[1, 0]
// CHECK: [[C:%[0-9]+]] = make_partition_view {{.*}}tile=(1x64x64), dim_map=[0, 1, 2]
// CHECK: [[ID:%[0-9]+]], {{.*}} = get_tile_block_id
// CHECK: [[X:%[0-9]+]] = remi [[ID]],
// CHECK: [[Y:%[0-9]+]] = divi [[ID]],
// CHECK: [[SUM:%[0-9]+]] = for {{.*}} { ([[K:%[0-9]+]]: tile<i32>, [[ACC:%[0-9]+]]: tile<64x64xf32>):
// CHECK: [[L:%[0-9]+]], {{%[0-9]+}} = load_view_tko view [[A]] index {{\[}}[[X]], [[K]]]
// CHECK: [[R:%[0-9]+]], {{%[0-9]+}} = load_view_tko view [[B]] index {{\[}}[[K]], [[Y]]]
// CHECK: [[NEXT:%[0-9]+]] = mmaf [[L]], [[R]], [[ACC]] : tile<64x64xf32>
// CHECK: continue [[NEXT]]
// CHECK: [[T:%[0-9]+]] = ftof [[SUM]] : tile<64x64xf16>
// CHECK: [[W:%[0-9]+]] = reshape [[T]] : tile<1x64x64xf16>
// CHECK: store_view_tko tile [[W]] view [[C]]
!a = !tile.view<256x128xf16, strides = [128, 1]>
!b = !tile.view<512x128xf16, strides = [128, 1]>
!c = !tile.view<2x256x512xf16, strides = [131072, 512, 1]>
tile.kernel @matmul(%a: !a, %b: !b, %c: !c) grid 2 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %i = tile.program_id 0
  %j = tile.program_id 1
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %a[%i, %k] dims [0, 1] : !a -> tensor<64x32xf16>
    %y = tile.load %b[%j, %k] dims [1, 0] : !b -> tensor<32x64xf16>
    %xf = tile.cast %x : tensor<64x32xf16> -> tensor<64x32xf32>
    %yf = tile.cast %y : tensor<32x64xf16> -> tensor<32x64xf32>
    %m = tile.mma %xf, %yf, %acc : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }
  %t = tile.cast %sum : tensor<64x64xf32> -> tensor<64x64xf16>
  tile.store %t, %c[%c1, %i, %j] dims [1, 2] : tensor<64x64xf16>, !c
  tile.return
}

// tileiras miscompiles an mma with such a small K dimension.
// CHECK-LABEL: entry @short
// CHECK-NOT: mmaf
// CHECK: [[P:%[0-9]+]] = mulf {{.*}} : tile<16x4x16xf32>
// CHECK: [[S:%[0-9]+]] = reduce [[P]] {dim = 1
// CHECK: addf {{.*}}, [[S]]
!short_a = !tile.view<16x4xf32, strides = [4, 1]>
!short_b = !tile.view<4x16xf32, strides = [16, 1]>
!short_c = !tile.view<16x16xf32, strides = [16, 1]>
tile.kernel @short(%x: !short_a, %y: !short_b, %z: !short_c) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !short_a -> tensor<16x4xf32>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !short_b -> tensor<4x16xf32>
  %m = tile.mma %a, %b, %zero : (tensor<16x4xf32>, tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %m, %z[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, !short_c
  tile.return
}
