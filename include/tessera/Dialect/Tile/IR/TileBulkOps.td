//===- TileBulkOps.td - Mbarriers, bulk copies and TMA ------*- tablegen -*-===//
//
// Operations of placed programs for asynchronous copies that one thread starts: `tile.bulk_load` and
// `tile.bulk_store` (cp.async.bulk) for rows, `tile.tma_load` (cp.async.bulk.tensor) for boxes of several dimensions.
// A load completes at a full mbarrier. A stage is released for the next load at an empty mbarrier.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEBULKOPS
#define TESSERA_DIALECT_TILE_IR_TILEBULKOPS

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

def Tile_MbarrierAllocOp : Tile_Op<"mbarrier_alloc", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "allocates and initializes mbarriers in the shared memory of a CTA";
  let description = [{
    A phase of an mbarrier completes when as many arrivals as `arrivals` says (1 by default) and the bytes of their
    transactions have come; then the next phase begins. A full mbarrier counts the loads that complete at it, each of
    which arrives with its bytes; the bytes that other CTAs of a cluster multicast belong to the CTA's own load of the
    same stage. An empty mbarrier counts warps that release a stage by `tile.mbarrier_arrive`.

    One thread initializes the mbarriers; other threads may use them after a `tile.barrier`. They live as long as the
    CTA. `offset` is the address in shared memory, in bytes (`tile-allocate-shared`).

    ```mlir
    %full = tile.mbarrier_alloc offset 1024 : <4>
    %empty = tile.mbarrier_alloc arrivals 8 : <4>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_MbarrierType:$result);
  let assemblyFormat = "(`arrivals` $arrivals^)? (`offset` $offset^)? attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::tessera::tile::MbarrierType":$type, CArg<"int64_t", "1">:$arrivals), [{
    build($_builder, $_state, type, arrivals == 1 ? ::mlir::IntegerAttr() : $_builder.getI64IntegerAttr(arrivals),
          /*offset=*/nullptr);
  }]> ];
}

def Tile_MbarrierWaitOp : Tile_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until a phase of an mbarrier completes";
  let description = [{
    `phase` is the number of phases that completed before the one that is waited for. Only its lowest bit, the parity,
    is compared: the phase before the last one is indistinguishable from the next.

    ```mlir
    tile.mbarrier_wait %full[%stage] phase %iteration : <3>
    ```
  }];
  let arguments = (ins Tile_MbarrierType:$mbarriers, Index:$mbarrier, Index:$phase);
  let assemblyFormat = "$mbarriers `[` $mbarrier `]` `phase` $phase attr-dict `:` type($mbarriers)";
}

def Tile_MbarrierArriveOp : Tile_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread of each warp arrives at an mbarrier";
  let description = [{
    What the warp read before may be overwritten by whoever waits for the phase. Only warps arrive at such an
    mbarrier; `arrivals` of `tile.mbarrier_alloc` is their number. With `cluster`, each warp arrives at the mbarrier
    of this index in every CTA of the cluster.

    ```mlir
    tile.mbarrier_arrive %empty[%stage] : <3>
    tile.mbarrier_arrive cluster %empty[%stage] : <3>
    ```
  }];
  let arguments = (ins Tile_MbarrierType:$mbarriers, Index:$mbarrier, UnitAttr:$cluster);
  let assemblyFormat = "(`cluster` $cluster^)? $mbarriers `[` $mbarrier `]` attr-dict `:` type($mbarriers)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$mbarriers, "::mlir::Value":$mbarrier), [{
    build($_builder, $_state, mbarriers, mbarrier, /*cluster=*/::mlir::UnitAttr());
  }]> ];
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

def Tile_BulkLoadOp : Tile_Op<"bulk_load", [MemoryEffects<[MemRead, MemWrite]>, Tile_AsyncLoadOpInterface]> {
  let summary = "issues a bulk copy of a row of a view into a stage of a buffer";
  let description = [{
    A row is a tile of rank 1 whose elements are contiguous in memory. View, coordinates and `dims` are as in
    `tile.load`. A thread of warp `warp` (0 by default) issues the copy (`cp.async.bulk`), which completes at the
    mbarrier `full`.

    The 16-byte chunks of memory that hold the row's elements are copied as they are. So the row begins in the stage
    as many elements after a multiple of 16 bytes as it does in memory (`tile.misalignment`); a buffer without `slack`
    requires rows that are aligned to 16 bytes. Each CTA of a cluster copies the part of the row that its buffer
    holds.

    With `bounded`, elements outside of the view are not copied. Without it the tile lies inside of the view; that of
    a `tile.aligned_row` may begin before the row, and what lies there is copied too. Memory past the view's last
    element is never read: the issuing thread copies the elements of the view's last chunk one by one.

    ```mlir
    tile.bulk_load %x[%row, %i] dims [1] bounded into %b[%stage] full %full[%stage]
      : !v, <3, tensor<4096xbf16, #memory>, slack 8>, <3>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$stage, Tile_MbarrierType:$full, Index:$fullIndex, UnitAttr:$bounded,
                       OptionalAttr<I64Attr>:$warp);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? `into` $buffer `[` $stage `]`
    `full` $full `[` $fullIndex `]` (`warp` $warp^)? attr-dict `:` type($view) `,` type($buffer) `,` type($full)
  }];
  let builders = [ OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$coords,
      "::llvm::ArrayRef<int64_t>":$dims, "::mlir::Value":$buffer, "::mlir::Value":$stage, "::mlir::Value":$full,
      "::mlir::Value":$fullIndex, "bool":$bounded), [{
    build($_builder, $_state, view, coords, $_builder.getDenseI64ArrayAttr(dims), buffer, stage, full, fullIndex,
          bounded ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), /*warp=*/::mlir::IntegerAttr());
  }]> ];
}

