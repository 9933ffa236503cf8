// RUN: %tessera_opt %s -gir-expand-sorts | FileCheck %s
// RUN: %tessera_opt %s -gir-expand-sorts=sequential=true | FileCheck %s --check-prefix=SEQ

// One digit, one pass: words of index and key, padded to whole blocks, follow those of smaller digits, of the same
// digit in earlier blocks, and of the same digit in this block.
// CHECK-LABEL: func @argsort
// CHECK: %[[WORD:.*]] = gir.map bitwise_or(
// CHECK: %[[ROW:.*]] = gir.concat 1(%[[WORD]], %{{.*}}) : (!gir.tensor<B, S, i64>, !gir.tensor<B, "-S + 256*ceildiv(S, 256)", i64>)
// CHECK: %[[WORDS:.*]] = gir.reshape %[[ROW]] : {{.*}} -> !gir.tensor<B, "ceildiv(S, 256)", 256, i64>
// CHECK: %[[COUNTS:.*]] = gir.reduce sum %{{.*}} dims [3]
// CHECK: gir.scan sum %{{.*}} dim 1 : !gir.tensor<B, "16*ceildiv(S, 256)", i32>
// CHECK: %[[START:.*]] = gir.gather
// CHECK: gir.scan sum %{{.*}} dim 2
// CHECK: gir.scan sum %{{.*}} dim 2
// CHECK: %[[PUT:.*]] = gir.scatter %{{.*}}(%{{.*}}) batch 1
// CHECK: %[[ORDER:.*]] = gir.slice %[[PUT]] starts ["0", "0"] steps [1, 1]
// CHECK: return %[[ORDER]]
// With `sequential`, blocks are long, and counts are added to a table.
// SEQ-LABEL: func @argsort
// SEQ: %[[WORDS:.*]] = gir.reshape {{.*}} -> !gir.tensor<B, "ceildiv(S, 8192)", "ceildiv(S, ceildiv(S, 8192))", i64>
// SEQ: gir.scatter_add {{.*}} dim 2 : (!gir.tensor<B, "ceildiv(S, 8192)", 2, i32>
// SEQ: gir.scan sum %{{.*}} dim 1 : !gir.tensor<B, "ceildiv(S, 8192)", 2, i32>
// SEQ: gir.scan sum %{{.*}} dim 1 : !gir.tensor<B, 2, i32>
// SEQ: gir.gather
// SEQ: gir.scan sum %{{.*}} dim 2 by(%{{.*}} : {{.*}}) below 2
// SEQ: gir.scatter %{{.*}}(%{{.*}}) batch 1
// SEQ-NOT: gir.scatter
func.func @argsort(%x: !gir.tensor<B, S, i1>) -> !gir.tensor<B, S, i64> {
  %0 = gir.argsort %x : !gir.tensor<B, S, i1> -> !gir.tensor<B, S, i64>
  return %0 : !gir.tensor<B, S, i64>
}

// Of bf16 only 16 bits are sorted. What is computed is stored first.
// SEQ-LABEL: func @narrow
// SEQ-COUNT-2: gir.scatter %
// SEQ-NOT: gir.scatter %
// SEQ-LABEL: func @computed
// SEQ: %[[EXP:.*]] = gir.map exp
// SEQ: gir.materialize %[[EXP]] because "a sort reads it several times and needs the same bits each time"
// SEQ-COUNT-2: gir.scatter %
// SEQ-NOT: gir.scatter %
// SEQ-LABEL: func @wide
// SEQ-COUNT-8: gir.scatter %
// SEQ-NOT: gir.scatter %
// CHECK-LABEL: func @narrow
// CHECK-COUNT-4: gir.scatter
// CHECK-NOT: gir.scatter
// CHECK-LABEL: func @computed
// CHECK-COUNT-4: gir.scatter
// CHECK-NOT: gir.scatter
// CHECK-LABEL: func @wide
// CHECK-COUNT-16: gir.scatter
// CHECK-NOT: gir.scatter
func.func @narrow(%x: !gir.tensor<S, bf16>) -> !gir.tensor<S, i64> {
  %0 = gir.argsort %x : !gir.tensor<S, bf16> -> !gir.tensor<S, i64>
  return %0 : !gir.tensor<S, i64>
}
func.func @computed(%x: !gir.tensor<S, bf16>) -> !gir.tensor<S, i64> {
  %0 = gir.map exp(%x) : (!gir.tensor<S, bf16>) -> !gir.tensor<S, bf16>
  %1 = gir.argsort %0 descending : !gir.tensor<S, bf16> -> !gir.tensor<S, i64>
  return %1 : !gir.tensor<S, i64>
}
func.func @wide(%x: !gir.tensor<S, f64>) -> !gir.tensor<S, i64> {
  %0 = gir.argsort %x : !gir.tensor<S, f64> -> !gir.tensor<S, i64>
  return %0 : !gir.tensor<S, i64>
}

// The first few come from as many blocks: these are sorted by their first elements, and then their elements are.
// SEQ-LABEL: func @first
// SEQ: %[[BEST:.*]] = gir.reduce min %{{.*}} dims [2] : !gir.tensor<B, "ceildiv(S, 64)", 64, i64>
// SEQ-COUNT-4: gir.scatter %
// SEQ: gir.scatter %{{.*}} batch 1 : (!gir.tensor<B, 16, i64>, !gir.tensor<B, 16, i64>)
// SEQ: gir.reshape {{.*}} -> !gir.tensor<B, 1024, i64>
// SEQ-COUNT-4: gir.scatter %
// SEQ-NOT: gir.scatter %
// CHECK-LABEL: func @first
// CHECK-COUNT-8: gir.scatter
// CHECK-NOT: gir.scatter
func.func @first(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, 16, i64> {
  %0 = gir.argsort %x descending first 16 : !gir.tensor<B, S, f32> -> !gir.tensor<B, 16, i64>
  return %0 : !gir.tensor<B, 16, i64>
}

// Long rows have longer digits: eleven bits, in three passes.
// SEQ-LABEL: func @long
// SEQ-COUNT-3: gir.scatter_add {{.*}} dim 1 : (!gir.tensor<"ceildiv(S, 65536)", 2048, i32>
// SEQ-NOT: gir.scatter_add
// CHECK-LABEL: func @long
func.func @long(%x: !gir.tensor<S, i32>) -> !gir.tensor<S, i64> attributes {gir.symbols = {S = {hint = 100000}}} {
  %0 = gir.argsort %x : !gir.tensor<S, i32> -> !gir.tensor<S, i64>
  return %0 : !gir.tensor<S, i64>
}
