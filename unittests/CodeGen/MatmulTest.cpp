//===- MatmulTest.cpp - Contractions against a reference in double --------===//
#include "Harness.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using tessera::CpuTarget;
using namespace tessera::cpu;

namespace {

std::string replaceAll(std::string text,
                       std::initializer_list<std::pair<std::string, std::string>> names) {
  for (const auto &[from, to] : names)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

/// C = A · B with tiles of bm × bn × bk; B is row-major, or column-major where `transposed`, and A
/// where `leftTransposed`. The operands are of `type`, the accumulators of f32.
std::string matmulText(int64_t bm, int64_t bn, int64_t bk, bool transposed,
                       std::string type = "f32", bool leftTransposed = false) {
  return replaceAll(
      R"(
tile.kernel @matmul(%a: !AVIEW, %b: !BVIEW, %c: !CVIEW) grid 2 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bk = arith.constant BK : index
  %i = tile.program_id 0
  %j = tile.program_id 1
  %size = tile.dim %a, 1 : !AVIEW
  %n = arith.ceildivsi %size, %bk : index
  %zero = tile.constant 0.0 : f32 : tensor<BMxBNxf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<BMxBNxf32>) {
    %x = tile.load %a[%i, %k] dims [0, 1] pad 0.0 : TYPE : !AVIEW -> tensor<BMxBKxTYPE>
    %y = tile.load %b[%k, %j] dims [0, 1] pad 0.0 : TYPE : !BVIEW -> tensor<BKxBNxTYPE>
    %m = tile.mma %x, %y, %acc : (tensor<BMxBKxTYPE>, tensor<BKxBNxTYPE>, tensor<BMxBNxf32>) -> tensor<BMxBNxf32>
    scf.yield %m : tensor<BMxBNxf32>
  }
  tile.store %sum, %c[%i, %j] dims [0, 1] bounded : tensor<BMxBNxf32>, !CVIEW
  tile.return
}
)",
      {{"!BVIEW", transposed ? "!tile.view<?x?xTYPE, strides = [1, ?]>" : "!VIEW"},
       {"!AVIEW", leftTransposed ? "!tile.view<?x?xTYPE, strides = [1, ?]>" : "!VIEW"},
       {"!CVIEW", "!tile.view<?x?xf32, strides = [?, 1]>"},
       {"!VIEW", "!tile.view<?x?xTYPE, strides = [?, 1]>"},
       {"TYPE", type},
       {"BM", std::to_string(bm)},
       {"BN", std::to_string(bn)},
       {"BK", std::to_string(bk)}});
}

void check(CompiledKernels &kernels, int64_t bm, int64_t bn, int64_t m, int64_t n, int64_t k,
           bool transposed, bool isNarrow = false, bool leftTransposed = false) {
  std::mt19937 random(m * 31 + n * 7 + k);
  std::normal_distribution<float> normal;
  std::vector<float> a(m * k), b(k * n), c(m * n, NAN);
  for (float &x : a)
    x = normal(random);
  for (float &x : b)
    x = normal(random);
  // A bf16 is the upper half of an f32.
  auto narrowed = [](std::vector<float> &wide) {
    std::vector<uint16_t> narrow;
    for (float &x : wide) {
      narrow.push_back(std::bit_cast<uint32_t>(x) >> 16);
      x = std::bit_cast<float>(uint32_t(narrow.back()) << 16);
    }
    return narrow;
  };
  std::vector<uint16_t> narrowA, narrowB;
  void *left = a.data(), *columns = b.data();
  if (isNarrow) {
    narrowA = narrowed(a), narrowB = narrowed(b);
    left = narrowA.data(), columns = narrowB.data();
  }
  Array right = transposed ? Array{columns, {k, n}, {1, k}} : Array::dense(columns, {k, n});
  Array rows = leftTransposed ? Array{left, {m, k}, {1, m}} : Array::dense(left, {m, k});
  kernels.run("matmul", {rows, right, Array::dense(c.data(), {m, n})}, {},
              {(m + bm - 1) / bm, (n + bn - 1) / bn});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t q = 0; q < k; ++q) {
        double product = double(leftTransposed ? a[q * m + i] : a[i * k + q]) *
                         (transposed ? b[j * k + q] : b[q * n + j]);
        sum += product;
        magnitude += std::fabs(product);
      }
      // One rounding per addition, one for the stored result, and two for the terms that Amx.cpp
      // drops of a product. (Bfmmla.cpp adds two products at a time with twice the error.)
      ASSERT_LE(std::fabs(c[i * n + j] - sum), (k + 3) * 0x1p-24 * magnitude)
          << m << "x" << n << "x" << k << " at " << i << ", " << j << " with tile rows " << bm;
    }
}

