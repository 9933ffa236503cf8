//===- AccessTest.cpp - Access costs against enumeration ------------------===//
#include "tessera/Layout/Access.h"
#include "RandomLayouts.h"
#include "tessera/Layout/Families.h"
#include "tessera/Layout/Swizzle.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tessera;

namespace {

TEST(Access, VectorsOfKnownLayouts) {
  Layout rows = blocked(std::array{32u, 128u}, {{2, 8}, {2, 16}, {4, 1}, {1, 0}});
  EXPECT_EQ(vectorise(rows, Dim::D1, 3).vector, 3u);
  EXPECT_EQ(vectorise(rows, Dim::D1, 2).vector, 2u);
  EXPECT_EQ(vectorise(rows, Dim::D0, 3).vector, 1u);
  EXPECT_EQ(vectorise(mmaAccumulator(16, 64), Dim::D1, 2).vector, 1u);
  EXPECT_EQ(vectorise(mmaAccumulator(16, 64), Dim::D0, 2).vector, 0u);
  // A lane bit that swaps adjacent elements prevents vector accesses.
  EXPECT_EQ(
      vectorise(*Layout::parse("register[d0:1, d0:2] lane[d0:4+d0:1] -> d0:8"), Dim::D0, 2).vector,
      0u);
}

TEST(Access, RandomVectors) {
  RandomLayouts random(21);
  std::map<unsigned, unsigned> widths;
  for (unsigned trial = 0; trial < 4000; ++trial) {
    Space in = random.places(random.upTo(4), 2, 1);
    Layout layout = random.covering(in, random.tile(random.upTo(in.bits())), random.upTo(1) * 4);
    unsigned most = random.upTo(4);
    RegisterOrder order = vectorise(layout, Dim::D0, most);
    ++widths[order.vector];
    ASSERT_LE(order.vector, most);
    ASSERT_TRUE(order.order.inverse());
    unsigned registers = layout.in().bits(Dim::Register);
    uint64_t elements = uint64_t(1) << order.vector;
    bool canBeWider = order.vector < most && order.vector < layout.out().bits(Dim::D0);
    for (uint64_t thread = 0; thread < layout.in().size() >> registers; ++thread) {
      std::set<uint64_t> held, all;
      for (uint64_t n = 0; n < uint64_t(1) << registers; ++n) {
        uint64_t element = layout(order.order(n) | thread << registers);
        Point at = layout.out().unpack(element);
        Point first =
            layout.out().unpack(layout(order.order(n & ~(elements - 1)) | thread << registers));
        first[Dim::D0] += n % elements;
        ASSERT_EQ(at, first); // contiguous, in order, aligned
        ASSERT_EQ(at[Dim::D0] % elements, n % elements);
        ASSERT_EQ(held.insert(element).second, n < uint64_t(1) << order.distinct);
      }
      // One bit wider would need contiguous, aligned pairs in every thread.
      for (uint64_t element : held) {
        Point at = layout.out().unpack(element);
        at[Dim::D0] ^= elements;
        if (canBeWider && !held.count(layout.out().pack(at)))
          canBeWider = false;
      }
    }
    if (canBeWider) { // then the order differs between threads
      uint64_t moved = 0;
      for (uint64_t column : layout.columnsOf(threadDims))
        moved |= layout.out().unpack(column)[Dim::D0];
      ASSERT_TRUE(moved & elements) << layout.str();
    }
  }
  for (unsigned width : {0u, 1u, 2u})
    EXPECT_GT(widths[width], 50u);
}

TEST(Access, Sectors) {
  std::array<int64_t, 2> rowMajor{1024, 4}; // fp32, rows of 256
  auto traffic = [&](const Blocked &how, unsigned most, int64_t base = 0) {
    Layout layout = blocked(std::array{32u, 128u}, how);
    return globalTraffic(layout, vectorise(layout, Dim::D1, most), 32, rowMajor, base);
  };
  // 16 bytes per lane along a row: four sectors per 128 bytes, and one more if misaligned.
  GlobalTraffic wide = traffic({{1, 4}, {1, 32}, {4, 1}, {1, 0}}, 2);
  EXPECT_EQ(wide.accesses, 32u);
  EXPECT_EQ(wide.sectors, 32u * 16);
  EXPECT_EQ(wide.ideal, wide.sectors);
  EXPECT_EQ(traffic({{1, 4}, {1, 32}, {4, 1}, {1, 0}}, 2, 16).sectors, 32u * 17);
  // Along a column every lane has a sector of its own.
  GlobalTraffic down = traffic({{1, 1}, {32, 1}, {1, 4}, {0, 1}}, 2);
  EXPECT_EQ(down.accesses, 128u);
  EXPECT_EQ(down.sectors, 128u * 32);
  EXPECT_EQ(down.ideal, 128u * 4);
  // An accumulator's rows: eight rows of one sector each.
  Layout mma = mmaAccumulator(16, 8);
  GlobalTraffic rows = globalTraffic(mma, vectorise(mma, Dim::D1, 2), 32, rowMajor);
  EXPECT_EQ(rows.accesses, 2u);
  EXPECT_EQ(rows.sectors, 16u);
}

/// Counts wavefronts bank by bank and phase by phase.
unsigned countWavefronts(const Layout &address, unsigned vector, unsigned bits, uint64_t place) {
  unsigned bytes = (bits << vector) / 8, lanes = address.in().size(Dim::Lane);
  unsigned perPhase = std::min(32u, 128 / bytes), total = 0;
  for (unsigned first = 0; first < lanes; first += perPhase) {
    std::map<uint64_t, std::set<uint64_t>> banks;
    for (unsigned lane = first; lane < std::min(lanes, first + perPhase); ++lane) {
      uint64_t at = place | uint64_t(lane) << address.in().shift(Dim::Lane);
      uint64_t start = address.out().unpack(address(at))[Dim::Offset] * bits / 8;
      for (uint64_t byte = start; byte < start + bytes; ++byte)
        banks[byte / 4 % 32].insert(byte / 4);
    }
    size_t most = 0;
    for (auto &[bank, words] : banks)
      most = std::max(most, words.size());
    total += most;
  }
  return total;
}

TEST(Access, RandomBankConflicts) {
  RandomLayouts random(22);
  std::map<unsigned, unsigned> seen;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    unsigned bits = 8u << random.upTo(3), vector = random.upTo(std::countr_zero(128 / bits));
    Space in = random.places(random.upTo(4), 5, 1), out{{Dim::Offset, uint64_t(1) << 12}};
    Layout any =
        random.upTo(1)
            ? random.any(in, out)
            : random.covering(in, random.tile(in.bits()), 5).reshape({{Dim::Offset, in.size()}});
    // Aligned to the access.
    gf2::Vectors columns;
    for (uint64_t column : any.columns())
      columns.push_back(column >> vector << vector);
    Layout address(in, any.out(), columns);
    unsigned wanted = wavefronts(address, vector, bits);
    ++seen[wanted];
    for (unsigned sample = 0; sample < 4; ++sample) {
      uint64_t place = random.word(in.bits()) & ~in.mask({Dim::Lane});
      ASSERT_EQ(countWavefronts(address, vector, bits, place), wanted) << address.str();
    }
  }
  EXPECT_GT(seen.size(), 4u);
}

