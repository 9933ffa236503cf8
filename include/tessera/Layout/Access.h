//===- Access.h - The cost of memory accesses ------------------*- C++ -*-===//
//
// Vector accesses move one or more contiguous elements per thread between registers and memory. For
// a layout, this file computes how wide they can be, how many 32-byte sectors of global memory a
// warp touches (coalescing), and how many wavefronts shared memory needs (bank conflicts).
//
// Shared memory has 32 banks of 4-byte words; word w is in bank w % 32. It serves a warp's access
// in phases of 128 bytes: the whole warp for words, half warps for 8 bytes per lane, quarter warps
// for
// 16. A phase takes as many wavefronts as its busiest bank has different words. Over GF(2) this
// needs no counting: the addresses of a phase are a coset of a subspace, so every bank that is
// touched has the same number of words, and the wavefronts are 2^(rank of words - rank of banks).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_ACCESS_H
#define TESSERA_LAYOUT_ACCESS_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// The order in which a thread accesses its registers: `order` maps the index of an element in the
/// sequence of accesses (and the pass, Conversion.h) to the register. The low `vector` bits of the
/// index count the elements of one access. The bits from `distinct` on count copies of the same
/// element, which need no access.
struct RegisterOrder {
  Layout order;
  unsigned vector = 0, distinct = 0;
};

/// The registers of `layout`, starting with `first` (XORs of register numbers). If these hold the
/// elements 1, 2, 4, …, the others are chosen so that their elements have no bit of `aligned`.
RegisterOrder registerOrder(const Layout &layout, gf2::VectorsRef first, uint64_t aligned);

/// The widest vector accesses along dimension `fastest`, of at most 2^most elements: the registers
/// of a thread hold an aligned run of contiguous elements, in the same order in every thread.
RegisterOrder vectorise(const Layout &layout, Dim fastest, unsigned most);

/// The layout with the columns of free lane and warp bits set to zero: of threads that hold the
/// same element, only the one whose free bits are zero stores it.
Layout pinned(const Layout &layout);

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Of all warps and CTAs together.
struct GlobalTraffic {
  uint64_t accesses = 0; // warp-level instructions
  uint64_t sectors = 0;  // of 32 bytes, counted for each access
  uint64_t ideal = 0;    // sectors, if the bytes of each access were contiguous
};

/// `strides` are the byte strides of d0, d1, …; `base` is the address of the tile.
GlobalTraffic globalTraffic(const Layout &layout, const RegisterOrder &order, unsigned bits,
                            std::span<const int64_t> strides, int64_t base = 0);

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// log2 of the lanes that one phase serves, for accesses of 2^vector elements.
unsigned phaseBits(unsigned vector, unsigned bits);
/// Wavefronts of a phase: `lanes` are the offsets (in elements) of the phase's lanes 1, 2, 4, ….
unsigned phaseWavefronts(gf2::VectorsRef lanes, unsigned vector, unsigned bits);
/// Wavefronts of one access of a warp; `address` maps locations to offsets. Lanes with a bit of
/// `idle` set do not participate.
unsigned wavefronts(const Layout &address, unsigned vector, unsigned bits, uint64_t idle = 0);

} // namespace tessera

#endif
