//===- TargetKernelOps.td - Operations of a GPU thread ------*- tablegen -*-===//
//
// The operations of kernels with a `kernel_config` that `arith`, `scf` and `llvm` lack.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TARGET_IR_TARGETKERNELOPS
#define TESSERA_DIALECT_TARGET_IR_TARGETKERNELOPS

/// An operation of one thread, in a kernel for a GPU.
class Target_ThreadOp<string mnemonic, list<Trait> traits = []> : Target_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Target_SpecialRegisterOp : Target_ThreadOp<"special_register", [Pure]> {
  let summary = "read a special register";
  let description = [{
    The name is that of PTX without its `%`: `tid.x ntid.x ctaid.x nctaid.x` (also `.y`, `.z`), `laneid`, `warpid`, `smid`, `clock`
    and the lane masks as i32, `clock64` and `globaltimer` as i64; with clusters also `clusterid.x`, `nclusterid.x`,
    `cluster_ctaid.x`, `cluster_nctaid.x` and `cluster_ctarank`.

    ```mlir
    %t = tessera_target.special_register "tid.x" : i32
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Target_MemcpyOp : Target_ThreadOp<"memcpy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copy bytes by one thread";
  let description = [{
    Copies between global (`!llvm.ptr<1>`), shared (`<3>`) and local memory (`<5>`). Both addresses are multiples of `align`, which is
    the largest size of an access.

    With `async` (`cp.async`) 4, 8 or 16 bytes are copied from global to shared memory. This thread sees them after
    `tessera_target.wait`, other threads after a barrier that follows it.

    ```mlir
    tessera_target.memcpy %to, %from bytes 64 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    tessera_target.memcpy async %to, %from bytes 16 align 16 : !llvm.ptr<3>, !llvm.ptr<1>
    ```
  }];
  let arguments = (ins UnitAttr:$async, LLVM_AnyPointer:$destination, LLVM_AnyPointer:$source, I64Attr:$bytes,
                       DefaultValuedAttr<I64Attr, "4">:$alignment);
  let assemblyFormat = [{
    (`async` $async^)? $destination `,` $source `bytes` $bytes (`align` $alignment^)? attr-dict `:`
    qualified(type($destination)) `,` qualified(type($source))
  }];
}

def Target_CommitOp : Target_ThreadOp<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "commit the asynchronous copies of the thread as a group";
  let description = [{
    ```mlir
    tessera_target.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Target_WaitOp : Target_ThreadOp<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups of the thread are in flight";
  let description = [{
    ```mlir
    tessera_target.wait 0
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Target_BarrierOp : Target_ThreadOp<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "synchronize threads and their memory accesses";
  let description = [{
    The scope is `warp`, `block` (the CTA) or `cluster`.

    ```mlir
    tessera_target.barrier "block"
    ```
  }];
  let arguments = (ins StrAttr:$scope);
  let assemblyFormat = "$scope attr-dict";
}

def Target_TensorCoreOp : Target_ThreadOp<"tensor_core", [Pure, AttrSizedOperandSegments]> {
  let summary = "warp-level MMA";
  let description = [{
    `d = a * b + c` by PTX's `mma.sync` (`kind` is `mma`), with the shape [m, n, k] and the types of a, b and the accumulators. Operands are the
    registers of one thread in the fragment layout of PTX: i32 with several elements each for a and b (f64 for f64), f32, i32 or f64 for the
    accumulators; f16 accumulators are pairs in i32. `i8` is signed, `ui8` is unsigned. `docs/chips.md` lists the shapes and types of each chip.

    ```mlir
    %d:4 = tessera_target.tensor_core "mma" shape [16, 8, 16] types [bf16, bf16, f32] (%a, %a, %a, %a) (%b, %b) (%c, %c, %c, %c)
      : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    ```
  }];
  let arguments = (ins StrAttr:$kind, DenseI64ArrayAttr:$shape, TypeArrayAttr:$types,
                       DefaultValuedStrAttr<StrAttr, "row.col">:$layout, Variadic<AnyType>:$a, Variadic<AnyType>:$b, Variadic<AnyType>:$c);
  let results = (outs Variadic<AnyType>:$d);
  let assemblyFormat = [{
    $kind `shape` $shape `types` $types (`layout` $layout^)? `(` $a `)` `(` $b `)` `(` $c `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// The entry of the table for this shape and these types, one of the module's chip if there are several; null: none.
    const ::tessera::TensorCoreShape *findShape();
    /// PTX's name of the type of a (0), b (1) or the accumulators (2).
    ::llvm::StringRef getTypeName(unsigned which);
  }];
}

def Target_PtxInstrOp : Target_ThreadOp<"ptx_instr", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "inline PTX";
  let description = [{
    `$0`, `$1`, … are the results and then the operands; their types define the registers. A `pure` instruction has no effect but its
    results, so that it may be moved, merged or erased. `since` is the first chip that has the instruction.

    ```mlir
    %r = tessera_target.ptx_instr "ex2.approx.ftz.f32 $0, $1;" (%x) pure : (f32) -> f32
    tessera_target.ptx_instr "fence.proxy.async;" () since "sm_90" : () -> ()
    ```
  }];
  let arguments = (ins StrAttr:$text, Variadic<AnyType>:$inputs, UnitAttr:$pure, OptionalAttr<StrAttr>:$since);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $text `(` $inputs `)` (`pure` $pure^)? (`since` $since^)? attr-dict `:` functional-type($inputs, $outputs)
  }];
}

def Target_AssertOp : Target_ThreadOp<"assert", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "abort the launch if a condition does not hold";
  let description = [{
    As `assert` of CUDA C++: the driver reports the message, the source location, the CTA and the thread, and the launch fails with
    CUDA_ERROR_ASSERT.

    ```mlir
    tessera_target.assert %inside, "expected an index inside"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Target_BreakpointOp : Target_ThreadOp<"breakpoint", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stop the thread in a debugger";
  let description = [{
    Without a debugger the launch fails.

    ```mlir
    tessera_target.breakpoint
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
