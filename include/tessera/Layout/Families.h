//===- Families.h - The layouts that machines have -------------*- C++ -*-===//
//
// Constructors of the layouts that memory accesses, tensor cores and copy engines ask for. Each is
// a short product: `a * b` puts b outside a, so a fragment reads from the innermost bits outward.
//
// Tensor-core operands are given as (row, column) of the matrix: A is m × k, B is k × n, the
// accumulator m × n. Sizes beyond the instruction's own repeat it by registers.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_FAMILIES_H
#define TESSERA_LAYOUT_FAMILIES_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// How threads share a tile: each holds a box `perThread`, a warp's lanes stand side by side in a
/// box `lanes` of these, then warps and blocks, all filled along `order` (fastest dimension first).
/// The tile is repeated by registers, or held several times, until it is `shape`.
struct Blocked {
  std::vector<unsigned> perThread, lanes, warps, order;
  std::vector<unsigned> blocks = {}; // none: one block
};
Layout blocked(std::span<const unsigned> shape, const Blocked &how);

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

/// mma.sync m16n8 (m8n8 for m = 8), any element type: sm_75 and later.
Layout mmaAccumulator(unsigned m, unsigned n);
/// Operands of `bits` per element: a lane's 32-bit register holds 32 / bits of them along k (64-bit
/// elements one). The instruction's k is whatever is natural: 4 or 8 registers' worth per lane.
Layout mmaOperandA(unsigned m, unsigned k, unsigned bits);
Layout mmaOperandB(unsigned k, unsigned n, unsigned bits);

/// mma.sync m8n8k4 of sm_70 for fp16. Its four quad-pairs multiply 8 × 8 blocks of their own; put
/// two by two they make 16 × 16 of a product, with A and B each held twice. Fragments as the
/// row-major A, column-major B and 32-bit accumulator have them.
Layout voltaAccumulator(unsigned m, unsigned n);
Layout voltaOperandA(unsigned m, unsigned k);
Layout voltaOperandB(unsigned k, unsigned n);

/// wgmma m64nN: `warpgroups` of four warps, one below the other, 64 rows each.
Layout wgmmaAccumulator(unsigned n, unsigned warpgroups = 1);
/// Its A operand where that is in registers.
Layout wgmmaOperandA(unsigned k, unsigned bits, unsigned warpgroups = 1);

/// The matrix that ldmatrix and stmatrix move: 8 rows (d0) of 16 bytes (d1), as lanes hold it.
/// Transposed (16-bit elements only), lanes hold what they would of the transposed matrix.
Layout matrixTile(unsigned bits, bool transposed = false);

//===----------------------------------------------------------------------===//
// Shared memory: offset -> element
//===----------------------------------------------------------------------===//

/// Elements one after the other, along `order` (fastest dimension first).
Layout linearShared(std::span<const unsigned> shape, std::span<const unsigned> order);
/// A tile of rows as TMA writes it and wgmma reads it, `span` = 128, 64 or 32 bytes: the tile is
/// cut into boxes `span` bytes wide, one after the other; within a box the 16-byte chunk's number
/// is added (exclusive or) to bits 7, 8, 9 of the address. A span of 16 swizzles nothing.
Layout swizzledShared(unsigned rows, unsigned columns, unsigned bits, unsigned span);
/// The same for a tile of any rank whose dimension `inner` has the neighbours: the others, in order, are the rows.
Layout boxedShared(std::span<const unsigned> shape, unsigned inner, unsigned bits, unsigned span);
/// The widest span for which `memory` is such a tile of d0 rows and d1 columns.
std::optional<unsigned> swizzleSpan(const Layout &memory, unsigned bits);

} // namespace tessera

#endif
