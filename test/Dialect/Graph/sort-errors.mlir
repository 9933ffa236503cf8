// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

func.func @f(%x: !gir.tensor<i64>) {
  // expected-error @below {{expected at least one dimension}}
  %0 = gir.sort %x : !gir.tensor<i64>
  return
}

// -----

func.func @f(%x: !gir.tensor<B, f32>) {
  // expected-error @below {{expected integers of type i32 or i64, got 'f32'}}
  %0 = gir.sort %x : !gir.tensor<B, f32>
  return
}
