//===- Passes.td - From Schedule IR to Tile IR --------------*- tablegen -*-===//
#ifndef TESSERA_CONVERSION_SCHEDULETOTILE_PASSES
#define TESSERA_CONVERSION_SCHEDULETOTILE_PASSES

include "mlir/Pass/PassBase.td"

def ConvertScheduleToTile : Pass<"convert-sched-to-tile", "::mlir::ModuleOp"> {
  let summary = "write every scheduled kernel as a program on tiles";
  let description = [{
    Each `sched.kernel` of a function becomes a `tile.kernel` beside it and a `tile.launch` in its
    place, into fresh tensors made by `tile.empty`. The schedule has made every decision; this pass
    only writes them down.

    *Shapes.* A value over dimensions becomes a tile with one axis per dimension whose tile size is
    above 1, in the order in which the kernel declares them. Dimensions of tile size 1 are
    coordinates. A contraction asks for its operands in the order that `tile.mma` wants: loads are
    then made in that order, other values are transposed.

    *Memory.* The address of a load or store, the index expressions times the tensor's strides, must
    be affine in the dimensions. It becomes a view with one dimension per kernel dimension, so that
    every slice, transpose and reshape lives in the launch's `#tile.operand` and a kernel's
    coordinates are plain tile coordinates. `floordiv` and `mod` disappear where `H*floordiv(z, H) +
    mod(z, H) = z` applies. Rank-0 arguments marked `gir.scalar` are passed by value.

    *Edges.* Blocks that may reach beyond a size are loaded with zeros there and stored `bounded`.
    Before such a block is joined into a reduction, values that are not zero there by construction
    are replaced by the monoid's unit, and exponents of a gauge by -inf. What divides a size
    (`gir.symbols`) removes all of this.

    *Loops.* A reduction over an inner dimension that one block does not cover is an `scf.for`
    carrying the accumulator, whole blocks first, then the ragged one. A `sched.stream` is a loop
    carrying its gauges and states; its block range falls into a head with masks, a middle without
    and a tail with masks, of which those that are empty for all sizes are not written. Values that
    do not depend on a loop are computed before it.

    *Gauges.* With g the gauge before a block, m the block's largest exponent u and τ the stream's
    lag,
    ```
    g' = m - g <= τ ? g : max(g, m)      r = max(g', lowest number)
    weight = 2^((u - r) * s)             state' = state * 2^((g - r) * s) ⊕ contribution
    ```
    with s the gauge's scale. The choice of r keeps rows without any live element free of nan; it is
    left out where no exponent can be -inf. Where nothing but weights looks at the gauge, and s < 1, or
    s < 2 and they are summed alone, they are 2^fma(u, s, -t) and 2^(rs(g) - t) with t = rs(r), the rounded
    product; far from zero s is a power of two.

    Before:
    ```mlir
    func.func @negate(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
      %r = sched.kernel @k(%in = %x : !gir.tensor<S, f32>) -> (%out : !gir.tensor<S, f32>)
          dims [parallel i = S tile 256] order [i] {
        %0 = sched.load %in["i"] : !gir.tensor<S, f32> -> !sched.val<[i], f32>
        %1 = sched.map neg(%0) : (!sched.val<[i], f32>) -> !sched.val<[i], f32>
        sched.store %1, %out["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
      }
      return %r : !gir.tensor<S, f32>
    }
    ```
    After:
    ```mlir
    func.func @negate(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
      %0 = tile.empty : !gir.tensor<S, f32>
      tile.launch @k grid ["ceildiv(S, 256)"] (%x, %0)
        views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>,
               #tile.operand<offset "0", sizes ["S"], strides ["1"]>]
        sizes [] : !gir.tensor<S, f32>, !gir.tensor<S, f32>
      return %0 : !gir.tensor<S, f32>
    }
    tile.kernel @k(%in: !tile.view<?xf32, strides = [?]>,
                   %out: !tile.view<?xf32, strides = [1]>) grid 1 {
      %pid0 = tile.program_id 0
      %in_tile = tile.load %in[%pid0] dims [0] pad 0.0 : f32
               : !tile.view<?xf32, strides = [?]> -> tensor<256xf32>
      %0 = tile.map neg(%in_tile) : (tensor<256xf32>) -> tensor<256xf32>
      tile.store %0, %out[%pid0] dims [0] bounded
        : tensor<256xf32>, !tile.view<?xf32, strides = [1]>
      tile.return
    }
    ```

    It fails, with a message at the operation, on an address that is not affine, and on a state or
    gauge over an inner dimension whose tile does not cover its size. A kernel's name is made unique
    in the module.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif
