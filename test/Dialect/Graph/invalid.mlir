// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected an element type among f64 f32 bf16 f16 f8E4M3FN f8E5M2 i64 i32 i16 i8 ui8 i1, got 'i7'}}
func.func private @f(!gir.tensor<B, i7>)

// -----

// expected-error @below {{expected sizes of at least 0, got -4}}
func.func private @f(!gir.tensor<-4, f32>)

// -----

// expected-error @below {{expected a size expression, got 'S +'}}
func.func private @f(!gir.tensor<"S +", f32>)

// -----

// expected-error @below {{expected a size or an element type}}
func.func private @f(!gir.tensor<>)

// -----

func.func @f() {
  // expected-error @below {{expected a value of element type 'f32', got 'f64'}}
  %0 = gir.constant 1.0 : f64 : !gir.tensor<B, f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a number, got dense<1.000000e+00>}}
  %0 = gir.constant dense<1.0> : tensor<2xf32> : !gir.tensor<B, f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a size expression, got 'S *'}}
  %0 = gir.size "S *" : !gir.tensor<i64>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a result of element type 'i64', got 'i32'}}
  %0 = gir.size "S" : !gir.tensor<i32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a dimension below 2, got 2}}
  %0 = gir.iota 2 : !gir.tensor<S, T, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected an operation of the scalar vocabulary, got 'frobnicate'}}
  %0 = gir.map frobnicate(%x) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected 2 operands of add, got 1}}
  %0 = gir.map add(%x) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>, %y: !gir.tensor<C, f32>) {
  // expected-error @below {{expected operands of shape [B], got [C]}}
  %0 = gir.map add(%x, %y) : (!gir.tensor<B, f32>, !gir.tensor<C, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>, %y: !gir.tensor<B, f16>) {
  // expected-error @below {{expected operands of element type 'f32', got 'f16'}}
  %0 = gir.map add(%x, %y) : (!gir.tensor<B, f32>, !gir.tensor<B, f16>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, i32>) {
  // expected-error @below {{expected floating point operands of exp, got 'i32'}}
  %0 = gir.map exp(%x) : (!gir.tensor<B, i32>) -> !gir.tensor<B, i32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected integer or bool operands of bitwise_not, got 'f32'}}
  %0 = gir.map bitwise_not(%x) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, i1>) {
  // expected-error @below {{expected numbers as operands of neg, got 'i1'}}
  %0 = gir.map neg(%x) : (!gir.tensor<B, i1>) -> !gir.tensor<B, i1>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected a condition of element type 'i1', got 'f32'}}
  %0 = gir.map where(%x, %x, %x) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected a result of element type 'i1', got 'f32'}}
  %0 = gir.map lt(%x, %x) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected a result of shape [B], got [C]}}
  %0 = gir.cast %x : !gir.tensor<B, f32> -> !gir.tensor<C, f16>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected size 1 or S for result dimension 1, got B}}
  %0 = gir.broadcast %x dims [1] : !gir.tensor<B, f32> -> !gir.tensor<B, S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected strictly increasing dimensions, got 1 before 0}}
  %0 = gir.broadcast %x dims [1, 0] : !gir.tensor<B, S, f32> -> !gir.tensor<S, B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected 2 entries in dims, got 1}}
  %0 = gir.broadcast %x dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  return
}

// -----

