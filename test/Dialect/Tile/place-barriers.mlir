// RUN: %tessera_opt %s -tile-place-barriers | FileCheck %s

#t = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:64, d0:128] -> d0:256">
#other = #tile.layout<"register[d0:128] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32, d0:64] -> d0:256">
#lanes = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:64, d0:128] -> d0:256">
#m = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:256">
!b = !tile.buffer<1, tensor<256xf32, #m>>

// Between writes and reads of different warps; the two writes share it. None after the last read.
// CHECK-LABEL: tile.kernel @block
// CHECK: tile.shared_store
// CHECK-NEXT: tile.shared_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_load
// CHECK-NEXT: tile.shared_load
// CHECK-NEXT: tile.return
tile.kernel @block() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  %b = tile.alloc offset 1024 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  tile.shared_store %x, %b[%c0] : tensor<256xf32, #t>, !b
  %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  %1 = tile.shared_load %b[%c0] : !b -> tensor<256xf32, #other>
  tile.return
}

// Each warp reads what it has written.
// CHECK-LABEL: tile.kernel @warp
// CHECK: tile.shared_store
// CHECK-NEXT: tile.barrier warp
// CHECK-NEXT: tile.shared_load
tile.kernel @warp() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #lanes>
  tile.return
}

// Two buffers in the same memory: what is read before is written over.
// CHECK-LABEL: tile.kernel @reuse
// CHECK: tile.shared_load
// CHECK-NEXT: tile.alloc
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_load
tile.kernel @reuse() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  %b = tile.alloc offset 512 : !b
  tile.shared_store %x, %b[%c0] : tensor<256xf32, #t>, !b
  %1 = tile.shared_load %b[%c0] : !b -> tensor<256xf32, #other>
  tile.return
}

// Around the loop: the next iteration's write waits for this iteration's reads. The first iteration needs nothing before it.
// CHECK-LABEL: tile.kernel @iterations
// CHECK: tile.alloc
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_load
// CHECK-NEXT: }
tile.kernel @iterations(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  scf.for %i = %c0 to %n step %c1 {
    tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
    %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  }
  tile.return
}

// The loop reads what was written before it: one barrier, outside. After the loop it may be written again.
// CHECK-LABEL: tile.kernel @before
// CHECK: tile.shared_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.shared_load
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_store
tile.kernel @before(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  scf.for %i = %c0 to %n step %c1 {
    %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  }
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  tile.return
}

// One barrier for both sides of a branch and for what follows.
// CHECK-LABEL: tile.kernel @branch
// CHECK: tile.shared_store
// CHECK: tile.barrier{{$}}
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.shared_load
// CHECK-NEXT: }
// CHECK-NEXT: tile.shared_load
tile.kernel @branch(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  %is = arith.cmpi slt, %c0, %n : index
  scf.if %is {
    %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  }
  %1 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  tile.return
}

// Rotating stages never conflict within an iteration: one barrier, after the wait, for the copies to arrive and for the
// stage to be free.
!ring = !tile.buffer<3, tensor<256xf32, #m>>
!v = !tile.view<?xf32, strides = [1]>
// CHECK-LABEL: tile.kernel @ring
// CHECK: scf.for
// CHECK-NEXT: tile.cp_async_wait 1
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.cp_async %
// CHECK-NEXT: tile.cp_async_commit
// CHECK-NEXT: tile.shared_load
// CHECK-NOT: tile.barrier
// CHECK: }
// CHECK-NEXT: tile.cp_async_wait 0
// CHECK: tile.barrier{{$}}
// CHECK-NEXT: tile.shared_store
tile.kernel @ring(%v: !v, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = tile.alloc offset 0 : !ring
  tile.cp_async %v[%c0] dims [0] into %a[%c0] via #t : !v, !ring
  tile.cp_async_commit
  tile.cp_async %v[%c1] dims [0] into %a[%c1] via #t : !v, !ring
  tile.cp_async_commit
  %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %c0, %free = %c2) -> (index, index) {
    tile.cp_async_wait 1
    tile.cp_async %v[%i] dims [0] into %a[%free] via #t : !v, !ring
    tile.cp_async_commit
    %0 = tile.shared_load %a[%stage] : !ring -> tensor<256xf32, #other>
    %s1 = arith.addi %stage, %c1 : index
    %se = arith.cmpi eq, %s1, %c3 : index
    %s2 = arith.select %se, %c0, %s1 : index
    %f1 = arith.addi %free, %c1 : index
    %fe = arith.cmpi eq, %f1, %c3 : index
    %f2 = arith.select %fe, %c0, %f1 : index
    scf.yield %s2, %f2 : index, index
  }
  tile.cp_async_wait 0
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !ring
  tile.return
}

// Existing barriers count.
// CHECK-LABEL: tile.kernel @there
// CHECK-COUNT-1: tile.barrier
// CHECK-NOT: tile.barrier
// CHECK: tile.return
tile.kernel @there() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<256xf32, #t>
  %a = tile.alloc offset 0 : !b
  tile.shared_store %x, %a[%c0] : tensor<256xf32, #t>, !b
  tile.barrier
  %0 = tile.shared_load %a[%c0] : !b -> tensor<256xf32, #other>
  tile.return
}
