//===- SharedMatrix.cpp - Matrix descriptors of wgmma ---------------------===//
#include "tessera/Layout/SharedMatrix.h"
#include "tessera/Layout/Families.h"

using namespace tessera;

static constexpr unsigned kLines = 8, kChunk = 16; // rows of a swizzle atom; bytes of a chunk

uint64_t SharedMatrix::descriptor() const {
  uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : 3;
  return leading / kChunk << 16 | stride / kChunk << 32 | mode << 62;
}

std::optional<SharedMatrix> tessera::sharedMatrix(const Layout &memory, unsigned over,
                                                  unsigned bits) {
  Space out = memory.out();
  std::array<unsigned, 2> shape = {unsigned(out.size(Dim::D0)), unsigned(out.size(Dim::D1))};
  if (out != Space::tensor(shape) || over > 1)
    return std::nullopt;
  for (unsigned inner : {over, 1 - over})
    for (unsigned span : {128u, 64u, 32u}) {
      bool isAcross = inner != over;
      unsigned lines = shape[1 - inner];
      bool fits = shape[inner] * bits / 8 >= span && lines >= (isAcross ? 2 * kLines : kLines) &&
                  (!isAcross || bits == 16);
      if (!fits || memory != boxedShared(shape, inner, bits, span))
        continue;
      // Along K, an instruction stays within a row of the atom.
      uint64_t box = uint64_t(lines) * span;
      return SharedMatrix{span, isAcross, isAcross ? box : kChunk, uint64_t(kLines) * span};
    }
  return std::nullopt;
}
