// RUN: %tessera_opt %s -convert-target-to-llvm -split-input-file -verify-diagnostics

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a kernel_config for a GPU, got #tessera_target.range_config<grid_rank = 1, words = 0, scratch_bytes = 0>}}
  tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 0, scratch_bytes = 0> {
  ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.kernel @k config #tessera_target.kernel_config<block = [32]> {
  ^bb0(%x: !llvm.ptr<1>):
    // expected-error @below {{is not part of a kernel for a GPU; expected arith, scf, llvm or tessera_target}}
    %c = gir.constant 1.0 : f32 : !gir.tensor<f32>
    tessera_target.return
  }
}
