// RUN: tessera-opt %s -tile-emulate-fp32-mma | FileCheck %s

// A tile is summed from zero, the small products first, and added to the accumulator.
// CHECK-LABEL: tile.kernel @carried
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:           %[[X:.*]] = tile.load
// CHECK:           %[[Y:.*]] = tile.load
// CHECK:           %[[LEAST:.*]] = tile.map maximum(%[[X]], %{{.*}})
// CHECK:           %[[BOUNDED:.*]] = tile.map minimum(%[[LEAST]], %{{.*}})
// CHECK:           %[[BITS:.*]] = tile.bitcast %[[BOUNDED]]
// CHECK:           %[[HALF:.*]] = tile.map add(%[[BITS]], %{{.*}})
// CHECK:           %[[CUT:.*]] = tile.map bitwise_and(%[[HALF]], %{{.*}})
// CHECK:           %[[FIRST:.*]] = tile.bitcast %[[CUT]]
// CHECK:           %[[HI:.*]] = tile.cast %[[FIRST]] : tensor<16x32xf32> -> tensor<16x32xtf32>
// CHECK:           %[[REST:.*]] = tile.map sub(%[[X]], %[[FIRST]])
// CHECK:           %[[LO:.*]] = tile.cast %[[REST]] : tensor<16x32xf32> -> tensor<16x32xtf32>
// CHECK:           %[[ZERO:.*]] = tile.constant 0.0
// CHECK:           %[[A:.*]] = tile.mma %[[LO]], %[[YHI:.*]], %[[ZERO]]
// CHECK:           %[[B:.*]] = tile.mma %[[HI]], %{{.*}}, %[[A]]
// CHECK:           %[[TILE:.*]] = tile.mma %[[HI]], %[[YHI]], %[[B]]
// CHECK:           %[[NEXT:.*]] = tile.map add(%[[ACC]], %[[TILE]])
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         tile.store %[[SUM]]
tile.kernel @carried(%x: !tile.view<16x?xf32, strides = [?, 1]>, %y: !tile.view<?x16xf32, strides = [16, 1]>, %z: !tile.view<16x16xf32, strides = [16, 1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) {
    %a = tile.load %x[%c0, %i] dims [0, 1] : <16x?xf32, strides = [?, 1]> -> tensor<16x32xf32>
    %b = tile.load %y[%i, %c0] dims [0, 1] : <?x16xf32, strides = [16, 1]> -> tensor<32x16xf32>
    %next = tile.mma %a, %b, %acc : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %sum, %z[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// An operand that was widened from 16 bits is exact in tf32: one small MMA.
// CHECK-LABEL: tile.kernel @widened
// CHECK-COUNT-2: tile.mma
// CHECK-NOT:     tile.mma
// CHECK:         tile.map add
// CHECK-LABEL: tile.kernel @both
// CHECK-COUNT-1: tile.mma
// CHECK-NOT:     tile.mma
// CHECK:         tile.store
tile.kernel @widened(%x: !tile.view<16x16xbf16, strides = [16, 1]>, %z: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %w = tile.cast %v : tensor<16x16xbf16> -> tensor<16x16xf32>
  %a = tile.load %z[%c0, %c0] dims [0, 1] : <16x16xf32, strides = [16, 1]> -> tensor<16x16xf32>
  %d = tile.mma %w, %a, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}
tile.kernel @both(%x: !tile.view<16x16xbf16, strides = [16, 1]>, %y: !tile.view<16x16xf16, strides = [16, 1]>, %z: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %w = tile.cast %v : tensor<16x16xbf16> -> tensor<16x16xf32>
  %a = tile.load %y[%c0, %c0] dims [0, 1] : <16x16xf16, strides = [16, 1]> -> tensor<16x16xf16>
  %b = tile.cast %a : tensor<16x16xf16> -> tensor<16x16xf32>
  %d = tile.mma %w, %b, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// Other MMAs stay.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT:     tf32
tile.kernel @others(%x: !tile.view<16x16xf64, strides = [16, 1]>, %y: !tile.view<16x16xbf16, strides = [16, 1]>, %z: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f64 : tensor<16x16xf64>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xf64, strides = [16, 1]> -> tensor<16x16xf64>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  tile.store %d, %x[%c0, %c0] dims [0, 1] : tensor<16x16xf64>, <16x16xf64, strides = [16, 1]>
  %zero32 = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %a = tile.load %y[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %e = tile.mma %a, %a, %zero32 : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %e, %z[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// Parts in memory are multiplied as they are, the small products first.
// CHECK-LABEL: tile.kernel @parts
// CHECK:         %[[A:.*]] = tile.load %x
// CHECK:         %[[B:.*]] = tile.load %y
// CHECK:         %[[C:.*]] = tile.load %z
// CHECK:         %[[ZERO:.*]] = tile.constant 0.0
// CHECK:         %[[BB:.*]] = tile.mma %[[B]], %[[B]], %[[ZERO]] : (tensor<16x16xbf16>
// CHECK:         %[[AC:.*]] = tile.mma %[[A]], %[[C]], %[[BB]]
// CHECK:         %[[CA:.*]] = tile.mma %[[C]], %[[A]], %[[AC]]
// CHECK:         %[[AB:.*]] = tile.mma %[[A]], %[[B]], %[[CA]]
// CHECK:         %[[BA:.*]] = tile.mma %[[B]], %[[A]], %[[AB]]
// CHECK:         %[[AA:.*]] = tile.mma %[[A]], %[[A]], %[[BA]]
// CHECK:         %[[SUM:.*]] = tile.map add(%{{.*}}, %[[AA]])
// CHECK:         tile.store %[[SUM]]
tile.kernel @parts(%x: !tile.view<16x16xbf16, strides = [16, 1]>, %y: !tile.view<16x16xbf16, strides = [16, 1]>, %z: !tile.view<16x16xbf16, strides = [16, 1]>, %r: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %c = tile.load %z[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %a32 = tile.cast %a : tensor<16x16xbf16> -> tensor<16x16xf32>
  %b32 = tile.cast %b : tensor<16x16xbf16> -> tensor<16x16xf32>
  %c32 = tile.cast %c : tensor<16x16xbf16> -> tensor<16x16xf32>
  %whole = tile.map join(%a32, %b32, %c32) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = tile.mma %whole, %whole, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %s, %r[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}
