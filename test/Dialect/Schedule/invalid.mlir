// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected a role among parallel stream inner, got 'outer'}}
func.func private @role() attributes {sched.d = #sched.dim<outer k = D tile 32>}

// -----

// expected-error @+1 {{expected a tile of at least 1, got 0}}
func.func private @tile() attributes {sched.d = #sched.dim<inner k = D tile 0>}

// -----

// expected-error @+1 {{expected a size expression, got 'S +'}}
func.func private @size() attributes {sched.d = #sched.dim<inner k = "S +" tile 1>}

// -----

// expected-error @+1 {{expected num_warps from 1 to 32, got 0}}
func.func private @launch() attributes {sched.l = #sched.launch<num_warps = 0>}

// -----

// expected-error @+1 {{expected a field of tuning among min_ctas_per_sm, raster_group, reverse_grid, num_stages, use_tma, wgmma, l2_evict_last, use_amx, swap_operands, cache_stores, got 'num_warps'}}
func.func private @tuning() attributes {sched.t = #sched.tuning<num_warps = 4>}

// -----

func.func @axis() {
  // expected-error @+1 {{expected cluster_size beside cluster_axis}}
  sched.kernel @axis() -> () dims [parallel i = S tile 1] order [i] launch <cluster_axis = 0> {
  }
  return
}

// -----

// expected-error @+1 {{expected distinct dimensions, got 'i' twice}}
func.func private @twice(!sched.val<[i, i], f32>)

// -----

func.func @nameless() {
  // expected-error @+1 {{attribute 'sym_name' failed to satisfy constraint: string attribute that is not empty}}
  sched.kernel @""() -> () dims [parallel i = S tile 1] order [i] {
  }
  return
}

// -----

func.func @declared_twice() {
  // expected-error @+1 {{expected distinct dimensions, got 'i' twice}}
  sched.kernel @k() -> () dims [parallel i = S tile 1, inner i = S tile 1] order [i] {
  }
  return
}

// -----

func.func @not_parallel() {
  // expected-error @+1 {{expected parallel dimensions in the order, got 'd'}}
  sched.kernel @k() -> () dims [parallel i = S tile 1, inner d = S tile 1] order [d] {
  }
  return
}

// -----

func.func @missing() {
  // expected-error @+1 {{expected every parallel dimension in the order, 'j' is missing}}
  sched.kernel @k() -> () dims [parallel i = S tile 1, parallel j = S tile 1] order [i] {
  }
  return
}

// -----

func.func @not_stored() {
  // expected-error @+1 {{expected a store into result 0, got none}}
  %0 = sched.kernel @k() -> (%o : !gir.tensor<S, f32>) dims [] order [] {
  }
  return
}

// -----

func.func @union() {
  sched.kernel @k() -> () dims [parallel i = S tile 1, parallel j = S tile 1] order [i, j] {
    %0 = sched.index "j" : !sched.val<[j], i64>
    %1 = sched.index "i" : !sched.val<[i], i64>
    // expected-error @+1 {{expected a result over [i, j], got [j, i]}}
    %2 = sched.map add(%0, %1) : (!sched.val<[j], i64>, !sched.val<[i], i64>) -> !sched.val<[j, i], i64>
  }
  return
}

// -----

func.func @elements() {
  sched.kernel @k() -> () dims [parallel i = S tile 1] order [i] {
    %0 = sched.index "i" : !sched.val<[i], i64>
    // expected-error @+1 {{expected floating point operands for 'exp', got 'i64'}}
    %1 = sched.map exp(%0) : (!sched.val<[i], i64>) -> !sched.val<[i], i64>
  }
  return
}

// -----

func.func @index_rank(%x: !gir.tensor<S, T, U, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, T, U, f32>) -> () dims [parallel i = S tile 1] order [i] {
    // expected-error @+1 {{expected 3 index expressions, one for each dimension, or one row-major element number, got 2}}
    %0 = sched.load %a["i", "0"] : !gir.tensor<S, T, U, f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @load_dims(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [parallel i = S tile 1] order [i] {
    // expected-error @+1 {{expected a result over [i], got []}}
    %0 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[], f32>
  }
  return
}

// -----

func.func @outside(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    // expected-error @+1 {{expected to be inside a sched.stream over 'n'}}
    %0 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
  }
  return
}

// -----

func.func @store_dims(%x: !gir.tensor<S, f32>) {
  %0 = sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> (%o : !gir.tensor<f32>)
      dims [parallel i = S tile 1] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected every dimension of the value in the index, 'i' is missing}}
    sched.store %1, %o[] : !sched.val<[i], f32>, !gir.tensor<f32>
  }
  return
}

// -----

func.func @store_input(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected to write a result of the kernel}}
    sched.store %1, %a["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return
}

// -----

func.func @reduce_role(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected 'i' to have the role inner, got parallel}}
    %2 = sched.reduce sum(%1) over [i] : (!sched.val<[i], f32>) -> !sched.val<[], f32>
  }
  return
}

