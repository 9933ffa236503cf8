//===- KernelTest.cpp - Loop nests, reductions, moves and streams ---------===//
#include "Harness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using tessera::CpuTarget;
using namespace tessera::cpu;

namespace {

std::vector<float> randomArray(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float &value : values)
    value = normal(random);
  return values;
}

TEST(Kernel, StoresOnlyInsideTheView) {
  CompiledKernels kernels(R"(
tile.kernel @twice(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<100xf32>
  %d = tile.map add(%t, %t) : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<100xf32>, !tile.view<?xf32, strides = [1]>
  tile.return
})");
  ASSERT_EQ(kernels.error(), "");
  for (int64_t size : {1, 99, 100, 101, 1000, 1003}) {
    std::vector<float> x = randomArray(size), y(size + 64, -7);
    kernels.run("twice", {Array::dense(x.data(), {size}), Array::dense(y.data(), {size})}, {},
                {(size + 99) / 100});
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(y[i], 2 * x[i]);
    for (int64_t i = size; i < size + 64; ++i)
      ASSERT_EQ(y[i], -7);
  }
}

TEST(Kernel, AnyStrides) {
  CompiledKernels kernels(R"(
!v = !tile.view<?x?xf32, strides = [?, ?]>
tile.kernel @copy(%x: !v, %y: !v) grid 2 {
  %i = tile.program_id 0
  %j = tile.program_id 1
  %t = tile.load %x[%i, %j] dims [0, 1] pad 0.0 : f32 : !v -> tensor<8x20xf32>
  tile.store %t, %y[%i, %j] dims [0, 1] bounded : tensor<8x20xf32>, !v
  tile.return
})");
  ASSERT_EQ(kernels.error(), "");
  std::vector<float> x = randomArray(2000), y(2000, NAN);
  // Rows with a negative stride, columns with stride 3; the result is column-major.
  kernels.run("copy", {{x.data() + 99 * 20, {33, 6}, {-60, 3}}, {y.data(), {33, 6}, {1, 40}}}, {},
              {5, 1});
  for (int64_t i = 0; i < 33; ++i)
    for (int64_t j = 0; j < 6; ++j)
      ASSERT_EQ(y[i + 40 * j], x[99 * 20 - 60 * i + 3 * j]);
}

TEST(Kernel, ReductionsAlongAnyDimensions) {
  for (std::string dims : {"0", "1", "2", "0, 1", "0, 2", "1, 2", "0, 1, 2"}) {
    bool kept[3] = {dims.find('0') == std::string::npos, dims.find('1') == std::string::npos,
                    dims.find('2') == std::string::npos};
    int64_t shape[3] = {5, 3, 37};
    std::string type = "tensor<", view = "!tile.view<", zeros, numbers, strides;
    std::vector<int64_t> sizes;
    for (int d = 0; d < 3; ++d)
      if (kept[d]) {
        type += std::to_string(shape[d]) + "x";
        view += std::to_string(shape[d]) + "x";
        zeros += zeros.empty() ? "%c0" : ", %c0";
        numbers += (numbers.empty() ? "" : ", ") + std::to_string(sizes.size());
        sizes.push_back(shape[d]);
      }
    Array out = Array::dense(nullptr, sizes);
    for (int64_t stride : out.strides)
      strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
    view += strides.empty() ? "f32>" : "f32, strides = [" + strides + "]>";
    CompiledKernels kernels(
        "tile.kernel @r(%x: !tile.view<5x3x37xf32, strides = [111, 37, 1]>, %y: " + view +
        R"() grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0, %c0] dims [0, 1, 2] : !tile.view<5x3x37xf32, strides = [111, 37, 1]> -> tensor<5x3x37xf32>
  %s = tile.reduce sum %t dims [)" +
        dims + "] : tensor<5x3x37xf32> -> " + type + "f32>\n  tile.store %s, %y[" + zeros +
        "] dims [" + numbers + "] : " + type + "f32>, " + view + "\n  tile.return\n}");
    ASSERT_EQ(kernels.error(), "") << dims;
    std::vector<float> x = randomArray(555), y(200, NAN);
    std::vector<double> want(200, 0);
    for (int64_t a = 0; a < 5; ++a)
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t c = 0; c < 37; ++c) {
          int64_t index[3] = {a, b, c}, to = 0;
          for (int d = 0; d < 3; ++d)
            if (kept[d])
              to = to * shape[d] + index[d];
          want[to] += x[(a * 3 + b) * 37 + c];
        }
    out.data = y.data();
    kernels.run("r", {Array::dense(x.data(), {5, 3, 37}), out}, {}, {1});
    int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_NEAR(y[i], want[i], 1e-4) << dims << " at " << i;
  }
}

