//===- Driver.cpp - The CPU as a device -----------------------------------===//
//
// Everything runs synchronously, in the calling thread and the pool's threads: a stream never has
// pending work. While a stream captures, it records its work as a list of closures, which a graph
// replays. Memory that is allocated meanwhile belongs to the graph.
//
//===----------------------------------------------------------------------===//

#include "../../src/Driver.h"

#include "../../src/Image.h"
#include "../../src/Metrics.h"
#include "Allocator.h"
#include "ThreadPool.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <unistd.h>
#include <vector>

namespace tessera::rt::cpu {

namespace {

using Clock = std::chrono::steady_clock;
using Status = tessera_rt_status;

struct CpuKernel : rt::Kernel {
  tessera_rt_kernel entry;
  uint64_t scratchBytes;
};

struct CpuLibrary : Library {
  Image image;
  std::vector<std::unique_ptr<CpuKernel>> kernels;

  void add(const std::string &name, tessera_rt_kernel entry, uint64_t scratchBytes) {
    auto kernel = std::make_unique<CpuKernel>();
    kernel->name = name;
    kernel->device = {TESSERA_RT_DEVICE_CPU, 0, nullptr};
    kernel->entry = entry;
    kernel->scratchBytes = scratchBytes;
    kernels.push_back(std::move(kernel));
  }

  Status find(const std::string &name, const rt::Kernel *&kernel) override {
    for (const auto &candidate : kernels)
      if (candidate->name == name) {
        kernel = candidate.get();
        return TESSERA_RT_OK;
      }
    return fail(TESSERA_RT_NOT_FOUND, "the code image has no kernel '" + name + "'");
  }
};

struct CpuEvent : Event {
  using Event::Event;
  bool recorded = false;
  Clock::time_point time;
};

struct Block {
  void *memory;
  uint64_t bytes;
};

struct CpuGraph : Graph {
  using Graph::Graph;
  std::vector<std::function<Status()>> nodes;
  std::vector<Block> blocks;
  ~CpuGraph() override {
    for (Block block : blocks)
      cpu::deallocate(block.memory, block.bytes);
  }
};

struct CpuStream {
  std::unique_ptr<CpuGraph> capture; // null: work runs immediately
};

CpuGraph *captureOf(tessera_rt_stream stream) {
  return stream.handle ? static_cast<CpuStream *>(stream.handle)->capture.get() : nullptr;
}

/// Runs `work`, or records it for the graph.
template <typename Work> Status submit(tessera_rt_stream stream, Work work) {
  if (CpuGraph *graph = captureOf(stream)) {
    graph->nodes.push_back(std::move(work));
    return TESSERA_RT_OK;
  }
  return work();
}

Status runLaunch(const rt::Launch &request, const int64_t *words) {
  const auto &kernel = static_cast<const CpuKernel &>(*request.kernel);
  cpu::Launch launch = {
      kernel.entry,  words,        request.grid[0] * request.grid[1] * request.grid[2],
      request.grain, request.work, kernel.scratchBytes,
      request.cost};
  tessera_rt_failure failure = {INT64_MAX, 0, 0};
  launch.failure = request.failure ? request.failure : &failure;
  if (cpu::launch(launch))
    return failure.program == INT64_MAX
               ? TESSERA_RT_OK
               : fail(TESSERA_RT_INDEX, "kernel '" + kernel.name + "' in a graph: check " +
                                            std::to_string(failure.check) + " failed, of value " +
                                            std::to_string(failure.value));
  return fail(TESSERA_RT_OUT_OF_MEMORY, "out of memory: kernel '" + kernel.name + "' needs " +
                                            formatBytes(kernel.scratchBytes) +
                                            " of scratch memory per thread");
}

class CpuDriver : public Driver {
public:
  Status count(int32_t &devices) override {
    devices = 1;
    return TESSERA_RT_OK;
  }

