//===- layers.cpp - Functions of a bundle, on the CPU and on a GPU --------===//
//
//   layers [cpu|cuda] [BUNDLE]
//
// The calls are the same for both: on a GPU the views hold device addresses.
//
//===----------------------------------------------------------------------===//
#include "feed_forward.h"

#include <cmath>
#include <cstdio>
#include <random>

using tessera::Device;
using tessera::Tensor;

static std::vector<float> randomNumbers(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

/// The largest difference from the same computation in double precision.
static double errorOfNorm(const std::vector<float> &x, const std::vector<float> &weight,
                          const std::vector<float> &y) {
  size_t width = weight.size();
  double worst = 0;
  for (size_t row = 0; row < x.size() / width; ++row) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i)
      squares += double(x[row * width + i]) * x[row * width + i];
    double scale = 1 / std::sqrt(squares / double(width) + 1e-6);
    for (size_t i = 0; i < width; ++i)
      worst =
          std::max(worst, std::fabs(x[row * width + i] * scale * weight[i] - y[row * width + i]));
  }
  return worst;
}

static int run(Device device, const std::string &bundle) {
  constexpr int64_t width = 256, hidden = 512;
  feed_forward::Module layers(bundle, device);
  std::vector<float> weight = randomNumbers(width, 2);
  auto deviceWeight = Tensor<float, 1>::from(weight, {width}, device);
  auto w = Tensor<float, 2>::from(randomNumbers(width * hidden, 3), {width, hidden}, device);
  auto v = Tensor<float, 2>::from(randomNumbers(width * hidden, 4), {width, hidden}, device);

  for (int64_t rows : {1, 37, 1024}) {
    std::vector<float> numbers = randomNumbers(size_t(rows * width), 1);
    auto x = Tensor<float, 2>::from(numbers, {rows, width}, device);
    Tensor<float, 2> y = layers.rms_norm(x, deviceWeight, 1e-6); // allocates the result
    double error = errorOfNorm(numbers, weight, y.toHost());
    std::printf("rms_norm %4lld x %lld: largest error %.1e\n", (long long)rows, (long long)width,
                error);
    if (!(error < 1e-5))
      return 1;
    if (rows < 2)
      continue;
    Tensor<float, 2> z({rows, hidden}, device);
    layers.gated(y, w, v, z); // writes to existing memory
    std::printf("gated    %4lld x %lld: first element %g\n", (long long)z.size(0),
                (long long)z.size(1), double(z.toHost().front()));
  }
  try {
    layers.gated(Tensor<float, 2>({8, 100}, device), w, v);
    return 1;
  } catch (const tessera::Error &error) {
    std::printf("refused: %s\n", error.what());
  }
  return 0;
}

int main(int argc, char **argv) {
  std::string device = argc > 1 ? argv[1] : "cpu";
  try {
    return run(device == "cuda" ? Device::cuda() : Device::cpu(), argc > 2 ? argv[2] : BUNDLE);
  } catch (const tessera::Error &error) {
    std::fprintf(stderr, "layers: %s\n", error.what());
    return 2;
  }
}
