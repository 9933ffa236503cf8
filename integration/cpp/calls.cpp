//===- calls.cpp - All forms of calls in the C++ interface ----------------===//
//
//   calls BUNDLE        on the CPU; exit status 1 and a message on an error
//   calls BUNDLE cuda   calls only, for the fake libcuda, which runs no kernels
//   calls BUNDLE overhead   the cost of a typed call, with the fake libcuda
//
//===----------------------------------------------------------------------===//
#include "expect.h"
#include "functions.h"
#include "metrics.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

using tessera::Device;
using tessera::Tensor;
using tessera::View;

/// Calls and expects an error of this status whose message has these words.
template <typename Body>
static void expectError(tessera_rt_status status, const char *words, Body body) {
  try {
    body();
  } catch (const tessera::Error &error) {
    if (error.status() == status && std::string(error.what()).find(words) != std::string::npos)
      return;
    std::fprintf(stderr, "status %d: %s\nexpected status %d: …%s…\n", error.status(), error.what(),
                 status, words);
    std::exit(1);
  }
  std::fprintf(stderr, "expected an error: %s\n", words);
  std::exit(1);
}

static std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

static void testResults(const functions::Module &module) {
  std::vector<float> x = counted(6 * 8), out(6 * 8, -1);
  View<const float, 2> view(x.data(), {6, 8});
  Tensor<float, 2> allocated = module.scaled(view, 0.5, 3, true);
  module.scaled(view, 0.5, 3, false, View<float, 2>(out.data(), {6, 8}));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT(allocated.data()[i] == -(x[i] * 0.5f + 3));
    EXPECT(out[i] == x[i] * 0.5f + 3);
  }
  EXPECT(allocated.view()(5, 7) == allocated.data()[47]);

  auto [means, squares] = module.moments(view);
  EXPECT(means.sizes() == (std::array<int64_t, 1>{6}));
  EXPECT(means.data()[1] == 11.5f);
  EXPECT(std::fabs(squares.data()[0] - 17.5f) < 1e-5f);
  auto [sum, difference] = module.register_(view, view);
  EXPECT(sum.data()[5] == 10 && difference.data()[5] == 0);
  View<const float, 1> row(x.data(), {8});
  EXPECT(module.awkward(row, row, 3, 0.5, 0.5).data()[4] == 7);
}

static void testOverloads(const functions::Module &module) {
  std::vector<tessera::fp16> half(4 * 16, tessera::fp16(1.5f));
  Tensor<tessera::fp16, 2> a = module.doubled(View<const tessera::fp16, 2>(half.data(), {4, 16}));
  EXPECT(float(a.data()[63]) == 3.0f);
  std::vector<int32_t> numbers{1, 2, 3};
  Tensor<int32_t, 1> b = module.doubled(View<const int32_t, 1>(numbers.data(), {3}));
  EXPECT(b.data()[2] == 6);

  // Every second column reversed, then dense: both are strides of the same function.
  std::vector<double> wide(5 * 16);
  std::iota(wide.begin(), wide.end(), 0.0);
  Tensor<double, 2> c = module.doubled(View<const double, 2>(wide.data() + 15, {5, 8}, {16, -2}));
  EXPECT(c.view()(0, 0) == 30 && c.view()(4, 7) == 2 * (4 * 16 + 1));
  EXPECT(module.doubled(View<const double, 2>(wide.data(), {5, 8})).view()(1, 0) == 16);
  expectError(TESSERA_RT_MISMATCH, "expected another stride in dimension 1 of 'x'", [&] {
    module.moments(View<const float, 2>(reinterpret_cast<float *>(wide.data()), {5, 8}, {16, 2}));
  });
}

static void testErrors(const functions::Module &module, const char *bundle) {
  std::vector<float> x = counted(6 * 8), out(64);
  View<const float, 2> view(x.data(), {6, 8});
  expectError(TESSERA_RT_ARGUMENT, "result 0: expected sizes [6, 8], got [8, 6]",
              [&] { module.scaled(view, 1, 0, false, View<float, 2>(out.data(), {8, 6})); });
  expectError(TESSERA_RT_ARGUMENT, "expected dense row-major memory, got strides [1, 6]", [&] {
    module.scaled(view, 1, 0, false, View<float, 2>(out.data(), {6, 8}, {1, 6}));
  });
  expectError(TESSERA_RT_ARGUMENT, "result 0: its memory overlaps that of argument 0",
              [&] { module.scaled(view, 1, 0, false, View<float, 2>(x.data() + 4, {6, 8})); });
  expectError(TESSERA_RT_MISMATCH, "moments: the bundle has no code for these arguments",
              [&] { module.moments(View<const float, 2>(x.data(), {5, 9})); });
  expectError(
      TESSERA_RT_NOT_FOUND, "no function 'doubled' of the types that this program declares", [&] {
        tessera::Module file(bundle);
        tessera::Function<Tensor<double, 3>(View<const double, 3>)> doubled(file, "doubled");
      });
  expectError(TESSERA_RT_IO, "nowhere.tsb", [] { tessera::Module("nowhere.tsb"); });
}

