//===- Families.h - The layouts of the hardware ----------------*- C++ -*-===//
//
// Constructors of the layouts that coalesced accesses, tensor cores and TMA use. Each is a short
// product: `a * b` repeats a in the pattern b, so a fragment is written from the innermost bits
// outward.
//
// MMA operands are indexed (row, column): A is m × k, B is k × n, the accumulator m × n. Sizes
// beyond those of the instruction repeat it in further registers.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_FAMILIES_H
#define TESSERA_LAYOUT_FAMILIES_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// A blocked layout: each thread holds a box `perThread`, the lanes of a warp form a box `lanes` of
/// these, then warps and CTAs, all along `order` (fastest dimension first). The pattern is repeated
/// in registers, or replicated over threads, until it covers `shape`.
struct Blocked {
  std::vector<unsigned> perThread, lanes, warps, order;
  std::vector<unsigned> blocks = {}; // CTAs of a cluster; none: one CTA
};
Layout blocked(std::span<const unsigned> shape, const Blocked &how);

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

/// mma.sync m16n8 (m8n8 for m = 8), any element type: sm_75 and later.
Layout mmaAccumulator(unsigned m, unsigned n);
/// Operands with `bits` per element: a 32-bit register holds 32 / bits elements along k (one for
/// 64-bit elements). The k of the instruction follows: 4 or 8 registers per lane.
Layout mmaOperandA(unsigned m, unsigned k, unsigned bits);
Layout mmaOperandB(unsigned k, unsigned n, unsigned bits);

/// mma.sync m8n8k4 of sm_70 for fp16. Each of its four quad pairs computes an 8 × 8 block; two by
/// two they form a 16 × 16 block of the result, with A and B each replicated. The fragments are
/// those of row-major A, column-major B and a 32-bit accumulator.
Layout voltaAccumulator(unsigned m, unsigned n);
Layout voltaOperandA(unsigned m, unsigned k);
Layout voltaOperandB(unsigned k, unsigned n);

/// wgmma m64nN: `warpgroups` warpgroups are stacked along m, 64 rows each.
Layout wgmmaAccumulator(unsigned n, unsigned warpgroups = 1);
/// Its A operand in registers.
Layout wgmmaOperandA(unsigned k, unsigned bits, unsigned warpgroups = 1);

/// The fragment of one ldmatrix or stmatrix matrix: 8 rows (d0) of 16 bytes (d1). Transposed
/// (.trans, 16-bit elements only), it is the fragment of the transposed matrix.
Layout matrixTile(unsigned bits, bool transposed = false);

//===----------------------------------------------------------------------===//
// Shared memory: offset -> element
//===----------------------------------------------------------------------===//

/// Contiguous, along `order` (fastest dimension first).
Layout linearShared(std::span<const unsigned> shape, std::span<const unsigned> order);
/// A tile with TMA's 128-, 64- or 32-byte swizzle (`span`), as wgmma reads it: the tile is split
/// into boxes that are `span` bytes wide and contiguous; within a box, the number of a 16-byte
/// chunk is XORed with bits 7, 8, 9 of the address. A span of 16 does not swizzle.
Layout swizzledShared(unsigned rows, unsigned columns, unsigned bits, unsigned span);
/// The same for a tile of any rank that is contiguous along dimension `inner`; the other
/// dimensions, in order, form the rows.
Layout boxedShared(std::span<const unsigned> shape, unsigned inner, unsigned bits, unsigned span);
/// The widest span for which `memory` is such a swizzle of d0 rows and d1 columns.
std::optional<unsigned> swizzleSpan(const Layout &memory, unsigned bits);

} // namespace tessera

#endif
