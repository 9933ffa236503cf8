//===- FakeCuda.cpp - A fake libcuda --------------------------------------===//

#include "FakeCuda.h"

#include "FakeState.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {

static int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

State &state() {
  static State *instance = [] {
    auto *made = new State;
    made->devices = setting("FAKE_CUDA_DEVICES", 2);
    made->version = setting("FAKE_CUDA_VERSION", 13000);
    made->initResult = setting("FAKE_CUDA_INIT", 0);
    made->pools = setting("FAKE_CUDA_POOLS", 1);
    made->capability = setting("FAKE_CUDA_CAPABILITY", 90);
    for (int i = 0; i < 8; ++i)
      made->contexts[i].device = i;
    return made;
  }();
  return *instance;
}

std::vector<FakeContext *> &contextStack() {
  thread_local std::vector<FakeContext *> stack;
  return stack;
}

CUresult misuse() {
  ++state().misuses;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult begin(const char *name) {
  State &self = state();
  for (auto it = self.failures.begin(); it != self.failures.end(); ++it) {
    if (it->name != name || it->after-- > 0)
      continue;
    int result = it->result;
    self.failures.erase(it);
    if (isSticky(result))
      self.sticky = result;
    return result;
  }
  return self.sticky;
}

FakeContext *current() {
  auto &stack = contextStack();
  return stack.empty() ? nullptr : stack.back();
}

namespace {
struct EntryPoint {
  const char *name;
  void *address;
};
} // namespace

static const std::vector<EntryPoint> &table() {
#define ENTRY(name, parameters) {#name, reinterpret_cast<void *>(&name)},
  static const std::vector<EntryPoint> entries = {TESSERA_CUDA_ENTRY_POINTS(ENTRY, ENTRY)};
#undef ENTRY
  return entries;
}

static const Control control = {
    [] {
      State &self = state();
      std::lock_guard<std::recursive_mutex> lock(self.mutex);
      auto size = [](const auto &set) { return static_cast<int64_t>(set.size()); };
      return Counts{size(self.streams),    size(self.events),     size(self.libraries),
                    size(self.graphs),     size(self.graphExecs), size(self.allocations),
                    size(self.hostBlocks), size(contextStack()),  self.launches,
                    self.misuses};
    },
    [](const char *name, int result, int after) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      std::erase_if(state().failures, [&](const auto &f) { return f.name == name; });
      if (result)
        state().failures.push_back({name, result, after});
    },
    [](unsigned cluster[3], int *cooperative, int *dependent, unsigned *shared) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      *cooperative = *dependent = 0;
      cluster[0] = cluster[1] = cluster[2] = 1;
      *shared = state().lastConfig.sharedMemBytes;
      for (const CUlaunchAttribute &attribute : state().lastAttributes) {
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
          *cooperative = attribute.value.cooperative;
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          *dependent = attribute.value.programmaticStreamSerializationAllowed;
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
          cluster[0] = attribute.value.clusterDim.x;
          cluster[1] = attribute.value.clusterDim.y;
          cluster[2] = attribute.value.clusterDim.z;
        }
      }
    },
    []() -> const char *const * {
      static const std::vector<const char *> names = [] {
        std::vector<const char *> all;
        for (const EntryPoint &entry : table())
          all.push_back(entry.name);
        all.push_back(nullptr);
        return all;
      }();
      return names.data();
    },
    [] {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      state().sticky = CUDA_SUCCESS;
    },
    [](void **stream, uint64_t *words, int64_t most) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      const std::vector<uint64_t> &last = state().lastArguments;
      auto count = static_cast<int64_t>(last.size());
      *stream = state().lastConfig.hStream;
      std::copy_n(last.begin(), std::min(count, most), words);
      return count;
    },
    [](unsigned grid[3], unsigned block[3]) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      const CUlaunchConfig &last = state().lastConfig;
      std::copy_n(
          std::initializer_list<unsigned>{last.gridDimX, last.gridDimY, last.gridDimZ}.begin(), 3,
          grid);
      std::copy_n(
          std::initializer_list<unsigned>{last.blockDimX, last.blockDimY, last.blockDimZ}.begin(),
          3, block);
    },
    [](Runner run) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      state().runner = run;
    },
    [](uint64_t *addresses, uint64_t *bytes, int64_t most) {
      std::lock_guard<std::recursive_mutex> lock(state().mutex);
      int64_t count = 0;
      for (const auto &[address, block] : state().allocations) {
        if (count++ >= most)
          continue;
        *addresses++ = address;
        *bytes++ = block.bytes;
      }
      return count;
    }};

} // namespace fake_cuda

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuDriverGetVersion(int *version) { return fake_cuda::cuDriverGetVersion(version); }

EXPORTED int cuGetProcAddress_v2(const char *name, void **address, int, uint64_t, int *) {
  for (const auto &entry : fake_cuda::table())
    if (!std::strcmp(entry.name, name)) {
      *address = entry.address;
      return 0;
    }
  return fake_cuda::CUDA_ERROR_NOT_FOUND;
}

EXPORTED const fake_cuda::Control *fake_cuda_control() { return &fake_cuda::control; }
