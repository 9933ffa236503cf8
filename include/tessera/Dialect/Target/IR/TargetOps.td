//===- TargetOps.td - The tessera_target dialect ------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TARGET_IR_TARGETOPS
#define TESSERA_DIALECT_TARGET_IR_TARGETOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tessera/Dialect/Graph/IR/GraphBase.td"

def Target_Dialect : Dialect {
  let name = "tessera_target";
  let cppNamespace = "::tessera::target";
  let summary = "host programs as data, and kernels in the code of one target";
  let description = [{
    A `tessera_target.module` is the content of a bundle. For each function of the source it has a
    `tessera_target.program`: sizes, guards, memory and launches as expressions that the runtime interprets. It also has
    the kernels of the launches. The body of a CPU kernel is structured control flow (`scf`) over `llvm` operations on
    vectors of the target's width. The body of a GPU kernel is the code of one thread; or one image holds all kernels.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::tessera::gir::GraphDialect"];
}

def Target_RangeConfigAttr : AttrDef<Target_Dialect, "RangeConfig"> {
  let mnemonic = "range_config";
  let summary = "the configuration of a CPU kernel";
  let description = [{
    `#tessera_target.range_config<grid_rank = 2, words = 14, scratch_bytes = 65536>`: the number of grid dimensions, the
    number of 64-bit argument words, and the bytes of scratch memory per thread.
  }];
  let parameters = (ins "int64_t":$grid_rank, "int64_t":$words, "int64_t":$scratch_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Target_KernelConfigAttr : AttrDef<Target_Dialect, "KernelConfig"> {
  let mnemonic = "kernel_config";
  let summary = "the launch configuration of a GPU kernel";
  let description = [{
    `#tessera_target.kernel_config<grid = [?, 4], block = [16, 8], shared = 4096, regs = 64, cluster = [2]>`: the CTAs of
    the grid (`?`: known at the launch), the threads of a CTA, its bytes of dynamic shared memory, the maximum number of
    registers per thread, and the CTAs of a cluster. Sizes have up to three dimensions; the first varies fastest. The
    defaults are a dynamic grid, one thread (as in CUDA Tile IR), no shared memory, no limit of registers, and no
    cluster.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$grid, OptionalArrayRefParameter<"int64_t">:$block,
                        DefaultValuedParameter<"int64_t", "0">:$shared, DefaultValuedParameter<"int64_t", "0">:$regs,
                        OptionalArrayRefParameter<"int64_t">:$cluster);
  let assemblyFormat = [{
    `<` struct(custom<Sizes>($grid), custom<Sizes>($block), $shared, $regs, custom<Sizes>($cluster)) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The threads of a CTA, and the CTAs of a cluster.
    int64_t getThreads() const;
    int64_t getClusterBlocks() const;
    /// Three sizes each.
    std::array<int64_t, 3> getBlockSizes() const;
    std::array<int64_t, 3> getClusterSizes() const;
  }];
}

def Target_WordAttr : AttrDef<Target_Dialect, "Word"> {
  let mnemonic = "word";
  let summary = "one 64-bit word of a kernel's argument block";
  let description = [{
    `#tessera_target.word<"address", 1, "64*S">` is the address of operand 1 of the launch plus an offset in bytes,
    `#tessera_target.word<"integer", 0, "S">` is an integer, `#tessera_target.word<"scalar", 2, "0">` has the bits of the rank-0
    operand 2. The expressions are over the sizes of the program.
  }];
  let parameters = (ins StringRefParameter<"address, integer or scalar">:$kind, "int64_t":$operand,
                        "::mlir::StringAttr":$expr);
  let assemblyFormat = "`<` $kind `,` $operand `,` $expr `>`";
  let genVerifyDecl = 1;
}

def Target_TensorMapAttr : AttrDef<Target_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "the tensor map of a view for TMA";
  let description = [{
    `#tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 128]>` describes the view whose address, sizes
    and strides are the words 0, 1, … of the launch, with elements of 2 bytes. A copy loads a box of 128 elements along dimension 0 and 64
    along the contiguous dimension 1, swizzled within spans of 128 bytes (16: without a swizzle). With `by 2` a copy loads two such boxes
    that are adjacent along dimension 1. The spans are then one more dimension of the tensor map, and they must divide the size of the
    view. With `, rounded to tf32` after the boxes, copies round elements of f32 to tf32. The launch encodes the tensor map and passes it
    after the words.
  }];
  let parameters = (ins "int64_t":$word, "int64_t":$bytes, "int64_t":$span, "int64_t":$spans,
                        ArrayRefParameter<"int64_t">:$dims, ArrayRefParameter<"int64_t">:$boxes,
                        OptionalParameter<"::mlir::Type">:$rounded);
  let assemblyFormat = [{
    `<` `word` $word `,` `bytes` $bytes `,` `span` $span `by` $spans `,` `dims` `[` $dims `]` `,` `boxes` `[` $boxes `]`
    (`,` `rounded` `to` $rounded^)? `>`
  }];
  let genVerifyDecl = 1;
}

class Target_Op<string mnemonic, list<Trait> traits = []> : Op<Target_Dialect, mnemonic, traits>;

def Target_ModuleOp : Target_Op<"module", [IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments,
                                           SymbolTable, Symbol]> {
  let summary = "programs and kernels for one target";
  let description = [{
    ```mlir
    tessera_target.module @m triple "x86_64-unknown-linux-gnu" cpu "x86-64-v3" features "+avx2,+fma" {
      …
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, StrAttr:$triple, StrAttr:$cpu, StrAttr:$features);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `triple` $triple `cpu` $cpu `features` $features attr-dict-with-keyword $body
  }];
}

def Target_KernelOp : Target_Op<"kernel", [IsolatedFromAbove, Symbol]> {
  let summary = "the code of one kernel";
  let description = [{
    A CPU kernel (`range_config`) runs a range of grid tasks. Its block arguments are the argument words (`!llvm.ptr`), the first
    linear grid index and the end of the range (`i64`), and the environment of the runtime (`!llvm.ptr`: thread index, thread
    count, scratch memory). The first dimension of the grid varies fastest.

    ```mlir
    tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 5, scratch_bytes = 0> {
    ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
      tessera_target.return
    }
    ```

    A GPU kernel (`kernel_config`) is the code of one thread: `arith` and `scf` on scalars, `llvm` for memory, and operations of
    this dialect for GPU instructions. Its block arguments are the words of its launches: addresses are `!llvm.ptr<1>`, the
    others are scalars of up to 64 bits.

    ```mlir
    tessera_target.kernel @k config #tessera_target.kernel_config<grid = [?], block = [128]> {
    ^bb0(%x: !llvm.ptr<1>, %n: i64):
      tessera_target.return
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, AnyAttrOf<[Target_RangeConfigAttr, Target_KernelConfigAttr]>:$config);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `config` $config attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// One of the two is null.
    RangeConfigAttr getRangeConfig() { return ::llvm::dyn_cast<RangeConfigAttr>(getConfig()); }
    KernelConfigAttr getKernelConfig() { return ::llvm::dyn_cast<KernelConfigAttr>(getConfig()); }
    /// Calls `place` with the offset of each shared `allocate`; returns the bytes of all.
    int64_t placeShared(::llvm::function_ref<void(AllocateOp, int64_t)> place);
  }];
}

def Target_ImageOp : Target_Op<"image", [Symbol]> {
  let summary = "compiled kernels";
  let description = [{
    The kernels of a target as one module in another format: `tileir` is CUDA Tile IR bytecode, `ptx` is PTX text. Both are
    assembled to a cubin. `kernels` names the entries, whose parameters are the words of their launches. `configs` has the
    launch configuration of each. `changed` lists, by kernel, the fields of launch and tuning that passes or the assembler
    overwrote, as `tile.changed` does.

    ```mlir
    tessera_target.image @kernels format "tileir" kernels ["double_0"] code dense_resource<kernels> : tensor<812xui8>
    tessera_target.image @more format "ptx" kernels ["half_0"] configs [#tessera_target.kernel_config<block = [128]>]
      changed {half_0 = ["num_warps 4 -> 8: more than 4096 elementwise operations per thread"]}
      code dense_resource<more> : tensor<2034xui8>
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, StrAttr:$format, StrArrayAttr:$kernels,
                       OptionalAttr<TypedArrayAttrBase<Target_KernelConfigAttr, "configurations of kernels">>:$configs,
                       OptionalAttr<DictionaryAttr>:$changed, ElementsAttr:$code);
  let assemblyFormat = [{
    $sym_name `format` $format `kernels` $kernels (`configs` $configs^)? (`changed` $changed^)? `code` $code attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The launch configuration of a kernel, by its number or its name.
    KernelConfigAttr getConfig(size_t kernel);
    KernelConfigAttr getConfig(::llvm::StringRef kernel);
    /// The changed fields of a kernel, and one more.
    ::llvm::SmallVector<::llvm::StringRef> getChanges(::llvm::StringRef kernel);
    void addChange(::llvm::StringRef kernel, ::llvm::StringRef change);
    /// The code; empty if its resource is missing.
    ::llvm::ArrayRef<uint8_t> getBytes();
  }];
}

def Target_ReturnOp : Target_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "end a kernel";
  let assemblyFormat = "attr-dict";
}

def Target_ProgramOp : Target_Op<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments, Symbol]> {
  let summary = "the host program of a call, as data";
  let description = [{
    Arguments, memory and launches in order. Sizes are expressions over names; a name is the size of a dimension, a stride
    (`q.stride.0`) or an integer argument. `tessera_target.guard`s are conditions on them.

    ```mlir
    tessera_target.program @double {
      %x = tessera_target.argument "x" : !gir.tensor<S, f32>
      %y = tessera_target.allocate : !gir.tensor<S, f32>
      tessera_target.launch @k grid ["ceildiv(S, 256)"] (%x, %y) words [#tessera_target.word<"address", 0, "0">]
        : !gir.tensor<S, f32>, !gir.tensor<S, f32>
      tessera_target.result %y : !gir.tensor<S, f32>
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Target_ArgumentOp : Target_Op<"argument", [HasParent<"ProgramOp">]> {
  let summary = "the next argument of the function";
  let description = [{
    A tensor, or with `scalar` a Python number of the given kind (`int`, `float`, `bool`). An `int` is also a size with the
    name of the argument.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$scalar);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$name (`scalar` $scalar^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Target_AllocateOp : Target_Op<"allocate", [MemoryEffects<[MemAlloc]>]> {
  let summary = "allocate memory of a function, of a CTA or of a thread";
  let description = [{
    In a program: row-major device memory for a result of the function or a temporary.

    In a GPU kernel: `bytes` of the pool `shared`, which the CTA shares, or `local`, which belongs to a thread. The shared
    `allocate`s of a kernel are consecutive in the shared memory of its configuration. With `zero` the memory is zeroed;
    all threads of the CTA zero shared memory together, followed by a barrier.

    ```mlir
    %y = tessera_target.allocate : !gir.tensor<S, f32>
    %s = tessera_target.allocate pool "shared" bytes 4096 align 128 zero : !llvm.ptr<3>
    %l = tessera_target.allocate pool "local" bytes 64 : !llvm.ptr<5>
    ```
  }];
  let arguments = (ins DefaultValuedStrAttr<StrAttr, "device">:$pool, DefaultValuedAttr<I64Attr, "0">:$bytes,
                       DefaultValuedAttr<I64Attr, "16">:$alignment, UnitAttr:$zero);
  let results = (outs AnyTypeOf<[Graph_TensorType, LLVM_AnyPointer]>:$result);
  let assemblyFormat = [{
    (`pool` $pool^)? (`bytes` $bytes^)? (`align` $alignment^)? (`zero` $zero^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::tessera::gir::TensorType":$type), [{
    build($_builder, $_state, ::mlir::Type(type), $_builder.getStringAttr("device"), $_builder.getI64IntegerAttr(0),
          $_builder.getI64IntegerAttr(16), ::mlir::UnitAttr());
  }]>];
}

def Target_GuardOp : Target_Op<"guard", [HasParent<"ProgramOp">]> {
  let summary = "a condition on a call";
  let description = [{
    `predicate` compares `lhs` and `rhs` (`eq ne lt le gt ge`, or `multiple`: rhs divides lhs). If an `error` guard fails, the call
    is an error; otherwise it needs another specialization. `{0}` and `{1}` in the message are the two values.

    ```mlir
    tessera_target.guard "K" "eq" "K2" error "x has {0} columns but w has {1} rows"
    ```
  }];
  let arguments = (ins StrAttr:$lhs, StrAttr:$predicate, StrAttr:$rhs, UnitAttr:$error, StrAttr:$message);
  let assemblyFormat = "$lhs $predicate $rhs (`error` $error^)? $message attr-dict";
  let hasVerifier = 1;
}

def Target_LaunchOp : Target_Op<"launch", [HasParent<"ProgramOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "run a kernel over a grid";
  let description = [{
    The sizes of the grid are expressions; the first dimension varies fastest. `work` estimates the time of the launch on one
    core in nanoseconds; `grain` is the smallest number of consecutive grid tasks for a thread. `checks` are the failures that
    the kernel may report by number. `maps` are tensor maps, which follow the words.
  }];
  let arguments = (ins Graph_SymbolRefAttr:$kernel, StrArrayAttr:$grid, Variadic<Graph_TensorType>:$operands,
                       ArrayAttr:$words, OptionalAttr<TypedArrayAttrBase<Target_TensorMapAttr, "tensor maps">>:$maps, OptionalAttr<I64Attr>:$grain, OptionalAttr<StrAttr>:$work,
                       OptionalAttr<TypedArrayAttrBase<Graph_FailureAttr, "failures">>:$checks);
  let assemblyFormat = [{
    $kernel `grid` $grid `(` $operands `)` `words` $words (`maps` $maps^)? (`grain` $grain^)? (`work` $work^)? (`checks` $checks^)? attr-dict
    (`:` type($operands)^)?
  }];
  let hasVerifier = 1;
}

def Target_PrintOp : Target_Op<"print", [HasParent<"ProgramOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "print a tensor of the program after all launches";
  let description = [{
    ```mlir
    tessera_target.print "scores", %s : !gir.tensor<S, T, f32>
    ```
  }];
  let arguments = (ins StrAttr:$label, Graph_TensorType:$value);
  let assemblyFormat = "$label `,` $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Target_ResultOp : Target_Op<"result", [HasParent<"ProgramOp">]> {
  let summary = "the next result of the function";
  let arguments = (ins Graph_TensorType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

include "tessera/Dialect/Target/IR/TargetKernelOps.td"

#endif
