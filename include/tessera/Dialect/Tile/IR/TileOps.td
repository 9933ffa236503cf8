//===- TileOps.td - Tile IR operations ----------------------*- tablegen -*-===//
//
// Kernels, tiles as values and layouts. The other operations of placed programs: TileSharedOps.td has shared memory,
// cp.async and clusters, TileBulkOps.td mbarriers, bulk copies and TMA, TileWgmmaOps.td warpgroup MMA.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEOPS
#define TESSERA_DIALECT_TILE_IR_TILEOPS

include "tessera/Dialect/Tile/IR/TileBase.td"
include "tessera/Dialect/Tile/IR/TileInterfaces.td"
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

/// The printed SSA name of the result says what it is.
def Tile_NamedResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

def Tile_KernelOp : Tile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "what one CTA (GPU) or grid task (CPU) of a launch computes";
  let description = [{
    Arguments are `!tile.view`s, then `index` values (sizes), then scalars, in the order in which `tile.launch` passes
    them. The body ends in `tile.return`. `grid` is the number of grid dimensions; their sizes come from the launch.
    `launch <…>` (`#tile.launch`) is the launch configuration, which is part of the kernel's meaning; `tuning <…>`
    (`#tile.tuning`) never changes a result. `tile.changed` among the attributes lists the values of an earlier phase
    that a later one overwrote. The argument attribute `tile.name` keeps the SSA names of the arguments. No two views
    overlap unless both are only read.

    ```mlir
    tile.kernel @double(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 {
      %i = tile.program_id 0
      %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<256xf32>
      %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !tile.view<?xf32, strides = [1]>
      tile.return
    }
    tile.kernel @configured() grid 1 launch <num_warps = 8> tuning <num_stages = 4, use_tma = 1>
        attributes {tile.changed = ["num_warps 4 -> 8: more than 4096 elements per thread"]} {
      tile.return
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$grid_rank,
                       OptionalAttr<Tile_LaunchAttr>:$launch, OptionalAttr<Tile_TuningAttr>:$tuning,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::ArrayRef<::mlir::Type>":$argumentTypes, "int64_t":$gridRank)>
  ];
  let extraClassDeclaration = Common_KernelConfig<"tile.changed">.declaration # [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let extraClassDefinition = Common_KernelConfig<"tile.changed">.definition;
}

def Tile_ReturnOp : Op<Tile_Dialect, "return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "terminates a kernel";
  let description = [{
    ```mlir
    tile.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_EmptyOp : Tile_Op<"empty", [MemoryEffects<[MemAlloc]>]> {
  let summary = "host side: allocates a result or a temporary in row-major order";
  let description = [{
    The contents are undefined until kernels write them.

    ```mlir
    %0 = tile.empty : !gir.tensor<B, S, f32>
    ```
  }];
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_LaunchOp : Tile_Op<"launch", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "host side: launches a kernel on a grid";
  let description = [{
    `grid` has the size of each grid dimension as a size expression; the first dimension varies fastest. Each tensor
    is passed as one view argument, with the offset, sizes and strides that its entry of `views` states. `sizes` are
    size expressions that are passed as the `index` arguments after the views. Then come rank-0 `scalars`.

    ```mlir
    tile.launch @k grid ["ceildiv(S, 64)"] (%x, %y)
      views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>, #tile.operand<offset "0", sizes ["S"], strides ["$0"]>]
      sizes ["S"] : !gir.tensor<S, f32>, !gir.tensor<S, f32>
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
  let summary = "the coordinate of this CTA or grid task along a grid dimension";
  let description = [{
    `dim` is below the kernel's grid rank.

    ```mlir
    %pid0 = tile.program_id 0
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<PlainInt>($dim) attr-dict";
}

def Tile_DimOp : Tile_PureOp<"dim"> {
  let summary = "the size of a view along a dimension";
  let description = [{
    Folds where the size is static.

    ```mlir
    %n = tile.dim %x, 0 : !tile.view<?x64xf32, strides = [64, 1]>
    ```
  }];
  let hasFolder = 1;
  let arguments = (ins Tile_ViewType:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` custom<PlainInt>($dim) attr-dict `:` type($view)";
}

def Tile_MisalignmentOp : Tile_PureOp<"misalignment"> {
  let summary = "how many elements past an aligned address an element of a view lies";
  let description = [{
    `coords` are element indices, one per dimension of the view. The result is the element's address, counted in
    elements, modulo `modulus`, a power of two.

    ```mlir
    %s = tile.misalignment %x[%row, %c0] mod 8 : !tile.view<?x?xbf16, strides = [?, 1]>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, I64Attr:$modulus);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `[` $coords `]` `mod` custom<PlainInt>($modulus) attr-dict `:` type($view)";
}

def Tile_AlignedRowOp : Tile_PureOp<"aligned_row"> {
  let summary = "a row of a view, extended to begin at a multiple of 16 bytes";
  let description = [{
    The row runs along dimension `dim` of a view argument of the kernel, in which elements are contiguous in memory.
    `coords` are element indices in the other dimensions. The result begins at a multiple of 16 bytes,
    `tile.misalignment` elements before the row. These elements count in the result's size, but lie outside of the
    view, as those past the row's end do. So tiles of an unaligned row are aligned.

    ```mlir
    %r = tile.aligned_row %x[%i] dim 1 : !tile.view<?x?xbf16, strides = [?, 1]> -> !tile.view<?xbf16, strides = [1]>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, I64Attr:$dim);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$view `[` $coords `]` `dim` custom<PlainInt>($dim) attr-dict `:` type($view) `->` type($result)";
  let builders = [ OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$coords, "int64_t":$dim)> ];
  let extraClassDeclaration = [{
    /// Bytes that the result is aligned to.
    static constexpr int64_t kAlignment = 16;
    /// Elements of as many bytes.
    int64_t getAlignmentElements();
  }];
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, Tile_NamedResult]> {
  let summary = "loads a tile of a view";
  let description = [{
    `coords` has one entry per view dimension. Tile dimension `t` runs along view dimension `dims[t]`, whose
    coordinate counts tiles: it covers the elements from `coord * size` on. The coordinate of a view dimension that is
    not in `dims` is an element index. `dims` may permute, so a tile can be a transposed block. Elements outside of
    the view read as `pad`; without `pad` the tile lies inside.

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
  let summary = "loads elements of a view at gather indices";
  let description = [{
    The view's last dimensions, one for each tile of `indices`, are indexed by the elements of those tiles, which have
    the result's shape; indices are clamped to the view. `coords` and `dims` are for the view's other dimensions, as
    in `tile.load`; -1 in `dims` is a dimension of the tile along which only the indices vary. Elements whose
    coordinates are outside of the view read as `pad`; without `pad` they lie inside.

    ```mlir
    %rows = tile.gather %table[%c0] at (%i) dims [-1, 0] pad 0.0 : f32
       : !tile.view<?x?xf32, strides = [1, ?]>, tensor<16x256xi64> -> tensor<16x256xf32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$coords, Variadic<Tile_TileType>:$indices,
                       DenseI64ArrayAttr:$dims, OptionalAttr<TypedAttrInterface>:$pad);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $view `[` $coords `]` `at` `(` $indices `)` `dims` $dims (`pad` $pad^)? attr-dict
    `:` type($view) `,` type($indices) `->` type($result)
  }];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores a tile into a view";
  let description = [{
    Coordinates and `dims` are as in `tile.load`. With `bounded`, elements outside of the view are not written;
    without it the tile lies inside.

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
  let summary = "stores a tile's elements at scatter indices of a view, or adds them there";
  let description = [{
    Coordinates, indices and `dims` are as in `tile.gather`, except that an element whose index is outside of the view
    is left out. With `bounded`, so are elements whose coordinates are outside; without it these lie inside. Without
    `sum` no two elements have the same indices, and their order is undefined. With `sum`, elements are added to those
    of the view, one after the other in row-major order.

    With `sum unordered` other CTAs or grid tasks may add at the same time: each element of 32 or 64 bits is added
    atomically, and the order is undefined.

    ```mlir
    tile.scatter %v, %sums[%c0] at (%i) dims [-1, 0] bounded sum
      : tensor<16x256xf32>, !tile.view<?x?xf32, strides = [1, ?]>, tensor<16x256xi64>
    ```
  }];
  let arguments = (ins Tile_TileType:$value, Tile_ViewType:$view, Variadic<Index>:$coords,
                       Variadic<Tile_TileType>:$indices, DenseI64ArrayAttr:$dims, UnitAttr:$bounded, UnitAttr:$sum,
                       UnitAttr:$unordered);
  let assemblyFormat = [{
    $value `,` $view `[` $coords `]` `at` `(` $indices `)` `dims` $dims (`bounded` $bounded^)?
    (`sum` $sum^ (`unordered` $unordered^)?)? attr-dict
    `:` type($value) `,` type($view) `,` type($indices)
  }];
}

def Tile_CheckOp : Tile_Op<"check", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes the call fail unless a condition holds";
  let description = [{
    The error message includes `value`. The kernel continues. Of several failures, the caller gets that of the first
    CTA or grid task.

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
  let summary = "a tile of one constant value";
  let description = [{
    The value has the tile's element type.

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
  let summary = "a tile of one run-time scalar";
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
  let summary = "start, start + 1, … as an integer tile of rank 1";
  let description = [{
    Element `i` of the result is `start + i`, converted to its element type.

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
    The result has the tile's element type, or is an `index` that an integer is converted to.

    ```mlir
    %0 = tile.extract %t : tensor<i64> -> index
    ```
  }];
  let arguments = (ins Tile_TileType:$tile);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasFolder = 1;
}

def Tile_ElementOp : Tile_PureOp<"element"> {
  let summary = "the integer at a run-time position of a tile of rank 1, as an index";
  let description = [{
    All threads of a CTA read the same position. In placed programs each warp has all elements of the tile, dealt to
    its lanes in turn; a lane then hands its element to the others. What is at a position past the end is unspecified.

    ```mlir
    %block = tile.element %blocks[%n] : tensor<64xi32>
    ```
  }];
  let arguments = (ins Tile_TileType:$tile, Index:$position);
  let results = (outs Index:$result);
  let assemblyFormat = "$tile `[` $position `]` attr-dict `:` type($tile)";
  let extraClassDeclaration = [{
    /// The layout of the tile in placed programs, within a warp.
    static ::tessera::Layout layoutInWarp(int64_t size);
  }];
}

//===----------------------------------------------------------------------===//
// Tiles from tiles
//===----------------------------------------------------------------------===//

def Tile_MapOp : Tile_PureOp<"map"> {
  let summary = "an elementwise operation on tiles of one shape";
  let description = [{
    Applies the scalar operation `kind` (ScalarOps.def) to elements at equal indices. Operations on constants, neutral
    operands and constant conditions fold where no bit of the result depends on the target. With `fast` a target may
    use an approximate form: subnormal results may be flushed to zero, and the last two bits (of `tanh` and
    `gelu_erf`: all bits that bf16 does not have) may differ.

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
    Rounds to nearest even between floating point types and from integers. From floating point to integers it
    truncates towards zero; out of range and for NaN the result is unspecified. Between integers it wraps. To bool it
    tests for non-zero.

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
    Input and result have the same shape.

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
    Input dimension `i` becomes result dimension `dims[i]` of the same size; `dims` is strictly increasing. The other
    result dimensions are new.

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
  let summary = "the same elements in row-major order with another static shape";
  let description = [{
    Input and result have the same number of elements.

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
  let summary = "reduces along dimensions with a monoid: sum prod max min any all";
  let description = [{
    `dims` are increasing; the result has the other dimensions. The target chooses the order in which elements are
    combined. `any` and `all` are for bools. With `skip_nan` a `max` or `min` may ignore NaN elements: for statistics
    of values whose NaNs reach the result in another way.

    ```mlir
    %m = tile.reduce max %s dims [1] skip_nan : tensor<64x128xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_TileType:$input, DenseI64ArrayAttr:$dims, UnitAttr:$skipNan);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) $input `dims` $dims (`skip_nan` $skipNan^)? attr-dict `:` type($input) `->` type($result)
  }];
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
  let summary = "scan (prefix reduction) along a dimension with a monoid: sum prod max min any all";
  let description = [{
    Element `n` of the result along `dim` combines `init` and elements 0 to `n` of the input; `total` combines `init`
    and all of them. `init` and `total` lack the dimension. The target chooses the order in which elements are
    combined, as a function of the tile's shape and layout alone. Floats are f32 or f64. In placed programs a scan may
    be `exclusive`: element `n` then combines the elements before it.

    With a `key`, only elements that have the same key are combined, one after the other. `init` and `total` then have
    one more dimension, the last, with one value per key; a key outside of it counts as the last.

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

def Tile_SortOp : Tile_PureOp<"sort", [AllTypesMatch<["input", "result"]>]> {
  let summary = "integers in ascending order along a dimension, or steps of the network that sorts them";
  let description = [{
    Sorts signed integers of 32 or 64 bits along `dim`, whose size is a power of two 2^n, by a bitonic network. Phase
    `p` of its phases 1 to n has the steps `b` = p - 1 to 0. A step orders the elements at `i` and `i + 2^b`, where bit
    `b` of `i` is 0: ascending if bit `p` of `i` is 0, descending otherwise.

    In placed programs a sort may be a part of the network: of the phases from `phases[0]` up to and without
    `phases[1]`, the steps from `steps[0]` up to and without `steps[1]`.

    ```mlir
    %1 = tile.sort %0 dim 1 : tensor<4x256xi64>
    %2 = tile.sort %1 dim 1 phases [9, 10] steps [0, 8] : tensor<4x512xi64, #layout>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, I64Attr:$dim, OptionalAttr<DenseI64ArrayAttr>:$phases,
                       OptionalAttr<DenseI64ArrayAttr>:$steps);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $input `dim` custom<PlainInt>($dim) (`phases` $phases^ `steps` $steps)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// A step of the network: bits of the position along the dimension.
    struct Step {
      unsigned bit, phase;
    };
    /// The steps in their order.
    ::llvm::SmallVector<Step> getNetwork();
  }];
}

/// A last operand that is optional, after `others`, of the type of another one.
class Tile_OptionalOfType<string type, string operand, int others>
    : TypesMatchWith<"expected '" # operand # "' of the type of '" # type # "'", type, operand, "$_self",
                     "$_op.getNumOperands() <= " # others # " || std::equal_to<>()">;

def Tile_OnlineUpdateOp : Tile_PureOp<"online_update", [Tile_NamedResult,
    AllTypesMatch<["largest", "next", "reference", "scales", "factor"]>,
    Tile_OptionalOfType<"largest", "before", 1>]> {
  let summary = "an iteration of an online softmax: the running maximum and the factor that rescales sums";
  let description = [{
    A loop carries a running maximum and sums of weights 2^((exponent - reference) * scale), and each iteration adds a
    block of exponents. `largest` is the maximum of the block, `before` the running maximum before it; without `from`
    the block is the first one, and `before` is -inf. The results are

    - `next`: max(before, largest); with a `lag`, `before` while (largest - before) * scale is at most the lag;
    - `reference`: what the weights of the block are relative to, the operand of `tile.online_weigh`. It is `next`;
      with `guarded`, the lowest finite number where `next` is less;
    - `scales`: what exponents are multiplied by, `scale` everywhere unless the update is `adaptive`;
    - `factor`: 2^((before - reference) * scale). Carried sums are multiplied by it.

    With `prescaled`, exponents are multiplied before the reference is subtracted, by one FMA, and `reference` is the
    rounded product of the above and `scales`. Its rounding error is a common factor of all weights. With `adaptive`,
    `scales` is a power of two where the reference is so large that this factor would matter.

    `tile-lower-online-update` lowers the operation to maps. Until then, passes see which values belong to one softmax.
    With `expanded`, these maps are primitive: the target does not compute such powers itself.

    ```mlir
    %next, %reference, %scales, %factor = tile.online_update %m from %g scale 0.18 guarded prescaled adaptive : tensor<64xf32>
    %first, %r, %s, %f = tile.online_update %m scale 1.4426950408889634 : tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$largest, Optional<Tile_TileType>:$before, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$lag, UnitAttr:$guarded, UnitAttr:$prescaled,
                       UnitAttr:$adaptive, UnitAttr:$expanded);
  let results = (outs Tile_TileType:$next, Tile_TileType:$reference, Tile_TileType:$scales, Tile_TileType:$factor);
  let assemblyFormat = [{
    $largest (`from` $before^)? `scale` custom<PlainFloat>($scale) (`lag` custom<PlainFloat>($lag)^)?
    (`guarded` $guarded^)? (`prescaled` $prescaled^ (`adaptive` $adaptive^)?)? (`expanded` $expanded^)? attr-dict
    `:` type($largest)
  }];
}

def Tile_OnlineWeighOp : Tile_PureOp<"online_weigh", [AllTypesMatch<["exponent", "reference", "weight"]>,
    Tile_OptionalOfType<"exponent", "scales", 2>]> {
  let summary = "the weights of an online softmax: 2^((exponent - reference) * scale)";
  let description = [{
    `reference` is that of a `tile.online_update`, perhaps broadcast. With `by`, the update is `prescaled` and has these
    `scales`, and the weight is 2^(exponent * scales - reference); otherwise its `scale` is an attribute. Subnormal
    weights may be flushed to zero, and their last two bits may differ between targets. `expanded` is as in the update.

    With `rounded`, the product of the exponent and the scales is rounded by itself, as the reference is. So a running
    maximum is weighed that is relative to another reference: the result is 1 where both are equal.

    ```mlir
    %w = tile.online_weigh %x, %references by %scales : tensor<64x128xf32>
    %p = tile.online_weigh %x, %references scale 1.4426950408889634 : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$exponent, Tile_TileType:$reference, Optional<Tile_TileType>:$scales,
                       OptionalAttr<F64Attr>:$scale, UnitAttr:$rounded, UnitAttr:$expanded);
  let results = (outs Tile_TileType:$weight);
  let assemblyFormat = [{
    $exponent `,` $reference (`by` $scales^)? (`scale` custom<PlainFloat>($scale)^)? (`rounded` $rounded^)?
    (`expanded` $expanded^)? attr-dict `:` type($exponent)
  }];
}

def Tile_ConvertOp : Tile_PureOp<"convert"> {
  let summary = "layout conversion: the same tile, distributed over other registers and threads";
  let description = [{
    Elements move between the lanes of a warp and the warps of a CTA, but not between the CTAs of a cluster.
    `tile-lower-layout-conversions` lowers what crosses warps to shared memory.

    ```mlir
    %1 = tile.convert %0 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Tile_WarpReduceOp : Tile_PureOp<"warp_reduce"> {
  let summary = "reduces along dimensions within each warp";
  let description = [{
    As `tile.reduce`, within a warp: first over registers, then over lanes by butterfly shuffles (planReduction of
    lib/Layout chooses the order). The result has the other dimensions and a last one for the partial results of
    different warps and CTAs; its layout follows from the input's. A reduction across warps is a `tile.warp_reduce`, a
    `tile.convert` after which each thread has the last dimension in registers, and a `tile.reduce` along it.

    ```mlir
    %p = tile.warp_reduce sum %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4x2xf32, #parts>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_TileType:$input, DenseI64ArrayAttr:$dims, UnitAttr:$skipNan);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) $input `dims` $dims (`skip_nan` $skipNan^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims,
                   CArg<"bool", "false">:$skipNan)>
  ];
}

def Tile_MmaOp : Tile_PureOp<"mma"> {
  let summary = "MMA: acc + lhs · rhs";
  let description = [{
    `lhs` is M×K, `rhs` K×N, `acc` and the result M×N. Products are accumulated in the accumulator's type. An
    accumulator of P×M×N is a split-K: split p accumulates over the p-th of P equal parts of K, and the sum of the
    splits is the whole contraction.

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
    /// The number of splits of K, and the shape M×N of one.
    int64_t getParts() { return getType().getRank() > 2 ? getType().getShape()[0] : 1; }
    ::llvm::ArrayRef<int64_t> getMatrix() { return getType().getShape().take_back(2); }
  }];
}

include "tessera/Dialect/Tile/IR/TileSharedOps.td"
include "tessera/Dialect/Tile/IR/TileBulkOps.td"
include "tessera/Dialect/Tile/IR/TileWgmmaOps.td"

#endif
