// The schedule of one function follows the target.
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched=target=sm_90:ptx --sched-select-backend=target=sm_90:ptx --sched-select-schedule=target=sm_90:ptx --sched-limit-work=target=sm_90:ptx --sched-split-streams=target=sm_90:ptx | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched=target=sm_80:ptx --sched-select-backend=target=sm_80:ptx --sched-select-schedule=target=sm_80:ptx --sched-limit-work=target=sm_80:ptx --sched-split-streams=target=sm_80:ptx | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched=target=sm_90 --sched-select-backend=target=sm_90 --sched-select-schedule=target=sm_90 --sched-limit-work=target=sm_90 --sched-split-streams=target=sm_90 | FileCheck %s --check-prefixes=CHECK,EITHER
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=4' --sched-select-backend='target=x86-64-v4 cores=4' --sched-select-schedule='target=x86-64-v4 cores=4' --sched-limit-work='target=x86-64-v4 cores=4' --sched-split-streams='target=x86-64-v4 cores=4' | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=aarch64 cores=4' --sched-select-backend='target=aarch64 cores=4' --sched-select-schedule='target=aarch64 cores=4' --sched-limit-work='target=aarch64 cores=4' --sched-split-streams='target=aarch64 cores=4' | FileCheck %s --check-prefixes=CHECK,NEON
// RUN: not %tessera_opt %s --convert-graph-to-sched=target=z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %tessera_opt %s --convert-graph-to-sched=target=sm_70:tileir 2>&1 | FileCheck %s --check-prefix=OLD

// CHECK-LABEL: func.func @matmul
// HOPPER: dims [parallel i = 4096 tile 128, stream k = 4096 tile 64, parallel i1 = 4096 tile 256] {{.*}} launch <{{.*}}persistent_ctas = 132> tuning <{{.*}}use_tma = 1, wgmma = 1>
// AMPERE: dims [parallel i = 4096 tile 256, stream k = 4096 tile 64, parallel i1 = 4096 tile 128] {{.*}} launch <num_warps = 8> tuning <raster_group = 8, num_stages = 3>
// EITHER: tuning {{.*}} attributes {sched.backend = "ptx", sched.contracts}
// AVX512: dims [parallel i = 4096 tile 512, stream k = 4096 tile 256, parallel i1 = 4096 tile 512] order [i1, i] attributes {sched.contracts} {
// NEON: dims [parallel i = 4096 tile 512, stream k = 4096 tile 512, parallel i1 = 4096 tile 512] order [i1, i] attributes {sched.contracts} {
// UNKNOWN: error: expected a CPU or a GPU with its backend as target, got 'z80'
// OLD: error: expected a CPU or a GPU with its backend as target, got 'sm_70:tileir'
func.func @matmul(%a: !gir.tensor<4096, 4096, bf16> {gir.contiguous}, %b: !gir.tensor<4096, 4096, bf16> {gir.contiguous}) -> !gir.tensor<4096, 4096, bf16> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  return %0 : !gir.tensor<4096, 4096, bf16>
}

// CHECK-LABEL: func.func @softmax
// HOPPER: dims [parallel i = 4096 tile 1, stream i1 = 1024 tile 1024] order [i] launch <num_warps = 1>
// AMPERE: dims [parallel i = 4096 tile 1, stream i1 = 1024 tile 1024] order [i] launch <num_warps = 1>
// EITHER: attributes {sched.backend = "ptx"}
// AVX512: dims [parallel i = 4096 tile 1, stream i1 = 1024 tile 1024] order [i] tuning <cache_stores = 0>
// NEON: dims [parallel i = 4096 tile 1, stream i1 = 1024 tile 1024] order [i] {
func.func @softmax(%x: !gir.tensor<4096, 1024, f32> {gir.contiguous}) -> !gir.tensor<4096, 1024, f32> {
  %0 = gir.softmax %x dim 1 : !gir.tensor<4096, 1024, f32>
  return %0 : !gir.tensor<4096, 1024, f32>
}
