//===- TargetKernelOps.td - What a thread of a GPU does -----*- tablegen -*-===//
//
// The operations of kernels with a `kernel_config`: those that `arith`, `scf` and `llvm` have no word for.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TARGET_IR_TARGETKERNELOPS
#define TESSERA_DIALECT_TARGET_IR_TARGETKERNELOPS

/// An operation of a thread: it stands in a kernel for a GPU.
class Target_ThreadOp<string mnemonic, list<Trait> traits = []> : Target_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Target_SpecialRegisterOp : Target_ThreadOp<"special_register", [Pure]> {
  let summary = "what a thread knows of its place and its time";
  let description = [{
    A special register of PTX without its `%`: `tid.x ntid.x ctaid.x nctaid.x` (also `.y`, `.z`), `laneid`, `warpid`, `smid`, `clock`
    and the masks of lanes as i32, `clock64` and `globaltimer` as i64; with clusters also `clusterid.x`, `nclusterid.x`,
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
  let summary = "a thread copies bytes";
  let description = [{
    From global (`!llvm.ptr<1>`), shared (`<3>`) or local memory (`<5>`) to any of these. Both addresses are multiples of `align`, by
    which the copy is cut into accesses.

    With `async` the bytes go from global to shared memory past the registers, 4, 8 or 16 of them: they are there for this
    thread after `tessera_target.wait`, for others after a barrier behind that.

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
  let summary = "what a thread copied asynchronously since the last commit is a group";
  let description = [{
    ```mlir
    tessera_target.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Target_WaitOp : Target_ThreadOp<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most so many of the thread's latest groups are under way";
  let description = [{
    ```mlir
    tessera_target.wait 0
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Target_BarrierOp : Target_ThreadOp<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "threads wait for each other, and see what the others stored";
  let description = [{
    All threads of a `warp`, of a `block`, or of a `cluster` of blocks.

    ```mlir
    tessera_target.barrier "block"
    ```
  }];
  let arguments = (ins StrAttr:$scope);
  let assemblyFormat = "$scope attr-dict";
}

def Target_TensorCoreOp : Target_ThreadOp<"tensor_core", [Pure, AttrSizedOperandSegments]> {
  let summary = "a product of matrices that the threads of a warp hold together";
  let description = [{
    `d = a * b + c` by PTX's `mma.sync` (`kind` is `mma`), with the shape [m, n, k] and the types of a, b and the sums. Operands are the
    registers of one thread as PTX lays them out: i32 with several elements each for a and b (f64 for f64), f32, i32 or f64 for the sums; sums of f16
    are pairs in i32. `i8` is signed, `ui8` is not. `include/tessera/Support/TensorCores.h` has the shapes and types of each chip.

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
    /// What the module's chip has of this shape and these types; null where there is none.
    const ::tessera::TensorCoreShape *findShape();
    /// PTX's name of the type of a (0), b (1) or the sums (2).
    ::llvm::StringRef getTypeName(unsigned which);
  }];
}

def Target_PtxInstrOp : Target_ThreadOp<"ptx_instr", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "instructions of PTX as they are written";
  let description = [{
    `$0`, `$1`, … stand for the results and then the operands; their registers follow from their types. `pure` says that nothing but the results is
    made, so that it may be moved, joined or left out. `since` is the first chip that has the instruction.

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
  let summary = "ends the launch where a condition does not hold";
  let description = [{
    As `assert` of CUDA C++: the thread that fails tells the driver the message, the place in the source, its block and itself; the
    launch ends with CUDA_ERROR_ASSERT.

    ```mlir
    tessera_target.assert %inside, "expected an index inside"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Target_BreakpointOp : Target_ThreadOp<"breakpoint", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "hands the thread to a debugger";
  let description = [{
    Without one the launch ends with an error.

    ```mlir
    tessera_target.breakpoint
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
