// RUN: %tessera_opt %s -print-cuda-tile -split-input-file -o /dev/null | FileCheck %s

// Without a launch the grid may be larger than the tensor: a tile that may lie outside is loaded through
// pointers and a mask.
// CHECK-LABEL: entry @outside
// CHECK-NOT: make_tensor_view
// CHECK: [[AT:%[0-9]+]] = addi {{.*}} : tile<64xi64>
// CHECK: [[IN:%[0-9]+]] = cmpi [[AT]], {{%[0-9]+}} {less_than, unsigned}
// CHECK: [[PAD:%[0-9]+]] = constant 1 : tile<64xf32>
// CHECK: [[P:%[0-9]+]] = offset {{%[0-9]+}}, {{%[0-9]+}} : tile<64xptr<f32>>
// CHECK: load_ptr_tko source [[P]] mask [[IN]] padding_value [[PAD]] {weak}
// CHECK: store_ptr_tko {{.*}} mask
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @outside(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 1.0 : f32 : !v -> tensor<64xf32>
  tile.store %t, %y[%i] dims [0] bounded : tensor<64xf32>, !v
  tile.return
}

// -----

// A loop over the tiles of the tensor is in bounds; the padding is minus infinity.
// CHECK-LABEL: entry @inside
// CHECK: make_partition_view {{.*}}padding=neg_inf
// CHECK: [[N:%[0-9]+]] = divi {{.*}} {signed, positive_inf}
// CHECK: for lower_bound {{%[0-9]+}} upper_bound [[N]]
// CHECK: load_view_tko
// CHECK: reduce {{.*}} {dim = 0, identities = [-inf : f32]} : tile<f32>
// CHECK: maxf {{.*}} {propagate_nan}
!v = !tile.view<?xf32, strides = [1]>
!s = !tile.view<f32>
tile.kernel @inside(%x: !v, %y: !s) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %size = tile.dim %x, 0 : !v
  %n = arith.ceildivsi %size, %c64 : index
  %zero = tile.constant 0xFF800000 : f32 : tensor<f32>
  %max = scf.for %k = %c0 to %n step %c1 iter_args(%m = %zero) -> (tensor<f32>) {
    %t = tile.load %x[%k] dims [0] pad 0xFF800000 : f32 : !v -> tensor<64xf32>
    %r = tile.reduce max %t dims [0] : tensor<64xf32> -> tensor<f32>
    %q = tile.map maximum(%m, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %q : tensor<f32>
  }
  tile.store %max, %y[] dims [] : tensor<f32>, !s
  tile.return
}

// -----

// A tensor that is loaded and stored: tokens order the accesses, also through loops.
// CHECK-LABEL: entry @ordered
// CHECK: [[T0:%[0-9]+]] = make_token
// CHECK: [[END:%[0-9]+]] = for {{.*}} init_values {{\[}}[[T0]]] : token { ({{%[0-9]+}}: tile<i32>, [[T:%[0-9]+]]: token):
// CHECK: [[X:%[0-9]+]], [[T1:%[0-9]+]] = load_view_tko {{.*}} token [[T]] {weak}
// CHECK: [[T2:%[0-9]+]] = join_tokens [[T]], [[T1]]
// CHECK: [[T3:%[0-9]+]] = store_view_tko {{.*}} token [[T2]] {weak}
// CHECK: continue [[T3]]
// CHECK: load_view_tko {{.*}} token [[END]] {weak}
!v = !tile.view<256xf32, strides = [1]>
tile.kernel @ordered(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %c4 step %c1 {
    %t = tile.load %x[%k] dims [0] : !v -> tensor<64xf32>
    tile.store %t, %x[%k] dims [0] : tensor<64xf32>, !v
  }
  %u = tile.load %x[%c1] dims [0] : !v -> tensor<64xf32>
  tile.store %u, %x[%c0] dims [0] : tensor<64xf32>, !v
  tile.return
}

// -----

// A view with an offset has the alignment of the offset.
// CHECK-LABEL: entry @shifted
// CHECK: assume %0 {div_by<8>} : tile<ptr<f32>>
// CHECK: assume {{%[0-9]+}} {div_by<16>} : tile<ptr<f32>>
func.func @shift(%x: !gir.tensor<256, f32>) -> !gir.tensor<256, f32> {
  %0 = tile.empty : !gir.tensor<256, f32>
  tile.launch @shifted grid ["1"] (%x, %0) views
    [#tile.operand<offset "2", sizes ["64"], strides ["1"]>,
     #tile.operand<offset "64", sizes ["64"], strides ["1"]>] sizes []
    : !gir.tensor<256, f32>, !gir.tensor<256, f32>
  return %0 : !gir.tensor<256, f32>
}
!v = !tile.view<64xf32, strides = [1]>
tile.kernel @shifted(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<64xf32>
  tile.store %t, %y[%i] dims [0] bounded : tensor<64xf32>, !v
  tile.return
}

// -----

// A tensor with two paddings: tileiras merges views that differ only in the padding.
// CHECK-LABEL: entry @two_paddings
// CHECK: make_partition_view {{.*}}padding=zero
// CHECK-NOT: padding=neg_inf
// CHECK: [[X:%[0-9]+]], {{%[0-9]+}} = load_view_tko
// CHECK: [[Y:%[0-9]+]], {{%[0-9]+}} = load_view_tko
// CHECK: [[IN:%[0-9]+]] = cmpi {{.*}} {less_than, signed}
// CHECK: [[INF:%[0-9]+]] = constant -inf : tile<64xf32>
// CHECK: select [[IN]], [[Y]], [[INF]]
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @two_paddings(%x: !v, %y: !v, %z: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] pad 0.0 : f32 : !v -> tensor<64xf32>
  %b = tile.load %x[%c0] dims [0] pad 0xFF800000 : f32 : !v -> tensor<64xf32>
  tile.store %a, %y[%c0] dims [0] bounded : tensor<64xf32>, !v
  tile.store %b, %z[%c0] dims [0] bounded : tensor<64xf32>, !v
  tile.return
}