func.func @materialize_alignment(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {
  // expected-error @+1 {{expected rows aligned to a power of two, got 24}}
  %0 = gir.materialize %x align_rows 24 : !gir.tensor<B, S, f32>
  return %0 : !gir.tensor<B, S, f32>
}

// -----

func.func @materialize_bits(%x: !gir.tensor<B, S, i1>) -> !gir.tensor<B, S, i1> {
  // expected-error @+1 {{expected rows of whole bytes to align, got '!gir.tensor<B, S, i1>'}}
  %0 = gir.materialize %x align_rows 16 : !gir.tensor<B, S, i1>
  return %0 : !gir.tensor<B, S, i1>
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a permutation, got dimension 1 twice}}
  %0 = gir.transpose %x perm [1, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<S, S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a result of shape [S, B], got [B, S]}}
  %0 = gir.transpose %x perm [1, 0] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a result of B*S elements, got 4*B}}
  %0 = gir.reshape %x : !gir.tensor<B, S, f32> -> !gir.tensor<B, 4, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected non-zero steps, got 0 for dimension 0}}
  %0 = gir.slice %x starts ["0"] steps [0] : !gir.tensor<B, f32> -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected elements inside size B of dimension 0, got 1 to B}}
  %0 = gir.slice %x starts ["1"] steps [1] : !gir.tensor<B, f32> -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected different dimensions of the operand, got 2}}
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, "S - 2", 3, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected positive sizes, steps and dilations for dimension 1}}
  %0 = gir.window %x dims [1] sizes [3] steps [0] dilations [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, "S - 2", 3, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, 4, f32>) {
  // expected-error @below {{expected a window inside size 4 of dimension 1}}
  %0 = gir.window %x dims [1] sizes [3] steps [1] dilations [2] : !gir.tensor<B, 4, f32> -> !gir.tensor<B, 1, 3, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a result of type '!gir.tensor<B, "S - 2", 3, f32>', got '!gir.tensor<B, S, 3, f32>'}}
  %0 = gir.window %x dims [1] sizes [3] steps [1] dilations [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, 3, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected one size, step and dilation for each of 1 dimensions}}
  %0 = gir.window %x dims [1] sizes [3] steps [1, 1] dilations [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, "S - 2", 3, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %y: !gir.tensor<T, f32>) {
  // expected-error @below {{expected a result of shape [S + T], got [2*S]}}
  %0 = gir.concat 0 (%x, %y) : (!gir.tensor<S, f32>, !gir.tensor<T, f32>) -> !gir.tensor<"2*S", f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, B, f32>, %y: !gir.tensor<T, C, f32>) {
  // expected-error @below {{expected an operand of shape [T, B], got [T, C]}}
  %0 = gir.concat 0 (%x, %y) : (!gir.tensor<S, B, f32>, !gir.tensor<T, C, f32>) -> !gir.tensor<"S + T", B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>) {
  // expected-error @below {{expected sum, prod, max, min, any or all, got 'median'}}
  %0 = gir.reduce median %x dims [0] : !gir.tensor<S, f32> -> !gir.tensor<f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>) {
  // expected-error @below {{expected an operand of element type i1 for any, got 'f32'}}
  %0 = gir.reduce any %x dims [0] : !gir.tensor<S, f32> -> !gir.tensor<f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f16>) {
  // expected-error @below {{expected a result of element type 'f16' or 'f32', got 'f64'}}
  %0 = gir.reduce sum %x dims [0] : !gir.tensor<S, f16> -> !gir.tensor<f64>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a result of shape [B], got [S]}}
  %0 = gir.reduce sum %x dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<M, K, f32>, %y: !gir.tensor<J, N, f32>) {
  // expected-error @below {{expected contracted dimensions of one size, got K and J}}
  %0 = gir.contract %x, %y batch [] x [] over [1] x [0] : (!gir.tensor<M, K, f32>, !gir.tensor<J, N, f32>) -> !gir.tensor<M, N, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<M, K, f32>, %y: !gir.tensor<K, N, f32>) {
  // expected-error @below {{expected a result of shape [M, N], got [N, M]}}
  %0 = gir.contract %x, %y batch [] x [] over [1] x [0] : (!gir.tensor<M, K, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<N, M, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<M, K, f32>, %y: !gir.tensor<K, N, f32>) {
  // expected-error @below {{expected 1 contracted dimensions of the right operand, got 0}}
  %0 = gir.contract %x, %y batch [] x [] over [1] x [] : (!gir.tensor<M, K, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<M, N, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, K, f32>, %y: !gir.tensor<B, K, f32>) {
  // expected-error @below {{expected each dimension at most once, got dimension 0 twice}}
  %0 = gir.contract %x, %y batch [0] x [0] over [0] x [0] : (!gir.tensor<B, K, f32>, !gir.tensor<B, K, f32>) -> !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, i32>) {
  // expected-error @below {{expected a floating point element type, got 'i32'}}
  %0 = gir.softmax %x dim 1 : !gir.tensor<B, S, i32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a dimension below 2, got -1}}
  %0 = gir.softmax %x dim -1 : !gir.tensor<B, S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>) {
  // expected-error @below {{expected a rank from 1 to 2, got 3}}
  %0 = gir.layer_norm %x rank 3 eps 1.0e-05 : (!gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, S, f32>, %w: !gir.tensor<B, f32>) {
  // expected-error @below {{expected parameters of shape [S], got [B]}}
  %0 = gir.rms_norm %x rank 1 eps 1.0e-05 scale %w : (!gir.tensor<B, S, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, S, f32>
  return
}

// -----

// expected-error @below {{expected a dimension below 1 as gir.unit_stride, got 1 : i64}}
func.func private @f(!gir.tensor<B, f32> {gir.unit_stride = 1 : i64})

// -----

// expected-error @below {{expected a string as gir.name, got 3 : i64}}
func.func private @f(!gir.tensor<B, f32> {gir.name = 3 : i64})

// -----

// expected-error @below {{expected "int", "float" or "bool" as gir.scalar, got "complex"}}
func.func private @f(!gir.tensor<f32> {gir.scalar = "complex"})

// -----

// expected-error @below {{expected a scalar as argument 0, got '!gir.tensor<B, f32>'}}
func.func private @f(!gir.tensor<B, f32> {gir.scalar = "float"})

// -----

// expected-error @below {{expected integers divisor, hint, min or max about size S, got colour = "red"}}
func.func private @f() attributes {gir.symbols = {S = {colour = "red"}}}

// -----

// expected-error @below {{expected a divisor of at least 1 for size S, got 0}}
func.func private @f() attributes {gir.symbols = {S = {divisor = 0 : i64}}}

// -----

// expected-error @below {{expected an equality of two size expressions, got "S < T"}}
func.func private @f() attributes {gir.guards = ["S < T"]}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected an index of integers, got 'f32'}}
  %0 = gir.gather %x(%i) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, 1, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected an index of shape [S, D], got [S, 1]}}
  %0 = gir.gather %x(%i) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, 1, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected 1 dims, one for each index, got 2}}
  %0 = gir.gather %x(%i) dims [0, 1] rest [] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected 1 dimensions of the result in rest, one for each other dimension, got 0}}
  %0 = gir.gather %x(%i) dims [0] rest [] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected size D of the result's dimension 0, got S}}
  %0 = gir.gather %x(%i) dims [0] rest [0] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected a dimension below 2, got 2}}
  %0 = gir.gather %x(%i) dims [2] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<0, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected elements along dimension 0 to read, got none}}
  %0 = gir.gather %x(%i) dims [0] rest [1] : (!gir.tensor<0, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f64>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32> {
  // expected-error @below {{expected a result of element type 'f64', got 'f32'}}
  %0 = gir.gather %x(%i) dims [0] rest [1] : (!gir.tensor<V, D, f64>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %0 : !gir.tensor<S, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32> {
  // expected-error @below {{expected a dimension below 2, got 2}}
  %0 = gir.scatter_add %x, %s(%i) dim 2 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f64>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32> {
  // expected-error @below {{expected sources of element type 'f32', got 'f64'}}
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f64>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, f32>, %i: !gir.tensor<S, i64>) -> !gir.tensor<V, D, f32> {
  // expected-error @below {{expected 2 dimensions of the sources, got 1}}
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, D, f32>) -> !gir.tensor<V, D, f32> {
  // expected-error @below {{expected indices of integers, got 'f32'}}
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, 1, i64>) -> !gir.tensor<V, D, f32> {
  // expected-error @below {{expected indices of shape [S, D], got [S, 1]}}
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, 1, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// -----

func.func @f(%x: !gir.tensor<V, D, i1>, %s: !gir.tensor<S, D, i1>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, i1> {
  // expected-error @below {{expected numbers to add, got i1}}
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, i1>, !gir.tensor<S, D, i1>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, i1>
  return %0 : !gir.tensor<V, D, i1>
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected sum, prod, max, min, any or all, got 'mean'}}
  %0 = gir.scan mean %x dim 0 : !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected an operand of bools for any, got 'f32'}}
  %0 = gir.scan any %x dim 0 : !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, i1>) {
  // expected-error @below {{expected an operand of numbers for sum, got 'i1'}}
  %0 = gir.scan sum %x dim 0 : !gir.tensor<B, i1>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{dimension}}
  %0 = gir.scan sum %x dim 1 : !gir.tensor<B, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, i32>) {
  // expected-error @below {{expected operands of type i64 of philox, got 'i32'}}
  %0 = gir.map philox(%x, %x, %x) : (!gir.tensor<B, i32>, !gir.tensor<B, i32>, !gir.tensor<B, i32>) -> !gir.tensor<B, i32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %i: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a condition of i1, got 'f32'}}
  gir.check %x, %i else <kind = "index", message = "no", sizes = []> : !gir.tensor<S, f32>, !gir.tensor<S, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, i32>) {
  // expected-error @below {{expected floating point operands of order_key, got 'i32'}}
  %0 = gir.map order_key(%x) : (!gir.tensor<B, i32>) -> !gir.tensor<B, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, i1>, %i: !gir.tensor<S, i32>) {
  // expected-error @below {{expected values of i64, got 'i32'}}
  gir.check %x, %i else <kind = "index", message = "no", sizes = []> : !gir.tensor<S, i1>, !gir.tensor<S, i32>
  return
}

