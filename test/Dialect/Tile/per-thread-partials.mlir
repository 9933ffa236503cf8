// RUN: %tessera_opt %s -tile-per-thread-partials -canonicalize | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!y = !tile.view<?xf32, strides = [1]>

// Each of 64 threads has a maximum and a sum of what it holds: 8 consecutive elements, twice. The second loop continues
// with both.
// CHECK-LABEL: tile.kernel @logsumexp
// CHECK-DAG: %[[LOWEST:.*]] = tile.constant 0xFF800000 : f32 : tensor<64xf32>
// CHECK-DAG: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f32 : tensor<64xf32>
// CHECK: %[[A:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %[[LOWEST]], %[[S:.*]] = %[[ZERO]]) -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: %[[R:.*]] = tile.reshape %{{.*}} -> tensor<2x64x8xf32>
// CHECK: %[[P:.*]] = tile.reduce max %[[R]] dims [0, 2] skip_nan
// CHECK: %[[N:.*]] = tile.map maximum(%[[M]], %[[P]])
// CHECK: %{{.*}}, %[[O:.*]], %{{.*}}, %{{.*}} = tile.online_update %[[N]] scale 2.000000e+00 guarded : tensor<64xf32>
// CHECK: tile.broadcast %[[O]] dims [1] : tensor<64xf32> -> tensor<2x64x8xf32>
// CHECK: tile.online_weigh %{{.*}}, %{{.*}} scale 2.000000e+00 : tensor<1024xf32>
// CHECK: tile.reduce sum %{{.*}} dims [0, 2] : tensor<2x64x8xf32> -> tensor<64xf32>
// CHECK: %[[F:.*]] = tile.online_weigh %[[M]], %[[O]] scale 2.000000e+00 : tensor<64xf32>
// CHECK: tile.map mul(%[[S]], %[[F]])
// CHECK: %[[B:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[A]]#0, %{{.*}} = %[[A]]#1)
// CHECK: %[[ALL:.*]] = tile.reduce max %[[B]]#0 dims [0] skip_nan : tensor<64xf32> -> tensor<f32>
// CHECK: %{{.*}}, %[[REF:.*]], %{{.*}}, %{{.*}} = tile.online_update %[[ALL]] scale 2.000000e+00 guarded : tensor<f32>
// CHECK: %[[C:.*]] = tile.broadcast %[[REF]] dims [] : tensor<f32> -> tensor<64xf32>
// CHECK: %[[W:.*]] = tile.online_weigh %[[B]]#0, %[[C]] scale 2.000000e+00 : tensor<64xf32>
// CHECK: %[[T:.*]] = tile.map mul(%[[B]]#1, %[[W]])
// CHECK: tile.reduce sum %[[T]] dims [0] : tensor<64xf32> -> tensor<f32>
tile.kernel @logsumexp(%x: !v, %y: !y, %whole: index, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %m0, %s0 = scf.for %i = %c0 to %whole step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<1024xf32>
    %z = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %n, %b : tensor<f32>, tensor<f32>
  }
  %m1, %s1 = scf.for %i = %whole to %all step %c1 iter_args(%m = %m0, %s = %s0) -> (tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<1024xf32>
    %z = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %n, %b : tensor<f32>, tensor<f32>
  }
  %h = tile.map add(%m1, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %h, %y[%row] dims [] : tensor<f32>, !y
  tile.return
}

