//===- SharedAccess.h - Accesses of one kind -------------------*- C++ -*-===//
//
// The instructions by which threads reach given addresses of shared memory: (register, lane, warp,
// block) -> (block, offset). The way of an element to its address decides what one instruction can
// take along.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_LAYOUT_SHAREDACCESS_H
#define TESSERA_LIB_LAYOUT_SHAREDACCESS_H

#include "tessera/Layout/Conversion.h"

#include <bit>

namespace tessera {

/// Accesses are of at most 16 bytes.
inline unsigned widest(unsigned bits) { return std::countr_zero(128 / bits); }
/// Elements in a 32-bit register of a matrix.
inline unsigned inRegister(unsigned bits) { return std::countr_zero(32 / bits); }

/// As wide as the addresses allow. `idle` are bits of places (SharedAccess::idle).
SharedAccess plainAccess(const Layout &address, unsigned bits, uint64_t idle);

/// By matrices, if the addresses are such. `word` are the registers (sums of numbers) whose
/// elements are one 32-bit register.
std::optional<SharedAccess> matrixAccess(const Layout &address, SharedAccess::Kind kind,
                                         unsigned bits, gf2::VectorsRef word);

} // namespace tessera

#endif
