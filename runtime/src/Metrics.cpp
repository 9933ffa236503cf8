//===- Metrics.cpp - Counters of the process ------------------------------===//

#include "Metrics.h"

#include "../drivers/cpu/Allocator.h"
#include "../drivers/cpu/ThreadPool.h"
#include "Driver.h"
#include "Profile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tessera::rt {
Metrics metrics;

static tessera_rt_metrics gather() {
  cpu::LaunchStatistics launches = cpu::launchStatistics();
  cpu::MemoryStatistics memory = cpu::memoryStatistics();
  tessera_rt_pool_statistics pools = cudaPoolTotals();
  tessera_rt_metrics all = {};
  all.calls = metrics.calls;
  all.launches = launches.launches;
  all.parallel_launches = launches.parallel;
  all.temporary_bytes = memory.total;
  all.memory_in_use = memory.inUse;
  all.memory_peak = memory.peak;
  all.memory_cached = memory.cached;
  all.device_launches = metrics.deviceLaunches;
  all.graph_launches = metrics.graphLaunches;
  all.copies = metrics.copies;
  all.copied_bytes = metrics.copiedBytes;
  all.device_memory_in_use = pools.in_use;
  all.device_memory_peak = pools.in_use_peak;
  all.device_memory_reserved = pools.reserved;
  all.modules_loaded = metrics.modulesLoaded;
  all.load_nanoseconds = metrics.loadNanoseconds;
  all.cache_hits = metrics.cacheHits;
  all.cache_misses = metrics.cacheMisses;
  all.cache_read_bytes = metrics.cacheReadBytes;
  all.cache_written_bytes = metrics.cacheWrittenBytes;
  all.compilations = metrics.compilations;
  all.compile_nanoseconds = metrics.compileNanoseconds;
  all.errors = metrics.errors;
  return all;
}

namespace {
struct Family {
  const char *name, *type, *help;
  uint64_t tessera_rt_metrics::*value;
  double scale;
};
// Prometheus requires base units: seconds and bytes.
constexpr Family families[] = {
    {"calls_total", "counter", "calls of compiled functions", &tessera_rt_metrics::calls, 1},
    {"cpu_launches_total", "counter", "kernels launched on the CPU", &tessera_rt_metrics::launches,
     1},
    {"cpu_parallel_launches_total", "counter", "of these, on several threads",
     &tessera_rt_metrics::parallel_launches, 1},
    {"cpu_temporary_bytes_total", "counter", "temporary memory handed out on the CPU",
     &tessera_rt_metrics::temporary_bytes, 1},
    {"cpu_memory_in_use_bytes", "gauge", "temporary and scratch memory in use",
     &tessera_rt_metrics::memory_in_use, 1},
    {"cpu_memory_peak_bytes", "gauge", "the most of it that was in use",
     &tessera_rt_metrics::memory_peak, 1},
    {"cpu_memory_cached_bytes", "gauge", "kept for reuse", &tessera_rt_metrics::memory_cached, 1},
    {"device_launches_total", "counter", "kernels launched on GPUs",
     &tessera_rt_metrics::device_launches, 1},
    {"graph_launches_total", "counter", "graphs replayed", &tessera_rt_metrics::graph_launches, 1},
    {"copies_total", "counter", "copies and fills", &tessera_rt_metrics::copies, 1},
    {"copied_bytes_total", "counter", "bytes of these", &tessera_rt_metrics::copied_bytes, 1},
    {"device_memory_in_use_bytes", "gauge", "memory of the GPUs' pools in use",
     &tessera_rt_metrics::device_memory_in_use, 1},
    {"device_memory_peak_bytes", "gauge", "the most of it that was in use",
     &tessera_rt_metrics::device_memory_peak, 1},
    {"device_memory_reserved_bytes", "gauge", "what the pools hold",
     &tessera_rt_metrics::device_memory_reserved, 1},
    {"modules_loaded_total", "counter", "bundles and libraries loaded",
     &tessera_rt_metrics::modules_loaded, 1},
    {"load_seconds_total", "counter", "time that loading took",
     &tessera_rt_metrics::load_nanoseconds, 1e-9},
    {"cache_hits_total", "counter", "disk cache entries found", &tessera_rt_metrics::cache_hits, 1},
    {"cache_misses_total", "counter", "disk cache entries not found",
     &tessera_rt_metrics::cache_misses, 1},
    {"cache_read_bytes_total", "counter", "read from the disk cache",
     &tessera_rt_metrics::cache_read_bytes, 1},
    {"cache_written_bytes_total", "counter", "written to the disk cache",
     &tessera_rt_metrics::cache_written_bytes, 1},
    {"compilations_total", "counter", "functions compiled", &tessera_rt_metrics::compilations, 1},
    {"compile_seconds_total", "counter", "time that compiling took",
     &tessera_rt_metrics::compile_nanoseconds, 1e-9},
    {"errors_total", "counter", "calls of the runtime that failed", &tessera_rt_metrics::errors, 1},
};
} // namespace

} // namespace tessera::rt

using namespace tessera::rt;

void tessera_rt_get_metrics(tessera_rt_metrics *result) {
  tessera_rt_metrics all = gather();
  all.struct_bytes = result->struct_bytes;
  std::memcpy(result, &all, std::min<uint64_t>(result->struct_bytes, sizeof(all)));
}

char *tessera_rt_metrics_text(void) {
  tessera_rt_metrics all = gather();
  std::string text;
  for (const Family &family : families) {
    std::string name = std::string("tessera_") + family.name;
    uint64_t value = all.*family.value;
    char number[32];
    if (family.scale == 1)
      std::snprintf(number, sizeof(number), "%llu", static_cast<unsigned long long>(value));
    else
      std::snprintf(number, sizeof(number), "%.9f", static_cast<double>(value) * family.scale);
    text += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + family.type + "\n" +
            name + " " + number + "\n";
  }
  text += profileText();
  return strdup(text.c_str());
}

void tessera_rt_count_compilation(uint64_t nanoseconds) {
  count(metrics.compilations);
  count(metrics.compileNanoseconds, nanoseconds);
}

void tessera_rt_trim(void) {
  cpu::trim();
  cudaTrimAll();
}
