//===- Passes.h - A tile in several passes through a small memory -*- C++ -*-===//
//
// A tile that is larger than the shared memory at hand is exchanged part by part. The parts are
// cosets of a subspace of the tile: in each pass every thread stores and loads some of its
// registers. For that, registers of both layouts must move along the same vectors from part to
// part, and no thread's coordinate may.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_LAYOUT_PASSES_H
#define TESSERA_LIB_LAYOUT_PASSES_H

#include "tessera/Layout/Layout.h"

namespace tessera {

struct Passes {
  Layout from, to;                   // of the first part
  Layout fromRegisters, toRegisters; // (register of the part, round: the pass) -> register
};

/// In 2^passes parts, if there are such registers. `holds` is the holder of `to` in `from`, with
/// blocks kept.
std::optional<Passes> splitPasses(const Layout &from, const Layout &to, const Layout &holds,
                                  unsigned passes);

} // namespace tessera

#endif
