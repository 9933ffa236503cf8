// Each thread scales one number; blocks of 128 threads take what they share from shared memory.
tessera_target.module @scale triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @scale {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    %a = tessera_target.argument "a" scalar "float" : !gir.tensor<f32>
    %y = tessera_target.allocate : !gir.tensor<S, f32>
    tessera_target.launch @kernel grid ["ceildiv(S, 128)"] (%x, %a, %y)
      words [#tessera_target.word<"address", 0, "0">, #tessera_target.word<"scalar", 1, "0">,
             #tessera_target.word<"address", 2, "0">, #tessera_target.word<"integer", 0, "S">]
      : !gir.tensor<S, f32>, !gir.tensor<f32>, !gir.tensor<S, f32>
    tessera_target.result %y : !gir.tensor<S, f32>
  }
  tessera_target.kernel @kernel config #tessera_target.kernel_config<grid = [?], block = [64, 2], shared = 512, regs = 32> {
  ^bb0(%x: !llvm.ptr<1>, %a: f32, %y: !llvm.ptr<1>, %n: i64):
    %row = tessera_target.special_register "tid.y" : i32
    %column = tessera_target.special_register "tid.x" : i32
    %block = tessera_target.special_register "ctaid.x" : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %base = arith.muli %row, %c64 : i32
    %thread = arith.addi %base, %column : i32
    %first = arith.muli %block, %c128 : i32
    %place = arith.addi %first, %thread : i32
    %i = arith.extui %place : i32 to i64
    %inside = arith.cmpi slt, %i, %n : i64
    %shared = tessera_target.allocate pool "shared" bytes 512 : !llvm.ptr<3>
    %slot = llvm.getelementptr %shared[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    scf.if %inside {
      %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      tessera_target.memcpy async %slot, %from bytes 4 : !llvm.ptr<3>, !llvm.ptr<1>
    }
    tessera_target.commit
    tessera_target.wait 0
    tessera_target.barrier "block"
    scf.if %inside {
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %finite = arith.cmpf ord, %v, %v : f32
      tessera_target.assert %finite, "expected a number"
      %scaled = tessera_target.ptx_instr "mul.rn.f32 $0, $1, $2;" (%v, %a) pure : (f32, f32) -> f32
      %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %scaled, %to : f32, !llvm.ptr<1>
    }
    tessera_target.return
  }
}