TEST(Kernel, TransposesInMemoryAndInTiles) {
  CompiledKernels kernels(R"(
!v = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @t(%x: !v, %y: !v) grid 2 {
  %i = tile.program_id 0
  %j = tile.program_id 1
  %a = tile.load %x[%i, %j] dims [1, 0] pad 0.0 : f32 : !v -> tensor<40x24xf32>
  %b = tile.map add(%a, %a) : (tensor<40x24xf32>, tensor<40x24xf32>) -> tensor<40x24xf32>
  %c = tile.transpose %b perm [1, 0] : tensor<40x24xf32> -> tensor<24x40xf32>
  tile.store %c, %y[%i, %j] dims [0, 1] bounded : tensor<24x40xf32>, !v
  tile.return
})");
  ASSERT_EQ(kernels.error(), "");
  int64_t m = 50, n = 90;
  std::vector<float> x = randomArray(m * n), y(m * n, NAN);
  kernels.run("t", {Array::dense(x.data(), {m, n}), Array::dense(y.data(), {m, n})}, {}, {3, 3});
  for (int64_t i = 0; i < m * n; ++i)
    ASSERT_EQ(y[i], 2 * x[i]);
}

TEST(Kernel, LoopsSwapCarriedTiles) {
  CompiledKernels kernels(R"(
!v = !tile.view<16xf32, strides = [1]>
tile.kernel @fib(%x: !v, %y: !v, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.load %x[%c0] dims [0] : !v -> tensor<16xf32>
  %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %a, %q = %a, %o = %a)
      -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
    %s = tile.map add(%p, %q) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    scf.yield %q, %s, %p : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  %d = tile.map sub(%r#1, %r#2) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tile.store %d, %y[%c0] dims [0] : tensor<16xf32>, !v
  tile.return
})");
  ASSERT_EQ(kernels.error(), "");
  std::vector<float> x(16, 1), y(16, NAN);
  kernels.run("fib", {Array::dense(x.data(), {16}), Array::dense(y.data(), {16})}, {5}, {1});
  // 1 1 2 3 5 8 13: after five iterations p = 8, q = 13, o = 5.
  for (float value : y)
    ASSERT_EQ(value, 8);
}

TEST(Kernel, ConvertsSixteenBitFloats) {
  for (std::string target : {std::string(), std::string("x86-64-v2")}) {
    CompiledKernels kernels(R"(
tile.kernel @c(%x: !tile.view<?xf32, strides = [1]>, %b: !tile.view<?xbf16, strides = [1]>,
               %h: !tile.view<?xf16, strides = [1]>) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<64xf32>
  %u = tile.cast %t : tensor<64xf32> -> tensor<64xbf16>
  %v = tile.cast %t : tensor<64xf32> -> tensor<64xf16>
  tile.store %u, %b[%i] dims [0] bounded : tensor<64xbf16>, !tile.view<?xbf16, strides = [1]>
  tile.store %v, %h[%i] dims [0] bounded : tensor<64xf16>, !tile.view<?xf16, strides = [1]>
  tile.return
})",
                            target.empty() ? CpuTarget::host() : *CpuTarget::baseline(target));
    ASSERT_EQ(kernels.error(), "");
    if (!target.empty() &&
        CpuTarget::host().describe().arch != tessera::CpuDescription::Arch::X86_64)
      continue;
    std::vector<float> x = {0.f,      -0.f,     1.f,   1.00390625f, 1.01171875f, 65504.f,
                            65519.f,  65520.f,  1e30f, 6.1e-5f,     6e-8f,       2.9e-8f,
                            -3.1e-8f, INFINITY, NAN,   -2.5f};
    std::vector<uint16_t> b(16), h(16);
    int64_t size = 16;
    kernels.run("c",
                {Array::dense(x.data(), {size}), Array::dense(b.data(), {size}),
                 Array::dense(h.data(), {size})},
                {}, {1});
    for (int64_t i = 0; i < size; ++i) {
      _Float16 half = static_cast<_Float16>(x[i]);
      uint16_t want;
      std::memcpy(&want, &half, 2);
      if (!std::isnan(x[i]))
        EXPECT_EQ(h[i], want) << x[i] << " " << target;
      uint32_t bits = uint32_t(b[i]) << 16;
      float back;
      std::memcpy(&back, &bits, 4);
      if (std::isfinite(x[i]))
        EXPECT_LE(std::fabs(back - x[i]), std::fabs(x[i]) * 0x1p-8) << x[i];
      else
        EXPECT_EQ(std::isnan(back), std::isnan(x[i]));
    }
  }
}

