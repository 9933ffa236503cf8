// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected an element type among f64 f32 bf16 f16 f8E4M3FN f8E5M2 i64 i32 i16 i8 ui8 i1, got 'i7'}}
func.func @element(%x: !tile.view<4xi7, strides = [1]>)

// -----

// expected-error @+1 {{attribute 'sym_name' failed to satisfy constraint: string attribute that is not empty}}
"tile.kernel"() <{function_type = () -> (), grid_rank = 1 : i64, sym_name = ""}> ({
  "tile.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{expected 2 strides, got 1}}
func.func @strides(%x: !tile.view<4x4xf32, strides = [1]>)

// -----

// expected-error @+1 {{expected divisors of at least 1, got 0}}
func.func @divisors(%x: !tile.view<?xf32, strides = [1], divisors = [0]>)

// -----

// expected-error @+1 {{expected a grid of at least 1 dimension, got 0}}
tile.kernel @grid() grid 0 {
  tile.return
}

// -----

// expected-error @+1 {{expected views, then sizes, then scalars as arguments, got '!tile.view<f32>' at 1}}
tile.kernel @order(%n: index, %x: !tile.view<f32>) grid 1 {
  tile.return
}

// -----

// expected-error @+1 {{expected argument 0 to be a view, an index or a scalar, got 'tensor<4xf32>'}}
tile.kernel @argument(%x: tensor<4xf32>) grid 1 {
  tile.return
}

// -----

// expected-error @+1 {{expected the body to end in tile.return}}
tile.kernel @terminator() grid 1 {
  %0 = tile.program_id 0
}

// -----

tile.kernel @program() grid 2 {
  // expected-error @+1 {{expected a grid dimension below 2, got 2}}
  %0 = tile.program_id 2
  tile.return
}

// -----

tile.kernel @dim(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  // expected-error @+1 {{expected a dimension below 1, got 1}}
  %0 = tile.dim %x, 1 : !tile.view<?xf32, strides = [1]>
  tile.return
}

// -----

tile.kernel @coordinates(%x: !tile.view<?x?xf32, strides = [?, 1]>, %i: index) grid 1 {
  // expected-error @+1 {{expected 2 coordinates, one for each dimension of the view, got 1}}
  %0 = tile.load %x[%i] dims [0] : !tile.view<?x?xf32, strides = [?, 1]> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @tileDims(%x: !tile.view<?xf32, strides = [1]>, %i: index) grid 1 {
  // expected-error @+1 {{expected 2 dims, one for each dimension of the tile, got 1}}
  %0 = tile.load %x[%i] dims [0] : !tile.view<?xf32, strides = [1]> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @sameDim(%x: !tile.view<?x?xf32, strides = [?, 1]>, %i: index) grid 1 {
  // expected-error @+1 {{expected distinct dims, got 1 twice}}
  %0 = tile.load %x[%i, %i] dims [1, 1] : !tile.view<?x?xf32, strides = [?, 1]> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @pad(%x: !tile.view<?xf32, strides = [1]>, %i: index) grid 1 {
  // expected-error @+1 {{expected a pad of type 'f32', got 'f64'}}
  %0 = tile.load %x[%i] dims [0] pad 0.0 : f64 : !tile.view<?xf32, strides = [1]> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @stored(%x: !tile.view<?xf32, strides = [1]>, %i: index) grid 1 {
  %0 = tile.constant 1 : i32 : tensor<4xi32>
  // expected-error @+1 {{expected a tile of element type 'f32', got 'i32'}}
  tile.store %0, %x[%i] dims [0] : tensor<4xi32>, !tile.view<?xf32, strides = [1]>
  tile.return
}

// -----

func.func @constant() {
  // expected-error @+1 {{expected a constant of type 'f32', got 1 : i32}}
  %0 = tile.constant 1 : i32 : tensor<4xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{must be tile (tensor of static shape), but got 'tensor<?xf32>'}}
  %0 = tile.cast %x : tensor<?xf32> -> tensor<?xf64>
  return
}

// -----

func.func @splat(%x: i32) {
  // expected-error @+1 {{expected a scalar of type 'f32' or index, got 'i32'}}
  %0 = tile.splat %x : i32 -> tensor<4xf32>
  return
}

// -----

func.func @iotaRank(%i: index) {
  // expected-error @+1 {{expected a tile of rank 1, got rank 2}}
  %0 = tile.iota %i : tensor<4x4xi32>
  return
}

// -----

func.func @iotaType(%i: index) {
  // expected-error @+1 {{expected an integer tile, got 'tensor<4xf32>'}}
  %0 = tile.iota %i : tensor<4xf32>
  return
}

// -----

func.func @extract(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a tile of rank 0, got rank 1}}
  %0 = tile.extract %x : tensor<4xf32> -> f32
  return
}

// -----

func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an operation of the scalar vocabulary, got 'softmax'}}
  %0 = tile.map softmax(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @arity(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 operands for 'add', got 1}}
  %0 = tile.map add(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{expected operands of one element type, got 'f32' and 'f64'}}
  %0 = tile.map add(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{expected floating point operands for 'exp', got 'i32'}}
  %0 = tile.map exp(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @condition(%c: tensor<4xi8>, %x: tensor<4xf32>) {
  // expected-error @+1 {{expected a condition of type i1, got 'i8'}}
  %0 = tile.map where(%c, %x, %x) : (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compared(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of element type 'i1' for 'lt', got 'f32'}}
  %0 = tile.map lt(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{expected operands of shape 4, got 5}}
  %0 = tile.map add(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an element type of 32 bits, got 'i64'}}
  %0 = tile.bitcast %x : tensor<4xf32> -> tensor<4xi64>
  return
}

// -----

func.func @broadcastOrder(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected increasing dims, got 0 after 1}}
  %0 = tile.broadcast %x dims [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @broadcastSize(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected result dimension 1 of size 4, got 5}}
  %0 = tile.broadcast %x dims [1] : tensor<4xf32> -> tensor<3x5xf32>
  return
}

