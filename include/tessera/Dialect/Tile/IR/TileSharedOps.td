//===- TileSharedOps.td - Shared memory, cp.async, clusters -*- tablegen -*-===//
//
// Operations of placed programs on the shared memory of a CTA and of the other CTAs of its cluster.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILESHAREDOPS
#define TESSERA_DIALECT_TILE_IR_TILESHAREDOPS

//===----------------------------------------------------------------------===//
// Placed programs: shared memory
//===----------------------------------------------------------------------===//

def Tile_SliceOp : Tile_PureOp<"slice"> {
  let summary = "a slice of a tile at static offsets";
  let description = [{
    Each offset in `at` is a multiple of the result's size in that dimension. With layouts, no element moves: the
    thread that holds an element of the result holds it in the input.

    ```mlir
    %1 = tile.slice %0 at [0, 64] : tensor<128x256xbf16, #sums> -> tensor<128x64xbf16, #part>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, DenseI64ArrayAttr:$at);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input `at` $at attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The input's element that is element `element` of the result, both packed.
    uint64_t getInputElement(uint64_t element);
  }];
}

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "allocates a buffer in the shared memory of a CTA";
  let description = [{
    The buffer is live from its first access to its last one, in each iteration of the loop that contains the
    operation. `offset` is its address in bytes (`tile-allocate-shared`); buffers whose live ranges do not overlap may
    share memory.

    With `dsmem` the buffer is distributed shared memory: other CTAs of the cluster store into it
    (`tile.dsmem_store`). It is live as long as the CTA, at the same address in each CTA, and an mbarrier per stage
    after it counts the bytes that arrive.

    ```mlir
    %b = tile.alloc offset 1024 : <3, tensor<64x64xbf16, #layout>>
    %m = tile.alloc dsmem offset 0 : <1, tensor<4xf32, #layout>>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, UnitAttr:$dsmem);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "(`dsmem` $dsmem^)? (`offset` $offset^)? attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::tessera::tile::BufferType":$type, CArg<"bool", "false">:$dsmem)> ];
  let extraClassDeclaration = [{
    /// Bytes of the mbarrier of a dsmem stage.
    static constexpr int64_t kSignal = 8;
    /// Bytes from a dsmem's first stage to its mbarriers.
    int64_t getSignals() { return (getType().getAllBytes() + kSignal - 1) / kSignal * kSignal; }
    /// Bytes of the stages and their mbarriers.
    int64_t getAllBytes() {
      return getDsmem() ? getSignals() + getType().getStages() * kSignal : getType().getAllBytes();
    }
  }];
}

def Tile_SharedStoreOp : Tile_Op<"shared_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores a tile from registers into a stage of a buffer";
  let description = [{
    Each thread stores the elements that it holds; the two layouts decide by which instructions (planStore of
    lib/Layout). Of threads that hold the same element, the one whose free bits of the layout are zero stores it.
    Other threads may read the tile after a `tile.barrier`. With `shift`, a tile of rank 1 begins that many elements
    after the stage does, at most the buffer's slack; it is stored element by element then.

    ```mlir
    tile.shared_store %x, %b[%stage] : tensor<64x64xbf16, #rows>, <1, tensor<64x64xbf16, #memory>>
    tile.shared_store %x, %b[%stage] shift %s : tensor<4096xbf16, #rows>, <1, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_BufferType:$buffer, Index:$stage, Optional<Index>:$shift);
  let assemblyFormat = [{
    $value `,` $buffer `[` $stage `]` (`shift` $shift^)? attr-dict `:` type($value) `,` type($buffer)
  }];
  let builders = [ OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer, "::mlir::Value":$stage), [{
    build($_builder, $_state, value, buffer, stage, /*shift=*/::mlir::Value());
  }]> ];
}

def Tile_SharedLoadOp : Tile_Op<"shared_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "loads a tile from a stage of a buffer into registers";
  let description = [{
    Each thread loads the elements that the result's layout gives it; the two layouts decide by which instructions
    (planLoad of lib/Layout). A result that is smaller than the stage's tile is a slice of it; each offset in `at` is
    a multiple of the result's size in that dimension. `shift` is as in `tile.shared_store`. Of a tile of rank 1,
    elements before `from` and from `below` on are not loaded: they are `pad`. With `transposed`, the result is the
    transpose of a whole tile.

    ```mlir
    %a = tile.shared_load %b[%stage] : <3, tensor<64x64xbf16, #memory>> -> tensor<64x64xbf16, #fragments>
    %t = tile.shared_load %b[%stage] transposed : <3, tensor<64x128xbf16, #memory>> -> tensor<128x64xbf16, #fragments>
    %a2 = tile.shared_load %b[%stage] at [0, 32] : <3, tensor<64x64xbf16, #memory>> -> tensor<64x16xbf16, #fragments>
    %r = tile.shared_load %c[%stage] shift %s below %n pad 0.0 : bf16
       : <1, tensor<4096xbf16, #memory>, slack 8> -> tensor<4096xbf16, #rows>
    %f = tile.shared_load %d[%stage] from %s below %n pad 0.0 : bf16
       : <1, tensor<4096xbf16, #memory>> -> tensor<4096xbf16, #rows>
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, Index:$stage, Optional<Index>:$shift, Optional<Index>:$from,
                       Optional<Index>:$below, OptionalAttr<DenseI64ArrayAttr>:$at, OptionalAttr<TypedAttrInterface>:$pad,
                       UnitAttr:$transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $buffer `[` $stage `]` (`transposed` $transposed^)? (`at` $at^)? (`shift` $shift^)? (`from` $from^)?
    (`below` $below^)? (`pad` $pad^)? attr-dict
    `:` type($buffer) `->` type($result)
  }];
  let builders = [ OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$buffer, "::mlir::Value":$stage,
                                  CArg<"::mlir::DenseI64ArrayAttr", "nullptr">:$at), [{
    build($_builder, $_state, type, buffer, stage, /*shift=*/::mlir::Value(), /*from=*/::mlir::Value(),
          /*below=*/::mlir::Value(), at, /*pad=*/nullptr, /*transposed=*/false);
  }]> ];
  let extraClassDeclaration = [{
    /// The result's layout as a map to elements of the stage's tile, relative to the slice's first element.
    ::tessera::Layout getElementLayout();
    /// The buffer, seen as the result is.
    ::tessera::tile::BufferType getSource();
    /// The slice's first element in the stage's tile, packed: others differ from it by added bits.
    uint64_t getFirstElement();
  }];
}

