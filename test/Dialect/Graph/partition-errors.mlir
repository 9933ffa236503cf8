// RUN: %tessera_opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(func.func(gir-partition))'

// expected-error@+1 {{expected part = "forward" or "backward" and the numbers inputs, cotangents and results as gir.joint, got {inputs = 1 : i64, part = "forward"}}}
func.func @counts(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> attributes {gir.joint = {part = "forward", inputs = 1}} {
  return %x : !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected at least 2 arguments and 1 results, got 1 and 1}}
func.func @arguments(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> attributes {gir.joint = {part = "forward", inputs = 1, cotangents = 1, results = 1}} {
  return %x : !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{got those of 0123456789abcdef}}
func.func @digest(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) attributes {gir.joint = {part = "backward", inputs = 1, cotangents = 1, results = 1, saved = "0123456789abcdef:"}} {
  return %x, %g : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected numbers of values as residuals, got '99'}}
func.func @numbers(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) attributes {gir.joint = {part = "backward", inputs = 1, cotangents = 1, results = 1, saved = "7045561472637fbc:99"}} {
  return %x, %g : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected 1 residuals, got 0}}
func.func @count(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) attributes {gir.joint = {part = "backward", inputs = 1, cotangents = 1, results = 1, saved = "7045561472637fbc:0"}} {
  return %x, %g : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected residual 0 of type '!gir.tensor<S, f32>', got '!gir.tensor<S, S, f32>'}}
func.func @type(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>, %r: !gir.tensor<S, S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) attributes {gir.joint = {part = "backward", inputs = 1, cotangents = 1, results = 1, saved = "7045561472637fbc:0"}} {
  return %x, %g : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// -----

// expected-error@+1 {{expected a dictionary as gir.joint, got 1 : i64}}
func.func @attribute(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> attributes {gir.joint = 1} {
  return %x : !gir.tensor<S, f32>
}