// -----

func.func @transpose(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected a result of shape 5x4, got 4x5}}
  %0 = tile.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @reshape(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected a result of 20 elements, got 21}}
  %0 = tile.reshape %x : tensor<4x5xf32> -> tensor<21xf32>
  return
}

// -----

func.func @monoid(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected one of sum prod max min any all, got 'mean'}}
  %0 = tile.reduce mean %x dims [0] : tensor<4x5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @logical(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected bools for 'any', got 'f32'}}
  %0 = tile.reduce any %x dims [0] : tensor<4x5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @logical(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected skip_nan on max and min of floats only}}
  %0 = tile.reduce sum %x dims [0] skip_nan : tensor<4x5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @reduced(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected a result of shape 5, got 4}}
  %0 = tile.reduce sum %x dims [0] : tensor<4x5xf32> -> tensor<4xf32>
  return
}

// -----

func.func @mma(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
  // expected-error @+1 {{expected rhs of shape 8x8, got 4x8}}
  %0 = tile.mma %a, %b, %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @parts(%a: tensor<4x4xf32>, %c: tensor<3x4x4xf32>) {
  // expected-error @+1 {{expected a number of splits that divides 4, got 3}}
  %0 = tile.mma %a, %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @ranks(%a: tensor<4x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{expected matrices and an accumulator of rank 2 or 3, got ranks 2, 2 and 1}}
  %0 = tile.mma %a, %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @accumulator(%a: tensor<4x4xf32>, %c: tensor<4x4xbf16>) {
  // expected-error @+1 {{expected an accumulator that holds products of 'f32', got 'bf16'}}
  %0 = tile.mma %a, %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return
}

// -----

func.func @nobody(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected the name of a tile.kernel, got @missing}}
  tile.launch @missing grid ["S"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

// expected-note @+1 {{the kernel is here}}
tile.kernel @one(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  tile.return
}
func.func @gridRank(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected a grid of rank 1, got 2}}
  tile.launch @one grid ["S", "1"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

// expected-note @+1 {{the kernel is here}}
tile.kernel @one(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  tile.return
}
func.func @viewRank(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected argument 0 as a view of rank 1, got rank 2}}
  tile.launch @one grid ["S"] (%x) views [#tile.operand<offset "0", sizes ["S", "1"], strides ["$0", "0"]>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

// expected-note @+1 {{the kernel is here}}
tile.kernel @one(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  tile.return
}
func.func @viewType(%x: !gir.tensor<S, f64>) {
  // expected-error @+1 {{expected argument 0 of element type 'f32', got 'f64'}}
  tile.launch @one grid ["S"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>] sizes []
    : !gir.tensor<S, f64>
  return
}

// -----

func.func @viewCount(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected 1 views, one for each tensor, got 0}}
  tile.launch @one grid ["S"] (%x) views [] sizes [] : !gir.tensor<S, f32>
  return
}

// -----

func.func @expression(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected a size expression, got "S +"}}
  tile.launch @one grid ["S +"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides ["$0"]>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

func.func @operandExpression(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected a size expression, got '*'}}
  tile.launch @one grid ["S"] (%x) views [#tile.operand<offset "*", sizes ["S"], strides ["$0"]>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

func.func @operandStrides(%x: !gir.tensor<S, f32>) {
  // expected-error @+1 {{expected 1 strides, got 0}}
  tile.launch @one grid ["S"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides []>] sizes []
    : !gir.tensor<S, f32>
  return
}

// -----

// expected-error @+1 {{expected a field of launch among num_warps, cluster_size, cluster_axis, persistent_ctas, tiles_per_cta, stream_parts, launch_rank, got 'speed'}}
tile.kernel @unknown_launch() grid 1 launch <speed = 3> {
  tile.return
}

// -----

// expected-error @+1 {{expected a field of launch among num_warps, cluster_size, cluster_axis, persistent_ctas, tiles_per_cta, stream_parts, launch_rank, got 'num_stages'}}
tile.kernel @tuning_in_launch() grid 1 launch <num_stages = 3> {
  tile.return
}

// -----

// expected-error @+1 {{expected a field of tuning among min_ctas_per_sm, raster_group, reverse_grid, num_stages, use_tma, wgmma, l2_evict_last, use_amx, swap_operands, cache_stores, got 'num_warps'}}
tile.kernel @launch_in_tuning() grid 1 tuning <num_warps = 4> {
  tile.return
}

// -----

// expected-error @+1 {{expected num_warps from 1 to 32, got 64}}
tile.kernel @large_launch() grid 1 launch <num_warps = 64> {
  tile.return
}

// -----

// expected-error @+1 {{expected num_stages from 2 to 11, got 1}}
tile.kernel @small_tuning() grid 1 tuning <num_stages = 1> {
  tile.return
}

// -----

// expected-error @+1 {{expected 'num_warps' once}}
tile.kernel @same_field() grid 1 launch <num_warps = 4, num_warps = 8> {
  tile.return
}

// -----

// expected-error @+1 {{expected cluster_size beside cluster_axis}}
tile.kernel @axis_of_no_cluster() grid 1 launch <cluster_axis = 1> {
  tile.return
}

// -----

// expected-error @+1 {{expected persistent_ctas or tiles_per_cta, got both}}
tile.kernel @two_loops() grid 1 launch <persistent_ctas = 132, tiles_per_cta = 4> {
  tile.return
}

// -----

// expected-error @+1 {{expected cluster_size from 1 to 16, got 0}}
#launch = #tile.launch<cluster_size = 0>

// -----

// expected-error @+1 {{expected use_tma from 0 to 1, got 2}}
#tuning = #tile.tuning<use_tma = 2>

// -----

!placed = tensor<2xf32, #tile.layout<"lane[d0:1] -> d0:2">>
tile.kernel @gather(%x: !tile.view<?xf32, strides = [1]>, %c: index) grid 1 {
  %0 = tile.constant 1.0 : f32 : !placed
  %1 = tile.splat %c : index -> tensor<2xi64, #tile.layout<"register[d0:1] -> d0:2">>
  // expected-error @+1 {{expected indices in the layout of }}
  tile.scatter %0, %x[] at (%1) dims [-1] : !placed, !tile.view<?xf32, strides = [1]>, tensor<2xi64, #tile.layout<"register[d0:1] -> d0:2">>
  tile.return
}

// -----

tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4xi64>
  // expected-error @+1 {{expected indices of the shape of 'tensor<4x8xf32>', got 'tensor<4xi64>'}}
  %1 = tile.gather %x[%c] at (%0) dims [-1, 0] : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4xi64> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4x8xi16>
  // expected-error @+1 {{expected indices of type i32 or i64, got 'i16'}}
  %1 = tile.gather %x[%c] at (%0) dims [-1, 0] : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi16> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4x8xi64>
  // expected-error @+1 {{expected 2 coordinates and tiles of indices, one for each dimension of the view, got 3}}
  %1 = tile.gather %x[%c, %c] at (%0) dims [-1, 0] : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4x8xi64>
  // expected-error @+1 {{expected dims below 1, got 1}}
  %1 = tile.gather %x[%c] at (%0) dims [-1, 1] : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4x8xi64>
  // expected-error @+1 {{expected 2 dims, one for each dimension of the tile, got 1}}
  %1 = tile.gather %x[%c] at (%0) dims [0] : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @flags(%x: !tile.view<?xi1, strides = [1]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4xi64>
  %1 = tile.constant true : tensor<4xi1>
  // expected-error @+1 {{expected elements that can be added, got i1}}
  tile.scatter %1, %x[] at (%0) dims [-1] sum : tensor<4xi1>, !tile.view<?xi1, strides = [1]>, tensor<4xi64>
  tile.return
}

// -----

tile.kernel @narrow(%x: !tile.view<?xi16, strides = [1]>, %c: index) grid 1 {
  %0 = tile.splat %c : index -> tensor<4xi64>
  %1 = tile.constant 1 : i16 : tensor<4xi16>
  // expected-error @+1 {{expected elements of 32 or 64 bits for an unordered sum, got 'i16'}}
  tile.scatter %1, %x[] at (%0) dims [-1] sum unordered : tensor<4xi16>, !tile.view<?xi16, strides = [1]>, tensor<4xi64>
  tile.return
}

// -----

func.func @sort_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected integers of type i32 or i64, got 'f32'}}
  %y = tile.sort %x dim 1 : tensor<4x8xf32>
  return
}

