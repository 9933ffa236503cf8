// RUN: %tessera_opt %s -tile-align-accesses | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!w = !tile.view<?xbf16, strides = [1]>

func.func @host(%x: !gir.tensor<M, N, bf16>, %w: !gir.tensor<N, bf16>) -> !gir.tensor<M, N, bf16>
    attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64, max = 6000 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @center grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @softmax grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @once grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @weights grid ["M"] (%x, %0, %w) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>, #tile.operand<offset "0", sizes ["N"], strides ["1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>, !gir.tensor<N, bf16>
  tile.launch @positions grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @carried grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @written grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @unlike grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @beyond grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

func.func @alone(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16>
    attributes {gir.numerics = {batch_invariant = "true"}, gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64, max = 6000 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @invariant grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

// The tiles of both views start at multiples of 16 bytes; all of them are padded like the rest of a row.
// CHECK-LABEL: tile.kernel @center
// CHECK: %[[X:.*]] = tile.aligned_row %x[%[[PID:.*]]] dim 1
// CHECK: %[[Y:.*]] = tile.aligned_row %y[%[[PID]]] dim 1
// CHECK: %[[N:.*]] = tile.dim %[[X]], 0
// CHECK: %[[WHOLE:.*]] = arith.divui %[[N]], %[[T:.*]] : index
// CHECK: %[[ALL:.*]] = arith.ceildivsi %[[N]], %[[T]] : index
// CHECK: %[[A:.*]] = scf.for %[[I:[a-z0-9]*]] = %c0 to %[[WHOLE]] step %c1 iter_args(%{{.*}} = %cst)
// CHECK: tile.load %[[X]][%[[I]]] dims [0] pad 0xFF80 : bf16
// CHECK: scf.for %[[I:[a-z0-9]*]] = %[[WHOLE]] to %[[ALL]] step %c1 iter_args(%{{.*}} = %[[A]])
// CHECK: tile.load %[[X]][%[[I]]] dims [0] pad 0xFF80 : bf16
// CHECK: scf.for %[[I:[a-z0-9]*]] = %c0 to %[[WHOLE]] step %c1
// CHECK: tile.load %[[X]][%[[I]]] dims [0] pad 0.000000e+00 : bf16
// CHECK: tile.store %{{.*}}, %[[Y]][%[[I]]] dims [0] bounded
// CHECK: scf.for %[[I:[a-z0-9]*]] = %[[WHOLE]] to %[[ALL]] step %c1
// CHECK: tile.load %[[X]][%[[I]]] dims [0] pad 0.000000e+00 : bf16
// CHECK: tile.store %{{.*}}, %[[Y]][%[[I]]] dims [0] bounded
tile.kernel @center(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// Rows that are read once are left to other passes.
// CHECK-LABEL: tile.kernel @once
// CHECK-NOT: tile.aligned_row
tile.kernel @once(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %d = tile.map sub(%m, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %d = tile.map sub(%m, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// The weights have another misalignment.
// CHECK-LABEL: tile.kernel @weights
// CHECK-NOT: tile.aligned_row
tile.kernel @weights(%x: !v, %y: !v, %w: !w, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %k = tile.load %w[%i] dims [0] : !w -> tensor<1024xbf16>
    %d = tile.map sub(%t, %k) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %k = tile.load %w[%i] dims [0] pad 0.0 : bf16 : !w -> tensor<1024xbf16>
    %d = tile.map sub(%t, %k) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @positions
// CHECK-NOT: tile.aligned_row
tile.kernel @positions(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %f = arith.muli %i, %c1024 : index
    %j = tile.iota %f : tensor<1024xi64>
    %k = tile.cast %j : tensor<1024xi64> -> tensor<1024xbf16>
    %d = tile.map sub(%t, %k) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = arith.muli %i, %c1024 : index
    %j = tile.iota %f : tensor<1024xi64>
    %k = tile.cast %j : tensor<1024xi64> -> tensor<1024xbf16>
    %d = tile.map sub(%t, %k) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// An elementwise combination across tiles depends on where tiles start.
// CHECK-LABEL: tile.kernel @carried
// CHECK-NOT: tile.aligned_row
tile.kernel @carried(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<1024xbf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<1024xbf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %n = tile.map maximum(%s, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    scf.yield %n : tensor<1024xbf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<1024xbf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %n = tile.map maximum(%s, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    scf.yield %n : tensor<1024xbf16>
  }
  %m = tile.map maximum(%b, %b) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// With batch-invariant numerics, a row's sums must not depend on its address.
// CHECK-LABEL: tile.kernel @invariant
// CHECK-NOT: tile.aligned_row
tile.kernel @invariant(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// The row is written between two reads.
// CHECK-LABEL: tile.kernel @written
// CHECK-NOT: tile.aligned_row
tile.kernel @written(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  tile.store %b, %x[%row, %c1024] dims [] : tensor<bf16>, !v
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// The loop over whole tiles differs from the one over the rest.
// CHECK-LABEL: tile.kernel @unlike
// CHECK-NOT: tile.aligned_row
tile.kernel @unlike(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map add(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// The last CTA's row is beyond the tensor, where nothing may be read or written.
// CHECK-LABEL: tile.kernel @beyond
// CHECK-NOT: tile.aligned_row
tile.kernel @beyond(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %pid = tile.program_id 0
  %row = arith.addi %pid, %c1 : index
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// The operations of an online softmax do not depend on the positions of elements.
// CHECK-LABEL: tile.kernel @softmax
// CHECK-COUNT-2: tile.aligned_row
// CHECK-COUNT-2: tile.online_update
// CHECK-COUNT-2: tile.online_weigh
tile.kernel @softmax(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%g = %lowest) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %m = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n, %r, %s, %f = tile.online_update %m from %g scale 2.0 guarded : tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%g = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %m = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n, %r, %s, %f = tile.online_update %m from %g scale 2.0 guarded : tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %rs = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %w = tile.online_weigh %t, %rs scale 2.0 : tensor<1024xbf16>
    tile.store %w, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %w = tile.online_weigh %t, %rs scale 2.0 : tensor<1024xbf16>
    tile.store %w, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}
