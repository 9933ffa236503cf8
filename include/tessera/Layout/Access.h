//===- Access.h - What an access to memory costs ---------------*- C++ -*-===//
//
// A tile goes between registers and memory by accesses of one or more neighbouring elements per
// thread. This file answers, for a layout: how wide they can be, how many 32-byte sectors of global
// memory a warp touches, how often the banks of shared memory are asked twice.
//
// Shared memory is 32 banks of 4-byte words; word w lies in bank w % 32. A warp's access is served
// in phases of 128 bytes (the whole warp for words, halves for 8 bytes per lane, quarters for 16),
// and a phase takes as many wavefronts as there are different words in its busiest bank. Over GF(2)
// this needs no counting: the addresses of a phase are a coset of a subspace, each bank that is
// touched has equally many of its words, so the wavefronts are 2^(rank of words - rank of banks).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_ACCESS_H
#define TESSERA_LAYOUT_ACCESS_H

#include "tessera/Layout/Layout.h"

namespace tessera {

/// The order in which a thread's registers are accessed: `order` takes the number of an access's
/// element (and the pass, Conversion.h) to the register. Its low `vector` bits count the elements
/// of one access; the bits from `distinct` on count copies of the same element, which are made
/// without access.
struct RegisterOrder {
  Layout order;
  unsigned vector = 0, distinct = 0;
};

/// The registers of `layout` with the sums `first` (register numbers) in front. Where these hold
/// the elements 1, 2, 4, …, the others are chosen so that their elements have no bit of `aligned`.
RegisterOrder registerOrder(const Layout &layout, gf2::VectorsRef first, uint64_t aligned);

/// The widest accesses along dimension `fastest`, of at most 2^most elements: a thread's registers
/// hold a whole aligned group of neighbours, and hold it in the same order in every thread.
RegisterOrder vectorise(const Layout &layout, Dim fastest, unsigned most);

/// The layout with the columns of free bits of lanes and warps at zero. A block's store is done by
/// the threads alone whose free bits are zero.
Layout pinned(const Layout &layout);

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Of all warps and blocks together.
struct GlobalTraffic {
  uint64_t accesses = 0; // instructions of a warp
  uint64_t sectors = 0;  // of 32 bytes, counted anew for each access
  uint64_t ideal = 0;    // sectors, were the bytes of each access one after the other
};

/// `strides` are the bytes between neighbours of d0, d1, …; `base` is the tile's first address.
GlobalTraffic globalTraffic(const Layout &layout, const RegisterOrder &order, unsigned bits,
                            std::span<const int64_t> strides, int64_t base = 0);

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// How many of a warp's lane bits one phase has, for accesses of 2^vector elements.
unsigned phaseBits(unsigned vector, unsigned bits);
/// Wavefronts of a phase: `lanes` are the offsets (in elements) of the phase's lanes 1, 2, 4, ….
unsigned phaseWavefronts(gf2::VectorsRef lanes, unsigned vector, unsigned bits);
/// Wavefronts of one access of a warp; `address` takes places to offsets. Lanes with a bit of
/// `idle` take no part.
unsigned wavefronts(const Layout &address, unsigned vector, unsigned bits, uint64_t idle = 0);

} // namespace tessera

#endif