// Exponents are scaled first, by a factor that depends on the gauge. At the end, each thread's sum is rescaled to the
// common gauge.
// CHECK-LABEL: tile.kernel @scaled
// CHECK: %[[A:.*]]:2 = scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: tile.online_weigh %{{.*}}, %{{.*}} by %{{.*}} : tensor<1024xf32>
// CHECK: %[[ALL:.*]] = tile.reduce max %[[A]]#0 dims [0] skip_nan : tensor<64xf32> -> tensor<f32>
// CHECK: %{{.*}}, %[[REF:.*]], %[[SCALE:.*]], %{{.*}} = tile.online_update %[[ALL]] scale 5.000000e-01 guarded prescaled adaptive : tensor<f32>
// CHECK-DAG: %[[REFS:.*]] = tile.broadcast %[[REF]] dims [] : tensor<f32> -> tensor<64xf32>
// CHECK-DAG: %[[SCALES:.*]] = tile.broadcast %[[SCALE]] dims [] : tensor<f32> -> tensor<64xf32>
// CHECK: tile.online_weigh %[[A]]#0, %[[REFS]] by %[[SCALES]] rounded : tensor<64xf32>
tile.kernel @scaled(%x: !v, %y: !y, %whole: index, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %m0, %s0 = scf.for %i = %c0 to %whole step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %ref, %scale, %f = tile.online_update %r from %m scale 0.5 guarded prescaled adaptive : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %ref dims [] : tensor<f32> -> tensor<1024xf32>
    %ks = tile.broadcast %scale dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g by %ks : tensor<1024xf32>
    %z = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %n, %b : tensor<f32>, tensor<f32>
  }
  %h = tile.map add(%m0, %s0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %h, %y[%row] dims [] : tensor<f32>, !y
  tile.return
}

// The scale of the weights differs from that of the factor.
// CHECK-LABEL: tile.kernel @other
// CHECK: scf.for {{.*}} -> (tensor<f32>, tensor<f32>)
// CHECK-NOT: tile.reshape
tile.kernel @other(%x: !v, %y: !y, %whole: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %m0, %s0 = scf.for %i = %c0 to %whole step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 3.0 : tensor<1024xf32>
    %z = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %n, %b : tensor<f32>, tensor<f32>
  }
  %h = tile.map add(%m0, %s0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %h, %y[%row] dims [] : tensor<f32>, !y
  tile.return
}

