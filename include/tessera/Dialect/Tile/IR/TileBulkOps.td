//===- TileBulkOps.td - Rows that are copied as a whole -----*- tablegen -*-===//
//
// Operations of placed programs for copies that one thread begins and the machine makes on its own:
// of a row of memory, or a box of it, into shared memory, behind which a gate opens, and of a row back.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEBULKOPS
#define TESSERA_DIALECT_TILE_IR_TILEBULKOPS

def Tile_GatesOp : Tile_Op<"gates", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "gates in the shared memory of a block, all of them closed";
  let description = [{
    A gate (an mbarrier) opens when the bytes of as many `tile.fetch`es as `arrivals` says, or of one, have come, or when as many
    warps have told it by `tile.arrive`, and is ready for the next ones then. What other blocks of a cluster bring (`shared`) belongs to
    the block's own fetch of that slot. One thread
    makes the gates; the others may wait at them behind a `tile.barrier`. They last as long as the program; `offset` is as in
    `tile.alloc`.

    ```mlir
    %g = tile.gates offset 1024 : <4>
    %h = tile.gates arrivals 2 : <3>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_GatesType:$result);
  let assemblyFormat = "(`arrivals` $arrivals^)? (`offset` $offset^)? attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::tessera::tile::GatesType":$type, CArg<"int64_t", "1">:$arrivals), [{
    build($_builder, $_state, type, arrivals == 1 ? ::mlir::IntegerAttr() : $_builder.getI64IntegerAttr(arrivals), /*offset=*/nullptr);
  }]> ];
}

def Tile_FetchOp : Tile_Op<"fetch", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "begins to copy a row or a box of a view into a slot of a buffer";
  let description = [{
    View, coordinates and `dims` as in `tile.load`. A row is a tile of rank 1 whose elements are neighbours in memory. One thread
    begins the copy, and the machine makes it: the 16-byte pieces of memory that hold the row's elements come as they are, so
    that the row begins in the slot as far behind a multiple of 16 bytes as in memory (`tile.shift`). A buffer without `slack`
    is for rows that begin at such a multiple. Each block of a cluster fetches the part of the row that it has room for. With `bounded`, elements outside the view do not come; without it the tile must lie
    inside, or, of a `tile.row`, end inside, and what is in front of the row comes along. Memory behind the view's last element is not read: of the piece where the view ends, the elements come one by one. The
    gate opens behind the copy, which may be read by whoever has waited there.

    A box is a tile of two dimensions or more, of a view of at most five. Along one of the tile's dimensions elements are neighbours in
    memory; all other strides and the view's address are multiples of 16 bytes, and none is negative. With `bounded`, elements outside the view come
    as zeros. The slot holds the tile as the machine's tensor copies write it (swizzledShared of lib/Layout): it is cut into
    boxes of 128, 64, 32 or 16 bytes along these neighbours, one after the other, in which the other dimensions follow in order, the
    last one fastest. Each block of a cluster fetches the part of the tile that it has room for. Where the view's size along them is known to be a multiple of these bytes, all boxes are one copy. What describes the view to the machine is a parameter of the kernel of its own, which the launch makes.

    With `shared`, of a slot that all blocks of a cluster have alike, each block asks for one of equal parts, along the spans or the slowest of the
    other dimensions, and the machine brings it into the slots of all; each block's gate counts what comes into its own. So all blocks fetch the
    tile, and none does before all have made their gates (`tile.meet`) and have left the slot.

    The thread that begins the copy is one of warp `by`, or of the first warp. With `after`, this warp waits at another gate before, as in
    `tile.await`: until others have left the slot.

    ```mlir
    tile.fetch %x[%row, %i] dims [1] bounded into %b[%slot] opens %g[%i]
      : !v, <3, tensor<4096xbf16, #memory>, slack 8>, <3>
    tile.fetch %x[%m, %k] dims [0, 1] bounded into %b[%slot] opens %g[%slot] by 1
      : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
    tile.fetch %x[%m, %k] dims [0, 1] into %b[%slot] opens %g[%slot] after %left[%slot] phase %turn
      : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>, !tile.gates<3>
    tile.fetch %x[%m, %k] dims [0, 1] shared into %b[%slot] opens %g[%slot] : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$slot, Tile_GatesType:$gates, Index:$gate, UnitAttr:$bounded, UnitAttr:$shared, OptionalAttr<I64Attr>:$by,
                       Optional<Tile_GatesType>:$left, Optional<Index>:$leftGate, Optional<Index>:$leftPhase);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? (`shared` $shared^)? `into` $buffer `[` $slot `]` `opens` $gates `[` $gate `]`
    (`by` $by^)? (`after` $left^ `[` $leftGate `]` `phase` $leftPhase)? attr-dict
    `:` type($view) `,` type($buffer) `,` type($gates) (`,` type($left)^)?
  }];
  let builders = [ OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$coords, "::llvm::ArrayRef<int64_t>":$dims,
      "::mlir::Value":$buffer, "::mlir::Value":$slot, "::mlir::Value":$gates, "::mlir::Value":$gate, "bool":$bounded,
      CArg<"int64_t", "0">:$by), [{
    build($_builder, $_state, view, coords, $_builder.getDenseI64ArrayAttr(dims), buffer, slot, gates, gate,
          bounded ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), /*shared=*/::mlir::UnitAttr(), by ? $_builder.getI64IntegerAttr(by) : ::mlir::IntegerAttr(),
          /*left=*/::mlir::Value(), /*leftGate=*/::mlir::Value(), /*leftPhase=*/::mlir::Value());
  }]> ];
  let extraClassDeclaration = [{
    bool isBox() { return getBuffer().getType().getTile().getRank() > 1; }
    /// Of a box: what a tensor copy moves at once. None where the slot's layout is not one that such copies write.
    std::optional<::tessera::tile::Box> getBox();
    /// The blocks of the cluster; 1: each fetches for itself.
    int64_t getSharers();
    /// Whether each of so many blocks can fetch a part of the box for all.
    bool canShare(int64_t blocks);
  }];
}