// -----

func.func @product(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [inner d = S tile 1] order [] {
    %1 = sched.load %a["d"] : !gir.tensor<S, f32> -> !sched.val<[d], f32>
    // expected-error @+1 {{expected 'sum' of products, got 'max'}}
    %2 = sched.reduce max(%1, %1) over [d] : (!sched.val<[d], f32>, !sched.val<[d], f32>) -> !sched.val<[], f32>
  }
  return
}

// -----

func.func @stream_role() {
  sched.kernel @k() -> () dims [inner d = S tile 1] order [] {
    // expected-error @+1 {{expected 'd' to have the role stream, got inner}}
    sched.stream over [d] live ["0", "S"] full ["0", "S"] lag 0.0 {
    }
  }
  return
}

// -----

func.func @stream_bounds() {
  sched.kernel @k() -> () dims [parallel i = S tile 1, stream n = S tile 1] order [i] {
    // expected-error @+1 {{expected 'i.lo' or 'i.hi' in a bound, got the dimension itself}}
    sched.stream over [n] live ["0", "i"] full ["0", "S"] lag 0.0 {
    }
  }
  return
}

// -----

func.func @state(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1, inner d = 4 tile 4] order [] {
    %0 = sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 -> !sched.val<[], f32> {
      %1 = sched.constant 1.0 : f32 : !sched.val<[], f32>
      // expected-error @+1 {{expected a sched.gauge or sched.accumulate of this stream as state 0}}
      sched.yield %1 : !sched.val<[], f32>
    }
  }
  return
}

// -----

func.func @needs_rel(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      %g = sched.gauge %1 : !sched.val<[n], f32> -> !sched.val<[], f32>
      // expected-note @+1 {{the weights are made here}}
      %w = sched.weigh %1 rel %g : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[n], f32>
      // expected-error @+1 {{expected 'rel' and the gauge of its weights}}
      %s = sched.accumulate sum(%w) : (!sched.val<[n], f32>) -> !sched.val<[], f32>
    }
  }
  return
}

// -----

func.func @other_gauge(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      %2 = sched.map neg(%1) : (!sched.val<[n], f32>) -> !sched.val<[n], f32>
      %g = sched.gauge %1 : !sched.val<[n], f32> -> !sched.val<[], f32>
      %h = sched.gauge %2 : !sched.val<[n], f32> -> !sched.val<[], f32>
      // expected-note @+1 {{these are weights of another gauge}}
      %w = sched.weigh %1 rel %g : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[n], f32>
      // expected-error @+1 {{expected weights of the gauge after 'rel'}}
      %s = sched.accumulate sum(%w) rel %h : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[], f32>
    }
  }
  return
}

// -----

func.func @indicator_of_nothing(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      %g = sched.gauge %1 indicator : !sched.val<[n], f32> -> !sched.val<[], f32>
      // expected-error @+1 {{expected values that compare with the indicator after 'rel', and with no other gauge}}
      %s = sched.accumulate sum(%1) rel %g : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[], f32>
    }
  }
  return
}

// -----

func.func @weight_of_indicator(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 1] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      %g = sched.gauge %1 indicator : !sched.val<[n], f32> -> !sched.val<[], f32>
      // expected-error @+1 {{expected a gauge of an exponent, got an indicator}}
      %w = sched.weigh %1 rel %g : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[n], f32>
    }
  }
  return
}

// -----

func.func @gauge_outside(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected to be inside a sched.stream}}
    %g = sched.gauge %1 : !sched.val<[i], f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @into(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected no load of input 0, which result 0 is stored into}}
  %0 = sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 1] order [i] attributes {into = array<i64: 0>} {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    sched.store %1, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return
}

// -----

func.func @places(%x: !gir.tensor<S, f32>, %t: !gir.tensor<V, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>, %b = %t : !gir.tensor<V, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected integer gather indices, got 'f32'}}
    %1 = sched.load %b["#0"] at (%0 : !sched.val<[i], f32>) below ["V"] : !gir.tensor<V, f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @places(%x: !gir.tensor<S, i64>, %t: !gir.tensor<V, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>, %b = %t : !gir.tensor<V, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected 1 limits, one for each place, got 2}}
    %1 = sched.load %b["#0"] at (%0 : !sched.val<[i], i64>) below ["V", "S"] : !gir.tensor<V, f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @places(%x: !gir.tensor<S, i64>, %t: !gir.tensor<V, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>, %b = %t : !gir.tensor<V, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected a gather index below 1 in the index, got '#1'}}
    %1 = sched.load %b["#1"] at (%0 : !sched.val<[i], i64>) below ["V"] : !gir.tensor<V, f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @places(%x: !gir.tensor<S, i64>, %t: !gir.tensor<V, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>, %b = %t : !gir.tensor<V, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected a result over [i], got []}}
    %1 = sched.load %b["#0"] at (%0 : !sched.val<[i], i64>) below ["V"] : !gir.tensor<V, f32> -> !sched.val<[], f32>
  }
  return
}

