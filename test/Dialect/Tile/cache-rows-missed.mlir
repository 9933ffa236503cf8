// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows=shared-bytes=8192 -o /dev/null --remarks-filter-missed="tile-cache-rows" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [?, 1], divisors = [1, 8]>
!s = !tile.view<?xf32, strides = [1]>

func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, f32>
    attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 8 : i64, max = 6144 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, f32>
  tile.launch @long grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M"], strides ["1"]>] sizes ["ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, f32>
  return %0 : !gir.tensor<M, f32>
}

// CHECK: [Missed] SharedMemory{{.*}}Function=long
// CHECK-SAME: 6 tiles of the row need 12288 bytes of shared memory, and {{[0-9]+}} are left
tile.kernel @long(%x: !v, %y: !s, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce sum %f dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  %again = scf.for %i = %c0 to %n step %c1 iter_args(%a = %sum) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  tile.store %again, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}

// CHECK: [Missed] UnknownLength{{.*}}Function=unknown
// CHECK-SAME: the number of tiles of the row has no bound at compile time
tile.kernel @unknown(%x: !v, %y: !s, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce sum %f dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  %again = scf.for %i = %c0 to %n step %c1 iter_args(%a = %sum) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  tile.store %again, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}