/// Every 16-bit number survives the conversion to float and back, and ties go to even.
static void testSmallFloats() {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    tessera::fp16 half;
    half.bits = uint16_t(bits);
    tessera::bf16 brain;
    brain.bits = uint16_t(bits);
    if (!std::isnan(float(half)))
      EXPECT(tessera::fp16(float(half)).bits == bits);
    if (!std::isnan(float(brain)))
      EXPECT(tessera::bf16(float(brain)).bits == bits);
  }
  EXPECT(float(tessera::fp16(2049.0f)) == 2048.0f && float(tessera::fp16(2051.0f)) == 2052.0f);
  EXPECT(std::isinf(float(tessera::fp16(65520.0f))) && float(tessera::fp16(65519.0f)) == 65504.0f);
  EXPECT(float(tessera::fp16(std::ldexp(1.5f, -24))) == std::ldexp(2.0f, -24));
  EXPECT(std::isnan(float(tessera::fp16(NAN))) && std::isnan(float(tessera::bf16(NAN))));
}

/// Loading with only the runtime; the fastest of some, so that other load does not count.
static void testLoadTime(const char *bundle) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    Clock::time_point start = Clock::now();
    functions::Module module(bundle);
    std::chrono::duration<double, std::milli> taken = Clock::now() - start;
    best = std::min(best, taken.count());
  }
  std::printf("loaded in %.2f ms\n", best);
  EXPECT(best < 5);
}

static void testCuda(const char *bundle) {
  functions::Module module(bundle, Device::cuda());
  uint64_t before = launches();
  for (int64_t rows : {2, 100}) {
    Tensor<float, 2> x({rows, 8}, Device::cuda());
    Tensor<float, 2> y = module.scaled(x, 0.5, 3, true);
    EXPECT(y.size(0) == rows);
    module.scaled(x, 0.5, 3, true, y, nullptr);
  }
  EXPECT(launches() == before + 4);
  if (tessera_rt_get_profiling()) {
    char *text = tessera_rt_metrics_text();
    EXPECT(std::strstr(text, "{function=\"scaled\",kernel=\"scaled_0\",device=\"cuda:0\"} 4\n"));
    tessera_rt_free(text);
  }
#ifndef NDEBUG
  float host[64];
  expectError(TESSERA_RT_ARGUMENT, "expected memory of the function's GPU",
              [&] { module.scaled(View<const float, 2>(host, {8, 8}), 1, 0, false); });
#endif
}

/// Seconds of one of many calls; the minimum of some rounds, so that other load does not count.
template <typename Body> static double timeOf(Body body) {
  using Clock = std::chrono::steady_clock;
  constexpr int rounds = 20, calls = 2000;
  double best = 1;
  for (int round = 0; round < rounds; ++round) {
    Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i)
      body();
    std::chrono::duration<double> taken = Clock::now() - start;
    best = std::min(best, taken.count() / calls);
  }
  return best;
}

/// The cost of a typed call over running a bound call.
static void testOverhead(const char *bundle) {
  Device device = Device::cuda();
  functions::Module module(bundle, device);
  tessera::Module loaded(bundle, device);
  Tensor<float, 2> x({64, 8}, device), y({64, 8}, device);
  const tessera_rt_function *function = nullptr;
  tessera::check(
      tessera_rt_get_function(loaded.handle(), device.number, nullptr, "scaled", 0, &function));
  View<const float, 2> view = x;
  tessera_rt_value values[] = {tessera::argument(view, device), tessera::argument(0.5, device),
                               tessera::argument(int64_t(3), device),
                               tessera::argument(true, device)};
  tessera_rt_frame *frame = nullptr;
  tessera::check(tessera_rt_prepare(function, values, 4, &frame));
  void *results[] = {y.data()};
  tessera_rt_stream stream = {device.number, 0, nullptr};
  double bound = timeOf([&] { tessera_rt_execute_on(frame, results, stream); });
  double typed = timeOf([&] { module.scaled(x, 0.5, 3, true, y); });
  tessera_rt_frame_release(frame);
  std::printf("a typed call costs %.0f ns over a bound one (%.0f ns)\n", (typed - bound) * 1e9,
              bound * 1e9);
  EXPECT(typed - bound < 1e-6);
}

int main(int argc, char **argv) {
  if (argc > 2 && std::string(argv[2]) == "overhead") {
    testOverhead(argv[1]);
    return 0;
  }
  if (argc > 2) {
    testCuda(argv[1]);
    return 0;
  }
  testSmallFloats();
  testLoadTime(argv[1]);
  functions::Module module(argv[1]);
  testResults(module);
  testOverloads(module);
  testErrors(module, argv[1]);
}
