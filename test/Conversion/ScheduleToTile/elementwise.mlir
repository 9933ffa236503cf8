// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// The launch has all address computations: strides, slices, transposes.
// CHECK-LABEL: func.func @scale
// CHECK: %[[OUT:.*]] = tile.empty : <S, f32>
// CHECK: tile.launch @scale_k grid ["ceildiv(S, 1024)"](%arg0, %[[OUT]])
// CHECK-SAME: #tile.operand<offset "0", sizes ["S"], strides ["$0"]>, #tile.operand<offset "0", sizes ["S"], strides ["1"]>
// CHECK-SAME: sizes [] scalars(%arg1 : !gir.tensor<f32>)
// CHECK: return %[[OUT]]

// CHECK-LABEL: tile.kernel @scale_k(
// CHECK-SAME: %x: !tile.view<?xf32, strides = [?]>, %out: !tile.view<?xf32, strides = [1]>, %a: f32) grid 1 {
// CHECK-NEXT: %pid0 = tile.program_id 0
// CHECK-NEXT: %[[X:.*]] = tile.load %x[%pid0] dims [0] pad 0.000000e+00 : f32 : <?xf32, strides = [?]> -> tensor<1024xf32>
// CHECK-NEXT: %[[A:.*]] = tile.splat %a : f32 -> tensor<1024xf32>
// CHECK-NEXT: %[[Y:.*]] = tile.map mul(%[[X]], %[[A]])
// CHECK-NEXT: tile.store %[[Y]], %out[%pid0] dims [0] bounded
// CHECK-NEXT: tile.return
func.func @scale(%x: !gir.tensor<S, f32> {gir.name = "x"}, %a: !gir.tensor<f32> {gir.name = "a", gir.scalar = "float"})
    -> !gir.tensor<S, f32> {
  %r = sched.kernel @scale_k(%X = %x : !gir.tensor<S, f32>, %A = %a : !gir.tensor<f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 1024] order [i] {
    %0 = sched.load %X["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    %1 = sched.load %A[] : !gir.tensor<f32> -> !sched.val<[], f32>
    %2 = sched.map mul(%0, %1) : (!sched.val<[i], f32>, !sched.val<[], f32>) -> !sched.val<[i], f32>
    sched.store %2, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// A size that the tile divides has no edge; the view has the divisor. A row is broadcast at its use.
// CHECK-LABEL: tile.kernel @bias_k(
// CHECK-SAME: %x: !tile.view<?x?xf32, strides = [?, 1], divisors = [64, 32]>
// CHECK-SAME: %b: !tile.view<?xf32, strides = [?], divisors = [32]>
// CHECK: %[[X:.*]] = tile.load %x[%pid1, %pid0] dims [0, 1] : <?x?xf32, strides = [?, 1], divisors = [64, 32]> -> tensor<64x32xf32>
// CHECK: %[[B:.*]] = tile.load %b[%pid0] dims [0] : <?xf32, strides = [?], divisors = [32]> -> tensor<32xf32>
// CHECK: %[[R:.*]] = tile.broadcast %[[B]] dims [1] : tensor<32xf32> -> tensor<64x32xf32>
// CHECK: %[[Y:.*]] = tile.map add(%[[X]], %[[R]])
// CHECK: tile.store %[[Y]], %out[%pid1, %pid0] dims [0, 1] : tensor<64x32xf32>
func.func @bias(%x: !gir.tensor<S, D, f32> {gir.name = "x", gir.unit_stride = 1 : i64},
                %b: !gir.tensor<D, f32> {gir.name = "b"}) -> !gir.tensor<S, D, f32>
    attributes {gir.symbols = {S = {divisor = 64 : i64}, D = {divisor = 32 : i64}}} {
  %r = sched.kernel @bias_k(%X = %x : !gir.tensor<S, D, f32>, %B = %b : !gir.tensor<D, f32>) -> (%o : !gir.tensor<S, D, f32>)
      dims [parallel i = S tile 64, parallel j = D tile 32] order [j, i] {
    %0 = sched.load %X["i", "j"] : !gir.tensor<S, D, f32> -> !sched.val<[i, j], f32>
    %1 = sched.load %B["j"] : !gir.tensor<D, f32> -> !sched.val<[j], f32>
    %2 = sched.map add(%0, %1) : (!sched.val<[i, j], f32>, !sched.val<[j], f32>) -> !sched.val<[i, j], f32>
    sched.store %2, %o["i", "j"] : !sched.val<[i, j], f32>, !gir.tensor<S, D, f32>
  }
  return %r : !gir.tensor<S, D, f32>
}

// Slices, transposes and merged dimensions are strides and offsets; the divisions of a contiguous tensor cancel.
// CHECK-LABEL: func.func @views
// CHECK: #tile.operand<offset "3*$0", sizes ["S", "D"], strides ["2*$0", "$1"]>
// CHECK-SAME: #tile.operand<offset "0", sizes ["S", "D"], strides ["1", "S"]>
// CHECK-SAME: #tile.operand<offset "0", sizes ["D"], strides ["1"]>
func.func @views(%x: !gir.tensor<T, D, f32>, %y: !gir.tensor<D, S, f32> {gir.contiguous},
                 %z: !gir.tensor<A, B, H, f32> {gir.contiguous}) -> !gir.tensor<S, D, f32> {
  %r = sched.kernel @views_k(%X = %x : !gir.tensor<T, D, f32>, %Y = %y : !gir.tensor<D, S, f32>,
                             %Z = %z : !gir.tensor<A, B, H, f32>) -> (%o : !gir.tensor<S, D, f32>)
      dims [parallel i = S tile 1, parallel j = D tile 32] order [j, i] {
    %0 = sched.load %X["2*i + 3", "j"] : !gir.tensor<T, D, f32> -> !sched.val<[i, j], f32>
    %1 = sched.load %Y["j", "i"] : !gir.tensor<D, S, f32> -> !sched.val<[i, j], f32>
    %2 = sched.load %Z["floordiv(j, B*H)", "mod(floordiv(j, H), B)", "mod(j, H)"]
       : !gir.tensor<A, B, H, f32> -> !sched.val<[j], f32>
    %3 = sched.map add(%0, %1) : (!sched.val<[i, j], f32>, !sched.val<[i, j], f32>) -> !sched.val<[i, j], f32>
    %4 = sched.map add(%3, %2) : (!sched.val<[i, j], f32>, !sched.val<[j], f32>) -> !sched.val<[i, j], f32>
    sched.store %4, %o["i", "j"] : !sched.val<[i, j], f32>, !gir.tensor<S, D, f32>
  }
  return %r : !gir.tensor<S, D, f32>
}

// An index past the end of its tensor is padded.
// CHECK-LABEL: func.func @past_the_end
// CHECK: #tile.operand<offset "0", sizes ["min(A, A + B)"], strides ["1"]>
// CHECK: tile.load %{{.*}}[%pid0] dims [0] pad 0.000000e+00 : f32 : <?xf32, strides = [1], divisors = [8]>
func.func @past_the_end(%x: !gir.tensor<A, f32> {gir.contiguous}) -> !gir.tensor<"A + B", f32>
    attributes {gir.symbols = {A = {divisor = 8 : i64}, B = {divisor = 8 : i64}}} {
  %r = sched.kernel @past_k(%X = %x : !gir.tensor<A, f32>) -> (%o : !gir.tensor<"A + B", f32>)
      dims [parallel i = "A + B" tile 8] order [i] {
    %0 = sched.load %X["i"] : !gir.tensor<A, f32> -> !sched.val<[i], f32>
    sched.store %0, %o["i"] : !sched.val<[i], f32>, !gir.tensor<"A + B", f32>
  }
  return %r : !gir.tensor<"A + B", f32>
}

// Index values: scalars are folded into the start of an iota, divisions are elementwise.
// CHECK-LABEL: tile.kernel @index_k(
// CHECK-SAME: %minus_S_plus_T: index
// CHECK: %[[S0:.*]] = arith.muli %pid0, %c64 : index
// CHECK: %[[S1:.*]] = arith.addi %[[S0]], %minus_S_plus_T : index
// CHECK: %[[I:.*]] = tile.iota %[[S1]] : tensor<64xi32>
// CHECK: %[[J0:.*]] = arith.muli %pid1, %c32 : index
// CHECK: %[[J:.*]] = tile.iota %[[J0]] : tensor<32xi32>
// CHECK: tile.map floor_divide(%[[J]], %{{.*}}) : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi32>
// CHECK: tile.map sub(%{{.*}}, %{{.*}}) : (tensor<64x32xi32>, tensor<64x32xi32>) -> tensor<64x32xi32>
func.func @index() -> !gir.tensor<S, T, i32> {
  %r = sched.kernel @index_k() -> (%o : !gir.tensor<S, T, i32>)
      dims [parallel i = S tile 64, parallel j = T tile 32] order [i, j] {
    %0 = sched.index "i + T - S - floordiv(j, 3)" : !sched.val<[i, j], i32>
    sched.store %0, %o["i", "j"] : !sched.val<[i, j], i32>, !gir.tensor<S, T, i32>
  }
  return %r : !gir.tensor<S, T, i32>
}

// A result that is stored into an input has no tensor of its own.
// CHECK-LABEL: func.func @into
// CHECK: %[[FIRST:.*]] = tile.empty : <"M + N", f32>
// CHECK: tile.launch @first_k {{.*}}(%arg0, %[[FIRST]])
// CHECK-NOT: tile.empty
// CHECK: tile.launch @second_k {{.*}}(%arg1, %[[FIRST]])
// CHECK-SAME: #tile.operand<offset "M", sizes ["N"], strides ["1"]>
// CHECK: return %[[FIRST]]
func.func @into(%x: !gir.tensor<M, f32>, %y: !gir.tensor<N, f32>) -> !gir.tensor<"M + N", f32> {
  %0 = sched.kernel @first_k(%X = %x : !gir.tensor<M, f32>) -> (%o : !gir.tensor<"M + N", f32>)
      dims [parallel i = M tile 64] order [i] {
    %2 = sched.load %X["i"] : !gir.tensor<M, f32> -> !sched.val<[i], f32>
    sched.store %2, %o["i"] : !sched.val<[i], f32>, !gir.tensor<"M + N", f32>
  }
  %1 = sched.kernel @second_k(%Y = %y : !gir.tensor<N, f32>, %first = %0 : !gir.tensor<"M + N", f32>)
      -> (%o : !gir.tensor<"M + N", f32>)
      dims [parallel i = N tile 64] order [i] attributes {into = array<i64: 1>} {
    %2 = sched.load %Y["i"] : !gir.tensor<N, f32> -> !sched.val<[i], f32>
    sched.store %2, %o["i + M"] : !sched.val<[i], f32>, !gir.tensor<"M + N", f32>
  }
  return %1 : !gir.tensor<"M + N", f32>
}