// -----

func.func @sum(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  %r = sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> (%o : !gir.tensor<S, f32>) dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected scatter indices for a 'sum'}}
    sched.store %0, %o["i"] sum : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// -----

func.func @scan_outside(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [parallel i = S tile 1] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    // expected-error @+1 {{expected to be inside a sched.stream}}
    %g = sched.scan sum(%1) : !sched.val<[i], f32> -> !sched.val<[i], f32>
  }
  return
}

// -----

func.func @scan_loses_stream(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 8] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      // expected-error @+1 {{expected a result over [n], got []}}
      %g = sched.scan sum(%1) : !sched.val<[n], f32> -> !sched.val<[], f32>
    }
  }
  return
}

// -----

func.func @scan_of_no_keys(%x: !gir.tensor<S, i32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i32>) -> () dims [stream n = S tile 8] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, i32> -> !sched.val<[n], i32>
      // expected-error @+1 {{expected a positive number of keys}}
      %g = sched.scan sum(%1) by (%1 : !sched.val<[n], i32>) below 0 : !sched.val<[n], i32> -> !sched.val<[n], i32>
    }
  }
  return
}

// -----

func.func @unordered(%x: !gir.tensor<S, i64>) -> !gir.tensor<S, i64> {
  %r = sched.kernel @k(%a = %x : !gir.tensor<S, i64>) -> (%o : !gir.tensor<S, i64>) dims [parallel i = S tile 1] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected 'unordered' with a sum}}
    sched.store %0, %o["#0"] at (%0 : !sched.val<[i], i64>) below ["S"] unordered : !sched.val<[i], i64>, !gir.tensor<S, i64>
  }
  return %r : !gir.tensor<S, i64>
}

// -----

func.func @sort_outside(%x: !gir.tensor<S, i64>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>) -> () dims [parallel i = S tile 8] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected to be inside a sched.stream}}
    %g = sched.sort %1 : !sched.val<[i], i64>
  }
  return
}

// -----

func.func @sort_of_two(%x: !gir.tensor<S, T, i64>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, T, i64>) -> () dims [stream m = S tile 8, stream n = T tile 8] order [] {
    sched.stream over [m, n] live ["0", "T"] full ["0", "T"] lag 0.0 {
      %1 = sched.load %a["m", "n"] : !gir.tensor<S, T, i64> -> !sched.val<[m, n], i64>
      // expected-error @+1 {{expected a stream over one dimension, got 2}}
      %g = sched.sort %1 : !sched.val<[m, n], i64>
    }
  }
  return
}

// -----

func.func @sort_of_floats(%x: !gir.tensor<S, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, f32>) -> () dims [stream n = S tile 8] order [] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["n"] : !gir.tensor<S, f32> -> !sched.val<[n], f32>
      // expected-error @+1 {{expected integers of type i32 or i64, got 'f32'}}
      %g = sched.sort %1 : !sched.val<[n], f32>
    }
  }
  return
}

// -----

func.func @sort_across(%x: !gir.tensor<S, i64>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>) -> () dims [parallel i = S tile 8, stream n = S tile 8] order [i] {
    sched.stream over [n] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %1 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
      // expected-error @+1 {{expected a value over 'n', got [i]}}
      %g = sched.sort %1 : !sched.val<[i], i64>
    }
  }
  return
}

// -----

func.func @scan_of_two(%x: !gir.tensor<S, T, f32>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, T, f32>) -> () dims [stream m = S tile 8, stream n = T tile 8] order [] {
    sched.stream over [m, n] live ["0", "T"] full ["0", "T"] lag 0.0 {
      %1 = sched.load %a["m", "n"] : !gir.tensor<S, T, f32> -> !sched.val<[m, n], f32>
      // expected-error @+1 {{expected a stream over one dimension, got 2}}
      %g = sched.scan sum(%1) : !sched.val<[m, n], f32> -> !sched.val<[m, n], f32>
    }
  }
  return
}

// -----

func.func @check_of_numbers(%x: !gir.tensor<S, i64>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i64>) -> () dims [parallel i = S tile 8] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    // expected-error @+1 {{expected a condition, got 'i64'}}
    sched.check %1, %1 else <kind = "index", message = "no", sizes = []> : !sched.val<[i], i64>, !sched.val<[i], i64>
  }
  return
}

// -----

func.func @check_tells_bools(%x: !gir.tensor<S, i1>) {
  sched.kernel @k(%a = %x : !gir.tensor<S, i1>) -> () dims [parallel i = S tile 8] order [i] {
    %1 = sched.load %a["i"] : !gir.tensor<S, i1> -> !sched.val<[i], i1>
    // expected-error @+1 {{expected values of i64, got 'i1'}}
    sched.check %1, %1 else <kind = "index", message = "no", sizes = []> : !sched.val<[i], i1>, !sched.val<[i], i1>
  }
  return
}
