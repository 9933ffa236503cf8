//===- Library.cpp - Code on a GPU, and its launches ----------------------===//
//
// Kernels of CUDA Tile IR and PTX kernels are loaded and launched the same way. The driver fills
// the hidden parameters of the former; they are launched with one "thread".
//
//===----------------------------------------------------------------------===//

#include "../../src/ChipLimits.h"
#include "../../src/Metrics.h"
#include "Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace tessera::rt::cuda {

/// Names that outlive their libraries, for messages about launches.
static const char *intern(const std::string &name) {
  static std::mutex *mutex = new std::mutex;
  static auto *names = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return names->insert(name).first->c_str();
}

namespace {

class CudaLibrary : public Library {
public:
  CudaLibrary(Device &device, bool isExact)
      : device(device), isExact(isExact), loaded(std::make_shared<Code>(device)) {}

  tessera_rt_status load(std::span<const uint8_t> code) {
    Current current(device);
    // PTX is text: the driver requires a terminating zero.
    std::vector<uint8_t> image(code.begin(), code.end());
    image.push_back(0);
    std::vector<char> log(4096);
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
    CUlibrary &library = loaded->library;
    CUresult result = device.api.cuLibraryLoadData(&library, image.data(), options, values, 2,
                                                   nullptr, nullptr, 0);
    // The driver may defer loading, and its errors, until the code is used.
    CUmodule module = nullptr;
    if (result == CUDA_SUCCESS)
      result = device.api.cuLibraryGetModule(&module, library);
    if (result == CUDA_SUCCESS)
      return TESSERA_RT_OK;
    if (library)
      device.api.cuLibraryUnload(library);
    library = nullptr;
    std::string why = log.data();
    return device.failed(result, "code could not be loaded on " + device.name +
                                     (why.empty() ? "" : ":\n" + why));
  }

  tessera_rt_status find(const std::string &name, const Kernel *&kernel) override {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &known : kernels)
      if (known->name == name) {
        kernel = known.get();
        return TESSERA_RT_OK;
      }
    tessera_rt_status status;
    if (!open(device.ordinal, status))
      return status;
    Current current(device);
    auto made = std::make_unique<CudaKernel>();
    CUkernel handle = nullptr;
    CUresult result = device.api.cuLibraryGetKernel(&handle, loaded->library, name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND)
      return fail(TESSERA_RT_NOT_FOUND, "the code has no kernel '" + name + "'");
    if (result == CUDA_SUCCESS)
      result = device.api.cuKernelGetFunction(&made->function, handle);
    if (result != CUDA_SUCCESS)
      return device.failed(result, "kernel '" + name + "' could not be loaded");
    made->name = name;
    made->device = {TESSERA_RT_DEVICE_CUDA(device.ordinal), 0, nullptr};
    made->recordName = intern(name);
    made->code = loaded;
    made->isExact = isExact;
    made->parameters = countParameters(made->function);
    kernel = kernels.emplace_back(std::move(made)).get();
    return TESSERA_RT_OK;
  }

private:
  /// Negative if the driver does not report it.
  int32_t countParameters(CUfunction function) const {
    if (!device.api.cuFuncGetParamInfo)
      return -1;
    size_t offset, bytes;
    int32_t count = 0;
    while (device.api.cuFuncGetParamInfo(function, static_cast<size_t>(count), &offset, &bytes) ==
           CUDA_SUCCESS)
      ++count;
    return count;
  }

  Device &device;
  bool isExact;
  std::shared_ptr<Code> loaded;
  std::mutex mutex;
  std::vector<std::unique_ptr<CudaKernel>> kernels;
};

} // namespace

