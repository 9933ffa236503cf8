// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

// Operations of a GPU thread.
// CHECK-LABEL: tessera_target.module @threads
tessera_target.module @threads triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // CHECK: tessera_target.kernel @all config #tessera_target.kernel_config<grid = [?, 4], block = [32, 4], shared = 4112, regs = 96, cluster = [2]> {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: !llvm.ptr<1>, %{{.*}}: i64, %[[S:.*]]: f32):
  tessera_target.kernel @all config #tessera_target.kernel_config<grid = [?, 4], block = [32, 4], shared = 4112, regs = 96, cluster = [2]> {
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %scale: f32):
    // CHECK: tessera_target.special_register "tid.x" : i32
    %t = tessera_target.special_register "tid.x" : i32
    // CHECK: tessera_target.special_register "cluster_ctarank" : i32
    %rank = tessera_target.special_register "cluster_ctarank" : i32
    // CHECK: %[[SHARED:.*]] = tessera_target.allocate pool "shared" bytes 4096 align 128 zero : !llvm.ptr<3>
    %s = tessera_target.allocate pool "shared" bytes 4096 align 128 zero : !llvm.ptr<3>
    // CHECK: tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    %s2 = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // CHECK: %[[LOCAL:.*]] = tessera_target.allocate pool "local" bytes 64 : !llvm.ptr<5>
    %l = tessera_target.allocate pool "local" bytes 64 : !llvm.ptr<5>
    // CHECK: tessera_target.memcpy async %[[SHARED]], %[[X]] bytes 16 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.memcpy async %s, %x bytes 16 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK: tessera_target.commit
    tessera_target.commit
    // CHECK: tessera_target.wait 0
    tessera_target.wait 0
    // CHECK: tessera_target.barrier "block"
    tessera_target.barrier "block"
    // CHECK: tessera_target.barrier "cluster"
    tessera_target.barrier "cluster"
    // CHECK: tessera_target.memcpy %[[LOCAL]], %[[SHARED]] bytes 64 : !llvm.ptr<5>, !llvm.ptr<3>
    tessera_target.memcpy %l, %s bytes 64 : !llvm.ptr<5>, !llvm.ptr<3>
    %a = llvm.load %s : !llvm.ptr<3> -> i32
    %c = arith.constant 0.0 : f32
    // CHECK: %[[D:.*]]:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32] (%a, %a, %a, %a) (%a, %a) (%c, %c, %c, %c)
      : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    // CHECK: tessera_target.ptx_instr "ex2.approx.ftz.f32 $0, $1;"(%[[D]]#0) pure : (f32) -> f32
    %e = tessera_target.ptx_instr "ex2.approx.ftz.f32 $0, $1;" (%d#0) pure : (f32) -> f32
    // CHECK: tessera_target.ptx_instr "fence.proxy.async;"() since "sm_90" : () -> ()
    tessera_target.ptx_instr "fence.proxy.async;" () since "sm_90" : () -> ()
    %inside = arith.cmpf olt, %e, %scale : f32
    // CHECK: tessera_target.assert %{{.*}}, "expected a small number"
    tessera_target.assert %inside, "expected a small number"
    // CHECK: tessera_target.breakpoint
    tessera_target.breakpoint
    tessera_target.return
  }
}
