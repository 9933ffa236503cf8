//===- ScheduleOps.td - Schedule IR operations --------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_IR_SCHEDULEOPS
#define TESSERA_DIALECT_SCHEDULE_IR_SCHEDULEOPS

include "tessera/Dialect/Schedule/IR/ScheduleBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Schedule_Op<string mnemonic, list<Trait> traits = []>
    : Op<Schedule_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}
class Schedule_PureOp<string mnemonic, list<Trait> traits = []>
    : Schedule_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Schedule_KernelOp : Schedule_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one kernel: a grid over the parallel dimensions";
  let description = [{
    The block's arguments are the inputs, then the results (to be stored into). `dims` declares
    every iteration dimension; the dimensions of a value's type are listed in that order. Grid
    dimensions follow `order`, first varying fastest. `launch <…>` after it is the launch
    configuration (`#sched.launch`), which is part of the meaning of the kernel's code; `tuning <…>`
    (`#sched.tuning`) never changes a result. `sched.changed` among the attributes lists the values
    of an earlier phase that a later one overwrote.

    Other attributes are in `attributes {…}` before the body. Among them, `into` has an entry for
    every result: -1 for a new tensor, or the number of an input that this kernel does not read
    and in which the result is stored; elements that are not stored keep their value.

    ```mlir
    %r = sched.kernel @negate(%in = %x : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>)
        dims [parallel i = S tile 1024] order [i] launch <num_warps = 4> {
      %0 = sched.load %in["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
      %1 = sched.map neg(%0) : (!sched.val<[i], f32>) -> !sched.val<[i], f32>
      sched.store %1, %out["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
    }
    ```
  }];
  let arguments = (ins Graph_SymbolNameAttr:$sym_name, Variadic<Graph_TensorType>:$inputs,
                       ArrayAttr:$dims, StrArrayAttr:$order,
                       OptionalAttr<DenseI64ArrayAttr>:$into,
                       OptionalAttr<Schedule_LaunchAttr>:$launch,
                       OptionalAttr<Schedule_TuningAttr>:$tuning);
  let results = (outs Variadic<Graph_TensorType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::StringAttr":$name,
                   "::mlir::ValueRange":$inputs, "::mlir::ArrayAttr":$dims,
                   "::mlir::ArrayAttr":$order), [{
      build($_builder, $_state, outputs, name, inputs, dims, order, /*into=*/nullptr, /*launch=*/nullptr,
            /*tuning=*/nullptr);
    }]>
  ];
  let extraClassDefinition = Common_KernelConfig<"sched.changed">.definition;
  let extraClassDeclaration = Common_KernelConfig<"sched.changed">.declaration # [{
    /// The declaration of a dimension; null if there is none.
    DimAttr getDim(::llvm::StringRef name);
    /// Its position in the declaration.
    unsigned getDimPosition(::llvm::StringRef name);
    /// The declared dimensions among the symbols of an expression, in declaration order.
    ::llvm::SmallVector<::mlir::StringAttr>
    getDimsIn(::llvm::ArrayRef<::tessera::SymExpr> expressions);
    ::mlir::BlockArgument getInputArgument(unsigned i) { return getBody().getArgument(i); }
    ::mlir::BlockArgument getOutputArgument(unsigned i) {
      return getBody().getArgument(getInputs().size() + i);
    }
  }];
}

def Schedule_StreamOp : Schedule_Op<"stream", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a loop over blocks of the stream dimensions that carries states";
  let description = [{
    The body computes one block and ends by yielding its states (`sched.gauge`,
    `sched.accumulate`); the results are the states after the last block. A stream without states
    stores. Along the last of `over` only indices in `live` are visited, and inside `full` no
    `sched.mask` has any effect. Both are a first index and an end, expressions over sizes and over
    `i.lo` and `i.hi`, the first and last index of the CTA's tile along the parallel dimension `i`.
    `lag` allows a gauge to be smaller than the running maximum by that many powers of two.

    ```mlir
    %sum = sched.stream over [n] live ["0", "i.hi + 1"] full ["0", "i.lo + 1"] lag 0.0
        -> !sched.val<[i], f32> {
      %0 = sched.load %in["i", "n"] : !gir.tensor<S, S, f32> -> !sched.val<[i, n], f32>
      %1 = sched.index "i - n" : !sched.val<[i, n], i64>
      %zero = sched.constant 0 : i64 : !sched.val<[], i64>
      %2 = sched.map ge(%1, %zero)
         : (!sched.val<[i, n], i64>, !sched.val<[], i64>) -> !sched.val<[i, n], i1>
      %3 = sched.mask %2, %0 else 0.0 : f32
         : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
      %4 = sched.accumulate sum(%3) : (!sched.val<[i, n], f32>) -> !sched.val<[i], f32>
      sched.yield %4 : !sched.val<[i], f32>
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$over, StrArrayAttr:$live, StrArrayAttr:$full, F64Attr:$lag);
  let results = (outs Variadic<Schedule_ValType>:$states);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` custom<Names>($over) `live` $live `full` $full `lag` custom<PlainFloat>($lag)
    attr-dict-with-keyword (`->` type($states)^)? $body
  }];
  let hasRegionVerifier = 1;
}