// -----

// TMA writes 16-byte chunks: rows that may end within one are stored without TMA.
// CHECK-LABEL: entry @ragged
// CHECK: store_ptr_tko
// CHECK: store_view_tko {{.*}}allow_tma = false
// CHECK: store_view_tko {{.*}} {weak} : token
!v = !tile.view<?xf32, strides = [1]>
!m = !tile.view<64x61xf32, strides = [64, 1]>
!w = !tile.view<60xf32, strides = [1]>
tile.kernel @ragged(%x: !v, %y: !m, %z: !w) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.constant 1.0 : f32 : tensor<64xf32>
  %b = tile.constant 1.0 : f32 : tensor<64x64xf32>
  tile.store %a, %x[%c0] dims [0] bounded : tensor<64xf32>, !v
  tile.store %b, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !m
  tile.store %a, %z[%c0] dims [0] bounded : tensor<64xf32>, !w
  tile.return
}

// -----

// An unaligned row is accessed through pointers; positions are compared with the size of the row only.
// CHECK-LABEL: entry @loose_row
// CHECK-COUNT-1: cmpi
// CHECK: load_ptr_tko
// CHECK-COUNT-1: cmpi
// CHECK: store_ptr_tko
func.func @loose(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16> {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @loose_row grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @loose_row(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  tile.store %t, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}

// -----

// Gather indices are clamped and offset the pointers.
// CHECK-LABEL: entry @places
// CHECK: [[LOW:%[0-9]+]] = mini {{.*}} {signed} : tile<64xi64>
// CHECK: [[AT:%[0-9]+]] = maxi [[LOW]], {{.*}} {signed} : tile<64xi64>
// CHECK: [[P:%[0-9]+]] = offset {{%[0-9]+}}, [[AT]] : tile<64xptr<f32>>
// CHECK: load_ptr_tko source [[P]] {weak}
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @places(%i: !tile.view<?xi32, strides = [1]>, %x: !v, %y: !v) grid 1 {
  %pid = tile.program_id 0
  %at = tile.load %i[%pid] dims [0] pad 0 : i32 : !tile.view<?xi32, strides = [1]> -> tensor<64xi32>
  %t = tile.gather %x[] at (%at) dims [-1] : !v, tensor<64xi32> -> tensor<64xf32>
  tile.store %t, %y[%pid] dims [0] bounded : tensor<64xf32>, !v
  tile.return
}

// -----

// Elements with an index in bounds are stored.
// CHECK-LABEL: entry @put
// CHECK: [[AT:%[0-9]+]], {{%[0-9]+}} = load_ptr_tko
// CHECK: [[IN:%[0-9]+]] = cmpi [[AT]], {{%[0-9]+}} {less_than, unsigned} : tile<64xi1>
// CHECK: [[P:%[0-9]+]] = offset {{%[0-9]+}}, [[AT]] : tile<64xptr<f32>>
// CHECK: store_ptr_tko {{.*}}[[P]]{{.*}}[[IN]]
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @put(%i: !tile.view<?xi64, strides = [1]>, %x: !v, %y: !v) grid 1 {
  %pid = tile.program_id 0
  %at = tile.load %i[%pid] dims [0] pad -1 : i64 : !tile.view<?xi64, strides = [1]> -> tensor<64xi64>
  %t = tile.load %x[%pid] dims [0] pad 0.0 : f32 : !v -> tensor<64xf32>
  tile.scatter %t, %y[] at (%at) dims [-1] : tensor<64xf32>, !v, tensor<64xi64>
  tile.return
}

// Integers are added atomically in any order.
// CHECK-LABEL: entry @count
// CHECK: [[P:%[0-9]+]] = offset {{.*}} : tile<64xptr<i32>>
// CHECK: atomic_rmw_tko pointers [[P]] arg {{.*}} mask {{.*}} {relaxed, device, add}
!c = !tile.view<?xi32, strides = [1]>
tile.kernel @count(%i: !tile.view<?xi64, strides = [1]>, %y: !c) grid 1 {
  %pid = tile.program_id 0
  %at = tile.load %i[%pid] dims [0] pad -1 : i64 : !tile.view<?xi64, strides = [1]> -> tensor<64xi64>
  %t = tile.constant 1 : i32 : tensor<64xi32>
  tile.scatter %t, %y[] at (%at) dims [-1] sum unordered : tensor<64xi32>, !c, tensor<64xi64>
  tile.return
}

// -----

// A divisor of a size is an assumption from 16 bytes on.
// CHECK-LABEL: entry @multiples
// CHECK-NOT: div_by<2>
// CHECK: div_by<4>} : tile<i32>
// CHECK-NOT: div_by<2>
// CHECK: return
!even = !tile.view<?xf32, strides = [1], divisors = [2]>
!whole = !tile.view<?xf32, strides = [1], divisors = [4]>
tile.kernel @multiples(%x: !even, %y: !whole) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !even -> tensor<64xf32>
  tile.store %t, %y[%i] dims [0] bounded : tensor<64xf32>, !whole
  tile.return
}
