// RUN: %tessera_opt %s -convert-target-to-llvm | FileCheck %s

// One external array is the shared memory of all kernels; messages are device constants.
// CHECK-DAG: llvm.mlir.global internal constant @tessera_text_{{[0-9]}}("expected an even number\00") {addr_space = 1 : i32
// CHECK-DAG: llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
// CHECK-DAG: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // The configuration becomes attributes of the function; words become 64-bit parameters.
  // CHECK-LABEL: llvm.func ptx_kernelcc @words(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
  // CHECK-SAME: ["nvvm.reqntid", "64,2,1"], ["nvvm.maxnreg", "40"], ["nvvm.cluster_dim", "2,1,1"]
  tessera_target.kernel @words config #tessera_target.kernel_config<block = [64, 2], regs = 40, cluster = [2]> {
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %f: f32, %flag: i1):
    // CHECK: %[[X:.*]] = llvm.inttoptr %arg0 : i64 to !llvm.ptr<1>
    // CHECK: %[[BITS:.*]] = llvm.trunc %arg2 : i64 to i32
    // CHECK: %[[F:.*]] = llvm.bitcast %[[BITS]] : i32 to f32
    // CHECK: llvm.trunc %arg3 : i64 to i1
    // CHECK: llvm.store %[[F]], %[[X]] : f32, !llvm.ptr<1>
    llvm.store %f, %x : f32, !llvm.ptr<1>
    tessera_target.return
  }

  // CHECK-LABEL: llvm.func ptx_kernelcc @memory
  tessera_target.kernel @memory config #tessera_target.kernel_config<block = [32, 4], shared = 1152> {
  ^bb0(%x: !llvm.ptr<1>):
    // Local memory is allocated in the entry block.
    // CHECK: llvm.alloca %{{.*}} x i8 {alignment = 8 : i64}
    // CHECK: llvm.mlir.addressof @shared_memory : !llvm.ptr<3>
    %a = tessera_target.allocate pool "shared" bytes 1020 : !llvm.ptr<3>
    // The next buffer is aligned; the threads of the CTA zero it together.
    // CHECK: %[[START:.*]] = llvm.mlir.constant(1024 : i32) : i32
    // CHECK: %[[B:.*]] = llvm.getelementptr %{{.*}}[%[[START]]]
    // CHECK: "llvm.nvvm.read.ptx.sreg.tid.x"
    // CHECK: "llvm.nvvm.read.ptx.sreg.tid.y"
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<3>
    // CHECK: "llvm.nvvm.barrier.cta.sync.aligned.all"
    %b = tessera_target.allocate pool "shared" bytes 128 align 128 zero : !llvm.ptr<3>
    // CHECK: llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<5>
    %l = tessera_target.allocate pool "local" bytes 24 align 8 : !llvm.ptr<5>
    // Few accesses are unrolled; the tail has smaller ones.
    // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> i64
    // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    // CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    tessera_target.memcpy %l, %x bytes 13 align 8 : !llvm.ptr<5>, !llvm.ptr<1>
    // Many are a loop.
    // CHECK: llvm.cond_br
    // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    // CHECK: llvm.br
    tessera_target.memcpy %a, %x bytes 1020 : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK: "llvm.nvvm.cp.async.cg.shared.global.16"(%[[B]],
    tessera_target.memcpy async %b, %x bytes 16 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK: "llvm.nvvm.cp.async.commit.group"
    tessera_target.commit
    // CHECK: %[[PENDING:.*]] = llvm.mlir.constant(1 : i32) : i32
    // CHECK: "llvm.nvvm.cp.async.wait.group"(%[[PENDING]])
    tessera_target.wait 1
    // CHECK: "llvm.nvvm.bar.warp.sync"
    tessera_target.barrier "warp"
    // CHECK: "llvm.nvvm.barrier.cluster.arrive.aligned"
    // CHECK: "llvm.nvvm.barrier.cluster.wait.aligned"
    tessera_target.barrier "cluster"
    tessera_target.return
  }

  // CHECK-LABEL: llvm.func ptx_kernelcc @instructions
  tessera_target.kernel @instructions config #tessera_target.kernel_config<block = [32]> {
  ^bb0(%x: !llvm.ptr<1>, %w: i32, %h: bf16):
    // CHECK: "llvm.nvvm.read.ptx.sreg.lanemask.lt"
    %mask = tessera_target.special_register "lanemask_lt" : i32
    // CHECK: llvm.inline_asm "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};", "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r"
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 32] types [i8, ui8, i32] (%w, %w, %w, %w) (%w, %w) (%w, %w, %w, %w)
      : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
    // 16-bit floats are passed as their bits.
    // CHECK: %[[H:.*]] = llvm.bitcast %{{.*}} : bf16 to i16
    // CHECK: llvm.inline_asm has_side_effects "st.global.b16 [$0], $1;", "l,h,~{memory}" %{{.*}}, %[[H]]
    tessera_target.ptx_instr "st.global.b16 [$0], $1;" (%x, %h) : (!llvm.ptr<1>, bf16) -> ()
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %odd = arith.andi %d#3, %one : i32
    %even = arith.cmpi eq, %odd, %zero : i32
    // The line is that of this operation.
    // CHECK: %[[LINE:.*]] = llvm.mlir.constant([[#@LINE + 2]] : i32) : i32
    // CHECK: llvm.call @__assertfail(%{{.*}}, %{{.*}}, %[[LINE]],
    tessera_target.assert %even, "expected an even number"
    // CHECK: llvm.inline_asm has_side_effects "brkpt;", "~{memory}"
    tessera_target.breakpoint
    tessera_target.return
  }
}
