//===- FamiliesTest.cpp - Layouts against the tables of the PTX manual ----===//
//
// The expressions are those of the manual's figures, for lane l and element i of its fragment:
// g = l >> 2 is the groupID, t = l % 4 the threadID_in_group.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/Families.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera;

namespace {

using Formula = std::function<std::pair<unsigned, unsigned>(unsigned lane, unsigned i)>;

void expectFragment(const Layout &layout, Space shape, unsigned registers, const Formula &formula) {
  ASSERT_EQ(layout.out(), shape) << layout.str();
  ASSERT_EQ(layout.in(), (Space{{Dim::Register, registers}, {Dim::Lane, 32}})) << layout.str();
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < registers; ++i) {
      auto [row, column] = formula(lane, i);
      ASSERT_EQ(layout({{Dim::Register, i}, {Dim::Lane, lane}}),
                (Point{{Dim::D0, row}, {Dim::D1, column}}))
          << "lane " << lane << " element " << i;
    }
}

TEST(Families, MmaAccumulator) {
  expectFragment(mmaAccumulator(16, 8), Space::tensor({16, 8}), 4, [](unsigned l, unsigned i) {
    return std::pair(i < 2 ? l >> 2 : (l >> 2) + 8, l % 4 * 2 + (i & 1));
  });
  expectFragment(mmaAccumulator(8, 8), Space::tensor({8, 8}), 2,
                 [](unsigned l, unsigned i) { return std::pair(l >> 2, l % 4 * 2 + (i & 1)); });
}

TEST(Families, MmaOperands16Bit) {
  expectFragment(mmaOperandA(16, 16, 16), Space::tensor({16, 16}), 8, [](unsigned l, unsigned i) {
    unsigned row = i < 2 || (i >= 4 && i < 6) ? l >> 2 : (l >> 2) + 8;
    return std::pair(row, l % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8));
  });
  expectFragment(mmaOperandB(16, 8, 16), Space::tensor({16, 8}), 4, [](unsigned l, unsigned i) {
    return std::pair(l % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), l >> 2);
  });
  // sm_75's m16n8k8.
  expectFragment(mmaOperandA(16, 8, 16), Space::tensor({16, 8}), 4, [](unsigned l, unsigned i) {
    return std::pair(i < 2 ? l >> 2 : (l >> 2) + 8, l % 4 * 2 + (i & 1));
  });
  expectFragment(mmaOperandB(8, 8, 16), Space::tensor({8, 8}), 2,
                 [](unsigned l, unsigned i) { return std::pair(l % 4 * 2 + (i & 1), l >> 2); });
}

TEST(Families, MmaOperands8Bit) {
  expectFragment(mmaOperandA(16, 32, 8), Space::tensor({16, 32}), 16, [](unsigned l, unsigned i) {
    unsigned row = i < 4 || (i >= 8 && i < 12) ? l >> 2 : (l >> 2) + 8;
    return std::pair(row, l % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16));
  });
  expectFragment(mmaOperandB(32, 8, 8), Space::tensor({32, 8}), 8, [](unsigned l, unsigned i) {
    return std::pair(l % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), l >> 2);
  });
  // sm_75's m8n8k16.
  expectFragment(mmaOperandA(8, 16, 8), Space::tensor({8, 16}), 4,
                 [](unsigned l, unsigned i) { return std::pair(l >> 2, l % 4 * 4 + i); });
}

TEST(Families, MmaOperandsTf32AndFp64) {
  expectFragment(mmaOperandA(16, 8, 32), Space::tensor({16, 8}), 4, [](unsigned l, unsigned i) {
    return std::pair(i == 0 || i == 2 ? l >> 2 : (l >> 2) + 8, l % 4 + (i < 2 ? 0 : 4));
  });
  expectFragment(mmaOperandB(8, 8, 32), Space::tensor({8, 8}), 2,
                 [](unsigned l, unsigned i) { return std::pair(l % 4 + (i ? 4 : 0), l >> 2); });
  expectFragment(mmaOperandA(8, 4, 64), Space::tensor({8, 4}), 1,
                 [](unsigned l, unsigned) { return std::pair(l >> 2, l % 4); });
  expectFragment(mmaOperandB(4, 8, 64), Space::tensor({4, 8}), 1,
                 [](unsigned l, unsigned) { return std::pair(l % 4, l >> 2); });
}

TEST(Families, Volta) {
  // The manual's tables are per quad pair. Lanes 4..7 and 20..23 are the second one, with the rows
  // from 8 on; lanes 8..11 and 24..27 are the third, with the columns from 8 on.
  auto down = [](unsigned l) { return (l >> 2 & 1) * 8; };
  auto right = [](unsigned l) { return (l >> 3 & 1) * 8; };
  expectFragment(voltaAccumulator(16, 16), Space::tensor({16, 16}), 8, [&](unsigned l, unsigned i) {
    unsigned x = (l & 1) + (i & 2);
    return std::pair((l < 16 ? x : x + 4) + down(l), (i & 4) + (l & 2) + (i & 1) + right(l));
  });
  expectFragment(voltaOperandA(16, 4), Space::tensor({16, 4}), 4, [&](unsigned l, unsigned i) {
    return std::pair(l % 4 + (l < 16 ? 0 : 4) + down(l), i);
  });
  expectFragment(voltaOperandB(4, 16), Space::tensor({4, 16}), 4, [&](unsigned l, unsigned i) {
    return std::pair(i, l % 4 + (l < 16 ? 0 : 4) + right(l));
  });
}