def Schedule_YieldOp : Schedule_Op<"yield", [Pure, Terminator, HasParent<"StreamOp">]> {
  let summary = "the states of a stream";
  let description = [{
    Ends the body of a `sched.stream`. Its operands are gauges and accumulations of that stream and
    become its results; without operands it is not printed.

    ```mlir
    sched.yield %g, %sum : !sched.val<[i], f32>, !sched.val<[i], f32>
    ```
  }];
  let arguments = (ins Variadic<Schedule_ValType>:$states);
  let assemblyFormat = "($states^ `:` type($states))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange{}); }]>];
}

//===----------------------------------------------------------------------===//
// States of a stream
//===----------------------------------------------------------------------===//

def Schedule_GaugeOp : Schedule_PureOp<"gauge"> {
  let summary = "the running reference of an exponent: its maximum so far along the stream";
  let description = [{
    The gauge has the units of the exponent; `scale` converts them to powers of two. Weights and states that name a
    gauge are relative to it; when it changes from g to g', states are multiplied by 2^((g - g') * scale). Inside the
    body the result is the gauge after the current block.

    An `indicator` may have any numeric type. States relative to it accumulate only elements that are equal to the
    gauge: their values contain the comparison, and the states are reset when the gauge changes. It is NaN once an
    element is NaN.

    ```mlir
    %g = sched.gauge %u scale 1.4426950408889634 : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
    %m = sched.gauge %x indicator : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
    ```
  }];
  let arguments = (ins Schedule_ValType:$exponent, DefaultValuedAttr<F64Attr, "1.0">:$scale, UnitAttr:$indicator);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    $exponent (`scale` $scale^)? (`indicator` $indicator^)? attr-dict `:` type($exponent) `->` type($result)
  }];
}