// -----

func.func @f(%s: !gir.tensor<S, f32>, %i: !gir.tensor<S, i64>) {
  // expected-error @below {{expected at most 1 batch dimensions, got 2}}
  %0 = gir.scatter %s(%i) batch 2 : (!gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, i1>, %i: !gir.tensor<T, i64>) {
  // expected-error @below {{expected values of shape [S], got [T]}}
  gir.check %x, %i else <kind = "index", message = "no", sizes = []> : !gir.tensor<S, i1>, !gir.tensor<T, i64>
  return
}

// -----

func.func @f(%s: !gir.tensor<B, S, f32>, %i: !gir.tensor<B, S, i64>) {
  // expected-error @below {{expected batch dimensions of shape [B], got [S]}}
  %0 = gir.scatter %s(%i) batch 1 : (!gir.tensor<B, S, f32>, !gir.tensor<B, S, i64>) -> !gir.tensor<S, S, f32>
  return
}

// -----

// expected-error @below {{expected a failure of kind index or assertion, got "size"}}
func.func private @f() attributes {x = #gir.failure<kind = "size", message = "no", sizes = []>}

// -----

// expected-error @below {{expected size expressions for the message, got "S +"}}
func.func private @f() attributes {x = #gir.failure<kind = "index", message = "no", sizes = ["S +"]>}

// -----

func.func @f(%s: !gir.tensor<S, f32>, %i: !gir.tensor<S, f32>) {
  // expected-error @below {{expected indices of integers, got 'f32'}}
  %0 = gir.scatter %s(%i) batch 0 : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<f32>) {
  // expected-error @below {{expected at least one dimension}}
  %0 = gir.argsort %x : !gir.tensor<f32> -> !gir.tensor<i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>) {
  // expected-error @below {{expected keys of integers, got 'f32'}}
  %0 = gir.scan sum %x dim 0 by (%x : !gir.tensor<S, f32>) below 4 : !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %k: !gir.tensor<T, i32>) {
  // expected-error @below {{expected keys of shape [S], got [T]}}
  %0 = gir.scan sum %x dim 0 by (%k : !gir.tensor<T, i32>) below 4 : !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %k: !gir.tensor<S, i32>) {
  // expected-error @below {{expected a positive number of keys}}
  %0 = gir.scan sum %x dim 0 by (%k : !gir.tensor<S, i32>) below 0 : !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>) {
  // expected-error @below {{expected a result of shape [16], got [8]}}
  %0 = gir.argsort %x first 16 : !gir.tensor<S, f32> -> !gir.tensor<8, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a floating point element type, got 'i64'}}
  %0 = gir.vjp of(%n) cotangents(%n) wrt(%x)
     : (!gir.tensor<S, i64>, !gir.tensor<S, i64>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %g: !gir.tensor<f32>) {
  // expected-error @below {{expected a cotangent of type '!gir.tensor<S, f32>', got '!gir.tensor<f32>'}}
  %0 = gir.vjp of(%x) cotangents(%g) wrt(%x)
     : (!gir.tensor<S, f32>, !gir.tensor<f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) {
  // expected-error @below {{expected a gradient of type '!gir.tensor<S, f32>', got '!gir.tensor<f32>'}}
  %0 = gir.vjp of(%x) cotangents(%g) wrt(%x)
     : (!gir.tensor<S, f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a result of type '!gir.tensor<S, f32>', got '!gir.tensor<S, i64>'}}
  %0 = gir.custom_vjp (%x) of(%x) {
  ^bb0(%g: !gir.tensor<S, f32>):
    gir.yield %g : !gir.tensor<S, f32>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a floating point element type, got 'i64'}}
  %0 = gir.custom_vjp (%x) of(%n) {
  ^bb0(%g: !gir.tensor<S, f32>):
    gir.yield %n : !gir.tensor<S, i64>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected 1 arguments of the region, got 0}}
  %0 = gir.custom_vjp (%x) of(%x) {
    gir.yield %x : !gir.tensor<S, f32>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a cotangent of type '!gir.tensor<S, f32>', got '!gir.tensor<f32>'}}
  %0 = gir.custom_vjp (%x) of(%x) {
  ^bb0(%g: !gir.tensor<f32>):
    gir.yield %x : !gir.tensor<S, f32>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected 1 gradients, got 0}}
  %0 = gir.custom_vjp (%x) of(%x) {
  ^bb0(%g: !gir.tensor<S, f32>):
    gir.yield
  } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a gradient of type '!gir.tensor<S, f32>', got '!gir.tensor<S, i64>'}}
  %0 = gir.custom_vjp (%x) of(%x) {
  ^bb0(%g: !gir.tensor<S, f32>):
    gir.yield %n : !gir.tensor<S, i64>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a result of type '!gir.tensor<S, f32>', got '!gir.tensor<S, i64>'}}
  %0 = gir.checkpoint nothing (%x) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected the policy nothing, everything, contractions or names, got some}}
  %0 = gir.checkpoint some (%x) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected names with the policy names}}
  %0 = gir.checkpoint names (%x) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected no names with this policy}}
  %0 = gir.checkpoint nothing ["a"] (%x) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) {
  // expected-error @below {{expected a name, got an empty string}}
  %0 = gir.checkpoint_name %x "" : !gir.tensor<S, f32>
  return
}
