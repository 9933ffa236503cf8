//===- SharedMatrixTest.cpp - Descriptors against the manual's layouts ----===//
//
// The address of an element of an operand, by the canonical layouts of the PTX manual in units of
// 16 bytes:
//   K-major    ((8, n), 2) : ((span / 16, stride), 1)
//   MN-major   ((span / 16, n), (8, k)) : ((1, leading), (span / 16, stride))
// followed by the XOR of bits 4 and up of the address with bits 7 and up.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/SharedMatrix.h"
#include "tessera/Layout/Families.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

/// The byte address of an element of an operand that starts at byte `start`.
uint64_t place(const SharedMatrix &matrix, uint64_t start, unsigned kept, unsigned over,
               unsigned bytes) {
  uint64_t at = start;
  if (matrix.isAcross)
    at += kept * bytes / matrix.span * matrix.leading + kept * bytes % matrix.span +
          over / 8 * matrix.stride + over % 8 * matrix.span;
  else
    at += kept / 8 * matrix.stride + kept % 8 * matrix.span + over * bytes;
  return at ^ (at >> 3 & (matrix.span - 16));
}

void expectElements(std::array<unsigned, 2> shape, unsigned over, unsigned inner, unsigned bits,
                    unsigned span) {
  Layout memory = boxedShared(shape, inner, bits, span), offsets = *memory.inverse();
  std::optional<SharedMatrix> matrix = sharedMatrix(memory, over, bits);
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->span, span);
  EXPECT_EQ(matrix->isAcross, inner != over);
  unsigned bytes = bits / 8, depth = 256 / bits, kept = shape[1 - over];
  auto byte = [&](unsigned x, unsigned k) {
    Point point;
    point[tensorDim(1 - over)] = x;
    point[tensorDim(over)] = k;
    return offsets(offsets.in().pack(point)) * bytes;
  };
  // An instruction reads 64 rows of A, and all columns of B.
  unsigned step = over == 1 ? std::min(64u, kept) : kept;
  for (unsigned first = 0; first < kept; first += step)
    for (unsigned k = 0; k < shape[over]; k += depth)
      for (unsigned x = 0; x < step; ++x)
        for (unsigned i = 0; i < depth; ++i)
          ASSERT_EQ(place(*matrix, byte(first, k), x, i, bytes), byte(first + x, k + i))
              << first + x << ", " << k + i;
}

TEST(SharedMatrix, KMajor) {
  for (unsigned span : {128u, 64u, 32u})
    for (unsigned depth : {span / 2, span}) {
      expectElements({128, depth}, 1, 1, 16, span);
      expectElements({depth, 256}, 0, 0, 16, span);
    }
  expectElements({64, 128}, 1, 1, 8, 128);
  expectElements({32, 16}, 0, 0, 32, 128);
}

TEST(SharedMatrix, MNMajor) {
  for (unsigned depth : {16u, 64u, 128u}) {
    expectElements({128, depth}, 1, 0, 16, 128);
    expectElements({depth, 256}, 0, 1, 16, 128);
  }
  expectElements({64, 64}, 1, 0, 16, 64);
  expectElements({64, 16}, 0, 1, 16, 32);
}

TEST(SharedMatrix, Descriptor) {
  // Address, leading and stride in units of 16 bytes, the swizzle mode in the two highest bits.
  SharedMatrix rows = *sharedMatrix(boxedShared(std::array{128u, 64u}, 1, 16, 128), 1, 16);
  EXPECT_EQ(rows.descriptor(), uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(1) << 16);
  SharedMatrix columns = *sharedMatrix(boxedShared(std::array{64u, 256u}, 1, 16, 128), 0, 16);
  EXPECT_EQ(columns.descriptor(), uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(512) << 16);
  EXPECT_EQ(sharedMatrix(boxedShared(std::array{64u, 32u}, 1, 16, 64), 1, 16)->descriptor() >> 62,
            2u);
}

TEST(SharedMatrix, Declines) {
  EXPECT_FALSE(sharedMatrix(linearShared(std::array{64u, 64u}, std::array{1u, 0u}), 1, 16));
  EXPECT_FALSE(sharedMatrix(boxedShared(std::array{64u, 64u}, 1, 16, 16), 1, 16));
  // Only 16-bit elements can be MN-major.
  EXPECT_FALSE(sharedMatrix(boxedShared(std::array{64u, 128u}, 1, 8, 128), 0, 8));
}

} // namespace
