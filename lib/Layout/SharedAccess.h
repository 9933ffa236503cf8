//===- SharedAccess.h - Accesses to shared memory --------------*- C++ -*-===//
//
// Selects instructions for accesses to given addresses of shared memory, (register, lane, warp,
// block) -> (block, offset): vector accesses, ldmatrix or stmatrix.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_LAYOUT_SHAREDACCESS_H
#define TESSERA_LIB_LAYOUT_SHAREDACCESS_H

#include "tessera/Layout/Conversion.h"

#include <bit>

namespace tessera {

/// log2 of the elements in the widest access, 16 bytes.
inline unsigned widest(unsigned bits) { return std::countr_zero(128 / bits); }
/// log2 of the elements in a 32-bit register.
inline unsigned inRegister(unsigned bits) { return std::countr_zero(32 / bits); }

/// Vector accesses, as wide as the addresses allow. `idle` are bits of locations
/// (SharedAccess::idle).
SharedAccess plainAccess(const Layout &address, unsigned bits, uint64_t idle);

/// ldmatrix or stmatrix, if the addresses allow it. `word` are the registers (XORs of register
/// numbers) whose elements form one 32-bit register.
std::optional<SharedAccess> matrixAccess(const Layout &address, SharedAccess::Kind kind,
                                         unsigned bits, gf2::VectorsRef word);

} // namespace tessera

#endif
