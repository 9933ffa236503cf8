// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected up to 3 sizes of a block, got 4}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [1, 1, 1, 32]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected positive sizes of a block, got ?}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [?]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected positive sizes of a cluster, got 0}}
  tessera_target.kernel @k config #tessera_target.kernel_config<cluster = [0]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected at most 65535 CTAs in this dimension of a grid, got 65536}}
  tessera_target.kernel @k config #tessera_target.kernel_config<grid = [?, 65536]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a block of 1 to 1024 threads, got 2048}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [64, 32]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected at most 64 threads in a block's third dimension, got 128}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [1, 1, 128]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected at most 255 registers of a thread, got 256}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], regs = 256> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a cluster of 1 to 16 CTAs, got 32}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], cluster = [8, 4]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a grid that is a multiple of its cluster, got 3 CTAs in clusters of 2}}
  tessera_target.kernel @k config #tessera_target.kernel_config<grid = [3], block = [32], cluster = [2]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_80" features "ptx" {
  // expected-error @below {{kernel 'k' requests 166913 bytes of shared memory, a CTA of sm_80 has 166912}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 166913> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_80" features "ptx" {
  // expected-error @below {{kernel 'k' requests a cluster of 2 CTAs, sm_80 has none}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], cluster = [2]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_120" features "ptx" {
  // expected-error @below {{kernel 'k' requests a cluster of 16 CTAs, sm_120 has at most 8}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], cluster = [16]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{kernel 'k' requests 128 registers in each of 1024 threads, an SM of sm_90 has 65536}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [1024], regs = 128> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "x86-64-v3" features "ptx" {
  // expected-error @below {{expected a module for one of sm_70, sm_75}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected arguments that are !llvm.ptr<1> or scalars of up to 64 bits, got '!llvm.ptr<3>'}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<3>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{allocates 1040 bytes of shared memory, but its configuration has 1024}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %a = tessera_target.allocate pool "shared" bytes 1024 : !llvm.ptr<3>
    %b = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected the pool 'shared' or 'local' in a kernel, got 'managed'}}
    %a = tessera_target.allocate pool "managed" bytes 16 : !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected !llvm.ptr<3> for memory of the pool 'shared', got '!llvm.ptr<1>'}}
    %a = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected 1 to 524288 bytes, got 0}}
    %a = tessera_target.allocate pool "local" : !llvm.ptr<5>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected an alignment that is a power of two up to 1024, got 24}}
    %a = tessera_target.allocate pool "local" bytes 16 align 24 : !llvm.ptr<5>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %c = arith.constant true
    scf.if %c {
    // expected-error @below {{expected zeroed shared memory outside of control flow, where all threads execute it}}
      %a = tessera_target.allocate pool "shared" bytes 16 zero : !llvm.ptr<3>
    }
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // expected-error @below {{expected an alignment that is a power of two up to 16, got 32}}
    tessera_target.memcpy %s, %x bytes 16 align 32 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // expected-error @below {{expected an asynchronous copy to !llvm.ptr<3> from !llvm.ptr<1>, got to '!llvm.ptr<1>' from '!llvm.ptr<3>'}}
    tessera_target.memcpy async %x, %s bytes 16 align 16 : !llvm.ptr<1>, !llvm.ptr<3>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // expected-error @below {{expected an asynchronous copy of 4, 8 or 16 bytes, got 32}}
    tessera_target.memcpy async %s, %x bytes 32 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // expected-error @below {{expected addresses that are multiples of 16 for an asynchronous copy, got an alignment of 4}}
    tessera_target.memcpy async %s, %x bytes 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_75" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
    // expected-error @below {{an asynchronous copy needs 'cp.async' (sm_80 and later), but the module is for sm_75}}
    tessera_target.memcpy async %s, %x bytes 4 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_70" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{a group of asynchronous copies needs 'cp.async' (sm_80 and later), but the module is for sm_70}}
    tessera_target.commit
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected a non-negative number of groups, got -1}}
    tessera_target.wait -1
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected the scope 'warp', 'block' or 'cluster', got 'grid'}}
    tessera_target.barrier "grid"
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_89" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{a barrier of a cluster needs 'clusters' (sm_90 and later), but the module is for sm_89}}
    tessera_target.barrier "cluster"
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected a special register such as tid.x, ctaid.x, laneid or clock64, got 'tid.w'}}
    %t = tessera_target.special_register "tid.w" : i32
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected i64 for 'clock64', got 'i32'}}
    %t = tessera_target.special_register "clock64" : i32
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_86" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{'clusterid.x' needs 'clusters' (sm_90 and later), but the module is for sm_86}}
    %t = tessera_target.special_register "clusterid.x" : i32
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected the kind 'mma', got 'wgmma'; other instructions of tensor cores are written as ptx_instr}}
    %d:4 = tessera_target.tensor_core "wgmma" shape [16, 8, 16] types [bf16, bf16, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected 3 sizes and 3 types, got 2 and 3}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8] types [bf16, bf16, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected a shape that mma.sync has, got [16, 8, 32] of types}}
    // expected-note @below {{for these types it has m16n8k8, m16n8k16}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 32] types [bf16, bf16, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_75" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{m16n8k16 of bf16 needs 'mma bf16' (sm_80 and later), but the module is for sm_75}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_70" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{m16n8k8 of f16 needs 'mma fp16 m16n8k8' (sm_75 and later), but the module is for sm_70}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 8] types [f16, f16, f32] (%i, %i) (%i) (%f, %f, %f, %f) : (i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_86" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{m16n8k32 of e4m3 needs 'mma fp8' (sm_89 and later), but the module is for sm_86}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 32] types [f8E4M3FN, f8E5M2, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_103" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{m16n8k32 of e2m1 needs 'mma fp6 fp4' (sm_120 and later), but the module is for sm_103}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 32] types [f4E2M1FN, f8E5M2, f32] (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected the layout 'row.col', got 'col.row'}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32] layout "col.row" (%i, %i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected 4 registers as a, got 3}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32] (%i, %i, %i) (%i, %i) (%f, %f, %f, %f) : (i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected 'i32' as a, got 'f32'}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 8] types [tf32, tf32, f32] (%f, %f, %f, %f) (%f, %f) (%f, %f, %f, %f) : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected 'f32' as c, got 'i32'}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [f16, f16, f32] (%i, %i, %i, %i) (%i, %i) (%i, %i, %i, %i) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    // expected-error @below {{expected 2 registers as c, got 4}}
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [f16, f16, f16] (%i, %i, %i, %i) (%i, %i) (%i, %i, %i, %i) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i8
    // expected-error @below {{expected values of 1, 16, 32 or 64 bits or pointers, got 'i8'}}
    tessera_target.ptx_instr "x $0;" (%i) : (i8) -> ()
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    %i = arith.constant 0 : i32
    // expected-error @below {{refers to $2, but has 2 results and operands}}
    %r = tessera_target.ptx_instr "add.s32 $0, $1, $2;" (%i) : (i32) -> i32
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected results of a pure instruction, got none}}
    tessera_target.ptx_instr "membar.gl;" () pure : () -> ()
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{expected one of sm_70, sm_75}}
    tessera_target.ptx_instr "membar.gl;" () since "sm_42" : () -> ()
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_80" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32], shared = 1024> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{needs sm_90, but the module is for sm_80}}
    tessera_target.ptx_instr "fence.proxy.async;" () since "sm_90" : () -> ()
    tessera_target.return
  }
}

