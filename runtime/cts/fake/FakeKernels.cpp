//===- FakeKernels.cpp - The test kernels, on the host --------------------===//

#include "FakeState.h"

#include <cstdlib>
#include <cstring>

namespace fake_cuda {

template <typename T> static T *address(uint64_t word) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(word));
}

bool runKernel(const std::string &name, const CUlaunchConfig &config, unsigned clusterSize,
               const std::vector<uint64_t> &args, CUresult &result) {
  result = CUDA_SUCCESS;
  auto blocks = static_cast<int64_t>(config.gridDimX);
  int64_t covered = blocks * 16;
  if (name == "copy") {
    auto *source = address<const float>(args[0]);
    auto stride = static_cast<int64_t>(args[1]), n = static_cast<int64_t>(args[2]);
    for (int64_t i = 0; i < n && i < covered; ++i)
      address<float>(args[3])[i] = source[i * stride];
  } else if (name == "scale") {
    auto *x = address<const float>(args[0]), *t = address<const float>(args[4]);
    auto stride = static_cast<int64_t>(args[1]), n = static_cast<int64_t>(args[2]);
    float a;
    std::memcpy(&a, &args[3], 4);
    for (int64_t i = 0; i < n && i < covered; ++i)
      address<float>(args[5])[i] = x[i * stride] * a + t[i];
  } else if (name == "store") {
    *address<uint64_t>(args[0]) = args[1];
  } else if (name == "increment") {
    *address<uint64_t>(args[0]) += 1;
  } else if (name == "nothing" || name == "spin") {
  } else if (name == "fault") {
    result = CUDA_ERROR_ILLEGAL_ADDRESS;
  } else if (name == "meet") {
    *address<uint32_t>(args[0]) = config.gridDimX;
    for (int64_t i = 0; i < blocks; ++i)
      address<uint32_t>(args[1])[i] = config.gridDimX;
  } else if (name == "tail") {
    *address<uint32_t>(args[0]) = args[1] <= config.sharedMemBytes ? 1234 : 0;
  } else if (name == "ranks") {
    for (int64_t i = 0; i < blocks; ++i)
      address<uint32_t>(args[0])[i] = static_cast<uint32_t>(i) % clusterSize + 100 * clusterSize;
  } else if (name == "produce") {
    *address<uint64_t>(args[0]) = 42;
  } else if (name == "consume") {
    *address<uint64_t>(args[1]) = *address<const uint64_t>(args[0]);
  } else {
    return false;
  }
  return true;
}

bool parsePtx(const std::string &text, FakeLibrary &library) {
  if (text.find(".version") == std::string::npos || text.find(".target") == std::string::npos)
    return false;
  const std::string mark = ".entry ";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    size_t begin = at + mark.size(), open = text.find('(', begin), close = text.find(')', begin);
    if (open == std::string::npos || close == std::string::npos)
      return false;
    auto kernel = std::make_unique<FakeKernel>();
    kernel->name = text.substr(begin, open - begin);
    kernel->library = &library;
    const std::string param = ".param .";
    for (size_t p = text.find(param, open); p < close; p = text.find(param, p + 1)) {
      size_t type = p + param.size(), array = text.find('[', p), next = text.find(',', p);
      bool isArray = text.compare(type, 5, "align") == 0 && array < std::min(next, close);
      kernel->parameterBytes.push_back(isArray ? std::strtoul(text.c_str() + array + 1, nullptr, 10)
                                       : text.compare(type + 1, 2, "64") == 0 ? 8
                                                                              : 4);
    }
    const std::string block = ".reqntid ";
    size_t body = text.find('{', close), required = text.find(block, close);
    if (required < body) { // "128" or "16, 4, 2"
      kernel->block = 1;
      char *at = const_cast<char *>(text.c_str()) + required + block.size() - 1;
      do
        kernel->block *= std::strtoul(at + 1, &at, 10);
      while (*at == ',');
    }
    library.kernels.push_back(std::move(kernel));
  }
  return true;
}

} // namespace fake_cuda
