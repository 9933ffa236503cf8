//===- Metrics.h - Counters of the process --------------------------------===//

#ifndef TESSERA_RT_SRC_METRICS_H
#define TESSERA_RT_SRC_METRICS_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tessera::rt {

/// Counters of the process; drivers keep those of their memory.
struct Metrics {
  using Counter = std::atomic<uint64_t>;
  Counter calls{0}, deviceLaunches{0}, graphLaunches{0}, copies{0}, copiedBytes{0};
  Counter modulesLoaded{0}, loadNanoseconds{0};
  Counter cacheHits{0}, cacheMisses{0}, cacheReadBytes{0}, cacheWrittenBytes{0};
  Counter compilations{0}, compileNanoseconds{0}, errors{0};
};
extern Metrics metrics;

inline void count(Metrics::Counter &counter, uint64_t add = 1) {
  counter.fetch_add(add, std::memory_order_relaxed);
}

/// Counts a module and the time until the end of the scope.
class LoadTimer {
public:
  LoadTimer() : start(std::chrono::steady_clock::now()) {}
  LoadTimer(const LoadTimer &) = delete;
  ~LoadTimer() {
    auto spent = std::chrono::steady_clock::now() - start;
    count(metrics.modulesLoaded);
    count(metrics.loadNanoseconds, static_cast<uint64_t>(std::chrono::nanoseconds(spent).count()));
  }

private:
  std::chrono::steady_clock::time_point start;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_METRICS_H
