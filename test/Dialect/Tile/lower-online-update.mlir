// RUN: %tessera_opt %s -tile-lower-online-update | FileCheck %s

!y = !tile.view<?xf32, strides = [1]>

// The subtraction is first, then the scale. Results that nothing uses have no maps.
// CHECK-LABEL: tile.kernel @plain
// CHECK: %[[M:.*]] = tile.load %x
// CHECK-NEXT: %[[G:.*]] = tile.load %y
// CHECK-NEXT: %[[NEXT:.*]] = tile.map maximum(%[[G]], %[[M]])
// CHECK-NEXT: %[[LOWEST:.*]] = tile.constant -3.40282347E+38
// CHECK-NEXT: %[[REF:.*]] = tile.map maximum(%[[NEXT]], %[[LOWEST]])
// CHECK-NEXT: %[[D:.*]] = tile.map sub(%[[G]], %[[REF]])
// CHECK-NEXT: %[[TWO:.*]] = tile.constant 2.0
// CHECK-NEXT: %[[E:.*]] = tile.map mul(%[[D]], %[[TWO]])
// CHECK-NEXT: %[[F:.*]] = tile.map exp2(%[[E]]) fast
// CHECK-NEXT: %[[U:.*]] = tile.map sub(%[[M]], %[[REF]])
// CHECK-NEXT: %[[TWO2:.*]] = tile.constant 2.0
// CHECK-NEXT: %[[V:.*]] = tile.map mul(%[[U]], %[[TWO2]])
// CHECK-NEXT: %[[W:.*]] = tile.map exp2(%[[V]]) fast
// CHECK-NEXT: %[[P:.*]] = tile.map mul(%[[F]], %[[W]])
// CHECK-NEXT: tile.store %[[P]]
tile.kernel @plain(%x: !y, %y: !y, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !y -> tensor<64xf32>
  %g = tile.load %y[%i] dims [0] : !y -> tensor<64xf32>
  %n, %r, %s, %f = tile.online_update %m from %g scale 2.0 guarded : tensor<64xf32>
  %w = tile.online_weigh %m, %r scale 2.0 : tensor<64xf32>
  %p = tile.map mul(%f, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %p, %y[%i] dims [0] : tensor<64xf32>, !y
  tile.return
}

// The running maximum stays while the block's maximum is at most 8 powers of two larger: 4 with this scale.
// CHECK-LABEL: tile.kernel @lag
// CHECK: %[[MAX:.*]] = tile.map maximum(%[[G:[^,]*]], %[[M:[^)]*]])
// CHECK-NEXT: %[[AHEAD:.*]] = tile.map sub(%[[M]], %[[G]])
// CHECK-NEXT: %[[FOUR:.*]] = tile.constant 4.0
// CHECK-NEXT: %[[NEAR:.*]] = tile.map le(%[[AHEAD]], %[[FOUR]])
// CHECK-NEXT: %[[NEXT:.*]] = tile.map where(%[[NEAR]], %[[G]], %[[MAX]])
// CHECK-NEXT: tile.store %[[NEXT]]
tile.kernel @lag(%x: !y, %y: !y, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !y -> tensor<64xf32>
  %g = tile.load %y[%i] dims [0] : !y -> tensor<64xf32>
  %n, %r, %s, %f = tile.online_update %m from %g scale 2.0 lag 8.0 : tensor<64xf32>
  tile.store %n, %y[%i] dims [0] : tensor<64xf32>, !y
  tile.return
}

// One FMA scales exponents and subtracts the scaled reference. A reference far from zero has a power of two as scale. What
// is rounded is a product with a zero added.
// CHECK-LABEL: tile.kernel @prescaled
// CHECK: %[[NEXT:.*]] = tile.map maximum(%[[G:[^,]*]], %[[M:[^)]*]])
// CHECK: %[[R:.*]] = tile.map maximum(%[[NEXT]], %{{.*}})
// CHECK: %[[FAR:.*]] = tile.constant 1.789569{{.*}}E+9
// CHECK: %[[POWER:.*]] = tile.constant 5.000000e-01
// CHECK: %[[ABS:.*]] = tile.map abs(%[[R]])
// CHECK: %[[ISFAR:.*]] = tile.map gt(%[[ABS]], %[[FAR]])
// CHECK: %[[S:.*]] = tile.map where(%[[ISFAR]], %[[POWER]], %{{.*}})
// CHECK: %[[REF:.*]] = tile.map fma(%[[R]], %[[S]], %{{.*}})
// CHECK: %[[OLD:.*]] = tile.map fma(%[[G]], %[[S]], %{{.*}})
// CHECK: %[[D:.*]] = tile.map sub(%[[OLD]], %[[REF]])
// CHECK: %[[F:.*]] = tile.map exp2(%[[D]]) fast
// CHECK: %[[NEG:.*]] = tile.map neg(%[[REF]])
// CHECK: %[[E:.*]] = tile.map fma(%[[M]], %[[S]], %[[NEG]])
// CHECK: %[[W:.*]] = tile.map exp2(%[[E]]) fast
// CHECK: %[[OWN:.*]] = tile.map fma(%[[M]], %[[S]], %{{.*}})
// CHECK: %[[D2:.*]] = tile.map sub(%[[OWN]], %[[REF]])
// CHECK: %[[V:.*]] = tile.map exp2(%[[D2]]) fast
// CHECK: tile.map fma(%[[F]], %[[W]], %[[V]])
tile.kernel @prescaled(%x: !y, %y: !y, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !y -> tensor<64xf32>
  %g = tile.load %y[%i] dims [0] : !y -> tensor<64xf32>
  %n, %r, %s, %f = tile.online_update %m from %g scale 0.3 guarded prescaled adaptive : tensor<64xf32>
  %w = tile.online_weigh %m, %r by %s : tensor<64xf32>
  %v = tile.online_weigh %m, %r by %s rounded : tensor<64xf32>
  %p = tile.map fma(%f, %w, %v) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %p, %y[%i] dims [0] : tensor<64xf32>, !y
  tile.return
}

// In the first block nothing was accumulated: the factor is zero. A scale of 1 needs no product.
// CHECK-LABEL: tile.kernel @first
// CHECK: %[[M:.*]] = tile.load
// CHECK-NEXT: %[[ZERO:.*]] = tile.constant 0.0
// CHECK-NEXT: %[[D:.*]] = tile.map sub(%[[M]], %[[M]])
// CHECK-NEXT: %[[W:.*]] = tile.map exp2(%[[D]]) fast
// CHECK-NEXT: tile.map add(%[[ZERO]], %[[W]])
tile.kernel @first(%x: !y, %y: !y, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !y -> tensor<64xf32>
  %n, %r, %s, %f = tile.online_update %m scale 1.0 : tensor<64xf32>
  %w = tile.online_weigh %m, %r scale 1.0 : tensor<64xf32>
  %p = tile.map add(%f, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %p, %y[%i] dims [0] : tensor<64xf32>, !y
  tile.return
}

// The bound of the reference is that of its type.
// CHECK-LABEL: tile.kernel @wide
// CHECK: tile.constant -1.7976931348623157E+308 : f64
// CHECK-NOT: tile.online
tile.kernel @wide(%x: !tile.view<?xf64, strides = [1]>, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !tile.view<?xf64, strides = [1]> -> tensor<64xf64>
  %n, %r, %s, %f = tile.online_update %m scale 1.0 guarded : tensor<64xf64>
  tile.store %r, %x[%i] dims [0] : tensor<64xf64>, !tile.view<?xf64, strides = [1]>
  tile.return
}

// Where the target has no such power, the maps are primitive; those of a narrow type compute in f32.
// CHECK-LABEL: tile.kernel @expanded
// CHECK-NOT: tile.map exp2
// CHECK: tile.map scaleb
// CHECK-NOT: (tensor<64xf16>
// CHECK: tile.return
tile.kernel @expanded(%x: !tile.view<?xf64, strides = [1]>, %h: !tile.view<?xf16, strides = [1]>, %i: index) grid 1 {
  %m = tile.load %x[%i] dims [0] : !tile.view<?xf64, strides = [1]> -> tensor<64xf64>
  %w = tile.online_weigh %m, %m scale 2.0 expanded : tensor<64xf64>
  tile.store %w, %x[%i] dims [0] : tensor<64xf64>, !tile.view<?xf64, strides = [1]>
  %l = tile.load %h[%i] dims [0] : !tile.view<?xf16, strides = [1]> -> tensor<64xf16>
  %n, %r, %s, %f = tile.online_update %l from %l scale 2.0 guarded expanded : tensor<64xf16>
  tile.store %f, %h[%i] dims [0] : tensor<64xf16>, !tile.view<?xf16, strides = [1]>
  tile.return
}

// A reference that a loop does not change is negated before the loop.
// CHECK-LABEL: tile.kernel @again
// CHECK: %[[NEG:.*]] = tile.map neg
// CHECK-NEXT: scf.for
// CHECK: tile.map fma(%{{.*}}, %{{.*}}, %[[NEG]])
tile.kernel @again(%x: !y, %y: !y, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.load %y[%c0] dims [0] : !y -> tensor<64xf32>
  %s = tile.constant 0.3 : f32 : tensor<64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %t = tile.load %x[%i] dims [0] : !y -> tensor<64xf32>
    %w = tile.online_weigh %t, %r by %s : tensor<64xf32>
    tile.store %w, %x[%i] dims [0] : tensor<64xf32>, !y
  }
  tile.return
}
