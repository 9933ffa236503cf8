//===- TileWgmmaOps.td - Warpgroup MMA ----------------------*- tablegen -*-===//
//
// Operations of placed programs for asynchronous MMA of warpgroups (four warps, `wgmma.mma_async`): tensor cores read the
// operands from shared memory while the warps continue.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEWGMMAOPS
#define TESSERA_DIALECT_TILE_IR_TILEWGMMAOPS

include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_WgmmaOp : Tile_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>,
                                            DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "issues acc + lhs · rhs asynchronously, by warpgroups";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N, with N at most 256. Each warpgroup has 64 rows of the
    accumulator at a time (wgmmaAccumulator of lib/Layout). `rhs` is in a stage of a buffer, in a layout that TMA
    writes; so is `lhs`, or it is a fragment in registers (wgmmaOperandA).

    Operands are bf16, f16 or tf32. Those of tf32 are both in stages, with K as their contiguous dimension: the
    instruction transposes 16-bit operands only.

    The MMA runs until a `tile.wgmma_wait` that covers the group which `tile.wgmma_commit` closed. Until then it reads
    the stages, and its result may only be the accumulator of another `tile.wgmma` or be carried there by a loop. A
    `tile.wgmma_fence` comes between registers that the warp wrote (accumulator or `lhs`) and the MMA that reads them.

    In a cluster an accumulator of P×M×N is a split-K: each CTA has one of P equal parts of K in its stages and the
    accumulator of that split. With M×N, each CTA may have some of the rows or columns of the accumulator, and of the
    operand that they come from.

    With `lhs_transposed` or `rhs_transposed`, a stage holds the transpose of the operand.

    With `join`, the same instructions compute the next operation, a `tile.wgmma` with the same `lhs`
    (`tile-join-wgmma`). Its value is the distance in bytes from `rhs` to that of the next operation.

    Instructions compute 64 rows per warpgroup. With `fence`, the MMA begins with a fence of its own. With `fence_rows`,
    a fence also precedes the instructions of each further block of rows, for which the warp writes registers after the
    first block is issued (`tile-fence-wgmma`).

    ```mlir
    %1 = tile.wgmma %a[%stage], %b[%stage], %0
       : !tile.buffer<4, tensor<128x64xbf16, #a>>, <4, tensor<64x256xbf16, #b>>, tensor<128x256xf32, #sums>
    %3 = tile.wgmma %p, %v[%stage], %2 fence fence_rows
       : tensor<64x128xbf16, #rows>, <2, tensor<128x64xbf16, #v>>, tensor<64x64xf32, #sums>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_BufferType, Tile_TileType]>:$lhs, Optional<Index>:$lhsStage, Tile_BufferType:$rhs,
                       Index:$rhsStage, Tile_TileType:$acc, OptionalAttr<I64Attr>:$join,
                       UnitAttr:$fence, UnitAttr:$fence_rows, UnitAttr:$lhs_transposed, UnitAttr:$rhs_transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs (`[` $lhsStage^ `]`)? `,` $rhs `[` $rhsStage `]` `,` $acc (`lhs_transposed` $lhs_transposed^)?
    (`rhs_transposed` $rhs_transposed^)? (`join` $join^)? (`fence` $fence^)? (`fence_rows` $fence_rows^)? attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let extraClassDeclaration = [{
    /// The left operand in shared memory, if it is there.
    ::tessera::tile::BufferType getLeftBuffer() {
      auto buffer = ::llvm::dyn_cast<::tessera::tile::BufferType>(getLhs().getType());
      return buffer && getLhsTransposed() ? buffer.getTransposed() : buffer;
    }
    /// The right operand in shared memory.
    ::tessera::tile::BufferType getRightBuffer() {
      ::tessera::tile::BufferType buffer = getRhs().getType();
      return getRhsTransposed() ? buffer.getTransposed() : buffer;
    }
    /// The left operand's tile, in shared memory or in registers.
    ::mlir::RankedTensorType getLeft() {
      ::tessera::tile::BufferType buffer = getLeftBuffer();
      return buffer ? buffer.getTile() : ::llvm::cast<::mlir::RankedTensorType>(getLhs().getType());
    }
    /// The number of splits of K, and the shape M×N of one.
    int64_t getParts() { return getAcc().getType().getRank() > 2 ? getAcc().getType().getShape()[0] : 1; }
    ::llvm::ArrayRef<int64_t> getMatrix() { return getAcc().getType().getShape().take_back(2); }
    /// How the CTAs of a cluster divide the accumulator.
    ::tessera::tile::Spread getSpread();
    /// Bytes that the stages of a buffer are aligned to: after as many the swizzle pattern repeats.
    int64_t getAlignment(::mlir::Value buffer);
    /// The bytes that a descriptor can address.
    static constexpr int64_t kDescriptorBytes = 1 << 18;
    /// Whether the next MMA has the same left operand in shared memory and operands of the same types, and does not
    /// use this one's result.
    bool canJoin(WgmmaOp next);
    /// Whether the instructions of the MMA before it compute this one.
    bool isJoinedToPrevious();
    /// The blocks of rows that each warpgroup computes one after the other.
    int64_t getRowBlocks();
  }];
}

def Tile_WgmmaFenceOp : Tile_Op<"wgmma_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders the warp's register writes before the MMA that it issues next";
  let description = [{
    ```mlir
    tile.wgmma_fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WgmmaCommitOp : Tile_Op<"wgmma_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "closes a group of warpgroup MMA";
  let description = [{
    The group consists of the warp's `tile.wgmma` since the last commit.

    ```mlir
    tile.wgmma_commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WgmmaWaitOp : Tile_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
                                              InferTypeOpAdaptor]> {
  let summary = "waits until at most `pending` of the warp's groups of MMA are in flight";
  let description = [{
    The completed groups no longer read their stages or the registers of their left operands, which may be
    overwritten. The results are the accumulators `sums`, complete: any operation may use them.

    The warp computes the tile `after`, of f32 and at most 4 registers per thread, before it waits, while the MMAs run
    (`tile-order-wgmma-waits`). Without it, the assembler may move computations after the wait.

    ```mlir
    tile.wgmma_wait 1
    %o = tile.wgmma_wait 0, %acc : tensor<64x128xf32, #sums> after %max : tensor<64xf32, #rows>
    %sum = tile.wgmma_wait 0, %acc : tensor<128x256xf32, #sums>
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<Tile_TileType>:$sums, Optional<Tile_TileType>:$after);
  let results = (outs Variadic<Tile_TileType>:$results);
  let assemblyFormat = [{
    custom<PlainInt>($pending) (`,` $sums^ `:` type($sums))? (`after` $after^ `:` type($after))? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The registers of a thread that `after` may have.
    static constexpr unsigned kMaxRegistersAfter = 4;
  }];
}

#endif
