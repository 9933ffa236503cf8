// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

// CHECK-LABEL: func.func @double
func.func @double(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  // CHECK: %{{.*}} = sched.kernel @double(%in = %arg0 : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>)
  // CHECK-NEXT: dims [parallel i = S tile 1024] order [i] launch <num_warps = 4, cluster_size = 2> tuning <use_tma = 0> {
  %r = sched.kernel @double(%a = %x : !gir.tensor<S, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 1024] order [i] launch <cluster_size = 2, num_warps = 4> tuning <use_tma = 0> {
    // CHECK: sched.load %in["i"] : <S, f32> -> <[i], f32>
    %0 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // CHECK: sched.map add(%{{.*}}, %{{.*}}) : (!sched.val<[i], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
    %1 = sched.map add(%0, %0) : (!sched.val<[i], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
    // CHECK: sched.store %{{.*}}, %out["i"] : <[i], f32>, <S, f32>
    sched.store %1, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// No inputs, sizes of every spelling, discardable attributes.
// CHECK-LABEL: func.func @fill
func.func @fill() -> !gir.tensor<"2*S + 1", 8, f32> {
  // CHECK: sched.kernel @fill() -> (%out : !gir.tensor<"2*S + 1", 8, f32>)
  // CHECK-NEXT: dims [parallel i = "2*S + 1" tile 1, parallel j = 8 tile 8] order [j, i] tuning <cache_stores = 0> attributes {configs = [#sched.launch<num_warps = 4>, #sched.tuning<wgmma = 1>], why = "test"} {
  %r = sched.kernel @fill() -> (%o : !gir.tensor<"2*S + 1", 8, f32>)
      dims [parallel i = "2*S + 1" tile 1, parallel j = 8 tile 8] order [j, i] tuning <cache_stores = 0>
      attributes {configs = [#sched.launch<num_warps = 4>, #sched.tuning<wgmma = 1>], why = "test"} {
    // CHECK: sched.constant 1.000000e+00 : f32 : <[], f32>
    %0 = sched.constant 1.0 : f32 : !sched.val<[], f32>
    // CHECK: sched.index "8*i + j" : <[i, j], i64>
    %1 = sched.index "8*i + j" : !sched.val<[i, j], i64>
    // CHECK: sched.cast %{{.*}} : <[i, j], i64> -> <[i, j], f32>
    %2 = sched.cast %1 : !sched.val<[i, j], i64> -> !sched.val<[i, j], f32>
    %3 = sched.map add(%0, %2) : (!sched.val<[], f32>, !sched.val<[i, j], f32>) -> !sched.val<[i, j], f32>
    sched.store %3, %o["i", "j"] : !sched.val<[i, j], f32>, !gir.tensor<"2*S + 1", 8, f32>
  }
  return %r : !gir.tensor<"2*S + 1", 8, f32>
}

// CHECK-LABEL: func.func @weighted
func.func @weighted(%q: !gir.tensor<S, 64, bf16>, %k: !gir.tensor<T, 64, bf16>, %v: !gir.tensor<T, 64, bf16>)
    -> (!gir.tensor<S, 64, f32>, !gir.tensor<S, f32>) {
  // CHECK: %{{.*}}:2 = sched.kernel @weighted(%in = %arg0 : !gir.tensor<S, 64, bf16>, %in_0 = %arg1
  // CHECK-SAME: -> (%out : !gir.tensor<S, 64, f32>, %out_2 : !gir.tensor<S, f32>)
  %r:2 = sched.kernel @weighted(%Q = %q : !gir.tensor<S, 64, bf16>, %K = %k : !gir.tensor<T, 64, bf16>,
                                %V = %v : !gir.tensor<T, 64, bf16>)
      -> (%o : !gir.tensor<S, 64, f32>, %l : !gir.tensor<S, f32>)
      dims [parallel i = S tile 64, stream n = T tile 128, inner d = 64 tile 64, parallel e = 64 tile 64]
      order [i, e] {
    %0 = sched.load %Q["i", "d"] : !gir.tensor<S, 64, bf16> -> !sched.val<[i, d], bf16>
    // CHECK: %{{.*}}:3 = sched.stream over [n] live ["0", "1 + i.hi"] full ["0", "1 + i.lo"] lag 8.000000e+00
    // CHECK-SAME: -> !sched.val<[i], f32>, !sched.val<[i], f32>, !sched.val<[i, e], f32> {
    %s:3 = sched.stream over [n] live ["0", "1 + i.hi"] full ["0", "1 + i.lo"] lag 8.0
        -> !sched.val<[i], f32>, !sched.val<[i], f32>, !sched.val<[i, e], f32> {
      %1 = sched.load %K["n", "d"] : !gir.tensor<T, 64, bf16> -> !sched.val<[n, d], bf16>
      // CHECK: sched.reduce sum(%{{.*}}, %{{.*}}) over [d] : (!sched.val<[i, d], bf16>, !sched.val<[n, d], bf16>) -> !sched.val<[i, n], f32>
      %2 = sched.reduce sum(%0, %1) over [d] : (!sched.val<[i, d], bf16>, !sched.val<[n, d], bf16>) -> !sched.val<[i, n], f32>
      %3 = sched.index "i - n" : !sched.val<[i, n], i64>
      %zero = sched.constant 0 : i64 : !sched.val<[], i64>
      %4 = sched.map ge(%3, %zero) : (!sched.val<[i, n], i64>, !sched.val<[], i64>) -> !sched.val<[i, n], i1>
      // CHECK: sched.mask %{{.*}}, %{{.*}} else 0xFF800000 : f32 : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
      %5 = sched.mask %4, %2 else 0xFF800000 : f32 : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
      // CHECK: %[[G:.*]] = sched.gauge %{{.*}} : <[i, n], f32> -> <[i], f32>
      %6 = sched.gauge %5 : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      // CHECK: sched.weigh %{{.*}} rel %[[G]] : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      %7 = sched.weigh %5 rel %6 : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      // CHECK: sched.accumulate sum(%{{.*}}) rel %[[G]] : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      %8 = sched.accumulate sum(%7) rel %6 : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      %9 = sched.cast %7 : !sched.val<[i, n], f32> -> !sched.val<[i, n], bf16>
      %10 = sched.load %V["n", "e"] : !gir.tensor<T, 64, bf16> -> !sched.val<[n, e], bf16>
      %11 = sched.accumulate sum(%9, %10) rel %6 : (!sched.val<[i, n], bf16>, !sched.val<[n, e], bf16>, !sched.val<[i], f32>) -> !sched.val<[i, e], f32>
      // CHECK: sched.yield %[[G]], %{{.*}}, %{{.*}} : !sched.val<[i], f32>, !sched.val<[i], f32>, !sched.val<[i, e], f32>
      sched.yield %6, %8, %11 : !sched.val<[i], f32>, !sched.val<[i], f32>, !sched.val<[i, e], f32>
    }
    %12 = sched.map div(%s#2, %s#1) : (!sched.val<[i, e], f32>, !sched.val<[i], f32>) -> !sched.val<[i, e], f32>
    sched.store %12, %o["i", "e"] : !sched.val<[i, e], f32>, !gir.tensor<S, 64, f32>
    sched.store %s#1, %l["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r#0, %r#1 : !gir.tensor<S, 64, f32>, !gir.tensor<S, f32>
}

// A stream that carries nothing and stores.
// CHECK-LABEL: func.func @copy
func.func @copy(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  %r = sched.kernel @copy(%a = %x : !gir.tensor<S, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [stream n = S tile 1024] order [] {
    // CHECK: sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.000000e+00 {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %0 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      sched.store %0, %o["n"] : !sched.val<[n], f32>, !gir.tensor<S, f32>
    }
  }
  return %r : !gir.tensor<S, f32>
}

// A sum of what belongs to the largest elements.
// CHECK-LABEL: func.func @indicator
func.func @indicator(%x: !gir.tensor<S, i32>, %y: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i32>, %b = %y : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    %zero = sched.constant 0.0 : f32 : !sched.val<[], f32>
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, i32> -> !sched.val<[n], i32>
      %2 = sched.load %b["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      // CHECK: %[[G:.*]] = sched.gauge %{{.*}} indicator : <[n], i32> -> <[], i32>
      %g = sched.gauge %1 indicator : !sched.val<[n], i32> -> !sched.val<[], i32>
      %hit = sched.map eq(%1, %g) : (!sched.val<[n], i32>, !sched.val<[], i32>) -> !sched.val<[n], i1>
      %v = sched.map where(%hit, %2, %zero) : (!sched.val<[n], i1>, !sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[n], f32>
      // CHECK: sched.accumulate max(%{{.*}}) rel %[[G]]
      %s = sched.accumulate max(%v) rel %g : (!sched.val<[n], f32>, !sched.val<[], i32>) -> !sched.val<[], f32>
    }
  }
  return
}

// CHECK-LABEL: @dim
// CHECK-SAME: sched.d = #sched.dim<inner k = "2*D" tile 32>
func.func private @dim() attributes {sched.d = #sched.dim<inner k = "D * 2" tile 32>}

// CHECK-LABEL: func.func @places
func.func @places(%t: !gir.tensor<V, D, f32>, %x: !gir.tensor<S, i32>) -> !gir.tensor<S, D, f32> {
  %r = sched.kernel @places(%a = %x : !gir.tensor<S, i32>, %b = %t : !gir.tensor<V, D, f32>) -> (%o : !gir.tensor<S, D, f32>)
      dims [parallel s = S tile 4, parallel d = D tile 256] order [d, s] {
    %0 = sched.load %a["s"] : !gir.tensor<S, i32> -> !sched.val<[s], i32>
    // CHECK: sched.load %in_0["#0", "d"] at(%{{.*}} : !sched.val<[s], i32>) below ["V"] : <V, D, f32> -> <[s, d], f32>
    %1 = sched.load %b["#0", "d"] at (%0 : !sched.val<[s], i32>) below ["V"] : !gir.tensor<V, D, f32> -> !sched.val<[s, d], f32>
    sched.store %1, %o["s", "d"] : !sched.val<[s, d], f32>, !gir.tensor<S, D, f32>
  }
  return %r : !gir.tensor<S, D, f32>
}

// CHECK-LABEL: func.func @sums
func.func @sums(%x: !gir.tensor<S, i64>, %t: !gir.tensor<V, D, f32>) -> !gir.tensor<V, D, f32> {
  %r = sched.kernel @sums(%a = %x : !gir.tensor<S, i64>, %b = %t : !gir.tensor<V, D, f32>) -> (%o : !gir.tensor<V, D, f32>)
      dims [stream s = S tile 4, parallel d = D tile 256] order [d] attributes {into = array<i64: 1>} {
    sched.stream over [s] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %0 = sched.load %a["s"] : !gir.tensor<S, i64> -> !sched.val<[s], i64>
      %1 = sched.constant 1.0 : f32 : !sched.val<[], f32>
      // CHECK: sched.store %{{.*}}, %out["#0", "d"] at(%{{.*}} : !sched.val<[s], i64>) below ["V"] sum : <[], f32>, <V, D, f32>
      sched.store %1, %o["#0", "d"] at (%0 : !sched.val<[s], i64>) below ["V"] sum : !sched.val<[], f32>, !gir.tensor<V, D, f32>
    }
  }
  return %r : !gir.tensor<V, D, f32>
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: !gir.tensor<M, 100, i64>) -> !gir.tensor<M, 100, i64> {
  %r = sched.kernel @k(%a = %x : !gir.tensor<M, 100, i64>) -> (%o : !gir.tensor<M, 100, i64>)
      dims [parallel i = M tile 4, stream n = 100 tile 128] order [i] {
    sched.stream over [n] live ["0", "100"] full ["0", "100"] lag 0.0 {
      %0 = sched.load %a["i", "n"] : !gir.tensor<M, 100, i64> -> !sched.val<[i, n], i64>
      // CHECK: sched.sort %{{.*}} : <[i, n], i64>
      %1 = sched.sort %0 : !sched.val<[i, n], i64>
      sched.store %1, %o["i", "n"] : !sched.val<[i, n], i64>, !gir.tensor<M, 100, i64>
    }
  }
  return %r : !gir.tensor<M, 100, i64>
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: !gir.tensor<M, S, f32>) -> !gir.tensor<M, S, f32> {
  %r = sched.kernel @k(%a = %x : !gir.tensor<M, S, f32>) -> (%o : !gir.tensor<M, S, f32>)
      dims [parallel i = M tile 4, stream n = S tile 64] order [i] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %0 = sched.load %a["i", "n"] : !gir.tensor<M, S, f32> -> !sched.val<[i, n], f32>
      // CHECK: %[[Y:.*]] = sched.scan sum(%{{.*}}) : <[i, n], f32> -> <[i, n], f32>
      %1 = sched.scan sum(%0) : !sched.val<[i, n], f32> -> !sched.val<[i, n], f32>
      %2 = sched.index "n" : !sched.val<[n], i32>
      // CHECK: sched.scan max(%{{.*}}) by(%{{.*}} : !sched.val<[n], i32>) below 16 : <[i, n], f32> -> <[i, n], f32>
      %3 = sched.scan max(%0) by (%2 : !sched.val<[n], i32>) below 16 : !sched.val<[i, n], f32> -> !sched.val<[i, n], f32>
      // CHECK: sched.store %[[Y]]
      sched.store %1, %o["i", "n"] : !sched.val<[i, n], f32>, !gir.tensor<M, S, f32>
    }
  }
  return %r : !gir.tensor<M, S, f32>
}
