// A line that does not match its kernel is reported, and the kernel is unchanged.

// RUN: tessera explain %s --target sm_90 | sed -n "s/^  table   //p" > %t.signature
// RUN: echo "tessera tuning 2 sm_90" > %t.txt
// RUN: sed "s/$/ tileir 64x64 - 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=COUNT,KEPT
// COUNT: warning: line 2: expected 1 tiles, got 2

// RUN: sed "s/$/ tileir 96 - 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=POWER,KEPT
// POWER: warning: line 3: expected powers of two up to 262144 as tiles, got 96

// RUN: sed "s/$/ tileir 1048576 - 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=LARGE,KEPT
// LARGE: warning: line 4: expected powers of two up to 262144 as tiles, got 1048576

// RUN: sed "s/$/ tileir 64 wraps=4 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=FIELD,KEPT
// FIELD: warning: line 5: there is no field 'wraps' of launch or tuning

// RUN: sed "s/$/ tileir 64 num_warps=64 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=VALUE,KEPT
// VALUE: warning: line 6: expected num_warps from 1 to 32, got 64

// RUN: sed "s/$/ tileir 64 cluster_axis=1 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=AXIS,KEPT
// AXIS: warning: line 7: expected cluster_size beside cluster_axis

// A line that cannot be parsed is reported as well, and so is another chip's table.
// RUN: echo "rubbish" >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=RUBBISH,KEPT
// RUBBISH: warning: line 8: expected a kernel's signature of 16 hexadecimal digits, got 'rubbish'
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_100 -sched-apply-tuning="table=%t.txt" 2>&1 | FileCheck %s --check-prefixes=CHIP,KEPT
// CHIP: warning: line 1: expected 'tessera tuning 2 sm_100', got 'tessera tuning 2 sm_90'

// KEPT: dims [parallel i = S tile 1024] order [i] {
func.func @negate(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  %r = sched.kernel @negate_0(%in = %x : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>)
      dims [parallel i = S tile 1024] order [i] {
    %0 = sched.load %in["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
    %1 = sched.map neg(%0) : (!sched.val<[i], f32>) -> !sched.val<[i], f32>
    sched.store %1, %out["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}
