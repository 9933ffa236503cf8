//===- TileBase.td - The Tile IR dialect and its types ------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEBASE
#define TESSERA_DIALECT_TILE_IR_TILEBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "explicit tiles: one program of a grid, working on static blocks of tensors";
  let description = [{
    A `tile.kernel` is what one program of a grid does. Its arguments are views of tensors in memory (run-time sizes
    and strides) and run-time sizes. Tiles are values: builtin tensors of static shape. Loops are `scf.for` carrying tiles,
    coordinates are `index` arithmetic, elementwise work is `tile.map` with the scalar vocabulary of ScalarOps.def.
    Nothing of this says where a tile lives or which thread holds what. That is a second level: in *placed* programs each
    tile has a `#tile.layout`, and `tile.convert` moves elements between threads.

    The host side is a `func.func` on graph tensors made of `tile.empty` and `tile.launch`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect",
                           "::tessera::gir::GraphDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a strided tensor in memory, seen by a kernel";
  let description = [{
    `!tile.view<?x?x64xf32, strides = [?, 64, 1], divisors = [1, 16, 64]>`: sizes and strides (in elements) are static or
    `?`; `divisors` says what divides each size (1 where nothing is known, omitted when it says no more than the
    static sizes do). A view of rank 0 is `!tile.view<f32>`.
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
    /// What is known to divide size `i`: the size itself where it is static.
    int64_t getDivisor(unsigned i) const { return getDivisors()[i]; }
    bool hasUnitStride(unsigned i) const { return getStrides()[i] == 1; }
  }];
}

def Tile_OperandViewAttr : AttrDef<Tile_Dialect, "OperandView"> {
  let mnemonic = "operand";
  let summary = "how a launch presents a tensor to a kernel";
  let description = [{
    Offset, sizes and strides (in elements) of the view as size expressions; `$0`, `$1`, … stand for the
    tensor's own strides. `#tile.operand<offset "0", sizes ["S", "D"], strides ["$1", "$0"]>` is a transposed matrix.
  }];
  let parameters = (ins "::tessera::SymExpr":$offset, ArrayRefParameter<"::tessera::SymExpr">:$sizes,
                        ArrayRefParameter<"::tessera::SymExpr">:$strides);
  let hasCustomAssemblyFormat = 1;
}

def Tile_LayoutParameter : AttrOrTypeParameter<"::tessera::Layout", "which element each place holds">;

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which registers of which threads hold a tile's elements";
  let description = [{
    The encoding of a placed tile: a linear map from (register, lane, warp, block) to the tile's elements (docs/layouts.md).
    `tensor<16x8xf32, #tile.layout<"register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8">>` is an
    accumulator of tensor cores, held by one warp.
  }];
  let parameters = (ins Tile_LayoutParameter:$value);
  let hasCustomAssemblyFormat = 1;
  let genMnemonicAlias = 1;
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "room for tiles in the shared memory of a block";
  let description = [{
    `!tile.buffer<3, tensor<64x64xbf16, #layout>>` has three slots for a tile of this type; a slot holds it as the layout
    from offsets to elements says. With `slack`, a slot has room for so many elements more, and the tile may begin behind as
    many: `!tile.buffer<1, tensor<4096xbf16, #layout>, slack 8>`. Where the blocks of a cluster hold different parts of a
    tile, the layout takes the block as well, and each has room for its part.
  }];
  let parameters = (ins "int64_t":$slots, "::mlir::RankedTensorType":$tile, DefaultValuedParameter<"int64_t", "0">:$slack);
  let assemblyFormat = "`<` $slots `,` $tile (`,` `slack` $slack^)? `>`";
  let builders = [
    TypeBuilder<(ins "int64_t":$slots, "::mlir::RankedTensorType":$tile, CArg<"int64_t", "0">:$slack), [{
      return $_get($_ctxt, slots, tile, slack);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getElementBytes() const;
    /// Of one slot.
    int64_t getBytes() const { return (getElements() + getSlack()) * getElementBytes(); }
    /// Of a slot's tile that a block holds.
    int64_t getElements() const { return getMemory().in().size(::tessera::Dim::Offset); }
    /// From one slot to the next. Each begins where the first bank does, if its tile does.
    int64_t getStride() const { return getSlack() ? getBytes() : (getBytes() + 127) / 128 * 128; }
    int64_t getAllBytes() const { return (getSlots() - 1) * getStride() + getBytes(); }
    /// (block, offset) -> element.
    ::tessera::Layout getMemory() const;
    /// Whether a block's elements are neighbours of a tile of rank 1, one after the other.
    bool isInOrder() const;
  }];
}

def Tile_GatesType : TypeDef<Tile_Dialect, "Gates"> {
  let mnemonic = "gates";
  let summary = "gates that copies of rows open";
  let description = "`!tile.gates<3>` are three of them, in the shared memory of a block.";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Of one gate.
    static constexpr int64_t kBytes = 8;
    int64_t getBytes() const { return getCount() * kBytes; }
  }];
}

/// A tile: a builtin tensor of static shape and one of our element types, rank 0 included.
def Tile_TileType : Type<CPred<"::tessera::tile::isTileType($_self)">, "tile (tensor of static shape)",
                         "::mlir::RankedTensorType">;

#endif
