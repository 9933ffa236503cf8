//===- Families.cpp - The layouts of the hardware -------------------------===//
#include "tessera/Layout/Families.h"

#include <algorithm>
#include <cassert>

using namespace tessera;

static Layout registers(Dim out, unsigned size) {
  return Layout::strided(Dim::Register, out, size);
}
static Layout lanes(Dim out, unsigned size) { return Layout::strided(Dim::Lane, out, size); }
static Layout warps(Dim out, unsigned size) { return Layout::strided(Dim::Warp, out, size); }

static Layout written(const char *text) {
  std::optional<Layout> layout = Layout::parse(text);
  assert(layout && "expected a layout");
  return *layout;
}

Layout tessera::blocked(std::span<const unsigned> shape, const Blocked &how) {
  Space tile = Space::tensor(shape);
  Layout layout;
  auto spread = [&](Dim in, const std::vector<unsigned> &sizes) {
    for (unsigned dim : how.order)
      if (dim < sizes.size())
        layout = layout * Layout::strided(in, tensorDim(dim), sizes[dim]);
  };
  spread(Dim::Register, how.perThread);
  spread(Dim::Lane, how.lanes);
  spread(Dim::Warp, how.warps);
  // CTAs are outermost: registers first repeat the pattern over the slice of one CTA.
  Space share = tile;
  for (unsigned dim = 0; dim < how.blocks.size(); ++dim) {
    unsigned bits = share.bits(tensorDim(dim)), taken = std::countr_zero(how.blocks[dim]);
    share.setBits(tensorDim(dim), bits - std::min(bits, taken));
  }
  layout = layout.fit(share, how.order);
  spread(Dim::Block, how.blocks);
  return layout.fit(tile, how.order);
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

Layout tessera::mmaAccumulator(unsigned m, unsigned n) {
  assert(m >= 8 && n >= 8 && "expected at least one 8 × 8 matrix");
  return registers(Dim::D1, 2) * lanes(Dim::D1, 4) * lanes(Dim::D0, 8) *
         registers(Dim::D0, m >= 16 ? 2 : 1) * registers(Dim::D1, n / 8) *
         registers(Dim::D0, m >= 16 ? m / 16 : 1);
}

/// The number of elements in a 32-bit register.
static unsigned perRegister(unsigned bits) { return bits < 32 ? 32 / bits : 1; }

Layout tessera::mmaOperandA(unsigned m, unsigned k, unsigned bits) {
  unsigned packed = perRegister(bits);
  assert(m >= 8 && k >= 4 * packed && "expected at least one register per lane");
  return registers(Dim::D1, packed) * lanes(Dim::D1, 4) * lanes(Dim::D0, 8) *
         registers(Dim::D0, m >= 16 ? 2 : 1) * registers(Dim::D1, k / (4 * packed)) *
         registers(Dim::D0, m >= 16 ? m / 16 : 1);
}

Layout tessera::mmaOperandB(unsigned k, unsigned n, unsigned bits) {
  unsigned packed = perRegister(bits);
  assert(n >= 8 && k >= 4 * packed && "expected at least one register per lane");
  return registers(Dim::D0, packed) * lanes(Dim::D0, 4) * lanes(Dim::D1, 8) *
         registers(Dim::D0, k / (4 * packed)) * registers(Dim::D1, n / 8);
}

Layout tessera::voltaAccumulator(unsigned m, unsigned n) {
  assert(m >= 16 && n >= 16 && "expected at least the tile of four quad pairs");
  return written("register[d1:1, d0:2, d1:4] lane[d0:1, d1:2, d0:8, d1:8, d0:4] -> d0:16 d1:16") *
         registers(Dim::D1, n / 16) * registers(Dim::D0, m / 16);
}

Layout tessera::voltaOperandA(unsigned m, unsigned k) {
  assert(m >= 16 && k >= 4 && "expected at least the tile of four quad pairs");
  return written("register[d1:1, d1:2] lane[d0:1, d0:2, d0:8, 0, d0:4] -> d0:16 d1:4") *
         registers(Dim::D1, k / 4) * registers(Dim::D0, m / 16);
}

Layout tessera::voltaOperandB(unsigned k, unsigned n) {
  assert(k >= 4 && n >= 16 && "expected at least the tile of four quad pairs");
  return written("register[d0:1, d0:2] lane[d1:1, d1:2, 0, d1:8, d1:4] -> d0:4 d1:16") *
         registers(Dim::D0, k / 4) * registers(Dim::D1, n / 16);
}

Layout tessera::wgmmaAccumulator(unsigned n, unsigned warpgroups) {
  return mmaAccumulator(16, n) * warps(Dim::D0, 4 * warpgroups);
}

Layout tessera::wgmmaOperandA(unsigned k, unsigned bits, unsigned warpgroups) {
  return mmaOperandA(16, k, bits) * warps(Dim::D0, 4 * warpgroups);
}

Layout tessera::matrixTile(unsigned bits, bool transposed) {
  assert((!transposed || bits == 16) && "expected 16-bit elements for a transposed matrix");
  Layout tile = registers(Dim::D1, perRegister(bits)) * lanes(Dim::D1, 4) * lanes(Dim::D0, 8);
  return transposed ? tile.transpose({1, 0}) : tile;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Layout tessera::linearShared(std::span<const unsigned> shape, std::span<const unsigned> order) {
  return Layout().fit(Space::tensor(shape), order, Dim::Offset);
}

Layout tessera::swizzledShared(unsigned rows, unsigned columns, unsigned bits, unsigned span) {
  assert(bits >= 8 && columns * bits / 8 >= span && "expected rows of at least the span");
  unsigned perRow = span * 8 / bits, byte = std::countr_zero(bits / 8);
  Layout box = Layout::strided(Dim::Offset, Dim::D1, perRow) *
               Layout::strided(Dim::Offset, Dim::D0, rows) *
               Layout::strided(Dim::Offset, Dim::D1, columns / perRow);
  // Undoing the XOR of the chunk's number gives the offset in the unswizzled box.
  gf2::Vectors unswizzle;
  for (unsigned bit = 0; bit < box.in().bits(); ++bit) {
    uint64_t address = uint64_t(1) << (bit + byte),
             chunk = address >> 3 & (span - 1) & ~uint64_t(15);
    unswizzle.push_back((address ^ chunk) >> byte);
  }
  return Layout(box.in(), box.in(), std::move(unswizzle)).then(box);
}

Layout tessera::boxedShared(std::span<const unsigned> shape, unsigned inner, unsigned bits,
                            unsigned span) {
  std::vector<unsigned> rows, order;
  unsigned count = 1;
  for (unsigned i = 0; i < shape.size(); ++i) {
    order.push_back(i == inner ? unsigned(shape.size()) - 1 : unsigned(rows.size()));
    if (i == inner)
      continue;
    rows.push_back(shape[i]);
    count *= shape[i];
  }
  rows.push_back(shape[inner]);
  return swizzledShared(count, shape[inner], bits, span)
      .reshape(Space::tensor(rows))
      .transpose(order);
}

std::optional<unsigned> tessera::swizzleSpan(const Layout &memory, unsigned bits) {
  unsigned rows = memory.out().size(Dim::D0), columns = memory.out().size(Dim::D1);
  for (unsigned span : {128u, 64u, 32u, 16u})
    if (columns * bits / 8 >= span && memory == swizzledShared(rows, columns, bits, span))
      return span;
  return std::nullopt;
}
