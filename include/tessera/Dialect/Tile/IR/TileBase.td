//===- TileBase.td - The Tile IR dialect and its types ------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEBASE
#define TESSERA_DIALECT_TILE_IR_TILEBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "tessera/Dialect/Common/LaunchAttrs.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "kernels on tiles: what one CTA or grid task computes on static blocks of tensors";
  let description = [{
    A `tile.kernel` is the body of a grid: on GPUs one CTA runs it, on CPUs one grid task. Its arguments are views of
    tensors in memory, with run-time sizes and strides, and run-time sizes. Tiles are values: builtin tensors of
    static shape. Loops are `scf.for` that carry tiles, coordinates are `index` arithmetic, elementwise work is
    `tile.map` with the scalar operations of ScalarOps.def.

    At this level nothing says where a tile lives. *Placed* Tile IR is a second level for GPUs: each tile has a
    `#tile.layout` that distributes it over registers, lanes, warps and CTAs, `tile.convert` redistributes it, and
    buffers in shared memory, barriers and asynchronous copies are explicit. A loop with `tile.one_thread`, which only
    issues bulk loads, is run by the first thread of the CTA alone.

    The host side is a `func.func` on graph tensors made of `tile.empty` and `tile.launch`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect",
                           "::tessera::gir::GraphDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a strided tensor in memory, as a kernel accesses it";
  let description = [{
    `!tile.view<?x?x64xf32, strides = [?, 64, 1], divisors = [1, 16, 64]>`: sizes and strides (in elements) are static
    or `?`. `divisors` has a known divisor of each size, 1 where none is known; it is omitted when it says no more
    than the static sizes do. A view of rank 0 is `!tile.view<f32>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        ArrayRefParameter<"int64_t">:$strides, ArrayRefParameter<"int64_t">:$divisors);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                        "::llvm::ArrayRef<int64_t>":$strides,
                                        CArg<"::llvm::ArrayRef<int64_t>", "{}">:$divisors), [{
      return $_get(elementType.getContext(), shape, elementType, strides,
                   ::tessera::tile::canonicalDivisors(shape, divisors));
    }]>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getRank() const { return getShape().size(); }
    bool isDynamic(unsigned i) const { return ::mlir::ShapedType::isDynamic(getShape()[i]); }
    /// A known divisor of size `i`: the size itself where it is static.
    int64_t getDivisor(unsigned i) const { return getDivisors()[i]; }
    bool hasUnitStride(unsigned i) const { return getStrides()[i] == 1; }
  }];
}

def Tile_OperandViewAttr : AttrDef<Tile_Dialect, "OperandView"> {
  let mnemonic = "operand";
  let summary = "the view of a tensor that a launch passes to a kernel";
  let description = [{
    Offset, sizes and strides (in elements) of the view as size expressions; `$0`, `$1`, … are the tensor's own
    strides. `#tile.operand<offset "0", sizes ["S", "D"], strides ["$1", "$0"]>` is a transposed matrix.
  }];
  let parameters = (ins "::tessera::SymExpr":$offset, ArrayRefParameter<"::tessera::SymExpr">:$sizes,
                        ArrayRefParameter<"::tessera::SymExpr">:$strides);
  let hasCustomAssemblyFormat = 1;
}

def Tile_LaunchAttr : Common_LaunchAttr<Tile_Dialect>;
def Tile_TuningAttr : Common_TuningAttr<Tile_Dialect>;

def Tile_LayoutParameter : AttrOrTypeParameter<"::tessera::Layout", "a linear layout">;

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "the registers and threads that hold the elements of a tile, or their offsets in shared memory";
  let description = [{
    The encoding of a placed tile: a linear map from (register, lane, warp, block) to the elements of the tile, where
    `block` is the CTA's rank in its cluster (docs/layouts.md). In a `!tile.buffer` the map is from (block, offset) to
    elements. The accumulator fragment of one warp's MMA is

    ```mlir
    tensor<16x8xf32, #tile.layout<"register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8">>
    ```
  }];
  let parameters = (ins Tile_LayoutParameter:$value);
  let hasCustomAssemblyFormat = 1;
  let genMnemonicAlias = 1;
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a buffer of one or more stages in the shared memory of a CTA";
  let description = [{
    `!tile.buffer<3, tensor<64x64xbf16, #layout>>` has three stages of one tile each. The layout maps offsets to
    elements. Where the CTAs of a cluster hold different parts of the tile, it maps (block, offset) to elements, and
    each CTA's buffer holds its part. With `slack`, a stage is that many elements longer, so that the tile may begin
    up to `slack` elements after the stage does: `!tile.buffer<1, tensor<4096xbf16, #layout>, slack 8>`.
  }];
  let parameters = (ins "int64_t":$stages, "::mlir::RankedTensorType":$tile, DefaultValuedParameter<"int64_t", "0">:$slack);
  let assemblyFormat = "`<` $stages `,` $tile (`,` `slack` $slack^)? `>`";
  let builders = [
    TypeBuilder<(ins "int64_t":$stages, "::mlir::RankedTensorType":$tile, CArg<"int64_t", "0">:$slack), [{
      return $_get($_ctxt, stages, tile, slack);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getElementBytes() const;
    /// Bytes of one stage.
    int64_t getBytes() const { return (getElements() + getSlack()) * getElementBytes(); }
    /// Elements of a stage's tile that one CTA holds.
    int64_t getElements() const { return getMemory().in().size(::tessera::Dim::Offset); }
    /// Bytes from one stage to the next: without slack, each stage begins at the first bank.
    int64_t getStride() const { return getSlack() ? getBytes() : (getBytes() + 127) / 128 * 128; }
    int64_t getAllBytes() const { return (getStages() - 1) * getStride() + getBytes(); }
    /// (block, offset) -> element.
    ::tessera::Layout getMemory() const;
    /// The same memory of matrices, seen with rows as columns.
    BufferType getTransposed() const;
    /// Whether the tile has rank 1 and a CTA holds a contiguous range of it in order.
    bool isInOrder() const;
  }];
}

def Tile_MbarrierType : TypeDef<Tile_Dialect, "Mbarrier"> {
  let mnemonic = "mbarrier";
  let summary = "an array of mbarriers in the shared memory of a CTA";
  let description = "`!tile.mbarrier<3>` has three mbarriers, usually one per stage of a pipeline (`tile.mbarrier_alloc`).";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one mbarrier.
    static constexpr int64_t kBytes = 8;
    int64_t getBytes() const { return getCount() * kBytes; }
  }];
}

/// A tile: a builtin tensor of static shape and an element type of Graph IR, rank 0 included.
def Tile_TileType : Type<CPred<"::tessera::tile::isTileType($_self)">, "tile (tensor of static shape)",
                         "::mlir::RankedTensorType">;

#endif