/// The error in the code, as far as it can be found without the driver, which does not know its
/// length; null if it may be loaded.
static const char *problemOf(std::span<const uint8_t> code, bool &isText) {
  isText = code.size() < 4 || std::memcmp(code.data(),
                                          "\x7f"
                                          "ELF",
                                          4) != 0;
  if (isText) {
    std::string_view text(reinterpret_cast<const char *>(code.data()), code.size());
    return text.find(".version") == text.npos || text.find(".target") == text.npos
               ? "it is neither a cubin nor PTX"
               : nullptr;
  }
  constexpr size_t headerBytes = 64, machineAt = 18, tablesAt = 32, entriesAt = 52;
  constexpr uint16_t cudaMachine = 190;
  if (code.size() < headerBytes)
    return "the cubin is truncated";
  uint16_t machine, entries[5]; // size of the header, then size and number of both tables' entries
  uint64_t tables[2];           // offsets of segments and sections
  std::memcpy(&machine, code.data() + machineAt, sizeof(machine));
  std::memcpy(tables, code.data() + tablesAt, sizeof(tables));
  std::memcpy(entries, code.data() + entriesAt, sizeof(entries));
  if (machine != cudaMachine)
    return "the ELF image is not for a GPU of NVIDIA";
  for (int i = 0; i < 2; ++i) {
    uint64_t bytes = uint64_t(entries[1 + 2 * i]) * entries[2 + 2 * i];
    if (tables[i] > code.size() || bytes > code.size() - tables[i])
      return "the cubin is truncated";
  }
  return nullptr;
}

tessera_rt_status loadLibrary(Device &device, const CodeImage &image,
                              std::unique_ptr<Library> &library) {
  bool isText;
  if (const char *problem = problemOf(image.code, isText))
    return fail(TESSERA_RT_INVALID, "code could not be loaded: " + std::string(problem));
  auto made = std::make_unique<CudaLibrary>(device, isText || hasBackend(image.target, "ptx"));
  if (auto status = made->load(image.code))
    return status;
  library = std::move(made);
  return TESSERA_RT_OK;
}

/// Raises limits beyond the defaults, once.
static CUresult allow(const Device &device, const CudaKernel &kernel, const KernelShape &shape) {
  if (shape.sharedBytes > kernel.sharedBytes.load(std::memory_order_relaxed)) {
    CUresult result = device.api.cuFuncSetAttribute(kernel.function,
                                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    static_cast<int>(shape.sharedBytes));
    if (result != CUDA_SUCCESS)
      return result;
    kernel.sharedBytes.store(shape.sharedBytes, std::memory_order_relaxed);
  }
  if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > CudaLimits::portableCluster &&
      !kernel.largeClusters.load(std::memory_order_relaxed)) {
    CUresult result = device.api.cuFuncSetAttribute(
        kernel.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (result != CUDA_SUCCESS)
      return result;
    kernel.largeClusters.store(true, std::memory_order_relaxed);
  }
  return CUDA_SUCCESS;
}

/// The most likely meaning of the driver's error code for a rejected launch.
static std::string hint(CUresult result, const Device &device, const Launch &launch) {
  const KernelShape &shape = *launch.shape;
  const Chip chip = device.chip();
  const ChipLimits *limits = limitsOf(chip);
  const std::string threads = std::to_string(CudaLimits::threadsPerCta) + " threads";
  auto sharedMemory = [&] {
    return std::to_string(limits->sharedBytesPerCta) + " bytes of shared memory";
  };
  switch (result) {
  case CUDA_ERROR_INVALID_VALUE:
    if (launch.grid[1] > CudaLimits::gridYZ || launch.grid[2] > CudaLimits::gridYZ)
      return "; a grid has at most " + std::to_string(CudaLimits::gridYZ) +
             " blocks in its second and third dimension";
    if (int64_t(shape.block[0]) * shape.block[1] * shape.block[2] > CudaLimits::threadsPerCta)
      return "; a block has at most " + threads;
    if (limits && shape.sharedBytes > limits->sharedBytesPerCta)
      return "; a block on " + chip.str() + " has at most " + sharedMemory();
    return "";
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return "; a block on " + chip.str() + " has at most " + threads + ", " +
           std::to_string(CudaLimits::registersPerSm) + " registers" +
           (limits ? " and " + sharedMemory() : "");
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    return "; a cooperative launch must fit onto the GPU at once";
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    if (limits && limits->ctasPerCluster == 1)
      return "; " + chip.str() + " has no clusters";
    return "; a cluster " +
           (limits ? "on " + chip.str() + " has at most " + std::to_string(limits->ctasPerCluster) +
                         " blocks and "
                   : "") +
           "divides the grid";
  default:
    return "";
  }
}

