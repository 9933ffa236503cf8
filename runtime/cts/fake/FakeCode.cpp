//===- FakeCode.cpp - Code and launches of the fake libcuda ---------------===//

#include "FakeState.h"

#include <cstring>

namespace fake_cuda {

/// PTX text, the same after an ELF header without sections, or an assembler's cubin. Text with
/// "error" does not compile.
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *, void **values, unsigned,
                           int *, void **, unsigned) {
  ENTER(cuLibraryLoadData);
  constexpr size_t headerBytes = 64;
  auto *begin = static_cast<const char *>(code);
  bool isElf = !std::memcmp(begin,
                            "\x7f"
                            "ELF",
                            4);
  auto made = std::make_unique<FakeLibrary>();
  bool isCubin = isElf && parseCubin(code, *made);
  std::string text = isCubin ? "" : begin + (isElf ? headerBytes : 0);
  if (!isCubin && !parsePtx(text, *made))
    return isElf ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_PTX;
  // As in the real driver, errors appear when the code is used.
  if (text.find("error") != std::string::npos)
    made->log = static_cast<char *>(values[0]);
  made->text = std::make_shared<const std::string>(std::move(text));
  state().libraries.insert(made.get());
  *library = reinterpret_cast<CUlibrary>(made.release());
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  ENTER_WITH_CONTEXT(cuLibraryGetModule);
  auto *mine = reinterpret_cast<FakeLibrary *>(library);
  if (mine->log) {
    std::strcpy(mine->log, "ptxas: line 3: error");
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = reinterpret_cast<CUmodule>(mine);
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto *mine = reinterpret_cast<FakeLibrary *>(library);
  if (!state().libraries.erase(mine))
    return misuse();
  // The real driver may crash when such a graph is launched or freed.
  for (auto *handles : {&state().graphs, &state().graphExecs})
    for (FakeGraphHandle *handle : *handles)
      if (handle->graph->code.count(mine))
        misuse();
  delete mine;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  ENTER(cuLibraryGetKernel);
  for (auto &candidate : reinterpret_cast<FakeLibrary *>(library)->kernels)
    if (candidate->name == name) {
      *kernel = reinterpret_cast<CUkernel>(candidate.get());
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  ENTER_WITH_CONTEXT(cuKernelGetFunction);
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, int which, int value) {
  ENTER_WITH_CONTEXT(cuFuncSetAttribute);
  bool tooMuch = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 227 << 10;
  return tooMuch ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *, size_t *bytes) {
  ENTER(cuFuncGetParamInfo);
  const auto &sizes = reinterpret_cast<FakeKernel *>(function)->parameterBytes;
  if (index >= sizes.size())
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = sizes[index];
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **) {
  ENTER_WITH_CONTEXT(cuLaunchKernelEx);
  State &self = state();
  auto *kernel = reinterpret_cast<FakeKernel *>(function);
  if (!self.libraries.count(kernel->library))
    return misuse();
  self.lastConfig = *config;
  self.lastAttributes.assign(config->attrs, config->attrs + config->numAttrs);
  uint64_t threads = uint64_t(config->blockDimX) * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > 1024 || config->gridDimX == 0 || config->gridDimY > 65535 ||
      config->gridDimZ > 65535)
    return CUDA_ERROR_INVALID_VALUE;
  unsigned cluster = 1;
  for (const CUlaunchAttribute &attribute : self.lastAttributes)
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = attribute.value.clusterDim.x;
    else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && config->gridDimX > 1000)
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  if (cluster > 16 || config->gridDimX % cluster != 0)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  std::vector<uint64_t> &arguments = self.lastArguments;
  arguments.clear();
  for (size_t i = 0; i < kernel->parameterBytes.size(); ++i) {
    size_t bytes = kernel->parameterBytes[i], first = arguments.size();
    arguments.resize(first + (bytes + 7) / 8);
    std::memcpy(&arguments[first], parameters[i], bytes);
  }
  ++self.launches;
  if (FakeStream *on; stream(config->hStream, on) && on && on->capture)
    on->capture->code.insert(kernel->library);
  std::string name = kernel->name;
  CUlaunchConfig copy = *config;
  if (kernel->block && threads != kernel->block)
    return CUDA_ERROR_INVALID_VALUE;
  if (kernel->block)
    return submit(config->hStream, [=, text = kernel->library->text] {
      const unsigned grid[3] = {copy.gridDimX, copy.gridDimY, copy.gridDimZ};
      if (Runner run = state().runner; run && !text->empty())
        if (CUresult result = run(text->c_str(), name.c_str(), grid, copy.sharedMemBytes,
                                  arguments.data(), static_cast<int64_t>(arguments.size())))
          state().sticky = result;
    });
  return submit(config->hStream, [=] {
    CUresult result;
    if (!runKernel(name, copy, cluster, arguments, result))
      misuse();
    if (result != CUDA_SUCCESS)
      state().sticky = result; // reported by the next call, as in a real driver
  });
}

/// The contents of a map, and how many were created before: address, sizes, strides, boxes,
/// settings.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *, int, int swizzle, int, int) {
  ENTER_WITH_CONTEXT(cuTensorMapEncodeTiled);
  auto place = reinterpret_cast<uintptr_t>(address);
  if (reinterpret_cast<uintptr_t>(map) % 64 || !place || place % 16 || rank < 1 || rank > 5)
    return CUDA_ERROR_INVALID_VALUE;
  *map = {};
  map->opaque[0] = place;
  for (uint32_t i = 0; i < rank; ++i) {
    if (!sizes[i] || !box[i] || box[i] > 256 ||
        (i && (strides[i - 1] % 16 || strides[i - 1] >> 40)))
      return CUDA_ERROR_INVALID_VALUE;
    map->opaque[1 + i] = sizes[i];
    map->opaque[6 + i] = i ? strides[i - 1] : 0;
    map->opaque[11] |= uint64_t(box[i]) << 12 * i;
  }
  map->opaque[12] = rank | type << 8 | swizzle << 16;
  map->opaque[13] = static_cast<uint64_t>(state().maps++);
  return CUDA_SUCCESS;
}

} // namespace fake_cuda
