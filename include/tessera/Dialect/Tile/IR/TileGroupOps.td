//===- TileGroupOps.td - Products of four warps together ----*- tablegen -*-===//
//
// Operations of placed programs for products that groups of four warps begin and tensor cores make on their own, while
// the warps go on.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEGROUPOPS
#define TESSERA_DIALECT_TILE_IR_TILEGROUPOPS

include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_MmaAsyncOp : Tile_Op<"mma_async", [MemoryEffects<[MemRead, MemWrite]>,
                                            DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "begins acc + lhs · rhs, by groups of four warps";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N, with N up to 256. Groups stand below each other, 64 rows each (wgmmaAccumulator of
    lib/Layout). `rhs` lies in a slot as tensor copies write it; so does `lhs`, or it is in registers (wgmmaOperandA). The product goes on
    beside what follows: until a `tile.mma_wait` the slots are read, and the result is for other products to add to, or for a loop to
    carry there. With sums of P×M×N each block of a cluster has one of P equal parts of K in its slots, and the sums over that; with sums of M×N, each has
    some of the rows or columns of these, and of the operand they come from. `tile.mma_commit` closes a group of products. What the warp itself has put into registers is seen behind its `tile.mma_fence`.

    ```mlir
    %1 = tile.mma_async %a[%slot], %b[%slot], %0
       : !tile.buffer<4, tensor<128x64xbf16, #a>>, <4, tensor<64x256xbf16, #b>>, tensor<128x256xf32, #sums>
    %3 = tile.mma_async %p, %v[%slot], %2 : tensor<64x128xbf16, #rows>, <2, tensor<128x64xbf16, #v>>, tensor<64x64xf32, #sums>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_BufferType, Tile_TileType]>:$lhs, Optional<Index>:$lhsSlot, Tile_BufferType:$rhs,
                       Index:$rhsSlot, Tile_TileType:$acc);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs (`[` $lhsSlot^ `]`)? `,` $rhs `[` $rhsSlot `]` `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let extraClassDeclaration = [{
    /// The tile on the left, wherever it lies.
    ::mlir::RankedTensorType getLeft() {
      auto buffer = ::llvm::dyn_cast<::tessera::tile::BufferType>(getLhs().getType());
      return buffer ? buffer.getTile() : ::llvm::cast<::mlir::RankedTensorType>(getLhs().getType());
    }
    /// The parts in which it is summed, and the sizes of one.
    int64_t getParts() { return getAcc().getType().getRank() > 2 ? getAcc().getType().getShape()[0] : 1; }
    ::llvm::ArrayRef<int64_t> getMatrix() { return getAcc().getType().getShape().take_back(2); }
    /// The side of which each block of a cluster has a part.
    ::tessera::tile::Spread getSpread();
    /// What divides the addresses of a buffer's slots: where a swizzle begins again.
    int64_t getAlignment(::mlir::Value buffer);
  }];
}

def Tile_MmaFenceOp : Tile_Op<"mma_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets products that the warp begins see what it has put into registers";
  let assemblyFormat = "attr-dict";
}

def Tile_MmaCommitOp : Tile_Op<"mma_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "closes a group of products";
  let assemblyFormat = "attr-dict";
}

def Tile_MmaWaitOp : Tile_Op<"mma_wait", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until at most so many of the warp's groups of products go on";
  let description = [{
    The slots of the others are read no more, by this warp, nor the registers of their left operands: nothing else may be put there before. Sums that it gives back are finished: anything may take them.

    ```mlir
    tile.mma_wait 1
    %sum = tile.mma_wait 0, %acc : tensor<128x256xf32, #sums>
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<Tile_TileType>:$sums);
  let results = (outs Variadic<Tile_TileType>:$results);
  let assemblyFormat = "custom<PlainInt>($pending) (`,` $sums^ `:` type($sums))? attr-dict";
}

#endif
