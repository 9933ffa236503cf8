//===- Passes.h - Exchanges in several passes ------------------*- C++ -*-===//
//
// A tile that is larger than the available shared memory is exchanged in several passes. The
// elements of a pass are a coset of a subspace of the tile; in each pass every thread stores and
// loads some of its registers. This requires vectors along which registers of both layouts move
// from pass to pass and no thread coordinate does.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_LAYOUT_PASSES_H
#define TESSERA_LIB_LAYOUT_PASSES_H

#include "tessera/Layout/Layout.h"

namespace tessera {

struct Passes {
  Layout from, to;                   // of the first pass
  Layout fromRegisters, toRegisters; // (register of the pass, round: the pass) -> register
};

/// Splits the exchange into 2^passes passes, if there are such registers. `holds` maps locations of
/// `to` to locations of `from` in the same CTA (holder).
std::optional<Passes> splitPasses(const Layout &from, const Layout &to, const Layout &holds,
                                  unsigned passes);

} // namespace tessera

#endif
