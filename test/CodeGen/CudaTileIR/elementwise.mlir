// RUN: %tessera_opt %s -print-cuda-tile -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -print-cuda-tile=wide -o /dev/null | FileCheck %s --check-prefix=WIDE

// The launch shows that the grid covers the tensors in tiles of four rows, so that partition views can be used, and that rows
// are a multiple of 16 elements apart.
func.func @scale(%x: !gir.tensor<N, D, f32>, %a: !gir.tensor<f32>) -> !gir.tensor<N, D, f32>
    attributes {gir.symbols = {D = {divisor = 16 : i64}}} {
  %0 = tile.empty : !gir.tensor<N, D, f32>
  tile.launch @scale_0 grid ["ceildiv(N, 4)"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["N", "D"], strides ["D", "1"]>,
     #tile.operand<offset "0", sizes ["N", "D"], strides ["D", "1"]>] sizes ["ceildiv(D, 256)"] scalars(%a : !gir.tensor<f32>)
    : !gir.tensor<N, D, f32>, !gir.tensor<N, D, f32>
  return %0 : !gir.tensor<N, D, f32>
}

// CHECK: entry @scale_0(%0: tile<ptr<f32>>, %1: tile<i32>, %2: tile<i32>, %3: tile<i32>, %4: tile<i32>,
// CHECK-SAME: %5: tile<ptr<f32>>, %6: tile<i32>, %7: tile<i32>, %8: tile<i32>, %9: tile<i32>, %10: tile<i32>, %11: tile<f32>)
// WIDE: entry @scale_0(%0: tile<ptr<f32>>, %1: tile<i64>
// CHECK: [[BASE:%[0-9]+]] = assume %0 {div_by<16>} : tile<ptr<f32>>
// CHECK: [[COUNT:%[0-9]+]] = assume %10 {bounded<0, ?>}
// CHECK: [[ROWS:%[0-9]+]] = assume %1 {bounded<0, ?>}
// CHECK: [[POSITIVE:%[0-9]+]] = assume %3 {bounded<0, ?>}
// CHECK: [[PITCH:%[0-9]+]] = assume [[POSITIVE]] {div_by<16>}
// CHECK: [[SIZE:%[0-9]+]] = assume %2 {bounded<0, ?>}
// CHECK: [[COLUMNS:%[0-9]+]] = assume [[SIZE]] {div_by<16>}
// CHECK: [[X:%[0-9]+]] = make_tensor_view base [[BASE]] dynamic_shape {{\[}}[[ROWS]], [[COLUMNS]]] dynamic_strides {{\[}}[[PITCH]]] : tensor_view<?x?xf32, strides=[?, 1]>
// CHECK: [[VIEW:%[0-9]+]] = make_partition_view [[X]] : partition_view<tile=(4x256), dim_map=[0, 1], padding=zero
// CHECK: [[ID:%[0-9]+]], {{.*}} = get_tile_block_id
// CHECK: for lower_bound {{%[0-9]+}} upper_bound [[COUNT]] step {{%[0-9]+}} { ([[J:%[0-9]+]]: tile<i32>):
// CHECK: [[T:%[0-9]+]], {{%[0-9]+}} = load_view_tko view [[VIEW]] index {{\[}}[[ID]], [[J]]] {weak} : tile<4x256xf32>, token
// CHECK: [[ONE:%[0-9]+]] = reshape %11 : tile<1x1xf32>
// CHECK: [[ALL:%[0-9]+]] = broadcast [[ONE]] : tile<4x256xf32>
// CHECK: [[R:%[0-9]+]] = mulf [[T]], [[ALL]]
// CHECK: [[E:%[0-9]+]] = exp [[R]]
// CHECK: store_view_tko tile [[E]]
!v = !tile.view<?x?xf32, strides = [?, 1], divisors = [1, 16]>
tile.kernel @scale_0(%x: !v, %y: !v, %n: index, %a: f32) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  scf.for %j = %c0 to %n step %c1 {
    %t = tile.load %x[%i, %j] dims [0, 1] pad 0.0 : f32 : !v -> tensor<4x256xf32>
    %s = tile.splat %a : f32 -> tensor<4x256xf32>
    %m = tile.map mul(%t, %s) : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    %e = tile.map exp(%m) : (tensor<4x256xf32>) -> tensor<4x256xf32>
    tile.store %e, %y[%i, %j] dims [0, 1] bounded : tensor<4x256xf32>, !v
  }
  tile.return
}
