//===- Api.cpp - Loading the CUDA driver at run time ----------------------===//

#include "Api.h"

#include "../../src/ChipLimits.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace tessera::rt::cuda {

static constexpr int leastVersion = CudaLimits::firstCuda * 10;

static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool Api::load(std::string &error) {
  const char *chosen = std::getenv("TESSERA_CUDA_LIBRARY");
  std::string path = chosen && *chosen ? chosen : "libcuda.so.1";
  if (path == "none") {
    error = "CUDA is turned off by TESSERA_CUDA_LIBRARY=none";
    return false;
  }
  // Never closed: the driver has its own threads and handlers.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    error = "no NVIDIA driver was found: " + std::string(reason ? reason : path);
    return false;
  }

  CUresult (*getVersion)(int *) = nullptr;
  void *symbol = dlsym(library, "cuDriverGetVersion");
  std::memcpy(&getVersion, &symbol, sizeof(symbol));
  if (!getVersion || getVersion(&driverVersion) != CUDA_SUCCESS) {
    error = path + " is not an NVIDIA driver";
    return false;
  }
  if (driverVersion < leastVersion) {
    error = "the NVIDIA driver is too old: it supports CUDA " + versionText(driverVersion) +
            ", expected " + versionText(leastVersion) + " or later (driver " +
            std::to_string(CudaLimits::firstDriver) + ")";
    return false;
  }
  CUresult (*getProcAddress)(const char *, void **, int, uint64_t, int *) = nullptr;
  symbol = dlsym(library, "cuGetProcAddress_v2");
  std::memcpy(&getProcAddress, &symbol, sizeof(symbol));
  auto find = [&](const char *name, int version) -> void * {
    void *address = nullptr;
    int status = 0;
    if (!getProcAddress ||
        getProcAddress(name, &address, version, /*flags=*/0, &status) != CUDA_SUCCESS)
      return nullptr;
    return address;
  };
  const char *missing = nullptr;
#define TESSERA_CUDA_FIND(entry, version)                                                          \
  symbol = find(#entry, version);                                                                  \
  std::memcpy(&entry, &symbol, sizeof(symbol));
#define TESSERA_CUDA_NEEDED(entry, parameters)                                                     \
  TESSERA_CUDA_FIND(entry, leastVersion)                                                           \
  if (!symbol)                                                                                     \
    missing = #entry;
#define TESSERA_CUDA_OPTIONAL(entry, parameters) TESSERA_CUDA_FIND(entry, driverVersion)
  TESSERA_CUDA_ENTRY_POINTS(TESSERA_CUDA_NEEDED, TESSERA_CUDA_OPTIONAL)
#undef TESSERA_CUDA_NEEDED
#undef TESSERA_CUDA_OPTIONAL
#undef TESSERA_CUDA_FIND
  if (missing) {
    error = path + " (CUDA " + versionText(driverVersion) + ") has no " + missing;
    return false;
  }

  CUresult result = cuInit(0);
  int count = 0;
  if (result == CUDA_SUCCESS)
    result = cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    error = "the NVIDIA driver is there, but it shows no GPU to this process";
  else if (result == CUDA_ERROR_STUB_LIBRARY)
    error = path + " is the toolkit's stub library, not a driver";
  else if (result != CUDA_SUCCESS)
    error = "the NVIDIA driver could not be initialised: " + message(result);
  return error.empty();
}

std::string Api::message(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(text) + " (" + name + ")";
}

bool isSticky(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    return true;
  default:
    return false;
  }
}

} // namespace tessera::rt::cuda