// -----

// expected-error @below {{expected a kernel with a kernel_config around it}}
tessera_target.barrier "block"

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @p {
    // expected-error @below {{expected a tensor of the pool 'device' in a program, got '!llvm.ptr<3>' of 'shared'}}
    %s = tessera_target.allocate pool "shared" bytes 16 : !llvm.ptr<3>
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @p {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // expected-error @below {{has a grid of rank 2, but kernel k has rank 1}}
    tessera_target.launch @k grid ["S", "4"] (%x) words [#tessera_target.word<"address", 0, "0">] : !gir.tensor<S, f32>
  }
  tessera_target.kernel @k config #tessera_target.kernel_config<grid = [?], block = [32]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @p {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // expected-error @below {{has a grid of '5' where kernel k has 4}}
    tessera_target.launch @k grid ["5"] (%x) words [#tessera_target.word<"address", 0, "0">] : !gir.tensor<S, f32>
  }
  tessera_target.kernel @k config #tessera_target.kernel_config<grid = [4], block = [32]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @p {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // expected-error @below {{passes 0 words, but kernel k takes 1}}
    tessera_target.launch @k grid ["4"] (%x) words [] : !gir.tensor<S, f32>
  }
  tessera_target.kernel @k config #tessera_target.kernel_config<grid = [4], block = [32]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a block of 1 to 1024 threads, got 9223372036854775807}}
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [4294967296, 4294967296]> {
  ^bb0(%x: !llvm.ptr<1>):
    tessera_target.return
  }
}
