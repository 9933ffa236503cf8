// RUN: %tessera_opt %s -split-input-file -verify-diagnostics --gir-differentiate="function=f wrt=0"

// expected-error@+1 {{expected a function named 'f', got none}}
module {
  func.func @g(%x: !gir.tensor<f32>) -> !gir.tensor<f32> {
    return %x : !gir.tensor<f32>
  }
}

// -----

// expected-error@+1 {{expected a float scalar as the first result, got '!gir.tensor<S, f32>'}}
func.func @f(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  return %x : !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected a float tensor as argument 0 in 'wrt', got '!gir.tensor<i64>'}}
func.func @f(%n: !gir.tensor<i64>, %x: !gir.tensor<f32>) -> !gir.tensor<f32> {
  return %x : !gir.tensor<f32>
}

// -----

// expected-error@+1 {{expected an argument below 0 in 'wrt', got 0}}
func.func @f() -> !gir.tensor<f32> {
  %0 = gir.constant 1.0 : f32 : !gir.tensor<f32>
  return %0 : !gir.tensor<f32>
}

// -----

// expected-error@+1 {{expected a result to differentiate, got none}}
func.func @f(%x: !gir.tensor<f32>) {
  return
}
