// TMA writes zeros outside of the view. A tile is read after the wait at its full mbarrier, and a barrier comes before the next load into
// the stage. TMA does not support views with unaligned rows.
// RUN: %tessera simulate %s --arg x=bf16[20,64] --arg z=bf16[20,36] > %t 2>&1 || true
// RUN: FileCheck %s < %t

#rows = #tile.layout<"register[d1:1, d1:2, d1:4, d0:8] lane[d1:8, d1:16, d1:32, d0:1, d0:2] warp[d0:4] -> d0:16 d1:64">
#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8] -> d0:16 d1:64">
!v = !tile.view<20x64xbf16, strides = [64, 1]>
!loose = !tile.view<20x36xbf16, strides = [?, 1]>
!y = !tile.view<32x64xbf16, strides = [64, 1]>
!b = !tile.buffer<1, tensor<16x64xbf16, #memory>>
!t = tensor<16x64xbf16, #rows>

func.func @f(%x: !gir.tensor<20, 64, bf16> {gir.name = "x"}, %z: !gir.tensor<20, 36, bf16> {gir.name = "z"}) -> !gir.tensor<32, 64, bf16> {
  %y = tile.empty : <32, 64, bf16>
  tile.launch @k grid ["1"] (%x, %z, %y) views [#tile.operand<offset "0", sizes ["20", "64"], strides ["64", "1"]>,
    #tile.operand<offset "0", sizes ["20", "36"], strides ["36", "1"]>, #tile.operand<offset "0", sizes ["32", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<20, 64, bf16>, !gir.tensor<20, 36, bf16>, !gir.tensor<32, 64, bf16>
  return %y : !gir.tensor<32, 64, bf16>
}

tile.kernel @k(%x: !v, %z: !loose, %y: !y) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %buffer = tile.alloc : !b
  %other = tile.alloc : !b
  %full = tile.mbarrier_alloc : <1>
  %h = tile.mbarrier_alloc : <1>
  tile.barrier
  // CHECK: [[#@LINE+2]]:{{.*}} error: use before wait: {{.*}} reads element (0, 0) of stage 0, which a copy may still write
  tile.tma_load %x[%c0, %c0] dims [0, 1] into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  %early = tile.shared_load %buffer[%c0] : !b -> !t
  tile.mbarrier_wait %full[%c0] phase %c0 : <1>
  %first = tile.shared_load %buffer[%c0] : !b -> !t
  tile.store %first, %y[%c0, %c0] dims [0, 1] : !t, !y
  // CHECK: [[#@LINE+1]]:{{.*}} error: data race
  tile.tma_load %x[%c1, %c0] dims [0, 1] bounded into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.mbarrier_wait %full[%c0] phase %c1 : <1>
  %second = tile.shared_load %buffer[%c0] : !b -> !t
  tile.store %second, %y[%c1, %c0] dims [0, 1] : !t, !y
  // CHECK: [[#@LINE+1]]:{{.*}} error: misaligned access: TMA requires a view whose address and strides are multiples of 16 bytes
  tile.tma_load %z[%c0, %c0] dims [0, 1] bounded into %other[%c0] full %h[%c0] : !loose, !b, <1>
  // CHECK-NOT: [[#@LINE-4]]:{{.*}} error: uninitialized read
  tile.return
}