TEST(Matmul, AllShapesOfTilesAndMatrices) {
  struct Tile {
    int64_t m, n, k;
  };
  for (bool transposed : {false, true})
    for (Tile tile :
         {Tile{64, 64, 64}, {24, 48, 20}, {13, 17, 19}, {4, 80, 33}, {1, 64, 32}, {2, 5, 7}}) {
      CompiledKernels kernels(matmulText(tile.m, tile.n, tile.k, transposed));
      ASSERT_EQ(kernels.error(), "");
      for (auto [m, n, k] :
           {Tile{64, 64, 64}, {65, 37, 130}, {1, 1, 1}, {130, 200, 77}, {3, 128, 1}})
        check(kernels, tile.m, tile.n, m, n, k, transposed);
    }
}

// Enough columns that rows are interleaved where FMA multiplies by a lane: whole groups of rows, a
// part of one, K that is no multiple of a vector, and panels whose last two share the tail.
TEST(Matmul, InterleavedRows) {
  struct Tile {
    int64_t m, n, k;
  };
  for (bool leftTransposed : {false, true})
    for (bool transposed : {false, true})
      for (Tile tile :
           {Tile{64, 64, 64}, {24, 72, 20}, {13, 100, 19}, {5, 65, 7}, {6, 70, 8}, {20, 256, 40}}) {
        CompiledKernels kernels(
            matmulText(tile.m, tile.n, tile.k, transposed, "f32", leftTransposed));
        ASSERT_EQ(kernels.error(), "");
        for (auto [m, n, k] : {Tile{64, 64, 64},
                               {65, 37, 130},
                               {1, 1, 1},
                               {130, 200, 77},
                               {3, 128, 1},
                               {21, 67, 46}})
          check(kernels, tile.m, tile.n, m, n, k, transposed, false, leftTransposed);
      }
}

// Ragged rows: the tail is any part of a micro-tile, of a pair of them, and of a tile.
TEST(Matmul, RaggedRows) {
  struct Tile {
    int64_t m, n, k;
  };
  for (bool transposed : {false, true})
    for (Tile tile : {Tile{64, 64, 64}, {80, 300, 32}, {128, 48, 64}}) {
      CompiledKernels kernels(matmulText(tile.m, tile.n, tile.k, transposed));
      ASSERT_EQ(kernels.error(), "");
      for (int64_t m : {1, 15, 16, 17, 31, 32, 33, 48, 49, 64, 65, 79, 81, 97, 113, 130})
        check(kernels, tile.m, tile.n, m, 70, 66, transposed);
    }
}

TEST(Matmul, SixteenBitOperands) {
  struct Tile {
    int64_t m, n, k;
  };
  for (bool transposed : {false, true})
    for (Tile tile : {Tile{64, 64, 64},
                      {24, 48, 20},
                      {13, 17, 12},
                      {5, 4, 4},
                      {7, 13, 8},
                      {6, 9, 19},
                      {4, 80, 32}}) {
      CompiledKernels kernels(matmulText(tile.m, tile.n, tile.k, transposed, "bf16"));
      ASSERT_EQ(kernels.error(), "");
      for (auto [m, n, k] :
           {Tile{64, 64, 64}, {65, 37, 130}, {1, 1, 1}, {130, 200, 77}, {3, 128, 1}, {11, 5, 3}})
        check(kernels, tile.m, tile.n, m, n, k, transposed, true);
    }
}

TEST(Matmul, BfmmlaWhereTheTargetHasIt) {
  CpuTarget arm = *CpuTarget::baseline("aarch64");
  auto hasPairs = [&](int64_t m, int64_t n, int64_t k) {
    CompiledKernels kernels(matmulText(m, n, k, false, "bf16"), arm);
    EXPECT_EQ(kernels.error(), "");
    return kernels.assembly().find("bfmmla") != std::string::npos;
  };
  EXPECT_FALSE(hasPairs(64, 64, 64));
  arm.features += ",+bf16";
  EXPECT_TRUE(hasPairs(64, 64, 64));
  EXPECT_TRUE(hasPairs(5, 4, 4));
  EXPECT_FALSE(hasPairs(4, 64, 64)); // few rows are used once
  EXPECT_FALSE(hasPairs(64, 64, 6)); // K is no multiple of a k-step
}

TEST(Matmul, OtherTargetsHaveTheirOwnInstructions) {
  CompiledKernels arm(matmulText(64, 64, 64, true), *CpuTarget::baseline("aarch64"));
  ASSERT_EQ(arm.error(), "");
  EXPECT_NE(arm.assembly().find("fmla"), std::string::npos);
  CompiledKernels avx2(matmulText(64, 64, 64, false), *CpuTarget::baseline("x86-64-v3"));
  ASSERT_EQ(avx2.error(), "");
  EXPECT_NE(avx2.assembly().find("vfmadd"), std::string::npos);
  EXPECT_EQ(avx2.assembly().find("zmm"), std::string::npos);
  CompiledKernels sse(matmulText(64, 64, 64, false), *CpuTarget::baseline("x86-64-v2"));
  EXPECT_EQ(sse.error(), "");
}

} // namespace
