//===- TileBulkOps.td - Rows that are copied as a whole -----*- tablegen -*-===//
//
// Operations of placed programs for copies that one thread begins and the machine makes on its own:
// of a row of memory into shared memory, behind which a gate opens, and back.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEBULKOPS
#define TESSERA_DIALECT_TILE_IR_TILEBULKOPS

def Tile_GatesOp : Tile_Op<"gates", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "gates in the shared memory of a block, all of them closed";
  let description = [{
    A gate (an mbarrier) opens when the bytes of a `tile.fetch` have come, and is ready for the next one then. One thread
    makes the gates; the others may wait at them behind a `tile.barrier`. They last as long as the program; `offset` is as in
    `tile.alloc`.

    ```mlir
    %g = tile.gates offset 1024 : <4>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_GatesType:$result);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::tessera::tile::GatesType":$type), [{
    build($_builder, $_state, type, /*offset=*/nullptr);
  }]> ];
}

def Tile_FetchOp : Tile_Op<"fetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to copy a row of a view into a slot of a buffer";
  let description = [{
    View, coordinates and `dims` as in `tile.load`, of a tile of rank 1 whose elements are neighbours in memory. One thread
    begins the copy, and the machine makes it: the 16-byte pieces of memory that hold the row's elements come as they are, so
    that the row begins in the slot as far behind a multiple of 16 bytes as in memory (`tile.shift`). A buffer without `slack`
    is for rows that begin at such a multiple. Each block of a cluster fetches the part of the row that it has room for. With `bounded`, elements outside the view do not come; without it the tile must lie
    inside. Memory behind the view's last element is not read: of the piece where the view ends, the elements come one by one. The
    gate opens behind the copy, which may be read by whoever has waited there.

    ```mlir
    tile.fetch %x[%row, %i] dims [1] bounded into %b[%slot] opens %g[%i]
      : !v, <3, tensor<4096xbf16, #memory>, slack 8>, <3>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$slot, Tile_GatesType:$gates, Index:$gate, UnitAttr:$bounded);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? `into` $buffer `[` $slot `]` `opens` $gates `[` $gate `]`
    attr-dict `:` type($view) `,` type($buffer) `,` type($gates)
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
