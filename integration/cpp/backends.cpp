//===- backends.cpp - A function whose kernels use both GPU backends ------===//
//
//   backends BUNDLE        on the CPU; exit status 1 and a message on an error
//   backends BUNDLE cuda   calls only, for the fake libcuda, which runs no kernels
//
//===----------------------------------------------------------------------===//
#include "expect.h"
#include "metrics.h"
#include "weights.h"

using tessera::Device;
using tessera::Tensor;
using tessera::View;

static void testCuda(const char *bundle) {
  weights::Module module(bundle, Device::cuda());
  uint64_t before = launches();
  for (int64_t rows : {2, 300}) {
    Tensor<float, 2> x({rows, 64}, Device::cuda()), w({64, 512}, Device::cuda());
    Tensor<float, 2> y = module.weights(x, w);
    EXPECT(y.size(0) == rows && y.size(1) == 512);
    module.weights(x, w, y);
  }
  EXPECT(launches() == before + 8); // two kernels of each call
}

int main(int argc, char **argv) {
  if (argc > 2) {
    testCuda(argv[1]);
    return 0;
  }
  weights::Module module(argv[1]);
  std::vector<float> x(3 * 64, 0.5f), w(64 * 512, 0.25f);
  Tensor<float, 2> y = module.weights(View<const float, 2>(x.data(), {3, 64}),
                                      View<const float, 2>(w.data(), {64, 512}));
  for (int64_t i = 0; i < 3 * 512; ++i)
    EXPECT(y.data()[i] == 1.0f / 512); // all columns are alike
}