  Status info(int32_t, tessera_rt_device_info &info) override {
    std::string target = hostTarget().substr(0, hostTarget().find(':'));
    std::snprintf(info.name, sizeof(info.name), "CPU (%s)", target.c_str());
    std::snprintf(info.target, sizeof(info.target), "%s", target.c_str());
    info.memory_bytes = physicalMemory();
    info.l2_bytes = static_cast<uint64_t>(fact(0, DeviceFact::L2Bytes));
    info.sm_count = numThreads();
    info.threads_per_block = info.threads_per_sm = info.warp_size = 1;
    return TESSERA_RT_OK;
  }

  Status memory(int32_t, uint64_t &free, uint64_t &total) override {
    total = physicalMemory();
    free = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return TESSERA_RT_OK;
  }

  Status synchronizeDevice(int32_t) override { return TESSERA_RT_OK; }
  Status canAccess(int32_t, int32_t, bool &can) override {
    can = true;
    return TESSERA_RT_OK;
  }
  Status enableAccess(int32_t, int32_t) override { return TESSERA_RT_OK; }

  int64_t fact(int32_t, DeviceFact fact) override {
    if (fact == DeviceFact::SmCount)
      return numThreads();
    static const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l2 > 0 ? l2 : 0;
  }

  Status createStream(int32_t, int32_t, void *&handle) override {
    handle = new CpuStream;
    return TESSERA_RT_OK;
  }
  void releaseStream(tessera_rt_stream stream) override {
    delete static_cast<CpuStream *>(stream.handle);
  }
  Status synchronize(tessera_rt_stream stream) override {
    if (captureOf(stream))
      return fail(TESSERA_RT_DEVICE, "a stream that captures a graph cannot be waited for");
    return TESSERA_RT_OK;
  }
  Status query(tessera_rt_stream, bool &done) override {
    done = true;
    return TESSERA_RT_OK;
  }
  Status wait(tessera_rt_stream, Event &) override { return TESSERA_RT_OK; }

  Status createEvent(int32_t, Event *&event) override {
    event = new CpuEvent(this);
    return TESSERA_RT_OK;
  }
  Status record(Event &event, tessera_rt_stream stream) override {
    auto &mine = static_cast<CpuEvent &>(event);
    return submit(stream, [&mine]() -> Status {
      mine.recorded = true;
      mine.time = Clock::now();
      return TESSERA_RT_OK;
    });
  }
  Status synchronizeEvent(Event &) override { return TESSERA_RT_OK; }
  Status queryEvent(Event &, bool &done) override {
    done = true;
    return TESSERA_RT_OK;
  }
  Status elapsed(Event &start, Event &end, double &milliseconds) override {
    auto &from = static_cast<CpuEvent &>(start), &to = static_cast<CpuEvent &>(end);
    if (!from.recorded || !to.recorded)
      return fail(TESSERA_RT_ARGUMENT, "expected two events that were recorded");
    milliseconds = std::chrono::duration<double, std::milli>(to.time - from.time).count();
    return TESSERA_RT_OK;
  }

  Status allocate(tessera_rt_stream stream, uint64_t bytes, void *&memory) override {
    memory = cpu::allocate(bytes);
    if (!memory)
      return fail(TESSERA_RT_OUT_OF_MEMORY, "out of memory: " + formatBytes(bytes) +
                                                " were asked for, this machine has " +
                                                formatBytes(physicalMemory()));
    if (CpuGraph *graph = captureOf(stream))
      graph->blocks.push_back({memory, bytes});
    return TESSERA_RT_OK;
  }
  Status deallocate(tessera_rt_stream stream, void *memory, uint64_t bytes) override {
    if (!captureOf(stream))
      cpu::deallocate(memory, bytes);
    return TESSERA_RT_OK;
  }
  Status allocateHost(int32_t, uint64_t bytes, void *&memory) override {
    constexpr uint64_t page = 4096;
    memory =
        bytes > physicalMemory() ? nullptr : std::aligned_alloc(page, (bytes + page) / page * page);
    return memory ? TESSERA_RT_OK
                  : fail(TESSERA_RT_OUT_OF_MEMORY,
                         "out of memory: " + formatBytes(bytes) + " of host memory");
  }
  void deallocateHost(int32_t, void *memory) override { std::free(memory); }

  Status copy(tessera_rt_stream stream, void *target, const void *source, uint64_t bytes) override {
    return submit(stream, [=]() -> Status {
      std::memmove(target, source, bytes);
      return TESSERA_RT_OK;
    });
  }
  Status fill(tessera_rt_stream stream, void *target, uint8_t value, uint64_t bytes) override {
    return submit(stream, [=]() -> Status {
      std::memset(target, value, bytes);
      return TESSERA_RT_OK;
    });
  }
  Status poolStatistics(int32_t, tessera_rt_pool_statistics &statistics) override {
    MemoryStatistics now = memoryStatistics();
    statistics.in_use = now.inUse;
    statistics.in_use_peak = now.peak;
    statistics.reserved = now.inUse + now.cached;
    statistics.reserved_peak = now.reservedPeak;
    statistics.allocations = now.allocations;
    statistics.allocated_bytes = now.total;
    return TESSERA_RT_OK;
  }
  Status trim(int32_t, uint64_t keep) override {
    if (memoryStatistics().cached > keep)
      cpu::trim();
    return TESSERA_RT_OK;
  }

  Status load(int32_t, const CodeImage &image, std::unique_ptr<Library> &library) override {
    auto made = std::make_unique<CpuLibrary>();
    std::string error;
    if (!made->image.map(image.code, error))
      return fail(TESSERA_RT_OUT_OF_MEMORY, error);
    for (const KernelEntry &entry : image.kernels) {
      const void *address = made->image.at(entry.offset);
      tessera_rt_kernel function;
      std::memcpy(&function, &address, sizeof(address));
      made->add(entry.name, function, entry.scratchBytes);
    }
    library = std::move(made);
    return TESSERA_RT_OK;
  }

  Status launch(tessera_rt_stream stream, const rt::Launch &request) override {
    if (request.shape->flags & KernelShape::Cooperative)
      return fail(TESSERA_RT_UNSUPPORTED,
                  "kernel '" + request.kernel->name + "': the CPU has no cooperative launches");
    if (!captureOf(stream))
      return runLaunch(request, request.words);
    // The estimate and the measurement belong to a call that may have ended by then.
    rt::Launch later = request;
    later.work = -1;
    later.cost = nullptr;
    later.failure = nullptr;
    std::vector<int64_t> grid(request.grid, request.grid + 3);
    std::vector<int64_t> words(request.words, request.words + request.wordCount);
    return submit(stream, [later, grid, words]() mutable -> Status {
      later.grid = grid.data();
      return runLaunch(later, words.data());
    });
  }

  Status beginCapture(tessera_rt_stream stream) override {
    if (!stream.handle)
      return fail(TESSERA_RT_ARGUMENT, "the default stream cannot capture a graph; create one");
    auto *mine = static_cast<CpuStream *>(stream.handle);
    if (mine->capture)
      return fail(TESSERA_RT_ARGUMENT, "the stream captures a graph already");
    mine->capture = std::make_unique<CpuGraph>(this);
    return TESSERA_RT_OK;
  }
  Status endCapture(tessera_rt_stream stream, Graph *&graph) override {
    if (!captureOf(stream))
      return fail(TESSERA_RT_ARGUMENT, "the stream does not capture a graph");
    graph = static_cast<CpuStream *>(stream.handle)->capture.release();
    return TESSERA_RT_OK;
  }
  Status launchGraph(Graph &graph, tessera_rt_stream stream) override {
    auto &mine = static_cast<CpuGraph &>(graph);
    return submit(stream, [&mine]() -> Status {
      for (auto &node : mine.nodes)
        if (Status status = node())
          return status;
      return TESSERA_RT_OK;
    });
  }
};

} // namespace

} // namespace tessera::rt::cpu

tessera::rt::Driver &tessera::rt::cpuDriver() {
  static Driver *driver = new cpu::CpuDriver;
  return *driver;
}

std::unique_ptr<tessera::rt::Library>
tessera::rt::nativeLibrary(std::span<const tessera_rt_native_kernel> kernels) {
  auto library = std::make_unique<cpu::CpuLibrary>();
  for (const tessera_rt_native_kernel &kernel : kernels)
    library->add(kernel.name, kernel.entry, kernel.scratch_bytes);
  return library;
}