// -----

func.func @sort_dim(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{expected a dimension below 2, got 2}}
  %y = tile.sort %x dim 2 : tensor<4x8xi32>
  return
}

// -----

func.func @sort_size(%x: tensor<4x6xi32>) {
  // expected-error @+1 {{expected a power of two elements to sort, got 6}}
  %y = tile.sort %x dim 1 : tensor<4x6xi32>
  return
}

// -----

func.func @part_without_layout(%x: tensor<8xi32>) {
  // expected-error @+1 {{expected a tile with a layout for a part of a sort}}
  %y = tile.sort %x dim 0 phases [1, 2] steps [0, 1] : tensor<8xi32>
  return
}

// -----

func.func @part_phases(%x: tensor<8xi32, #tile.layout<"lane[d0:1, d0:2, d0:4, 0, 0] -> d0:8">>) {
  // expected-error @+1 {{expected phases from 1 to 4}}
  %y = tile.sort %x dim 0 phases [1, 5] steps [0, 3] : tensor<8xi32, #tile.layout<"lane[d0:1, d0:2, d0:4, 0, 0] -> d0:8">>
  return
}

// -----

func.func @part_steps(%x: tensor<8xi32, #tile.layout<"lane[d0:1, d0:2, d0:4, 0, 0] -> d0:8">>) {
  // expected-error @+1 {{expected steps from 0 to 3}}
  %y = tile.sort %x dim 0 phases [1, 4] steps [2, 1] : tensor<8xi32, #tile.layout<"lane[d0:1, d0:2, d0:4, 0, 0] -> d0:8">>
  return
}

// -----

