// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v3 | FileCheck %s

// The facts of the function become guards, views become words: address, sizes, strides, then scalars, then the grid.
// CHECK-LABEL: tessera_target.program @scale
// CHECK: %[[X:.*]] = tessera_target.argument "x"
// CHECK: tessera_target.guard "{{.*}}x.stride.1{{.*}}" "eq" "0"
// CHECK: %[[A:.*]] = tessera_target.argument "a" scalar "float"
// CHECK: tessera_target.guard "S" "multiple" "8"
// CHECK: tessera_target.guard "S" "ge" "2"
// CHECK: tessera_target.guard "T" "eq" "2*S"
// CHECK: %[[OUT:.*]] = tessera_target.allocate
// CHECK: tessera_target.launch @k grid ["ceildiv(T, 16)", "S"](%[[X]], %[[OUT]], %[[A]])
// CHECK-SAME: words [#tessera_target.word<"address", 0, "4*x.stride.0">, #tessera_target.word<"integer", 0, "T">,
// CHECK-SAME: #tessera_target.word<"integer", 0, "x.stride.1">,
// CHECK-SAME: #tessera_target.word<"address", 1, "0">, #tessera_target.word<"integer", 0, "T">, #tessera_target.word<"integer", 0, "1">,
// CHECK-SAME: #tessera_target.word<"scalar", 2, "0">,
// CHECK-SAME: #tessera_target.word<"integer", 0, "ceildiv(T, 16)">, #tessera_target.word<"integer", 0, "S">]
// CHECK: tessera_target.result %[[OUT]]
// CHECK: tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 2, words = 9, scratch_bytes = 0>
func.func @scale(%x: !gir.tensor<S, T, f32> {gir.name = "x", gir.unit_stride = 1 : i64},
                 %a: !gir.tensor<f32> {gir.name = "a", gir.scalar = "float"}) -> !gir.tensor<T, f32>
    attributes {gir.symbols = {S = {divisor = 8 : i64, min = 2 : i64}}, gir.guards = ["T == 2*S"]} {
  %0 = tile.empty : !gir.tensor<T, f32>
  tile.launch @k grid ["ceildiv(T, 16)", "S"] (%x, %0)
    views [#tile.operand<offset "$0", sizes ["T"], strides ["$1"]>, #tile.operand<offset "0", sizes ["T"], strides ["1"]>]
    sizes [] scalars (%a : !gir.tensor<f32>) : !gir.tensor<S, T, f32>, !gir.tensor<T, f32>
  return %0 : !gir.tensor<T, f32>
}
tile.kernel @k(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>, %a: f32) grid 2 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<16xf32>
  %s = tile.splat %a : f32 -> tensor<16xf32>
  %d = tile.map mul(%t, %s) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<16xf32>, !tile.view<?xf32, strides = [1]>
  tile.return
}
