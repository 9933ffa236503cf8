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

// On GPUs, the few first of a long row are in as many blocks: here of 8 words, which are in blocks of 8 blocks. What is
// left is ordered by counting. A word is a key of 32 bits above an index of 13.
// SEQ-LABEL: func @blocks
// CHECK-LABEL: func @blocks
// CHECK: gir.concat 1(%{{.*}}, %{{.*}}) : (!gir.tensor<1225, 5905, i64>, !gir.tensor<1225, 47, i64>)
// CHECK: %[[ROW:.*]] = gir.reduce min %{{.*}} dims [2] : !gir.tensor<1225, 744, 8, i64>
// CHECK: gir.constant 35184372088832 : i64 : !gir.tensor<1225, 744, i64>
// CHECK: %[[MINIMA:.*]] = gir.materialize
// CHECK: gir.reduce min %{{.*}} dims [2] : !gir.tensor<1225, 93, 8, i64>
// CHECK: gir.scatter %{{.*}} batch 1 : (!gir.tensor<1225, 93, i64>, !gir.tensor<1225, 93, i64>)
// CHECK: gir.gather %[[MINIMA]]
// CHECK: gir.scatter %{{.*}} batch 1 : (!gir.tensor<1225, 120, i64>, !gir.tensor<1225, 120, i64>)
// CHECK: gir.scatter %{{.*}} batch 1 : (!gir.tensor<1225, 120, i64>, !gir.tensor<1225, 120, i64>)
// CHECK-NOT: gir.scatter
func.func @blocks(%x: !gir.tensor<1225, 5905, f32>) -> !gir.tensor<1225, 15, i64> {
  %0 = gir.argsort %x descending first 15 : !gir.tensor<1225, 5905, f32> -> !gir.tensor<1225, 15, i64>
  return %0 : !gir.tensor<1225, 15, i64>
}

// Words of bf16 have 32 bits. A row whose class allows fewer blocks than are wanted gets empty ones.
// CHECK-LABEL: func @short
// CHECK: gir.reduce min %{{.*}} : !gir.tensor<B, "{{.*}}max(15, ceildiv(S, {{.*}}))", {{.*}}, i32>
// CHECK-LABEL: func @many
// CHECK-NOT: gir.reduce min
// CHECK-LABEL: func @pair
// CHECK-NOT: gir.reduce
// CHECK: gir.sort %{{.*}} : !gir.tensor<1, 1500, i64>
// CHECK-NOT: gir.scatter
func.func @short(%x: !gir.tensor<B, S, bf16>) -> !gir.tensor<B, 15, i64> attributes {gir.symbols = {S = {hint = 4096, max = 4096}}} {
  %0 = gir.argsort %x first 15 : !gir.tensor<B, S, bf16> -> !gir.tensor<B, 15, i64>
  return %0 : !gir.tensor<B, 15, i64>
}
// Thousands are not few, and a key of 64 bits leaves no room for an index.
func.func @many(%x: !gir.tensor<1024, 262144, f32>, %y: !gir.tensor<64, 5000, f64>) -> (!gir.tensor<1024, 4096, i64>, !gir.tensor<64, 15, i64>) {
  %0 = gir.argsort %x first 4096 : !gir.tensor<1024, 262144, f32> -> !gir.tensor<1024, 4096, i64>
  %1 = gir.argsort %y first 15 : !gir.tensor<64, 5000, f64> -> !gir.tensor<64, 15, i64>
  return %0, %1 : !gir.tensor<1024, 4096, i64>, !gir.tensor<64, 15, i64>
}
// A short row: the sort is one kernel.
func.func @pair(%x: !gir.tensor<1, 1500, f32>) -> !gir.tensor<1, 2, i64> {
  %0 = gir.argsort %x first 2 : !gir.tensor<1, 1500, f32> -> !gir.tensor<1, 2, i64>
  return %0 : !gir.tensor<1, 2, i64>
}

// A CTA sorts a row of at most 4096 words: a key of 32 bits above an index of 12, or one of 16 bits in 32.
// CHECK-LABEL: func @row
// CHECK: gir.map order_key
// CHECK: %[[BITS:.*]] = gir.constant 12 : i64
// CHECK: %[[KEY:.*]] = gir.map bitwise_left_shift(%{{.*}}, %[[BITS]])
// CHECK: %[[WORD:.*]] = gir.map bitwise_or(%[[KEY]], %{{.*}})
// CHECK: %[[SORTED:.*]] = gir.sort %[[WORD]] : !gir.tensor<B, S, i64>
// CHECK: %[[MASK:.*]] = gir.constant 4095 : i64
// CHECK: %[[INDEX:.*]] = gir.map bitwise_and(%[[SORTED]], %[[MASK]])
// CHECK: return %[[INDEX]], %{{.*}}
// CHECK-LABEL: func @halves
// CHECK: gir.sort %{{.*}} : !gir.tensor<1000, i32>
// CHECK-NOT: gir.scatter
func.func @row(%x: !gir.tensor<B, S, f32>) -> (!gir.tensor<B, S, i64>, !gir.tensor<B, S, f32>) attributes {gir.symbols = {S = {max = 4095}}} {
  %0 = gir.argsort %x : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, i64>
  return %0, %x : !gir.tensor<B, S, i64>, !gir.tensor<B, S, f32>
}
func.func @halves(%x: !gir.tensor<1000, bf16>) -> !gir.tensor<1000, i64> {
  %0 = gir.argsort %x : !gir.tensor<1000, bf16> -> !gir.tensor<1000, i64>
  return %0 : !gir.tensor<1000, i64>
}

// Runs of a longer row are merged two by two: thirteen probes for each word of the first merge, fourteen for the second.
// Words past the end of the row are the largest.
// CHECK-LABEL: func @runs
// CHECK: %[[LAST:.*]] = gir.constant 9223372036854774784 : i64
// CHECK: gir.map where(%{{.*}}, %{{.*}}, %[[LAST]])
// CHECK: gir.sort %{{.*}} : !gir.tensor<3, 4096, i64>
// CHECK: %[[WORDS:.*]] = gir.reshape %{{.*}} -> !gir.tensor<12288, i64>
// CHECK-COUNT-13: gir.gather %[[WORDS]](
// CHECK: %[[MERGED:.*]] = gir.scatter %[[WORDS]](%{{.*}}) batch 0
// CHECK-COUNT-14: gir.gather %[[MERGED]](
// CHECK: gir.scatter %[[MERGED]](%{{.*}}) batch 0
// CHECK-NOT: gir.scatter
// CHECK: gir.slice %{{.*}} : !gir.tensor<12288, i64> -> !gir.tensor<10000, i64>
func.func @runs(%x: !gir.tensor<10000, f32>) -> !gir.tensor<10000, i64> {
  %0 = gir.argsort %x : !gir.tensor<10000, f32> -> !gir.tensor<10000, i64>
  return %0 : !gir.tensor<10000, i64>
}

// Keys of 64 bits are sorted by their lower half, then by their upper half.
// CHECK-LABEL: func @halfwise
// CHECK: gir.sort
// CHECK: gir.gather
// CHECK: gir.sort
// CHECK: gir.gather
// CHECK-NOT: gir.sort
func.func @halfwise(%x: !gir.tensor<1000, i64>) -> !gir.tensor<1000, i64> {
  %0 = gir.argsort %x descending : !gir.tensor<1000, i64> -> !gir.tensor<1000, i64>
  return %0 : !gir.tensor<1000, i64>
}