def Tile_AwaitOp : Tile_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until a gate has opened";
  let description = [{
    `phase` says how often the gate has opened before, of which the lowest bit counts: the time before the last one is not told
    apart from the next.

    ```mlir
    tile.await %g[%slot] phase %turn : <3>
    ```
  }];
  let arguments = (ins Tile_GatesType:$gates, Index:$gate, Index:$phase);
  let assemblyFormat = "$gates `[` $gate `]` `phase` $phase attr-dict `:` type($gates)";
}

def Tile_ArriveOp : Tile_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "each warp tells a gate that it has come so far";
  let description = [{
    What the warp has read before may be written by whoever waits at the gate. The gate counts arrivals of warps alone, of as many as
    `arrivals` of the gates says. With `cluster` it tells the gate of that number in each block of the cluster.

    ```mlir
    tile.arrive %left[%slot] : <3>
    tile.arrive cluster %left[%slot] : <3>
    ```
  }];
  let arguments = (ins Tile_GatesType:$gates, Index:$gate, UnitAttr:$cluster);
  let assemblyFormat = "(`cluster` $cluster^)? $gates `[` $gate `]` attr-dict `:` type($gates)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$gates, "::mlir::Value":$gate), [{
    build($_builder, $_state, gates, gate, /*cluster=*/::mlir::UnitAttr());
  }]> ];
}

def Tile_SendOp : Tile_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to copy a row from a slot of a buffer into a view";
  let description = [{
    The opposite of `tile.fetch`: the row, or a block's part of it, begins in the slot as far behind a multiple of 16 bytes as in the view. Whole
    16-byte pieces of memory are copied by the machine, what is left at the ends by a few threads. What others have written
    into the slot is seen behind their `tile.fence` and a `tile.barrier`.

    ```mlir
    tile.send %b[%slot] to %y[%row, %i] dims [1] bounded : <2, tensor<4096xbf16, #memory>, slack 8>, !v
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, Index:$slot, Tile_ViewType:$view, Variadic<Index>:$coords,
                       DenseI64ArrayAttr:$dims, UnitAttr:$bounded);
  let assemblyFormat = [{
    $buffer `[` $slot `]` `to` $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? attr-dict
    `:` type($buffer) `,` type($view)
  }];
}

def Tile_SentOp : Tile_Op<"sent", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most so many of the block's sends still read their slots";
  let description = [{
    Behind it and a `tile.barrier` the slots of the others may be written again. The buffer is the one that is sent; no block
    ends before its sends have read theirs.

    ```mlir
    tile.sent %b, 1 : <2, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, I64Attr:$pending);
  let assemblyFormat = "$buffer `,` custom<PlainInt>($pending) attr-dict `:` type($buffer)";
}

def Tile_FenceOp : Tile_Op<"fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets copies of rows see what this thread has written into shared memory";
  let assemblyFormat = "attr-dict";
}

#endif