def Schedule_WeighOp : Schedule_PureOp<"weigh"> {
  let summary = "2^((exponent - gauge) * scale), 0 where the exponent is -inf";
  let description = [{
    The gauge is a `sched.gauge` of the same stream, or, in a later pass, the final gauge of an earlier stream.

    ```mlir
    %w = sched.weigh %u rel %g
       : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
    ```
  }];
  let arguments = (ins Schedule_ValType:$exponent, Schedule_ValType:$gauge, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = "$exponent `rel` $gauge (`scale` $scale^)? attr-dict `:` functional-type(operands, $result)";
}

def Schedule_AccumulateOp : Schedule_PureOp<"accumulate", [AttrSizedOperandSegments]> {
  let summary = "accumulates a block's values, or products of values, in a state";
  let description = [{
    With two values their product is summed (a contraction). Dimensions of the stream are reduced
    with `kind`. With `rel`, the values are computed from weights of that gauge, or compare with it if it
    is an indicator, and the state is relative to it. The result's element type is the accumulator's. Only `sched.yield` may use a state.

    ```mlir
    %a = sched.accumulate sum(%w, %v) rel %g
       : (!sched.val<[i, n], f32>, !sched.val<[n, d], f32>, !sched.val<[i], f32>)
         -> !sched.val<[i, d], f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Schedule_ValType>:$values,
                       Optional<Schedule_ValType>:$gauge);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) `(` $values `)` (`rel` $gauge^)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

def Schedule_ScanOp : Schedule_PureOp<"scan"> {
  let summary = "inclusive scan along the stream, across blocks";
  let description = [{
    The parent is a stream over one dimension. An element combines, with the monoid `kind`, all elements of `value` up
    to its own index along the stream; the stream carries the result of earlier blocks implicitly. With a `key`, an
    integer from 0 to `below` - 1, only elements with the same key are combined.

    ```mlir
    %y = sched.scan sum(%x) : !sched.val<[i, n], f32> -> !sched.val<[i, n], f32>
    %z = sched.scan sum(%x) by (%k : !sched.val<[i, n], i32>) below 256 : !sched.val<[i, n], f32> -> !sched.val<[i, n], f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Schedule_ValType:$value, Optional<Schedule_ValType>:$key,
                       OptionalAttr<I64Attr>:$below);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) `(` $value `)` (`by` `(` $key^ `:` type($key) `)` `below` $below)? attr-dict
    `:` type($value) `->` type($result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

def Schedule_SortOp : Schedule_PureOp<"sort", [AllTypesMatch<["value", "result"]>]> {
  let summary = "integers in ascending order along the stream";
  let description = [{
    The parent is a stream over one dimension, which the value has. The tile of that dimension holds all of its
    elements, so that the stream is one block.

    ```mlir
    %y = sched.sort %x : !sched.val<[i, n], i64>
    ```
  }];
  let arguments = (ins Schedule_ValType:$value);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Schedule_LoadOp : Schedule_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "the tensor's element at an index";
  let description = [{
    The index is affine in the dimensions: one size expression per tensor dimension, or a single one
    that is the row-major element number of a contiguous tensor. Where an index along one dimension
    is past the tensor's end, the element is 0.

    `at (…)` lists gather indices: `#k` in the index is the integer value `places[k]`, clamped to
    0 and `below[k]` - 1. The result has the dimensions of the index and of the gather indices.

    ```mlir
    %0 = sched.load %in["b", "2*i + 1"] : !gir.tensor<B, S, f32> -> !sched.val<[b, i], f32>
    %1 = sched.load %table["#0", "d"] at (%0 : !sched.val<[b], i64>) below ["V"]
       : !gir.tensor<V, D, f32> -> !sched.val<[b, d], f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$tensor, StrArrayAttr:$index,
                       Variadic<Schedule_ValType>:$places, OptionalAttr<StrArrayAttr>:$below);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    $tensor `` $index (`at` `(` $places^ `:` type($places) `)` `below` $below)? attr-dict
    `:` type($tensor) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$tensor, "::mlir::ArrayAttr":$index), [{
      build($_builder, $_state, result, tensor, index, /*places=*/{}, /*below=*/nullptr);
    }]>
  ];
}

def Schedule_StoreOp : Schedule_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a value into a result at an index";
  let description = [{
    The index has the form of `sched.load`. It, or its scatter indices (`at (…)`), must have every dimension of the
    value; along further dimensions the value is broadcast. A value with a scatter index out of range is not stored. A
    `sum` adds to memory in the order of the enclosing stream; otherwise all elements have different indices. No two
    CTAs add to one element, unless the sum is `unordered`: then they add atomically in any order.

    ```mlir
    sched.store %0, %out["i", "n"] : !sched.val<[i], f32>, !gir.tensor<S, T, f32>
    sched.store %1, %out["#0", "d"] at (%i : !sched.val<[n], i64>) below ["S"] sum
      : !sched.val<[n, d], f32>, !gir.tensor<S, T, f32>
    ```
  }];
  let arguments = (ins Schedule_ValType:$value, Graph_TensorType:$tensor, StrArrayAttr:$index,
                       Variadic<Schedule_ValType>:$places, OptionalAttr<StrArrayAttr>:$below,
                       UnitAttr:$sum, UnitAttr:$unordered);
  let assemblyFormat = [{
    $value `,` $tensor `` $index (`at` `(` $places^ `:` type($places) `)` `below` $below)?
    (`sum` $sum^)? (`unordered` $unordered^)? attr-dict `:` type($value) `,` type($tensor)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$tensor, "::mlir::ArrayAttr":$index), [{
      build($_builder, $_state, value, tensor, index, /*places=*/{}, /*below=*/nullptr,
            /*sum=*/false, /*unordered=*/false);
    }]>
  ];
}

def Schedule_CheckOp : Schedule_Op<"check", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes the call fail unless a condition holds";
  let description = [{
    Same as `gir.check`, for the elements of the current block; elements past an edge are not checked.

    ```mlir
    sched.check %ok, %i else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]>
      : !sched.val<[n], i1>, !sched.val<[n], i64>
    ```
  }];
  let arguments = (ins Schedule_ValType:$condition, Schedule_ValType:$value, Graph_FailureAttr:$failure);
  let assemblyFormat = [{
    $condition `,` $value `else` $failure attr-dict `:` type($condition) `,` type($value)
  }];
}

def Schedule_ConstantOp : Schedule_PureOp<"constant", [ConstantLike]> {
  let summary = "a number";
  let description = [{
    ```mlir
    %0 = sched.constant 1.0 : f32 : !sched.val<[], f32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Schedule_IndexOp : Schedule_PureOp<"index"> {
  let summary = "a size expression over iteration dimensions and sizes, as an integer";
  let description = [{
    ```mlir
    %0 = sched.index "i + T - S" : !sched.val<[i], i64>
    ```
  }];
  let arguments = (ins StrAttr:$expression);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = "$expression attr-dict `:` type($result)";
}

def Schedule_MapOp : Schedule_PureOp<"map"> {
  let summary = "an elementwise operation over the union of the operands' dimensions";
  let description = [{
    `kind` is an operation of the scalar vocabulary (ScalarOps.def).

    ```mlir
    %2 = sched.map mul(%0, %1)
       : (!sched.val<[i], f32>, !sched.val<[n], f32>) -> !sched.val<[i, n], f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Schedule_ValType>:$inputs);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ScalarOp getScalarOp() { return *::tessera::scalarOpByName(getKind()); }
  }];
}

def Schedule_MaskOp : Schedule_PureOp<"mask"> {
  let summary = "the value where the condition holds, else the given number; full blocks skip it";
  let description = [{
    As `sched.map where`, but inside the `full` range of its stream the condition is known to hold
    and is not computed.

    ```mlir
    %1 = sched.mask %live, %0 else 0xFF800000 : f32
       : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
    ```
  }];
  let arguments = (ins Schedule_ValType:$condition, Schedule_ValType:$value,
                       TypedAttrInterface:$otherwise);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    $condition `,` $value `else` $otherwise attr-dict `:` functional-type(operands, $result)
  }];
}

def Schedule_CastOp : Schedule_PureOp<"cast"> {
  let summary = "conversion of the element type, as `gir.cast`";
  let description = [{
    ```mlir
    %1 = sched.cast %0 : !sched.val<[i], bf16> -> !sched.val<[i], f32>
    ```
  }];
  let arguments = (ins Schedule_ValType:$input);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Schedule_ReduceOp : Schedule_PureOp<"reduce"> {
  let summary = "reduction over inner dimensions, inside a block";
  let description = [{
    With two values their product is summed (a contraction). Sums and products use the accumulation
    type of the elements and are then converted to the result's element type.

    ```mlir
    %s = sched.reduce sum(%q, %k) over [d]
       : (!sched.val<[i, d], f32>, !sched.val<[n, d], f32>) -> !sched.val<[i, n], f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Schedule_ValType>:$values, StrArrayAttr:$over);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) `(` $values `)` `over` custom<Names>($over) attr-dict `:`
    functional-type($values, $result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

//===----------------------------------------------------------------------===//
// Data-dependent blocks
//===----------------------------------------------------------------------===//

def Schedule_BoundOp : Schedule_PureOp<"bound"> {
  let summary = "a conservative minimum, maximum, any or all of a value over the current block";
  let description = [{
    Reduces over the current block along `over`, whatever the roles of those dimensions are. Elements past an edge may
    make the result more conservative, never less.

    ```mlir
    %lo = sched.bound min %ids over [n] : !sched.val<[n], i64> -> !sched.val<[], i64>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Schedule_ValType:$value, StrArrayAttr:$over);
  let results = (outs Schedule_ValType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) $value `over` custom<Names>($over) attr-dict `:` type($value) `->` type($result)
  }];
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

def Schedule_VisitOp : Schedule_Op<"visit", [HasParent<"StreamOp">]> {
  let summary = "skips the current block unless `live`, and its masks if `full`";
  let description = [{
    Both conditions hold for the whole block (they are built from `sched.bound`). A block in which `live` is false changes
    no state, so the stream must not store; in a block in which `full` is true no `sched.mask` is evaluated.

    With `as_list` or `as_range` the loop has no branch: the blocks are tested before it, many at a time. With `as_list`
    it visits a list of the live blocks, the full ones first. With `as_range` it visits the blocks from the first to the
    last live one, and the full ones among them are a separate loop if they are contiguous. A list that would be too
    long is a range, and conditions that cannot be computed for many blocks at a time are tested in the loop.

    ```mlir
    sched.visit %live full %full as_list : !sched.val<[], i1>, !sched.val<[], i1>
    ```
  }];
  let arguments = (ins Schedule_ValType:$live, Schedule_ValType:$full, UnitAttr:$as_range, UnitAttr:$as_list);
  let assemblyFormat = [{
    $live `full` $full (`as_range` $as_range^)? (`as_list` $as_list^)? attr-dict `:` type($live) `,` type($full)
  }];
}

#endif
