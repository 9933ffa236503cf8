//===- Passes.td - Schedule IR to Tile IR -------------------*- tablegen -*-===//
#ifndef TESSERA_CONVERSION_SCHEDULETOTILE_PASSES
#define TESSERA_CONVERSION_SCHEDULETOTILE_PASSES

include "mlir/Pass/PassBase.td"

def ConvertScheduleToTile : Pass<"convert-sched-to-tile", "::mlir::ModuleOp"> {
  let summary = "convert scheduled kernels to tile kernels and launches";
  let description = [{
    Converts each `sched.kernel` of a function to a `tile.kernel` after the function and a
    `tile.launch` in its place. `tile.empty` creates the results.

    **Why.** A schedule names dimensions, tiles and streams; a tile kernel is a program of loops over
    tiles that back ends can compile. The schedule has made every decision, and this pass only
    writes the program.

    **Input form.** Schedule IR with tile sizes.

    **Output form.** Tile IR without layouts. The names of kernels are unique in the module.

    **Declines.** Never. An address that is not affine is an error, and so is a state or a gauge over
    an inner dimension whose tile does not cover its size. The diagnostic is at the operation. So is
    a second tile with pieces, or one in a kernel with states other than sums.

    *Shapes.* A value over dimensions becomes a tile with one axis per dimension of tile size above
    1, in the order in which the kernel declares them. Dimensions of tile size 1 are coordinates. A
    contraction requests its operands in the order of `tile.mma`: loads are emitted in that order,
    other values are transposed.

    *Pieces.* Where warpgroups multiply, one parallel dimension may have a tile that is no power of
    two, as 192. What depends on it is emitted for one piece of a power of two, as 64, after the
    other; streams carry the sums of all pieces, and share what does not depend on the dimension.

    *Memory.* The address of a load or store, the index expressions times the tensor's strides, must
    be affine in the dimensions. It becomes a view with one dimension per kernel dimension. Slices,
    transposes and reshapes are then part of the launch's `#tile.operand`, and the kernel uses plain
    tile coordinates. `floordiv` and `mod` cancel where `H*floordiv(z, H) + mod(z, H) = z` applies.
    Rank-0 arguments with `gir.scalar` are passed by value.

    *Edges.* Blocks that may reach past a size are padded with zeros in loads and `bounded` in
    stores. In a reduction, values that are not zero there by construction are replaced by the
    neutral element, and exponents of a gauge by -inf. Known divisors of a size (`gir.symbols`) make
    all of this unnecessary.

    *Loops.* A reduction over an inner dimension that one block does not cover is an `scf.for` that
    carries the accumulator, with its ragged block peeled. A `sched.stream` is a loop that carries
    its gauges and states. Its blocks form a head with masks, a middle without, and a tail with
    masks; loops that are empty for all sizes are not emitted. Loop-invariant values are computed
    before the loop.

    *Gauges.* Let g be the gauge before a block, m the block's largest exponent u and τ the stream's
    lag:
    ```
    g' = m - g <= τ ? g : max(g, m)      r = max(g', lowest number)
    weight = 2^((u - r) * s)             state' = state * 2^((g - r) * s) ⊕ contribution
    ```
    s is the gauge's scale. The finite r keeps rows without a live element free of nan; it equals g'
    where no exponent can be -inf. Where only weights use the gauge, and s < 1, or s < 2 and the
    weights are not operands of an MMA, they are 2^fma(u, s, -t) and 2^(rs(g) - t). There t = rs(r) is
    the rounded product, and s is replaced by a power of two where r is far from zero. One
    `tile.online_update` computes g', the reference (r or t) and the factor of the states, and a
    `tile.online_weigh` the weights.

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
  }];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif
