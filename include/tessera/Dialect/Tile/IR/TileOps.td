//===- TileOps.td - Tile IR operations ----------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEOPS
#define TESSERA_DIALECT_TILE_IR_TILEOPS

include "tessera/Dialect/Tile/IR/TileBase.td"
include "tessera/Dialect/Graph/IR/GraphBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}
class Tile_PureOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Kernels and the host side
//===----------------------------------------------------------------------===//

/// Results print under a name that says what they are.
def Tile_NamedResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

def Tile_KernelOp : Tile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "what one program of a grid does";
  let description = [{
    Arguments are `!tile.view`s, then `index` values (sizes), then scalars, in the order in which `tile.launch` passes
    them. The body ends in `tile.return`. `grid_rank` is the number of grid dimensions; the number of programs comes
    from the launch; `hints {…}` behind it say how programs run (LaunchHints.h) and do not change what they compute. The arguments' SSA names are kept (in the argument attribute `tile.name`). No two views overlap
    unless both are only read.

    ```mlir
    tile.kernel @double(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 {
      %i = tile.program_id 0
      %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<256xf32>
      %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !tile.view<?xf32, strides = [1]>
      tile.return
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$grid_rank,
                       OptionalAttr<DictionaryAttr>:$hints,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::ArrayRef<::mlir::Type>":$argumentTypes, "int64_t":$gridRank)>
  ];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Tile_ReturnOp : Op<Tile_Dialect, "return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_EmptyOp : Tile_Op<"empty", [MemoryEffects<[MemAlloc]>]> {
  let summary = "host side: memory for a result or a temporary, row-major";
  let description = [{
    ```mlir
    %0 = tile.empty : !gir.tensor<B, S, f32>
    ```
  }];
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_LaunchOp : Tile_Op<"launch", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "host side: runs a kernel over a grid";
  let description = [{
    Each tensor operand becomes one view argument, presented as `views` says; `sizes` are size expressions passed as the
    `index` arguments after them; then rank-0 `scalars` as they are. The grid's first dimension varies fastest.

    ```mlir
    tile.launch @k grid ["ceildiv(S, 64)", "B"] (%q, %o) views [#tile.operand<…>, #tile.operand<…>] sizes ["S"]
      : !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins Graph_SymbolRefAttr:$kernel, StrArrayAttr:$grid, Variadic<Graph_TensorType>:$tensors,
                       ArrayAttr:$views, StrArrayAttr:$sizes, Variadic<Graph_TensorType>:$scalars);
  let assemblyFormat = [{
    $kernel `grid` $grid `(` $tensors `)` `views` $views `sizes` $sizes (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
    attr-dict (`:` type($tensors)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Coordinates and memory
//===----------------------------------------------------------------------===//

def Tile_ProgramIdOp : Tile_PureOp<"program_id", [Tile_NamedResult]> {
  let summary = "this program's coordinate along a grid dimension";
  let description = [{
    ```mlir
    %pid0 = tile.program_id 0
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<PlainInt>($dim) attr-dict";
}

def Tile_DimOp : Tile_PureOp<"dim"> {
  let summary = "a size of a view";
  let description = [{
    ```mlir
    %n = tile.dim %x, 0 : !tile.view<?x64xf32, strides = [64, 1]>
    ```
  }];
  let hasFolder = 1;
  let arguments = (ins Tile_ViewType:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` custom<PlainInt>($dim) attr-dict `:` type($view)";
}

def Tile_ShiftOp : Tile_PureOp<"shift"> {
  let summary = "by how many elements an element lies behind an address that so many divide";
  let description = [{
    Coordinates are element indices.

    ```mlir
    %s = tile.shift %x[%row, %c0] by 8 : !tile.view<?x?xbf16, strides = [?, 1]>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, I64Attr:$by);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `[` $coords `]` `by` custom<PlainInt>($by) attr-dict `:` type($view)";
}

def Tile_RowOp : Tile_PureOp<"row"> {
  let summary = "a row of a view, from the multiple of 16 bytes on behind which it begins";
  let description = [{
    The row runs along dimension `dim` of one of the kernel's arguments, in which elements are neighbours in memory; `coords` are element
    indices in the other dimensions. The result begins at a multiple of 16 bytes, with as many elements in front of the row's first one as
    `tile.shift` says. These lie outside of it, as those behind the row's end do, and its size counts them. So its tiles begin at such
    multiples wherever the row does.

    ```mlir
    %r = tile.row %x[%i] dim 1 : !tile.view<?x?xbf16, strides = [?, 1]> -> !tile.view<?xbf16, strides = [1]>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, I64Attr:$dim);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$view `[` $coords `]` `dim` custom<PlainInt>($dim) attr-dict `:` type($view) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$coords, "int64_t":$dim)> ];
  let extraClassDeclaration = [{
    static constexpr int64_t kPiece = 16; // bytes
    /// Elements of 16 bytes.
    int64_t getPieceElements();
  }];
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, Tile_NamedResult]> {
  let summary = "reads a tile of a view";
  let description = [{
    `coords` has one entry per view dimension. Tile dimension `t` runs along view dimension `dims[t]`, whose coordinate
    counts tiles (it covers elements `coord * size … + size - 1`); the coordinate of a view dimension that is not in
    `dims` is an element index. `dims` may permute, so a tile can be a transposed block. Elements outside the view
    read as `pad`; without `pad` the tile must lie inside.

    ```mlir
    %k = tile.load %K[%b, %h, %n, %c0] dims [3, 2] pad 0.0 : f32
       : !tile.view<?x?x?x64xf32, strides = [?, ?, ?, 1]> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims,
                       OptionalAttr<TypedAttrInterface>:$pad);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$view `[` $coords `]` `dims` $dims (`pad` $pad^)? attr-dict `:` type($view) `->` type($result)";
}

def Tile_GatherOp : Tile_Op<"gather", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>, Tile_NamedResult]> {
  let summary = "reads elements of a view at computed places";
  let description = [{
    The view's last dimensions, one for each tile of `places`, are indexed by the elements of those tiles, which have
    the result's shape; an index below 0 is taken as 0, one beyond the size as the last. `coords` are for the view's
    other dimensions, as in `tile.load`, and so is `dims`, with -1 for a dimension of the tile along which only the
    places vary. Elements whose coordinates are outside the view read as `pad`; without `pad` they must lie inside.

    ```mlir
    %rows = tile.gather %table[%c0] at (%i) dims [-1, 0] pad 0.0 : f32
       : !tile.view<?x?xf32, strides = [1, ?]>, tensor<16x256xi64> -> tensor<16x256xf32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, Variadic<Tile_TileType>:$places,
                       DenseI64ArrayAttr:$dims, OptionalAttr<TypedAttrInterface>:$pad);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $view `[` $coords `]` `at` `(` $places `)` `dims` $dims (`pad` $pad^)? attr-dict
    `:` type($view) `,` type($places) `->` type($result)
  }];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile into a view";
  let description = [{
    Coordinates and `dims` as in `tile.load`. With `bounded`, elements outside the view are not written; without it the tile
    must lie inside.

    ```mlir
    tile.store %o, %O[%m, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !tile.view<?x64xf32, strides = [?, 1]>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims,
                       UnitAttr:$bounded);
  let assemblyFormat = [{
    $value `,` $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? attr-dict `:` type($value) `,` type($view)
  }];
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "puts a tile's elements at computed places of a view, or adds them there";
  let description = [{
    Coordinates, places and `dims` as in `tile.gather`. As a `sum`, elements are added one after the other in row-major
    order; else no two go to one place, and their order is open. One whose place is outside the view is left out. With
    `bounded`, so are those whose coordinates are outside; without it these must lie inside.

    Into an `unordered` sum other programs add at the same time, and the order is that of arrival: every element is added
    in one step that nothing can come between. These are numbers of 32 or 64 bits.

    ```mlir
    tile.scatter %v, %sums[%c0] at (%i) dims [-1, 0] bounded sum
      : tensor<16x256xf32>, !tile.view<?x?xf32, strides = [1, ?]>, tensor<16x256xi64>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_ViewType:$view, Variadic<Index>:$coords,
                       Variadic<Tile_TileType>:$places, DenseI64ArrayAttr:$dims, UnitAttr:$bounded, UnitAttr:$sum,
                       UnitAttr:$unordered);
  let assemblyFormat = [{
    $value `,` $view `[` $coords `]` `at` `(` $places `)` `dims` $dims (`bounded` $bounded^)?
    (`sum` $sum^ (`unordered` $unordered^)?)? attr-dict
    `:` type($value) `,` type($view) `,` type($places)
  }];
}

def Tile_CheckOp : Tile_Op<"check", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes the call fail unless a condition holds";
  let description = [{
    The failure is told with `value`. The kernel goes on; of several failures the caller sees that of the first program.

    ```mlir
    tile.check %ok, %i else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]>
    ```
  }];
  let arguments = (ins I1:$condition, I64:$value, Graph_FailureAttr:$failure);
  let assemblyFormat = "$condition `,` $value `else` $failure attr-dict";
}

//===----------------------------------------------------------------------===//
// Tiles from scalars
//===----------------------------------------------------------------------===//

def Tile_ConstantOp : Tile_PureOp<"constant", [ConstantLike, Tile_NamedResult]> {
  let summary = "a tile of one repeated number";
  let description = [{
    ```mlir
    %0 = tile.constant 1.000000e+00 : f32 : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$value)> ];
  let hasFolder = 1;
}

def Tile_SplatOp : Tile_PureOp<"splat"> {
  let summary = "a tile of one repeated run-time scalar";
  let description = [{
    The scalar has the tile's element type, or is an `index` that is converted to it.

    ```mlir
    %0 = tile.splat %n : index -> tensor<64xi64>
    ```
  }];
  let arguments = (ins AnyType:$scalar);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasFolder = 1;
}

def Tile_IotaOp : Tile_PureOp<"iota"> {
  let summary = "start, start + 1, … as a rank-1 integer tile";
  let description = [{
    ```mlir
    %j = tile.iota %start : tensor<128xi64>
    ```
  }];
  let arguments = (ins Index:$start);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
}

def Tile_ExtractOp : Tile_PureOp<"extract"> {
  let summary = "the scalar in a rank-0 tile";
  let description = [{
    Integers come as `index` if asked for.

    ```mlir
    %0 = tile.extract %t : tensor<i64> -> index
    ```
  }];
  let arguments = (ins Tile_TileType:$tile);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Tiles from tiles
//===----------------------------------------------------------------------===//

def Tile_MapOp : Tile_PureOp<"map"> {
  let summary = "an elementwise operation on tiles of one shape";
  let description = [{
    Applies the operation `kind` of the scalar vocabulary (ScalarOps.def) to elements at equal indices. Operations on
    constants, neutral operands and constant conditions fold where no bit of the result depends on the target.
    With `fast` a target may take its quick form: results below the range of normal numbers may be zero, and the last two
    bits (of `tanh` and `gelu_erf`: all that bf16 does not keep) may differ.

    ```mlir
    %2 = tile.map mul(%0, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Tile_TileType>:$inputs, UnitAttr:$fast);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "custom<Keyword>($kind) `(` $inputs `)` (`fast` $fast^)? attr-dict `:` functional-type($inputs, $result)";
  let builders = [ OpBuilder<(ins "::tessera::ScalarOp":$op, "::mlir::ValueRange":$inputs, CArg<"bool", "false">:$fast)> ];
  let extraClassDeclaration = [{
    ::tessera::ScalarOp getScalarOp() { return *::tessera::scalarOpByName(getKind()); }
  }];
  let hasFolder = 1;
}

def Tile_CastOp : Tile_PureOp<"cast"> {
  let summary = "conversion of the element type, as `gir.cast`";
  let description = [{
    Rounds to nearest even between floating point types and from integers, truncates towards zero from floating point
    to integers (out of range and nan: some value), wraps between integers, and tests for
    non-zero when the result is bool.

    ```mlir
    %1 = tile.cast %0 : tensor<64xbf16> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType)> ];
  let hasFolder = 1;
}

def Tile_BitcastOp : Tile_PureOp<"bitcast"> {
  let summary = "the same bits as another element type of equal width";
  let description = [{
    ```mlir
    %1 = tile.bitcast %0 : tensor<64xf32> -> tensor<64xi32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType)> ];
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_PureOp<"broadcast"> {
  let summary = "repetition along new dimensions";
  let description = [{
    Input dimension `i` becomes result dimension `dims[i]` (strictly increasing) of the same size; result dimensions
    that are not named are new.

    ```mlir
    %1 = tile.broadcast %0 dims [0] : tensor<64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$shape, "::llvm::ArrayRef<int64_t>":$dims)>
  ];
  let hasFolder = 1;
}

def Tile_TransposeOp : Tile_PureOp<"transpose"> {
  let summary = "permutation of dimensions";
  let description = [{
    Result dimension `i` is input dimension `permutation[i]`.

    ```mlir
    %1 = tile.transpose %0 perm [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input `perm` $permutation attr-dict `:` type($input) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)> ];
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_PureOp<"reshape"> {
  let summary = "the same elements in row-major order under another static shape";
  let description = [{
    ```mlir
    %1 = tile.reshape %0 : tensor<64x128xf32> -> tensor<8192xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$shape)> ];
  let hasFolder = 1;
}

def Tile_ReduceOp : Tile_PureOp<"reduce"> {
  let summary = "joins the elements along dimensions with a monoid: sum prod max min any all";
  let description = [{
    `dims` are sorted; the result has the other dimensions. The order in which elements are joined is left to the
    target. `any` and `all` are for bools. With `skip_nan` a `max` or `min` may leave out elements that are nan: for
    statistics of values whose nans reach the result in another way.

    ```mlir
    %m = tile.reduce max %s dims [1] skip_nan : tensor<64x128xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_TileType:$input, DenseI64ArrayAttr:$dims, UnitAttr:$skipNan);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "custom<Keyword>($kind) $input `dims` $dims (`skip_nan` $skipNan^)? attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims,
                   CArg<"bool", "false">:$skipNan)>
  ];
  let hasCanonicalizeMethod = 1;
}

def Tile_ScanOp : Tile_PureOp<"scan", [AllTypesMatch<["input", "result"]>, AllTypesMatch<["init", "total"]>]> {
  let summary = "running join along a dimension with a monoid: sum prod max min any all";
  let description = [{
    Element `n` of the result along `dim` joins `init` and elements 0 to `n` of the input; `total` joins `init` and all of
    them. `init` and `total` lack the dimension. The order in which elements are joined is left to the target, as long as
    it depends on nothing but the tile's shape and layout. Floats are f32 or f64. In placed programs a scan may be
    `exclusive`: element `n` then joins the elements before it.

    With a `key` elements are joined that have the same key, one after the other. `init` and `total` then have one more
    dimension, the last, with a join for every key; a key outside of it counts as the last.

    ```mlir
    %y, %c1 = tile.scan sum %x from %c0 dim 1 : tensor<8x128xf32>, tensor<8xf32>
    %z, %k1 = tile.scan sum %x from %k0 dim 1 by (%k : tensor<8x128xi32>) : tensor<8x128xf32>, tensor<8x256xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_TileType:$input, Tile_TileType:$init, Optional<Tile_TileType>:$key,
                       I64Attr:$dim, UnitAttr:$exclusive);
  let results = (outs Tile_TileType:$result, Tile_TileType:$total);
  let assemblyFormat = [{
    custom<Keyword>($kind) $input `from` $init `dim` custom<PlainInt>($dim) (`by` `(` $key^ `:` type($key) `)`)?
    (`exclusive` $exclusive^)? attr-dict `:` type($input) `,` type($init)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "::mlir::Value":$init, "int64_t":$dim,
                   CArg<"::mlir::Value", "{}">:$key)>
  ];
}

def Tile_ConvertOp : Tile_PureOp<"convert"> {
  let summary = "the same tile, held by other registers or threads";
  let description = [{
    ```mlir
    %1 = tile.convert %0 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Tile_PartialOp : Tile_PureOp<"partial"> {
  let summary = "joins the elements along dimensions as far as each warp holds them";
  let description = [{
    As `tile.reduce`, without leaving a warp: first what registers hold, then what lanes hold, by exclusive-or shuffles
    (planReduction of lib/Layout says in which order). The result has the other dimensions and a last one that numbers
    the warps, of all blocks, whose parts are still apart; its layout follows from the input's. A reduction across warps is this, a
    `tile.convert` after which each thread has the last dimension in registers, and a `tile.reduce` along it.

    ```mlir
    %p = tile.partial sum %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4x2xf32, #parts>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_TileType:$input, DenseI64ArrayAttr:$dims, UnitAttr:$skipNan);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "custom<Keyword>($kind) $input `dims` $dims (`skip_nan` $skipNan^)? attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims,
                   CArg<"bool", "false">:$skipNan)>
  ];
}

//===----------------------------------------------------------------------===//
// Placed programs: shared memory
//===----------------------------------------------------------------------===//

def Tile_SliceOp : Tile_PureOp<"slice"> {
  let summary = "the part of a tile that begins at some elements";
  let description = [{
    Each of the numbers in `at` is a multiple of the result's size there. With layouts, threads keep what they hold of it: who has an
    element of the result has it of the whole.

    ```mlir
    %1 = tile.slice %0 at [0, 64] : tensor<128x256xbf16, #sums> -> tensor<128x64xbf16, #part>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, DenseI64ArrayAttr:$at);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input `at` $at attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The number of an element of the result in the whole tile.
    uint64_t getPlace(uint64_t element);
  }];
}

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "room in the shared memory of a block";
  let description = [{
    What is in it lasts from the first access that the block sees to the last one, in each turn of the loop that the
    operation stands in. `offset` says where it begins, in bytes (`tile-allocate-shared`); buffers whose times do not
    meet may share memory. A `mailbox` is there as long as the block, at the same place in each block of a cluster; behind
    its slots it has a signal for each of them, which counts what has come.

    ```mlir
    %b = tile.alloc offset 1024 : <3, tensor<64x64xbf16, #layout>>
    %m = tile.alloc mailbox offset 0 : <1, tensor<4xf32, #layout>>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, UnitAttr:$mailbox);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "(`mailbox` $mailbox^)? (`offset` $offset^)? attr-dict `:` type($result)";
  let builders = [ OpBuilder<(ins "::tessera::tile::BufferType":$type, CArg<"bool", "false">:$mailbox)> ];
  let extraClassDeclaration = [{
    /// Bytes of a signal.
    static constexpr int64_t kSignal = 8;
    /// Where a mailbox's signals begin, from its first slot on.
    int64_t getSignals() { return (getType().getAllBytes() + kSignal - 1) / kSignal * kSignal; }
    /// Of the slots and the signals.
    int64_t getAllBytes() {
      return getMailbox() ? getSignals() + getType().getSlots() * kSignal : getType().getAllBytes();
    }
  }];
}

def Tile_WriteOp : Tile_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile into a slot of a buffer";
  let description = [{
    Where an element lies is said by the buffer's layout, who writes it by the tile's: of threads that hold the same
    element the one whose free bits are zero. Others may read it after a `tile.barrier`. A tile of rank 1 can begin `behind` so
    many elements, as many as the buffer's slack at most; it is written element by element then.

    ```mlir
    tile.write %x, %b[%slot] : tensor<64x64xbf16, #rows>, <1, tensor<64x64xbf16, #memory>>
    tile.write %x, %b[%slot] behind %s : tensor<4096xbf16, #rows>, <1, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_BufferType:$buffer, Index:$slot, Optional<Index>:$behind);
  let assemblyFormat = [{
    $value `,` $buffer `[` $slot `]` (`behind` $behind^)? attr-dict `:` type($value) `,` type($buffer)
  }];
  let builders = [ OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer, "::mlir::Value":$slot), [{
    build($_builder, $_state, value, buffer, slot, /*behind=*/::mlir::Value());
  }]> ];
}

def Tile_ReadOp : Tile_Op<"read", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "reads the tile in a slot of a buffer";
  let description = [{
    Each thread reads what its registers are to hold; by which instructions follows from the two layouts (planLoad of
    lib/Layout). A result that is smaller than the slot's tile is the part of it that begins `at` these elements, of
    which each is a multiple of the result's size there. A tile that begins `behind` some elements is read as it is written
    so; of one whose elements are there `from` a number on, or `below` one alone, the others are the `pad`.

    ```mlir
    %a = tile.read %b[%slot] : <3, tensor<64x64xbf16, #memory>> -> tensor<64x64xbf16, #fragments>
    %a2 = tile.read %b[%slot] at [0, 32] : <3, tensor<64x64xbf16, #memory>> -> tensor<64x16xbf16, #fragments>
    %r = tile.read %c[%slot] behind %s below %n pad 0.0 : bf16
       : <1, tensor<4096xbf16, #memory>, slack 8> -> tensor<4096xbf16, #rows>
    %f = tile.read %d[%slot] from %s below %n pad 0.0 : bf16 : <1, tensor<4096xbf16, #memory>> -> tensor<4096xbf16, #rows>
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, Index:$slot, Optional<Index>:$behind, Optional<Index>:$from, Optional<Index>:$below,
                       OptionalAttr<DenseI64ArrayAttr>:$at, OptionalAttr<TypedAttrInterface>:$pad);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $buffer `[` $slot `]` (`at` $at^)? (`behind` $behind^)? (`from` $from^)? (`below` $below^)? (`pad` $pad^)? attr-dict
    `:` type($buffer) `->` type($result)
  }];
  let builders = [ OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$buffer, "::mlir::Value":$slot,
                                  CArg<"::mlir::DenseI64ArrayAttr", "nullptr">:$at), [{
    build($_builder, $_state, type, buffer, slot, /*behind=*/::mlir::Value(), /*from=*/::mlir::Value(), /*below=*/::mlir::Value(), at,
          /*pad=*/nullptr);
  }]> ];
  let extraClassDeclaration = [{
    /// Thread -> the elements of the slot's tile that it reads, less the first one.
    ::tessera::Layout getPlaces();
    /// The number of the first element in the slot's tile: others are found by adding bits to it.
    uint64_t getFirst();
  }];
}

def Tile_MmaSharedOp : Tile_Op<"mma_shared", [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs · rhs on matrices in shared memory, without tensor cores";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N. Each thread makes the sums that it holds, one product after the
    other in the order of K, in the accumulator's type; it reads the rows of `lhs` and the columns of `rhs` for that.
    Both lie in memory row by row.

    ```mlir
    %1 = tile.mma_shared %a[%c0], %b[%c0], %0
       : <1, tensor<16x16xf64, #rows>>, <1, tensor<16x16xf64, #rows>>, tensor<16x16xf64, #layout>
    ```
  }];
  let arguments = (ins Tile_BufferType:$lhs, Index:$lhsSlot, Tile_BufferType:$rhs, Index:$rhsSlot, Tile_TileType:$acc);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs `[` $lhsSlot `]` `,` $rhs `[` $rhsSlot `]` `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
}

def Tile_CopyOp : Tile_Op<"copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to copy a tile of a view into a slot of a buffer";
  let description = [{
    View, coordinates and `dims` as in `tile.load`; elements outside the view become zero with `bounded`, without it the
    tile must lie inside. All become zero, and nothing is read, where the condition does not hold. The threads share the work as `via` says, which is the layout that they would load the tile in.
    The copy goes on beside what follows: `tile.commit` closes a group of copies, `tile.wait` waits for groups, and after
    a `tile.barrier` the others' copies can be read, too.

    ```mlir
    tile.copy %x[%m, %k] dims [0, 1] bounded into %b[%slot] via #rows : !v, <3, tensor<64x64xbf16, #layout>>
    tile.copy %x[%m, %k] dims [0, 1] if %exists into %b[%slot] via #rows : !v, <3, tensor<64x64xbf16, #layout>>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, DenseI64ArrayAttr:$dims, Tile_BufferType:$buffer,
                       Index:$slot, Optional<I1>:$condition, Tile_LayoutAttr:$via, UnitAttr:$bounded);
  let assemblyFormat = [{
    $view `[` $coords `]` `dims` $dims (`bounded` $bounded^)? (`if` $condition^)? `into` $buffer `[` $slot `]` `via` $via attr-dict
    `:` type($view) `,` type($buffer)
  }];
}

def Tile_CommitOp : Tile_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "closes a group of copies";
  let assemblyFormat = "attr-dict";
}

def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most so many of this thread's groups of copies go on";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "custom<PlainInt>($pending) attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "no thread of the block, or of the warp, goes on before all are here";
  let description = [{
    What they have written before is seen by all behind it.

    ```mlir
    tile.barrier
    tile.barrier warp
    ```
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "(`warp` $warp^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Placed programs: the blocks of a cluster
//===----------------------------------------------------------------------===//

def Tile_OpenOp : Tile_Op<"open", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "opens the block's mailboxes, and tells the other blocks of the cluster";
  let description = [{
    Once, before all else that concerns mailboxes, and behind the gates that other blocks open. `tile.meet` waits until all blocks have
    done so.

    ```mlir
    tile.open mailboxes %m : !tile.buffer<1, tensor<4xf32, #layout>>
    tile.open
    ```
  }];
  let arguments = (ins Variadic<Tile_BufferType>:$mailboxes);
  let assemblyFormat = "(`mailboxes` $mailboxes^ `:` type($mailboxes))? attr-dict";
}

def Tile_MeetOp : Tile_Op<"meet", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all blocks of the cluster have opened their mailboxes and made their gates";
  let assemblyFormat = "attr-dict";
}

def Tile_PushOp : Tile_Op<"push", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sends the elements of a tile to the mailboxes of the cluster's blocks";
  let description = [{
    Each block sends the elements that it holds; of threads with the same element one sends it. They go to all blocks, or,
    where the mailbox lies in several blocks' memory, to the one that has them. The elements come at some
    time until a `tile.receive`. All that a mailbox holds is pushed once in each turn: the first push of a thread belongs to
    its first `tile.receive` and `tile.take`, the second one to the second, and turns take the slots one after the other.
    With two slots a block can push for the next turn while others still read: it has received what they sent after they
    had read the slot that it takes next.

    ```mlir
    tile.push %x, %m : tensor<4xf32, #parts>, <1, tensor<4xf32, #memory>>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_BufferType:$mailbox);
  let assemblyFormat = "$value `,` $mailbox attr-dict `:` type($value) `,` type($mailbox)";
}

def Tile_ReceiveOp : Tile_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all that is pushed in a turn is in this block's mailbox";
  let arguments = (ins Tile_BufferType:$mailbox);
  let assemblyFormat = "$mailbox attr-dict `:` type($mailbox)";
}

def Tile_TakeOp : Tile_Op<"take", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reads what a turn has brought into this block's mailbox, and ends the turn";
  let description = [{
    ```mlir
    tile.receive %m : <1, tensor<4xf32, #memory>>
    %y = tile.take %m : <1, tensor<4xf32, #memory>> -> tensor<4xf32, #registers>
    ```
  }];
  let arguments = (ins Tile_BufferType:$mailbox);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$mailbox attr-dict `:` type($mailbox) `->` type($result)";
}

def Tile_MmaOp : Tile_PureOp<"mma"> {
  let summary = "acc + lhs · rhs on matrices";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N. Products are summed in the accumulator's type. With an accumulator
    of P×M×N, part p sums over the p-th of P equal parts of K: all of it is the sum of the parts.

    ```mlir
    %a1 = tile.mma %p, %v, %a0 : (tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b1 = tile.mma %p, %v, %b0 : (tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$lhs, Tile_TileType:$rhs, Tile_TileType:$acc);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` functional-type(operands, $result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc)> ];
  let extraClassDeclaration = [{
    /// The parts in which it is summed, and the sizes of one.
    int64_t getParts() { return getType().getRank() > 2 ? getType().getShape()[0] : 1; }
    ::llvm::ArrayRef<int64_t> getMatrix() { return getType().getShape().take_back(2); }
  }];
}

include "tessera/Dialect/Tile/IR/TileBulkOps.td"
include "tessera/Dialect/Tile/IR/TileGroupOps.td"

#endif