TEST(Families, Wgmma) {
  for (unsigned n : {8u, 64u, 256u})
    for (unsigned groups : {1u, 2u}) {
      Layout layout = wgmmaAccumulator(n, groups);
      ASSERT_EQ(layout.out(), Space::tensor({64 * groups, n}));
      ASSERT_TRUE(layout.inverse());
      for (unsigned warp = 0; warp < 4 * groups; ++warp)
        for (unsigned l = 0; l < 32; ++l)
          for (unsigned i = 0; i < n / 2; ++i)
            ASSERT_EQ(layout({{Dim::Register, i}, {Dim::Lane, l}, {Dim::Warp, warp}}),
                      (Point{{Dim::D0, 16 * warp + l / 4 + 8 * (i / 2 % 2)},
                             {Dim::D1, 8 * (i / 4) + 2 * (l % 4) + i % 2}}));
    }
  // Column groups 2i, 2i+1 of an accumulator are the four registers of A in k-step i.
  EXPECT_EQ(wgmmaAccumulator(64), wgmmaOperandA(64, 16));
}

TEST(Families, MatrixTile) {
  expectFragment(matrixTile(16), Space::tensor({8, 8}), 2,
                 [](unsigned l, unsigned i) { return std::pair(l / 4, l % 4 * 2 + i); });
  expectFragment(matrixTile(16, true), Space::tensor({8, 8}), 2,
                 [](unsigned l, unsigned i) { return std::pair(l % 4 * 2 + i, l / 4); });
  EXPECT_EQ(matrixTile(8).out(), Space::tensor({8, 16}));
  EXPECT_EQ(matrixTile(32).out(), Space::tensor({8, 4}));
}

TEST(Families, Blocked) {
  // Compare with the definition by coordinates.
  std::vector<unsigned> shape{32, 64}, per{2, 4}, lanes{8, 4}, warps{2, 1};
  Layout layout = blocked(shape, {per, lanes, warps, {1, 0}});
  EXPECT_EQ(layout.str(),
            "register[d1:1, d1:2, d0:1, d1:16, d1:32] lane[d1:4, d1:8, d0:2, d0:4, d0:8] "
            "warp[d0:16] -> d0:32 d1:64");
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned column = 0; column < 64; ++column) {
      unsigned reg = column % 4 + row % 2 * 4 + column / 16 * 8;
      unsigned lane = column / 4 % 4 + row / 2 % 8 * 4;
      ASSERT_EQ(layout({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, row / 16}}),
                (Point{{Dim::D0, row}, {Dim::D1, column}}));
    }
  // A tile that is too small is replicated; one that is too large repeats the pattern.
  EXPECT_EQ(blocked(std::array{4u, 8u}, {per, lanes, warps, {1, 0}}).str(),
            "register[d1:1, d1:2, d0:1] lane[d1:4, 0, d0:2, 0, 0] warp[0] -> d0:4 d1:8");
  EXPECT_EQ(blocked(std::array{256u}, {{2}, {32}, {1}, {0}, {2}}).str(),
            "register[d0:1, d0:64] lane[d0:2, d0:4, d0:8, d0:16, d0:32] block[d0:128] -> d0:256");
}

TEST(Families, SwizzledShared) {
  for (unsigned bits : {8u, 16u, 32u})
    for (unsigned span : {16u, 32u, 64u, 128u}) {
      unsigned bytes = bits / 8, rows = 16, columns = 256 / bytes, perRow = span / bytes;
      Layout layout = swizzledShared(rows, columns, bits, span);
      ASSERT_TRUE(layout.inverse());
      ASSERT_EQ(swizzleSpan(layout, bits), span);
      ASSERT_FALSE(swizzleSpan(layout.transpose({1, 0}), bits));
      for (unsigned row = 0; row < rows; ++row)
        for (unsigned column = 0; column < columns; ++column) {
          // CUTLASS: Swizzle<log2(span / 16), 4, 3> of the byte address in a box of `span` bytes.
          unsigned address = (row * perRow + column % perRow) * bytes;
          address ^= (address >> 7 & (span / 16 - 1)) << 4;
          unsigned offset = address / bytes + column / perRow * rows * perRow;
          ASSERT_EQ(layout({{Dim::Offset, offset}}), (Point{{Dim::D0, row}, {Dim::D1, column}}));
        }
    }
  EXPECT_EQ(linearShared(std::array{4u, 8u}, std::array{0u, 1u}).str(),
            "offset[d0:1, d0:2, d1:1, d1:2, d1:4] -> d0:4 d1:8");
}

TEST(Families, BoxedShared) {
  constexpr unsigned bits = 16, bytes = 2;
  for (std::vector<unsigned> shape :
       {std::vector<unsigned>{16, 64}, {128, 8}, {2, 8, 128}, {4, 64, 2, 4}})
    for (unsigned inner = 0; inner < shape.size(); ++inner)
      for (unsigned span : {16u, 32u, 64u, 128u}) {
        unsigned perRow = span / bytes, rows = 1;
        if (shape[inner] < perRow)
          continue;
        for (unsigned size : shape)
          rows *= size;
        rows /= shape[inner];
        Layout layout = boxedShared(shape, inner, bits, span);
        ASSERT_TRUE(layout.inverse());
        for (uint64_t offset = 0; offset < layout.in().size(); ++offset) {
          // Within a box, the dimensions other than `inner` form the rows, the last one fastest.
          unsigned box = offset / (rows * perRow), address = offset % (rows * perRow) * bytes;
          address ^= (address >> 7 & (span / 16 - 1)) << 4;
          unsigned row = address / span;
          Point expected;
          expected[tensorDim(inner)] = address % span / bytes + box * perRow;
          for (unsigned dim = shape.size(); dim-- > 0;)
            if (dim != inner) {
              expected[tensorDim(dim)] = row % shape[dim];
              row /= shape[dim];
            }
          ASSERT_EQ(layout({{Dim::Offset, offset}}), expected);
        }
      }
}

} // namespace
