// RUN: not %tessera_opt %s -tile-expand-math=native=softmax 2>&1 | FileCheck %s

// CHECK: expected operations of the scalar vocabulary in 'native', got 'softmax'
func.func @f() {
  return
}
