//===- launches.cpp - The launcher of `scaled`, with a driver that only records ---===//
//
// Replaces libcuda: a kernel's "launch" records its grid and its parameters.
//
//===----------------------------------------------------------------------===//
#include "expect.h"
#include "launcher.h"

#include <cstdlib>
#include <string>
#include <vector>

static std::string kernelName;
static CUlaunchConfig lastConfig;
static std::vector<uint64_t> lastWords;
static int launches;

extern "C" {
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *, void **, unsigned,
                           CUlibraryOption *, void **, unsigned) {
  *library = reinterpret_cast<CUlibrary>(const_cast<void *>(code));
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary, const char *name) {
  kernelName = name;
  *kernel = reinterpret_cast<CUkernel>(0x10);
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute, CUdevice) {
  *value = 132;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction, void **parameters, void **) {
  lastConfig = *config;
  for (uint64_t &word : lastWords)
    std::memcpy(&word, *parameters++, sizeof word);
  ++launches;
  return CUDA_SUCCESS;
}
}

static bool passes(uint64_t word) {
  for (uint64_t found : lastWords)
    if (found == word)
      return true;
  return false;
}

int main(int, char **argv) {
  size_t words = size_t(std::atoi(argv[1])); // of the kernel, as the host program says
  lastWords.resize(words);
  scaled::Code code;
  EXPECT(code.load("cubin") == CUDA_SUCCESS);
  EXPECT(kernelName == "scaled_0");

  scaled::Tensor<2> x = {0x7f0000000000, {100, 8}, {8, 1}};
  scaled::Call call;
  EXPECT(call.bind(x, 0.5, 3, true) == nullptr);
  EXPECT(call.result0_sizes[0] == 100 && call.result0_sizes[1] == 8);
  EXPECT(call.temporary_bytes == 0);
  EXPECT(call.launch(code, nullptr, x, 0.5, 3, true, 0x7f0000100000) == CUDA_SUCCESS);
  EXPECT(launches == 1);
  EXPECT(lastConfig.gridDimX >= 1 && lastConfig.blockDimX == 1);
  EXPECT(passes(0x7f0000000000) && passes(0x7f0000100000));
  EXPECT(passes(scaled::bitsOf(0.5)) && passes(3) && passes(1));

  x.strides[1] = 3;
  const char *problem = call.bind(x, 0.5, 3, true);
  EXPECT(problem != nullptr);
  std::printf("refused: %s\n", problem);
  x.strides[1] = 1;
  x.data += 4;
  problem = call.bind(x, 0.5, 3, true);
  EXPECT(problem != nullptr);
  std::printf("refused: %s\n", problem);
  return code.unload() == CUDA_SUCCESS ? 0 : 1;
}