def Tile_TmaLoadOp : Tile_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
    Tile_AsyncLoadOpInterface]> {
  let summary = "issues a TMA copy of a box of a view into a stage of a buffer";
  let description = [{
    A box is a tile of a view of rank 5 at most. View, coordinates and `dims` are as in
    `tile.load`. A thread of warp `warp` (0 by default) issues the copy (`cp.async.bulk.tensor`), which completes at
    the mbarrier `full`. With `bounded`, elements outside of the view are written as zeros; without it the tile lies
    inside of the view.

    Along one of the tile's dimensions elements are contiguous in memory. All other strides are positive multiples of
    16 bytes, and the view's address is one. The stage holds the tile as TMA writes it (swizzledShared of lib/Layout):
    spans of 128, 64, 32 or 16 bytes along the contiguous dimension, one after the other; in a span the other
    dimensions follow in order, the last one fastest. A tile of rank 1 is in order. Where the view's contiguous size is
    a known multiple of the span, one instruction copies all spans. The kernel has the tensor map that describes the
    view as a parameter, which the launch encodes. Each CTA of a cluster copies the part of the tile that its buffer
    holds.

    The stage has the view's element type. The copy of a view of f32 into a stage of tf32 rounds to the nearest tf32.

    With `empty`, the issuing warp waits for a phase of that mbarrier first (as in `tile.mbarrier_wait`), until the
    readers of the stage have released it.

    With `multicast`, the stages of all CTAs of the cluster hold the same tile. Each CTA issues the copy of one of
    equal parts, along the spans or the slowest of the other dimensions, and TMA writes it into the stages of all
    CTAs; the full mbarrier of each CTA counts the bytes of its own stage. So all CTAs issue the load, and none does
    before all have initialized their mbarriers (`tile.cluster_wait`) and released the stage.

    ```mlir
    tile.tma_load %x[%m, %k] dims [0, 1] bounded into %b[%stage] full %full[%stage] warp 1
      : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
    tile.tma_load %x[%m, %k] dims [0, 1] into %b[%stage] full %full[%stage] empty %empty[%stage] phase %iteration
      : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>, !tile.mbarrier<3>
    tile.tma_load %x[%m, %k] dims [0, 1] multicast into %b[%stage] full %full[%stage]
      : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$stage, Tile_MbarrierType:$full, Index:$fullIndex, UnitAttr:$bounded, UnitAttr:$multicast,
                       OptionalAttr<I64Attr>:$warp, Optional<Tile_MbarrierType>:$empty, Optional<Index>:$emptyIndex,
                       Optional<Index>:$emptyPhase);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? (`multicast` $multicast^)? `into` $buffer `[` $stage `]`
    `full` $full `[` $fullIndex `]` (`warp` $warp^)? (`empty` $empty^ `[` $emptyIndex `]` `phase` $emptyPhase)?
    attr-dict `:` type($view) `,` type($buffer) `,` type($full) (`,` type($empty)^)?
  }];
  let builders = [ OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$coords,
      "::llvm::ArrayRef<int64_t>":$dims, "::mlir::Value":$buffer, "::mlir::Value":$stage, "::mlir::Value":$full,
      "::mlir::Value":$fullIndex, "bool":$bounded, CArg<"int64_t", "0">:$warp), [{
    build($_builder, $_state, view, coords, $_builder.getDenseI64ArrayAttr(dims), buffer, stage, full, fullIndex,
          bounded ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), /*multicast=*/::mlir::UnitAttr(),
          warp ? $_builder.getI64IntegerAttr(warp) : ::mlir::IntegerAttr(), /*empty=*/::mlir::Value(),
          /*emptyIndex=*/::mlir::Value(), /*emptyPhase=*/::mlir::Value());
  }]> ];
  let extraClassDeclaration = [{
    /// What one instruction copies. None where TMA cannot write the stage's layout.
    std::optional<::tessera::tile::Box> getBox();
    /// CTAs that issue a part of the tile each: those of the cluster with `multicast`, else 1.
    int64_t getMulticastCtas();
    /// Whether the copy rounds elements of f32 to tf32.
    bool isRounded() { return ::llvm::isa<::mlir::FloatTF32Type>(getBuffer().getType().getTile().getElementType()); }
    /// Whether each of `ctas` CTAs can issue a part of the tile for all.
    bool canMulticast(int64_t ctas);
  }];
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

def Tile_BulkStoreOp : Tile_Op<"bulk_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "issues a bulk copy of a row from a stage of a buffer into a view";
  let description = [{
    The opposite of `tile.bulk_load`: the row, or a CTA's part of it, begins in the stage as many elements after a
    multiple of 16 bytes as in the view. The bulk copy transfers whole 16-byte chunks, lanes of one warp store the
    elements before the first and after the last one. With `bounded`, elements outside of the view are not written.
    What threads wrote into the stage is visible to the copy after their `tile.fence_proxy_async` and a
    `tile.barrier`.

    ```mlir
    tile.bulk_store %b[%stage] to %y[%row, %i] dims [1] bounded : <2, tensor<4096xbf16, #memory>, slack 8>, !v
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, Index:$stage, Tile_ViewType:$view, Variadic<Index>:$coords,
                       DenseI64ArrayAttr:$dims, UnitAttr:$bounded);
  let assemblyFormat = [{
    $buffer `[` $stage `]` `to` $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? attr-dict
    `:` type($buffer) `,` type($view)
  }];
}

def Tile_BulkWaitOp : Tile_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` of the CTA's bulk stores still read their stages";
  let description = [{
    After it and a `tile.barrier` the stages of the other stores may be overwritten. `buffer` is the one that they
    read. No CTA exits before its bulk stores have read their stages.

    ```mlir
    tile.bulk_wait %b, 1 : <2, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, I64Attr:$pending);
  let assemblyFormat = "$buffer `,` custom<PlainInt>($pending) attr-dict `:` type($buffer)";
}

def Tile_FenceProxyAsyncOp : Tile_Op<"fence_proxy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "makes this thread's writes to shared memory visible to the async proxy";
  let description = [{
    The async proxy is what bulk copies, TMA and `tile.wgmma` access shared memory through.

    ```mlir
    tile.fence_proxy_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