/// The online loop of streaming fusion, with the primitive form of exp2 kept simple: weights are 1
/// + u + u²/2 of the centred scores, which any g-invariant mistake would spoil.
TEST(Kernel, CarriesStatisticsAndAccumulators) {
  CompiledKernels kernels(R"(
!v = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @s(%q: !v, %k: !v, %v: !v, %o: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  %i = tile.program_id 0
  %t = tile.dim %k, 0 : !v
  %n = arith.ceildivsi %t, %c48 : index
  %qt = tile.load %q[%i, %c0] dims [0, 1] pad 0.0 : f32 : !v -> tensor<24x16xf32>
  %zs = tile.constant 0.0 : f32 : tensor<24x48xf32>
  %zl = tile.constant 0.0 : f32 : tensor<24xf32>
  %za = tile.constant 0.0 : f32 : tensor<24x20xf32>
  %m0 = tile.constant -1.0e30 : f32 : tensor<24xf32>
  %size = tile.splat %t : index -> tensor<48xi64>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%g = %m0, %l = %zl, %a = %za)
      -> (tensor<24xf32>, tensor<24xf32>, tensor<24x20xf32>) {
    %kt = tile.load %k[%j, %c0] dims [1, 0] pad 0.0 : f32 : !v -> tensor<16x48xf32>
    %s = tile.mma %qt, %kt, %zs : (tensor<24x16xf32>, tensor<16x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %rm = tile.reduce max %s dims [1] : tensor<24x48xf32> -> tensor<24xf32>
    %gn = tile.map maximum(%g, %rm) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
    %j0 = arith.muli %j, %c48 : index
    %io = tile.iota %j0 : tensor<48xi64>
    %in = tile.map lt(%io, %size) : (tensor<48xi64>, tensor<48xi64>) -> tensor<48xi1>
    %inb = tile.broadcast %in dims [1] : tensor<48xi1> -> tensor<24x48xi1>
    %sq = tile.map mul(%s, %s) : (tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %p = tile.map where(%inb, %sq, %zs) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %rs = tile.reduce sum %p dims [1] : tensor<24x48xf32> -> tensor<24xf32>
    %d = tile.map sub(%g, %g) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
    %one = tile.constant 1.0 : f32 : tensor<24xf32>
    %c = tile.map add(%d, %one) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
    %lc = tile.map mul(%l, %c) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
    %ln = tile.map add(%lc, %rs) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
    %cb = tile.broadcast %c dims [0] : tensor<24xf32> -> tensor<24x20xf32>
    %ac = tile.map mul(%a, %cb) : (tensor<24x20xf32>, tensor<24x20xf32>) -> tensor<24x20xf32>
    %vt = tile.load %v[%j, %c0] dims [0, 1] pad 0.0 : f32 : !v -> tensor<48x20xf32>
    %an = tile.mma %p, %vt, %ac : (tensor<24x48xf32>, tensor<48x20xf32>, tensor<24x20xf32>) -> tensor<24x20xf32>
    scf.yield %gn, %ln, %an : tensor<24xf32>, tensor<24xf32>, tensor<24x20xf32>
  }
  %lb = tile.broadcast %r#1 dims [0] : tensor<24xf32> -> tensor<24x20xf32>
  %gb = tile.broadcast %r#0 dims [0] : tensor<24xf32> -> tensor<24x20xf32>
  %w = tile.map div(%r#2, %lb) : (tensor<24x20xf32>, tensor<24x20xf32>) -> tensor<24x20xf32>
  %res = tile.map add(%w, %gb) : (tensor<24x20xf32>, tensor<24x20xf32>) -> tensor<24x20xf32>
  tile.store %res, %o[%i, %c0] dims [0, 1] bounded : tensor<24x20xf32>, !v
  tile.return
})");
  ASSERT_EQ(kernels.error(), "");
  for (int64_t rows : {1, 24, 53})
    for (int64_t keys : {1, 48, 49, 200}) {
      std::vector<float> q = randomArray(rows * 16, 2), k = randomArray(keys * 16, 3),
                         v = randomArray(keys * 20, 4);
      std::vector<float> o(rows * 20, NAN);
      kernels.run("s",
                  {Array::dense(q.data(), {rows, 16}), Array::dense(k.data(), {keys, 16}),
                   Array::dense(v.data(), {keys, 20}), Array::dense(o.data(), {rows, 20})},
                  {}, {(rows + 23) / 24});
      for (int64_t i = 0; i < rows; ++i) {
        // Padded keys score zero, so the running maximum sees a zero in a ragged block.
        double most = keys % 48 ? 0 : -1e30, sum = 0;
        std::vector<double> out(20, 0);
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int64_t d = 0; d < 16; ++d)
            s += double(q[i * 16 + d]) * k[j * 16 + d];
          most = std::max(most, s);
          sum += s * s;
          for (int64_t d = 0; d < 20; ++d)
            out[d] += s * s * v[j * 20 + d];
        }
        for (int64_t d = 0; d < 20; ++d)
          ASSERT_NEAR(o[i * 20 + d], out[d] / sum + most, 2e-4)
              << rows << " rows, " << keys << " keys, row " << i;
      }
    }
}

} // namespace