TEST(Access, SwizzledFamiliesHaveNoConflicts) {
  // 16 bytes of each of eight rows, as ldmatrix and wgmma read: no conflict with any span but 16.
  for (unsigned span : {16u, 32u, 64u, 128u}) {
    Layout memory = swizzledShared(64, span / 2, 16, span).inverse().value();
    Layout rows = blocked(std::array{64u, span / 2}, {{1, 8}, {32, 1}, {2, 1}, {1, 0}});
    Layout address = rows.then(memory);
    EXPECT_EQ(vectorise(address, Dim::Offset, 3).vector, 3u);
    EXPECT_EQ(wavefronts(address, 3, 16), 4u) << span;
    // Without a swizzle, a read takes as many wavefronts as a row has chunks.
    Layout linear = linearShared(std::array{64u, span / 2}, std::array{1u, 0u}).inverse().value();
    EXPECT_EQ(wavefronts(rows.then(linear), 3, 16), 4 * span / 16) << span;
  }
}

TEST(Swizzle, RandomPairsHaveNoConflicts) {
  RandomLayouts random(23);
  std::map<unsigned, unsigned> widths;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    unsigned bits = 8u << random.upTo(3), mixing = random.upTo(2) * 5;
    Space in = random.places(1 + random.upTo(4), 5, random.upTo(2));
    Space tile = random.tile(in.bits());
    Layout write = random.covering(in, tile, mixing), read = random.covering(in, tile, mixing);
    // Vectors that both sides hold in registers and that no thread coordinate moves along.
    gf2::Vectors threads = gf2::concat({write.columnsOf(threadDims), read.columnsOf(threadDims)});
    gf2::Vectors both = gf2::intersect(write.columns(Dim::Register), read.columns(Dim::Register));
    gf2::Vectors vector = gf2::extend(threads, both);
    vector.resize(std::min<size_t>(vector.size(), std::countr_zero(128 / bits)));
    ++widths[vector.size()];
    auto side = [&](const Layout &layout) {
      gf2::Vectors lanes = layout.columnsOf({Dim::Lane});
      lanes.resize(phaseBits(vector.size(), bits));
      return SharedSide{vector, lanes, layout.columnsOf(threadDims)};
    };
    std::optional<Layout> memory =
        swizzle(side(write), side(read), tile, gf2::units(tile.bits()), bits);
    ASSERT_TRUE(memory);
    std::optional<Layout> where = memory->inverse();
    ASSERT_TRUE(where);
    for (const Layout &layout : {write, read}) {
      Layout address = layout.then(*where);
      unsigned width = vectorise(address, Dim::Offset, vector.size()).vector;
      ASSERT_EQ(width, vector.size());
      // Every phase of every access takes one wavefront.
      unsigned phases = 32 >> phaseBits(width, bits);
      for (unsigned sample = 0; sample < 3; ++sample) {
        uint64_t place = random.word(in.bits()) & ~in.mask({Dim::Lane});
        Point at = in.unpack(place);
        at[Dim::Register] = 0;
        ASSERT_EQ(countWavefronts(address, width, bits, in.pack(at)), phases) << write.str() << "\n"
                                                                              << read.str() << "\n"
                                                                              << memory->str();
      }
    }
  }
  EXPECT_GT(widths[0], 100u);
  EXPECT_GT(widths[1], 100u);
}

} // namespace