def Tile_MmaSharedOp : Tile_Op<"mma_shared", [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs · rhs of operands in shared memory, without tensor cores";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N; both operands are row-major in shared memory. Each thread
    computes the elements of the result that it holds, in the accumulator's type and in the order of K; it loads the
    rows of `lhs` and the columns of `rhs` for that.

    ```mlir
    %1 = tile.mma_shared %a[%c0], %b[%c0], %0
       : <1, tensor<16x16xf64, #rows>>, <1, tensor<16x16xf64, #rows>>, tensor<16x16xf64, #layout>
    ```
  }];
  let arguments = (ins Tile_BufferType:$lhs, Index:$lhsStage, Tile_BufferType:$rhs, Index:$rhsStage, Tile_TileType:$acc);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs `[` $lhsStage `]` `,` $rhs `[` $rhsStage `]` `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
}

def Tile_CpAsyncOp : Tile_Op<"cp_async", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "issues asynchronous copies (cp.async) of a tile of a view into a stage of a buffer";
  let description = [{
    View, coordinates and `dims` are as in `tile.load`. With `bounded`, elements outside of the view are written as
    zeros; without it the tile lies inside. If the condition is false, nothing is read and all elements are zeros.
    Each thread copies the elements that the layout `via` gives it. `tile.cp_async_commit` closes a group of copies,
    and `tile.cp_async_wait` waits for groups. After a wait and a `tile.barrier` all threads can read the tile.

    ```mlir
    tile.cp_async %x[%m, %k] dims [0, 1] bounded into %b[%stage] via #rows : !v, <3, tensor<64x64xbf16, #layout>>
    tile.cp_async %x[%m, %k] dims [0, 1] if %exists into %b[%stage] via #rows : !v, <3, tensor<64x64xbf16, #layout>>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$stage, Optional<I1>:$condition, Tile_LayoutAttr:$via, UnitAttr:$bounded);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? (`if` $condition^)? `into` $buffer `[` $stage `]` `via` $via
    attr-dict `:` type($view) `,` type($buffer)
  }];
}

