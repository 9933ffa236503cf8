//===- RandomLayouts.h - Random layouts for tests --------------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_LAYOUT_RANDOMLAYOUTS_H
#define TESSERA_UNITTESTS_LAYOUT_RANDOMLAYOUTS_H

#include "tessera/Layout/Layout.h"

#include <algorithm>
#include <random>

namespace tessera {

class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : engine(seed) {}

  /// A number from 0 to `last`, inclusive.
  unsigned upTo(unsigned last) { return engine() % (last + 1); }
  uint64_t word(unsigned bits) { return engine() & ((uint64_t(1) << bits) - 1); }

  Space tile(unsigned bits) {
    Space space;
    for (; bits; --bits) {
      Dim dim = tensorDim(upTo(2));
      space.setBits(dim, space.bits(dim) + 1);
    }
    return space;
  }

  Space places(unsigned registers, unsigned lanes, unsigned warps, unsigned blocks = 0) {
    return {{Dim::Register, uint64_t(1) << registers},
            {Dim::Lane, uint64_t(1) << lanes},
            {Dim::Warp, uint64_t(1) << warps},
            {Dim::Block, uint64_t(1) << blocks}};
  }

  /// A layout with random columns.
  Layout any(const Space &in, const Space &out) {
    gf2::Vectors columns;
    for (unsigned i = 0; i < in.bits(); ++i)
      columns.push_back(word(out.bits()));
    return Layout(in, out, std::move(columns));
  }

  /// A surjective layout: the bits of the tile in random order over the locations, the other bits
  /// free. `mixing` adds random pairs of columns, which swizzles it.
  Layout covering(const Space &in, const Space &out, unsigned mixing = 0) {
    gf2::Vectors columns = gf2::units(out.bits());
    columns.resize(in.bits());
    std::shuffle(columns.begin(), columns.end(), engine);
    for (unsigned i = 0; i < mixing && in.bits(); ++i) {
      unsigned from = upTo(in.bits() - 1), to = upTo(in.bits() - 1);
      if (from != to)
        columns[to] ^= columns[from];
    }
    return Layout(in, out, std::move(columns));
  }

  std::mt19937_64 engine;
};

} // namespace tessera

#endif