func.func @scan_shape(%x: tensor<4x8xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{initial tile}}
  %y, %t = tile.scan sum %x from %c dim 1 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @scan_dim(%x: tensor<4x8xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{expected a dimension below 2, got 2}}
  %y, %t = tile.scan sum %x from %c dim 2 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @scan_keys(%x: tensor<4x8xf32>, %c: tensor<4x16xf32>, %k: tensor<4xi32>) {
  // expected-error @+1 {{expected keys of shape 4x8, got 4}}
  %y, %t = tile.scan sum %x from %c dim 1 by (%k : tensor<4xi32>) : tensor<4x8xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @scan_real_keys(%x: tensor<4x8xf32>, %c: tensor<4x16xf32>) {
  // expected-error @+1 {{expected integer keys, got 'f32'}}
  %y, %t = tile.scan sum %x from %c dim 1 by (%x : tensor<4x8xf32>) : tensor<4x8xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @scan_half(%x: tensor<4x8xf16>, %c: tensor<4xf16>) {
  // expected-error @+1 {{expected floats of type f32 or f64, got 'f16'}}
  %y, %t = tile.scan sum %x from %c dim 1 : tensor<4x8xf16>, tensor<4xf16>
  return
}

// -----

func.func @online_integers(%m: tensor<8xi32>) {
  // expected-error @+1 {{expected floating point exponents, got 'i32'}}
  %n, %r, %s, %f = tile.online_update %m scale 1.0 : tensor<8xi32>
  return
}

// -----

func.func @online_scale(%m: tensor<8xf32>) {
  // expected-error @+1 {{expected a finite scale, got}}
  %n, %r, %s, %f = "tile.online_update"(%m) <{scale = 0x7FF0000000000000 : f64}> : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @online_before(%m: tensor<8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{expected 'before' of the type of 'largest'}}
  %n, %r, %s, %f = "tile.online_update"(%m, %g) <{scale = 1.0 : f64}> : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @online_lag(%m: tensor<8xf32>) {
  // expected-error @+1 {{expected no lag without a running maximum}}
  %n, %r, %s, %f = tile.online_update %m scale 1.0 lag 8.0 : tensor<8xf32>
  return
}

// -----

func.func @online_negative_lag(%m: tensor<8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{expected a lag of at least 0, got -8}}
  %n, %r, %s, %f = tile.online_update %m from %g scale 1.0 lag -8.0 : tensor<8xf32>
  return
}

// -----

func.func @online_adaptive(%m: tensor<8xf32>) {
  // expected-error @+1 {{expected 'adaptive' on prescaled exponents only}}
  %n, %r, %s, %f = "tile.online_update"(%m) <{scale = 1.0 : f64, adaptive}> : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @online_weigh_both(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected either 'by' or 'scale', got both}}
  %w = tile.online_weigh %x, %x by %x scale 1.0 : tensor<8xf32>
  return
}

// -----

func.func @online_weigh_neither(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected either 'by' or 'scale', got neither}}
  %w = tile.online_weigh %x, %x : tensor<8xf32>
  return
}

// -----

func.func @online_weigh_rounded(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected 'rounded' on prescaled exponents only}}
  %w = tile.online_weigh %x, %x scale 1.0 rounded : tensor<8xf32>
  return
}

// -----

func.func @online_weigh_integers(%x: tensor<8xi32>) {
  // expected-error @+1 {{expected floating point exponents, got 'i32'}}
  %w = tile.online_weigh %x, %x scale 1.0 : tensor<8xi32>
  return
}

// -----

func.func @shift_by_three(%x: !tile.view<?x?xf32, strides = [?, 1]>, %i: index) {
  // expected-error @+1 {{expected a power of two, got 3}}
  %s = tile.misalignment %x[%i, %i] mod 3 : !tile.view<?x?xf32, strides = [?, 1]>
  return
}

// -----

func.func @check_outside(%c: i1, %v: i64) {
  // expected-error @+1 {{expected a tile.kernel around the operation}}
  tile.check %c, %v else <kind = "index", message = "no", sizes = []>
  return
}

// -----

// expected-error @+1 {{expected at most 8 dimensions whose sizes are powers of two for a tile with a layout}}
func.func private @large(tensor<4294967296xf32, #tile.layout<"register[d0:1] -> d0:2">>)

// -----

// expected-error @+1 {{expected at most 8 dimensions whose sizes are powers of two for a tile with a layout}}
func.func private @unknown(tensor<?xf32, #tile.layout<"register[d0:1] -> d0:2">>)

// -----

func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a slice of rank 2, got rank 2 and 1 offsets}}
  %0 = tile.slice %x at [0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a slice of size 4 at a multiple of it, within 8, got offset 2}}
  %0 = tile.slice %x at [0, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_empty(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a slice of size 0 at a multiple of it, within 8, got offset 2}}
  %0 = tile.slice %x at [0, 2] : tensor<4x8xf32> -> tensor<4x0xf32>
  return
}

// -----

func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a slice of element type 'f32', got 'f16'}}
  %0 = tile.slice %x at [0, 4] : tensor<4x8xf32> -> tensor<4x4xf16>
  return
}

// -----

#whole = #tile.layout<"register[d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32] -> d0:128">
#other = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[0] -> d0:64">
func.func @slice(%x: tensor<128xf32, #whole>) {
  // expected-error @+1 {{expected a slice whose elements the same threads hold in the input}}
  %0 = tile.slice %x at [64] : tensor<128xf32, #whole> -> tensor<64xf32, #other>
  return
}

// -----

#whole = #tile.layout<"register[d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32] -> d0:128">
func.func @slice(%x: tensor<128xf32, #whole>) {
  // expected-error @+1 {{expected layouts on both tiles or on none}}
  %0 = tile.slice %x at [64] : tensor<128xf32, #whole> -> tensor<64xf32>
  return
}
