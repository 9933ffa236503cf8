//===- CpuCostHints.h - What tiles suit the CPU back end -------*- C++ -*-===//
//
// What was measured of the CPU code generator (AVX-512, 48 KiB + 2 MiB caches), as numbers for a
// cost model. The reasons:
//
// - A contraction runs at 95 % of the machine's peak inside its micro-kernel (8 to 14 rows × 2
// vectors). What remains is
//   packing: an element of the left side costs `packCyclesPerVector` per vector, amortised over the
//   tile's columns, one of the right side the same, amortised over its rows; and the accumulator is
//   read and written once per K tile. So rows and columns should be a few hundred, and the K tile
//   such that one panel (K × 2 vectors) stays in the first cache. Accumulator and packed left side
//   together should fill at most three quarters of the second cache.
// - Rows should be a multiple of 8 (AVX-512; 4 for AVX2, 8 for NEON): any divisor between 8 and 14
// serves as the height of
//   the register block, a remainder gets a block of its own and costs code. Columns: a multiple of
//   two vectors.
// - At an edge loops stop at what is wanted, rounded up to the register block; a tile far larger
// than the matrix costs
//   little more than scratch memory, but its accesses are masked.
// - In a stream (scores, weights, sum) the rows amortise the packing of both streamed operands: 64
// rows lose 10 % to
//   it, 128 lose 5 %; more rows than 256 push the scores out of the second cache.
// - With at most `streamedRows` rows the right side is not packed: such tiles run at the speed of
// memory, and want
//   wide column tiles (a thousand elements) so that memory is read in long runs.
// - Elementwise and row kernels: one tile should hold 2,000 to 16,000 elements, the last dimension
// in whole vectors; a row
//   of up to 8 vectors is unrolled, a longer one is a loop over 4 vectors.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_CPUCOSTHINTS_H
#define TESSERA_SUPPORT_CPUCOSTHINTS_H

#include "tessera/Support/CpuDescription.h"

namespace tessera {

struct CpuCostHints {
  int64_t contractionRows = 256;
  int64_t contractionColumns = 512;
  int64_t contractionDepth = 256;
  int64_t streamRows = 128;
  int64_t streamColumns = 128;
  int64_t rowMultiple = 8;
  int64_t columnMultiple = 32;
  int64_t streamedRows = 4;
  int64_t streamedColumns = 1024;
  int64_t elementwiseElements = 4096;
  double packCyclesPerVector = 6;
  double expCyclesPerVector = 10;

  static CpuCostHints of(const CpuDescription &cpu) {
    CpuCostHints hints;
    int64_t lanes = cpu.lanes(4);
    hints.columnMultiple = 2 * lanes;
    hints.rowMultiple = cpu.vectorRegisters >= 32 ? 8 : 4;
    // One panel of the right side in about two thirds of the first cache.
    hints.contractionDepth = cpu.l1Bytes * 2 / 3 / (2 * cpu.vectorBytes) / 32 * 32;
    return hints;
  }
};

} // namespace tessera

#endif