static bool isBlocking() {
  static const bool blocking = [] {
    const char *text = std::getenv("TESSERA_CUDA_BLOCKING");
    return text && *text && std::strcmp(text, "0") != 0;
  }();
  return blocking;
}

tessera_rt_status launchKernel(Device &device, CUstream stream, const Launch &launch) {
  const auto &kernel = static_cast<const CudaKernel &>(*launch.kernel);
  const KernelShape &shape = *launch.shape;
  const int64_t *grid = launch.grid;
  constexpr int64_t mostBlocks = CudaLimits::gridX; // that the driver's configuration holds
  if (grid[0] > mostBlocks || grid[1] > mostBlocks || grid[2] > mostBlocks)
    return fail(TESSERA_RT_ARGUMENT, "the grid is too large for CUDA: " + describe(launch));
  auto count = static_cast<int32_t>(launch.wordCount + launch.maps.size());
  if (kernel.parameters >= 0 &&
      (kernel.isExact ? count != kernel.parameters : count > kernel.parameters))
    return fail(TESSERA_RT_ARGUMENT, "expected " + std::to_string(kernel.parameters) +
                                         " arguments, found " + std::to_string(count) + ": " +
                                         describe(launch));

  constexpr uint32_t usual = 64;
  void *fewPointers[usual];
  std::vector<void *> manyPointers;
  void **pointers = fewPointers;
  if (launch.wordCount + launch.maps.size() > usual) {
    manyPointers.resize(launch.wordCount + launch.maps.size());
    pointers = manyPointers.data();
  }
  for (uint32_t i = 0; i < launch.wordCount; ++i)
    pointers[i] = const_cast<int64_t *>(launch.words + i);
  if (!launch.maps.empty())
    if (auto status = encodeMaps(device, launch, pointers + launch.wordCount))
      return status;

  CUlaunchAttribute attributes[3];
  CUlaunchConfig config = {static_cast<unsigned>(grid[0]),
                           static_cast<unsigned>(grid[1]),
                           static_cast<unsigned>(grid[2]),
                           shape.block[0],
                           shape.block[1],
                           shape.block[2],
                           shape.sharedBytes,
                           stream,
                           attributes,
                           0};
  auto add = [&](int id) -> CUlaunchAttribute & {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = id;
    return attribute;
  };
  if (shape.cluster[0] != 1 || shape.cluster[1] != 1 || shape.cluster[2] != 1)
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim = {
        shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  if (shape.flags & KernelShape::Cooperative)
    add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
  if (shape.flags & KernelShape::Dependent)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .value.programmaticStreamSerializationAllowed = 1;

  Current current(device);
  device.launches.add(launch);
  // The default stream does not capture.
  if (stream && !kernel.code->isKept.load(std::memory_order_relaxed)) {
    int isCapturing = 0;
    if (device.api.cuStreamIsCapturing(stream, &isCapturing) == CUDA_SUCCESS && isCapturing)
      keepForGraph(stream, kernel.code);
  }
  CUresult result = allow(device, kernel, shape);
  if (result == CUDA_SUCCESS)
    result = device.api.cuLaunchKernelEx(&config, kernel.function, pointers, nullptr);
  if (result != CUDA_SUCCESS)
    return device.failed(result, describe(launch) + " could not be launched" +
                                     hint(result, device, launch));
  rt::count(metrics.deviceLaunches);
  if (!isBlocking())
    return TESSERA_RT_OK;
  int capturing = 0;
  result = device.api.cuStreamIsCapturing(stream, &capturing);
  if (result == CUDA_SUCCESS && !capturing)
    result = device.api.cuStreamSynchronize(stream);
  return result == CUDA_SUCCESS ? TESSERA_RT_OK
                                : device.failed(result, describe(launch) + " failed");
}

} // namespace tessera::rt::cuda
