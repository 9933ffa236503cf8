// A matrix is stored by rows and loaded by columns. In row-major order 32 lanes access one bank; with the swizzle each accesses its
// own.
// RUN: %tessera simulate %s --arg x=fp32[32,32] | FileCheck %s --check-prefix=PLAIN
// RUN: sed 's/#memory =.*/#memory = #swizzle/' %s > %t.mlir
// RUN: %tessera simulate %t.mlir --arg x=fp32[32,32] | FileCheck %s --check-prefix=SWIZZLED

// PLAIN: tile.shared_store {{.*}} shared 8 32 32 1.00
// PLAIN: tile.shared_load {{.*}} shared 8 256 32 8.00
// SWIZZLED: tile.shared_store {{.*}} shared 32 32 32 1.00
// SWIZZLED: tile.shared_load {{.*}} shared 32 32 32 1.00

#rows = #tile.layout<"register[d0:1, d0:2, d0:4, d0:8, d0:16] lane[d1:1, d1:2, d1:4, d1:8, d1:16] -> d0:32 d1:32">
#columns = #tile.layout<"register[d1:1, d1:2, d1:4, d1:8, d1:16] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32 d1:32">
#plain = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32 d1:32">
#swizzle = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d0:1+d1:1, d0:2+d1:2, d0:4+d1:4, d0:8+d1:8, d0:16+d1:16] -> d0:32 d1:32">
#memory = #plain
!v = !tile.view<32x32xf32, strides = [32, 1]>
!b = !tile.buffer<1, tensor<32x32xf32, #memory>>

func.func @f(%x: !gir.tensor<32, 32, f32> {gir.name = "x"}) -> !gir.tensor<32, 32, f32> {
  %y = tile.empty : <32, 32, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["32", "32"], strides ["32", "1"]>, #tile.operand<offset "0", sizes ["32", "32"], strides ["1", "32"]>] sizes []
    : !gir.tensor<32, 32, f32>, !gir.tensor<32, 32, f32>
  return %y : !gir.tensor<32, 32, f32>
}

tile.kernel @k(%x: !v, %y: !tile.view<32x32xf32, strides = [1, 32]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %buffer = tile.alloc : !b
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<32x32xf32, #rows>
  tile.shared_store %t, %buffer[%c0] : tensor<32x32xf32, #rows>, !b
  tile.barrier warp
  %u = tile.shared_load %buffer[%c0] : !b -> tensor<32x32xf32, #columns>
  tile.store %u, %y[%c0, %c0] dims [0, 1] : tensor<32x32xf32, #columns>, !tile.view<32x32xf32, strides = [1, 32]>
  tile.return
}