// An initial value is combined after the first loop: the second loop cannot continue with its tile.
// CHECK-LABEL: tile.kernel @nested
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (tensor<f32>)
// CHECK: scf.for {{.*}} -> (tensor<64xf32>)
// CHECK: %[[R0:.*]] = tile.reduce sum %{{.*}} dims [0] : tensor<64xf32> -> tensor<f32>
// CHECK: %[[S0:.*]] = tile.map add(%[[BEFORE]], %[[R0]])
// CHECK: scf.for {{.*}} -> (tensor<64xf32>)
// CHECK: %[[R1:.*]] = tile.reduce sum %{{.*}} dims [0] : tensor<64xf32> -> tensor<f32>
// CHECK: %[[S1:.*]] = tile.map add(%[[S0]], %[[R1]])
// CHECK: scf.yield %[[S1]]
tile.kernel @nested(%x: !v, %y: !y, %rows: index, %whole: index, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %sum = scf.for %row = %c0 to %rows step %c1 iter_args(%before = %zero) -> (tensor<f32>) {
    %s0 = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %before) -> (tensor<f32>) {
      %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
      %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
      %r = tile.reduce sum %e dims [0] : tensor<1024xf32> -> tensor<f32>
      %n = tile.map add(%s, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      scf.yield %n : tensor<f32>
    }
    %s1 = scf.for %i = %whole to %all step %c1 iter_args(%s = %s0) -> (tensor<f32>) {
      %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
      %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
      %r = tile.reduce sum %e dims [0] : tensor<1024xf32> -> tensor<f32>
      %n = tile.map add(%s, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      scf.yield %n : tensor<f32>
    }
    scf.yield %s1 : tensor<f32>
  }
  tile.store %sum, %y[%c0] dims [] : tensor<f32>, !y
  tile.return
}

// Each thread has the index of its own maximum, which counts in the end if that is the maximum of all. Indices are
// reduced in 32 bits and combined in 64.
// CHECK-LABEL: tile.kernel @argmax
// CHECK: %[[A:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[P:.*]] = %{{.*}}) -> (tensor<64xf32>, tensor<64xi64>)
// CHECK: %[[R:.*]] = tile.reduce max %{{.*}} dims [0, 2] : tensor<2x64x8xf32> -> tensor<64xf32>
// CHECK: %[[N:.*]] = tile.map maximum(%[[M]], %[[R]])
// CHECK: tile.broadcast %[[N]] dims [1] : tensor<64xf32> -> tensor<2x64x8xf32>
// CHECK: tile.reduce min %{{.*}} dims [0, 2] : tensor<2x64x8xi32> -> tensor<64xi32>
// CHECK: tile.cast %{{.*}} : tensor<64xi32> -> tensor<64xi64>
// CHECK: %[[SAME:.*]] = tile.map eq(%[[M]], %[[N]]) : (tensor<64xf32>, tensor<64xf32>)
// CHECK: %[[NAN:.*]] = tile.map ne(%[[M]], %[[M]])
// CHECK: %[[STAYS:.*]] = tile.map bitwise_or(%[[SAME]], %[[NAN]])
// CHECK: tile.map where(%[[STAYS]], %[[P]], %{{.*}})
// CHECK: %[[ALL:.*]] = tile.reduce max %[[A]]#0 dims [0] : tensor<64xf32> -> tensor<f32>
// CHECK: tile.map eq(%[[A]]#0, %{{.*}})
// CHECK: %[[COUNTS:.*]] = tile.map where(%{{.*}}, %[[A]]#1, %{{.*}})
// CHECK: tile.reduce min %[[COUNTS]] dims [0] : tensor<64xi64> -> tensor<i64>
tile.kernel @argmax(%x: !v, %y: !tile.view<?xi64, strides = [1]>, %whole: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %none = tile.constant 9223372036854775807 : i64 : tensor<i64>
  %none32 = tile.constant 2147483647 : i32 : tensor<i32>
  %nones = tile.constant 2147483647 : i32 : tensor<1024xi32>
  %m0, %p0 = scf.for %i = %c0 to %whole step %c1 iter_args(%m = %lowest, %p = %none) -> (tensor<f32>, tensor<i64>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] : tensor<1024xf32> -> tensor<f32>
    %n = tile.map maximum(%m, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %same = tile.map eq(%m, %n) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = tile.map ne(%m, %m) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %stays = tile.map bitwise_or(%same, %nan) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %kept = tile.map where(%stays, %p, %none) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %g = tile.broadcast %n dims [] : tensor<f32> -> tensor<1024xf32>
    %eq = tile.map eq(%e, %g) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xi1>
    %ne = tile.map ne(%e, %e) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xi1>
    %hit = tile.map bitwise_or(%eq, %ne) : (tensor<1024xi1>, tensor<1024xi1>) -> tensor<1024xi1>
    %first = arith.muli %i, %c1024 : index
    %places = tile.iota %first : tensor<1024xi32>
    %v = tile.map where(%hit, %places, %nones) : (tensor<1024xi1>, tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi32>
    %least = tile.reduce min %v dims [0] : tensor<1024xi32> -> tensor<i32>
    %isnone = tile.map eq(%least, %none32) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wide = tile.cast %least : tensor<i32> -> tensor<i64>
    %found = tile.map where(%isnone, %none, %wide) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %q = tile.map minimum(%kept, %found) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    scf.yield %n, %q : tensor<f32>, tensor<i64>
  }
  tile.store %p0, %y[%row] dims [] : tensor<i64>, !tile.view<?xi64, strides = [1]>
  tile.return
}

// Among two maxima, the sum is relative to the second one.
// CHECK-LABEL: tile.kernel @two
// CHECK: scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK: %[[N:.*]] = tile.map maximum(%{{.*}}) : (tensor<64xf32>, tensor<64xf32>)
// CHECK: tile.reduce sum %{{.*}} dims [0, 2] : tensor<2x64x8xf32> -> tensor<64xf32>
tile.kernel @two(%x: !v, %y: !y, %z: !y, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %a0, %m0, %s0 = scf.for %i = %c0 to %all step %c1 iter_args(%a = %lowest, %m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %l = tile.map abs(%e) : (tensor<1024xf32>) -> tensor<1024xf32>
    %h = tile.reduce max %l dims [0] : tensor<1024xf32> -> tensor<f32>
    %j = tile.map maximum(%a, %h) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<1024xf32>
    %z0 = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %j, %n, %b : tensor<f32>, tensor<f32>, tensor<f32>
  }
  %o = tile.map add(%a0, %m0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %o, %y[%row] dims [] : tensor<f32>, !y
  tile.store %s0, %z[%row] dims [] : tensor<f32>, !y
  tile.return
}

// A maximum that may skip nan is replaced by one of the same elements that does not.
// CHECK-LABEL: tile.kernel @alike
// CHECK: scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>) {
// CHECK-NOT: skip_nan
// CHECK: %[[H:.*]] = tile.reduce max %{{.*}} dims [0, 2] : tensor<2x64x8xf32> -> tensor<64xf32>
// CHECK: tile.map maximum(%{{.*}}, %[[H]])
// CHECK-NOT: tile.reduce max
// CHECK: scf.yield
// CHECK: %[[M:.*]] = tile.reduce max %{{.*}} dims [0] : tensor<64xf32> -> tensor<f32>
// CHECK: tile.map add(%[[M]], %[[M]])
tile.kernel @alike(%x: !v, %y: !y, %z: !y, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %a0, %m0, %s0 = scf.for %i = %c0 to %all step %c1 iter_args(%a = %lowest, %m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %h = tile.reduce max %e dims [0] : tensor<1024xf32> -> tensor<f32>
    %j = tile.map maximum(%a, %h) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<1024xf32>
    %z0 = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %j, %n, %b : tensor<f32>, tensor<f32>, tensor<f32>
  }
  %o = tile.map add(%a0, %m0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %o, %y[%row] dims [] : tensor<f32>, !y
  tile.store %s0, %z[%row] dims [] : tensor<f32>, !y
  tile.return
}

// Each thread has a maximum and a sum for each column of its piece of a row. 32 threads of a CTA of 64 have pieces of 8
// of 256 columns: two rows have partial results of their own, which combine eight rows each per iteration.
// CHECK-LABEL: tile.kernel @columns
// CHECK-DAG: %[[LOWEST:.*]] = tile.constant 0xFF800000 : f32 : tensor<2x256xf32>
// CHECK-DAG: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f32 : tensor<2x256xf32>
// CHECK: %[[A:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %[[LOWEST]], %[[S:.*]] = %[[ZERO]]) -> (tensor<2x256xf32>, tensor<2x256xf32>)
// CHECK: %[[R:.*]] = tile.reshape %{{.*}} -> tensor<8x2x256xf32>
// CHECK: %[[P:.*]] = tile.reduce max %[[R]] dims [0] : tensor<8x2x256xf32> -> tensor<2x256xf32>
// CHECK: %[[N:.*]] = tile.map maximum(%[[M]], %[[P]])
// CHECK: %{{.*}}, %[[O:.*]], %{{.*}}, %{{.*}} = tile.online_update %[[N]] scale 2.000000e+00 guarded : tensor<2x256xf32>
// CHECK: tile.broadcast %[[O]] dims [1, 2] : tensor<2x256xf32> -> tensor<8x2x256xf32>
// CHECK: tile.reduce sum %{{.*}} dims [0] : tensor<8x2x256xf32> -> tensor<2x256xf32>
// CHECK: %[[ALL:.*]] = tile.reduce max %[[A]]#0 dims [0] : tensor<2x256xf32> -> tensor<256xf32>
// CHECK: %{{.*}}, %[[REF:.*]], %{{.*}}, %{{.*}} = tile.online_update %[[ALL]] scale 2.000000e+00 guarded : tensor<256xf32>
// CHECK: %[[C:.*]] = tile.broadcast %[[REF]] dims [1] : tensor<256xf32> -> tensor<2x256xf32>
// CHECK: %[[W:.*]] = tile.online_weigh %[[A]]#0, %[[C]] scale 2.000000e+00 : tensor<2x256xf32>
// CHECK: %[[T:.*]] = tile.map mul(%[[A]]#1, %[[W]])
// CHECK: tile.reduce sum %[[T]] dims [0] : tensor<2x256xf32> -> tensor<256xf32>
tile.kernel @columns(%x: !v, %y: !y, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %column = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<256xf32>
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %m0, %s0 = scf.for %i = %c0 to %all step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<256xf32>, tensor<256xf32>) {
    %t = tile.load %x[%i, %column] dims [0, 1] pad 0xFF80 : bf16 : !v -> tensor<16x256xbf16>
    %e = tile.cast %t : tensor<16x256xbf16> -> tensor<16x256xf32>
    %r = tile.reduce max %e dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 guarded : tensor<256xf32>
    %q = tile.map mul(%s, %f) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %g = tile.broadcast %o dims [1] : tensor<256xf32> -> tensor<16x256xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<16x256xf32>
    %z = tile.reduce sum %w dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %b = tile.map add(%q, %z) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %n, %b : tensor<256xf32>, tensor<256xf32>
  }
  %log = tile.map add(%m0, %s0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  tile.store %log, %y[%column] dims [0] : tensor<256xf32>, !y
  tile.return
}

// If each warp has one row per iteration, there is nothing to combine before the exchange.
// CHECK-LABEL: tile.kernel @few
// CHECK: iter_args(%{{.*}} = %{{.*}}) -> (tensor<256xf32>)
tile.kernel @few(%x: !v, %y: !y, %all: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %column = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %s0 = scf.for %i = %c0 to %all step %c1 iter_args(%s = %zero) -> (tensor<256xf32>) {
    %t = tile.load %x[%i, %column] dims [0, 1] pad 0.0 : bf16 : !v -> tensor<4x256xbf16>
    %e = tile.cast %t : tensor<4x256xbf16> -> tensor<4x256xf32>
    %r = tile.reduce sum %e dims [0] : tensor<4x256xf32> -> tensor<256xf32>
    %n = tile.map add(%s, %r) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %n : tensor<256xf32>
  }
  tile.store %s0, %y[%column] dims [0] : tensor<256xf32>, !y
  tile.return
}

// A running maximum that lags behind is not the maximum of those of the threads.
// CHECK-LABEL: tile.kernel @lagging
// CHECK: scf.for {{.*}} -> (tensor<f32>, tensor<f32>)
// CHECK-NOT: tile.reshape
tile.kernel @lagging(%x: !v, %y: !y, %whole: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<f32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %m0, %s0 = scf.for %i = %c0 to %whole step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<f32>, tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %e = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %e dims [0] skip_nan : tensor<1024xf32> -> tensor<f32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 lag 8.0 guarded : tensor<f32>
    %q = tile.map mul(%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = tile.broadcast %o dims [] : tensor<f32> -> tensor<1024xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<1024xf32>
    %z = tile.reduce sum %w dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%q, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %n, %b : tensor<f32>, tensor<f32>
  }
  %h = tile.map add(%m0, %s0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %h, %y[%row] dims [] : tensor<f32>, !y
  tile.return
}

// A thread without elements would subtract infinities: the reference must be finite for every gauge.
// CHECK-LABEL: tile.kernel @unguarded
// CHECK: -> (tensor<256xf32>, tensor<256xf32>)
tile.kernel @unguarded(%x: !v, %y: !y, %all: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %column = tile.program_id 0
  %lowest = tile.constant 0xFF800000 : f32 : tensor<256xf32>
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %m0, %s0 = scf.for %i = %c0 to %all step %c1 iter_args(%m = %lowest, %s = %zero) -> (tensor<256xf32>, tensor<256xf32>) {
    %t = tile.load %x[%i, %column] dims [0, 1] pad 0xFF80 : bf16 : !v -> tensor<16x256xbf16>
    %e = tile.cast %t : tensor<16x256xbf16> -> tensor<16x256xf32>
    %r = tile.reduce max %e dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %n, %o, %k, %f = tile.online_update %r from %m scale 2.0 : tensor<256xf32>
    %q = tile.map mul(%s, %f) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %g = tile.broadcast %o dims [1] : tensor<256xf32> -> tensor<16x256xf32>
    %w = tile.online_weigh %e, %g scale 2.0 : tensor<16x256xf32>
    %z = tile.reduce sum %w dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %b = tile.map add(%q, %z) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %n, %b : tensor<256xf32>, tensor<256xf32>
  }
  %log = tile.map add(%m0, %s0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  tile.store %log, %y[%column] dims [0] : tensor<256xf32>, !y
  tile.return
}