def Tile_CpAsyncCommitOp : Tile_Op<"cp_async_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "closes a group of asynchronous copies";
  let description = [{
    The group consists of this thread's `tile.cp_async` since the last commit.

    ```mlir
    tile.cp_async_commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CpAsyncWaitOp : Tile_Op<"cp_async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` of this thread's groups of asynchronous copies are in flight";
  let description = [{
    Groups complete in the order in which they were committed.

    ```mlir
    tile.cp_async_wait 1
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "custom<PlainInt>($pending) attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all threads of the CTA, or of the warp, arrive";
  let description = [{
    What the threads wrote before the barrier is visible to all of them after it.

    ```mlir
    tile.barrier
    tile.barrier warp
    ```
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "(`warp` $warp^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Placed programs: clusters and distributed shared memory
//===----------------------------------------------------------------------===//

def Tile_ClusterArriveOp : Tile_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrives at the cluster's barrier, with dsmem and mbarriers initialized";
  let description = [{
    Initializes the mbarriers of the `dsmem` buffers first. Each CTA arrives once: before any other operation on
    dsmem, and after the allocation of mbarriers that other CTAs of the cluster signal. `tile.cluster_wait` waits
    until all CTAs have arrived.

    ```mlir
    tile.cluster_arrive dsmem %m : !tile.buffer<1, tensor<4xf32, #layout>>
    tile.cluster_arrive
    ```
  }];
  let arguments = (ins Variadic<Tile_BufferType>:$dsmem);
  let assemblyFormat = "(`dsmem` $dsmem^ `:` type($dsmem))? attr-dict";
}

def Tile_ClusterWaitOp : Tile_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all CTAs of the cluster have arrived at its barrier";
  let description = [{
    After it this CTA may store into the dsmem of the others and signal their mbarriers.

    ```mlir
    tile.cluster_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_DsmemStoreOp : Tile_Op<"dsmem_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stores a tile asynchronously (st.async) into the dsmem of the cluster's CTAs";
  let description = [{
    Each CTA stores the elements that it holds; of threads that hold the same element one stores it. The elements go
    to all CTAs, or, where the buffer's layout divides the tile among CTAs, to the one that holds them. They arrive by
    the next `tile.dsmem_wait`.

    The CTAs together store every element of the buffer once per iteration. The first store of a thread belongs to its
    first `tile.dsmem_wait` and `tile.dsmem_load`, the second one to the second, and so on; iterations use the stages
    in turn. With two stages a CTA can store for the next iteration while others still load: it has waited for data
    that they stored after they had loaded the stage that it uses next.

    ```mlir
    tile.dsmem_store %x, %m : tensor<4xf32, #parts>, <1, tensor<4xf32, #memory>>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_BufferType:$dsmem);
  let assemblyFormat = "$value `,` $dsmem attr-dict `:` type($value) `,` type($dsmem)";
}

def Tile_DsmemWaitOp : Tile_Op<"dsmem_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all stores of an iteration have arrived in this CTA's dsmem";
  let description = [{
    ```mlir
    tile.dsmem_wait %m : <1, tensor<4xf32, #memory>>
    ```
  }];
  let arguments = (ins Tile_BufferType:$dsmem);
  let assemblyFormat = "$dsmem attr-dict `:` type($dsmem)";
}

def Tile_DsmemLoadOp : Tile_Op<"dsmem_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "loads the tile that an iteration stored into this CTA's dsmem, and ends the iteration";
  let description = [{
    A `tile.dsmem_wait` comes first.

    ```mlir
    tile.dsmem_wait %m : <1, tensor<4xf32, #memory>>
    %y = tile.dsmem_load %m : <1, tensor<4xf32, #memory>> -> tensor<4xf32, #registers>
    ```
  }];
  let arguments = (ins Tile_BufferType:$dsmem);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$dsmem attr-dict `:` type($dsmem) `->` type($result)";
}

#endif
