//===- ThreadPool.cpp - Runs a grid on threads ----------------------------===//
//
// The protocol. `jobState` packs (open, places left, joined, active). The owner fills the job,
// opens it with one place for each helper it wants, and increments `epoch`, on which workers spin
// and then sleep. A worker joins by one compare-and-swap that takes a place; only then does it read
// the job. The owner works too. When the counter is exhausted it closes the job, so that no worker
// joins any more, and waits until no helper is active. A late worker finds the job closed and goes
// back to sleep without having touched the job.
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include "../../src/Status.h"
#include "Allocator.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tessera::rt::cpu {

static constexpr int64_t spinNanoseconds = 40'000;
/// The work for which waking a helper pays off.
static constexpr int64_t workPerThread = 12'000;
static constexpr int32_t maxThreads = 1024;

namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

void futexWait(std::atomic<uint32_t> &word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr,
          nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

/// Spins for a while; returns false on timeout if `done` does not hold yet.
template <typename Predicate> bool spinUntil(Predicate done) {
  int64_t deadline = 0;
  for (unsigned i = 0;; ++i) {
    if (done())
      return true;
    pause();
    if (i % 64 == 63) {
      int64_t now = nanoseconds();
      if (deadline == 0)
        deadline = now + spinNanoseconds;
      else if (now > deadline)
        return false;
    }
  }
}

/// A thread's own scratch memory, grown on demand.
struct Scratch {
  void *data = nullptr;
  uint64_t capacity = 0;

  bool reserve(uint64_t bytes) {
    if (bytes <= capacity)
      return true;
    deallocate(data, capacity);
    capacity = 0;
    data = allocate(bytes);
    if (!data)
      return false;
    // Kernels read rows past the end of a tensor that they never store. What lies there decides
    // whether a block is split for AMX, which rounds in another way: it begins as zeros.
    std::memset(data, 0, bytes);
    capacity = bytes;
    return true;
  }
  void swap(Scratch &other) {
    std::swap(data, other.data);
    std::swap(capacity, other.capacity);
  }

  Scratch() = default;
  Scratch(const Scratch &) = delete;
  ~Scratch() { deallocate(data, capacity); }
};

thread_local Scratch scratch;
thread_local bool insideKernel = false;

std::atomic<uint64_t> launchCount{0}, parallelCount{0};

/// Runs a chunk and measures its time. An interrupted thread measures too much, so that a smaller
/// time replaces the estimate and a larger one changes it gradually.
void runMeasured(const Launch &job, int64_t begin, int64_t end, const tessera_rt_kernel_env *env) {
  int64_t start = nanoseconds();
  job.kernel(job.args, begin, end, env);
  float measured = static_cast<float>(nanoseconds() - start) / static_cast<float>(end - begin);
  float before = job.cost->load(std::memory_order_relaxed);
  if (before > 0 && measured > before)
    measured = before + (measured - before) / 4;
  job.cost->store(std::max(measured, 0.1f), std::memory_order_relaxed);
}

/// Merges one thread's failed check; the first grid task in grid order is reported.
class Failures {
public:
  explicit Failures(tessera_rt_failure *reported) : reported(reported) {}
  ~Failures() {
    if (!reported || mine.program == INT64_MAX)
      return;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    if (mine.program < reported->program)
      *reported = mine;
  }
  Failures(const Failures &) = delete;
  tessera_rt_failure mine = {INT64_MAX, 0, 0};

private:
  tessera_rt_failure *reported;
};

/// The fields of `jobState`.
constexpr uint64_t activeOne = 1, joinedOne = 1ull << 16, placeOne = 1ull << 32,
                   openBit = 1ull << 63;
uint32_t activeOf(uint64_t jobState) { return jobState & 0xffff; }
uint32_t joinedOf(uint64_t jobState) { return jobState >> 16 & 0xffff; }
uint32_t placesOf(uint64_t jobState) { return jobState >> 32 & 0xffff; }

class Pool {
public:
  explicit Pool(int32_t threads) : threads(threads) {
    for (int32_t i = 1; i < threads; ++i)
      if (!spawn(i))
        break;
    this->threads = static_cast<int32_t>(workers.size()) + 1;
  }

  int32_t size() const { return threads; }

  /// The caller owns the pool.
  void run(const Launch &launch, int32_t wanted) {
    job = launch;
    jobThreads = wanted;
    next.store(0, std::memory_order_relaxed);
    jobState.store(openBit | placeOne * static_cast<uint64_t>(wanted - 1),
                   std::memory_order_release);
    epoch.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      futexWake(epoch, wanted - 1);

    work(0);

    jobState.fetch_and(~openBit, std::memory_order_acq_rel);
    auto idle = [&] { return activeOf(jobState.load(std::memory_order_seq_cst)) == 0; };
    if (spinUntil(idle))
      return;
    for (;;) {
      ownerSleeps.store(1, std::memory_order_seq_cst);
      if (idle())
        break;
      futexWait(ownerSleeps, 1);
    }
    ownerSleeps.store(0, std::memory_order_seq_cst);
  }

  /// Ends the workers; the caller owns the pool.
  void stop() {
    stopping.store(true, std::memory_order_seq_cst);
    epoch.fetch_add(1, std::memory_order_seq_cst);
    futexWake(epoch, maxThreads);
    for (pthread_t worker : workers)
      pthread_join(worker, nullptr);
  }

private:
  bool spawn(int32_t index) {
    // Signals are handled by the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int error = pthread_create(
        &thread, nullptr,
        [](void *self) -> void * {
          static_cast<Pool *>(self)->serve();
          return nullptr;
        },
        this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error) {
      log(TESSERA_RT_LOG_WARNING,
          "a thread could not be started, " + std::to_string(index) + " are used");
      return false;
    }
    pthread_setname_np(thread, ("tessera-" + std::to_string(index)).c_str());
    workers.push_back(thread);
    return true;
  }

  void serve() {
    insideKernel = true; // a launch from a kernel runs inline
    uint32_t seen = 0;
    while (!stopping.load(std::memory_order_acquire)) {
      help();
      auto moved = [&] { return epoch.load(std::memory_order_acquire) != seen; };
      if (!spinUntil(moved)) {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        while (!moved())
          futexWait(epoch, seen);
        sleepers.fetch_sub(1, std::memory_order_relaxed);
      }
      seen = epoch.load(std::memory_order_acquire);
    }
  }

  /// Joins the open job, if there is one with a place left.
  void help() {
    uint64_t now = jobState.load(std::memory_order_acquire);
    do {
      if (!(now & openBit) || placesOf(now) == 0)
        return;
    } while (!jobState.compare_exchange_weak(now, now - placeOne + joinedOne + activeOne,
                                             std::memory_order_acq_rel));
    work(joinedOf(now) + 1);
    uint64_t left = jobState.fetch_sub(activeOne, std::memory_order_seq_cst) - activeOne;
    if (activeOf(left) == 0 && ownerSleeps.load(std::memory_order_seq_cst)) {
      ownerSleeps.store(2, std::memory_order_seq_cst);
      futexWake(ownerSleeps, 1);
    }
  }

  void work(uint32_t index) {
    if (!scratch.reserve(job.scratchBytes))
      return; // the caller has its own and finishes alone
    Failures failures(job.failure);
    tessera_rt_kernel_env env = {};
    env.failure = &failures.mine;
    env.thread_index = index;
    env.thread_count = static_cast<uint32_t>(jobThreads);
    env.scratch = scratch.data;
    env.scratch_bytes = job.scratchBytes;
    bool measure = index == 0 && job.cost;
    int64_t begin = next.load(std::memory_order_relaxed);
    while (begin < job.total) {
      int64_t chunk = std::max(job.grain, (job.total - begin) / (2 * jobThreads));
      int64_t end = std::min(job.total, begin + chunk);
      if (next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) {
        if (measure)
          runMeasured(job, begin, end, &env);
        else
          job.kernel(job.args, begin, end, &env);
        measure = false;
        begin = next.load(std::memory_order_relaxed);
      }
    }
  }

  // Fields that the owner writes and helpers read, then the contended words, each on its own cache
  // line.
  int32_t threads;
  std::vector<pthread_t> workers;
  Launch job{};
  int32_t jobThreads = 1;
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<uint64_t> jobState{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> ownerSleeps{0};
};

/// Guards the use and replacement of the pool; held during a launch.
std::atomic_flag owned = ATOMIC_FLAG_INIT;
Pool *pool = nullptr;
std::atomic<int32_t> configured{0}; // 0: not determined yet

int32_t defaultThreads() {
  if (const char *text = std::getenv("TESSERA_NUM_THREADS"); text && *text) {
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (*end == 0 && value >= 1)
      return static_cast<int32_t>(std::min<long>(value, maxThreads));
    log(TESSERA_RT_LOG_WARNING,
        std::string("TESSERA_NUM_THREADS: expected a positive number, found '") + text + "'");
  }
  // A set large enough for any machine: the fixed cpu_set_t ends at 1024 processors.
  constexpr int processors = 1 << 14;
  cpu_set_t *set = CPU_ALLOC(processors);
  size_t bytes = CPU_ALLOC_SIZE(processors);
  int count = 0;
  if (set && sched_getaffinity(0, bytes, set) == 0)
    count = CPU_COUNT_S(bytes, set);
  if (set)
    CPU_FREE(set);
  return std::clamp(count, 1, maxThreads);
}

/// A forked child has the memory of the pool but none of its threads: it creates its own at its
/// first launch.
void forgetPool() {
  pool = nullptr;
  owned.clear();
}

void acquire() {
  while (owned.test_and_set(std::memory_order_acquire))
    sched_yield();
}

void runInline(const Launch &launch) {
  Failures failures(launch.failure);
  tessera_rt_kernel_env env = {};
  env.failure = &failures.mine;
  env.thread_count = 1;
  env.scratch = scratch.data;
  env.scratch_bytes = launch.scratchBytes;
  bool before = insideKernel;
  insideKernel = true;
  // A single index needs no decision: its time is measured once.
  if (launch.cost && (launch.total > 1 || launch.cost->load(std::memory_order_relaxed) == 0))
    runMeasured(launch, 0, launch.total, &env);
  else
    launch.kernel(launch.args, 0, launch.total, &env);
  insideKernel = before;
}

} // namespace

int32_t numThreads() {
  int32_t count = configured.load(std::memory_order_relaxed);
  if (count == 0) {
    count = defaultThreads();
    configured.store(count, std::memory_order_relaxed);
  }
  return count;
}

bool setNumThreads(int32_t count) {
  if (insideKernel)
    return false;
  acquire();
  if (Pool *old = pool) {
    pool = nullptr;
    old->stop();
    delete old;
  }
  configured.store(count < 1 ? defaultThreads() : std::min(count, maxThreads),
                   std::memory_order_relaxed);
  owned.clear(std::memory_order_release);
  return true;
}

bool launch(const Launch &launch) {
  launchCount.fetch_add(1, std::memory_order_relaxed);
  // A kernel that launches keeps its own scratch memory while the inner one runs.
  struct Outer : Scratch {
    ~Outer() {
      if (data)
        swap(scratch);
    }
  } outer;
  if (insideKernel)
    outer.swap(scratch);
  if (!scratch.reserve(launch.scratchBytes))
    return false;

  int64_t wanted =
      std::min<int64_t>(numThreads(), (launch.total + launch.grain - 1) / launch.grain);
  if (launch.work >= 0)
    wanted = std::min(wanted, std::max<int64_t>(1, launch.work / workPerThread));
  if (wanted <= 1 || insideKernel || owned.test_and_set(std::memory_order_acquire)) {
    runInline(launch);
    return true;
  }
  if (!pool) {
    static const int registered = pthread_atfork(nullptr, nullptr, forgetPool);
    (void)registered;
    pool = new Pool(numThreads());
  }
  wanted = std::min<int64_t>(wanted, pool->size());
  insideKernel = true;
  parallelCount.fetch_add(1, std::memory_order_relaxed);
  pool->run(launch, static_cast<int32_t>(wanted));
  insideKernel = false;
  owned.clear(std::memory_order_release);
  return true;
}

LaunchStatistics launchStatistics() { return {launchCount.load(), parallelCount.load()}; }

} // namespace tessera::rt::cpu

int32_t tessera_rt_get_num_threads(void) { return tessera::rt::cpu::numThreads(); }

tessera_rt_status tessera_rt_set_num_threads(int32_t count) {
  if (!tessera::rt::cpu::setNumThreads(count))
    return tessera::rt::fail(
        TESSERA_RT_ARGUMENT,
        "the number of threads cannot be set while a kernel runs in this thread");
  return TESSERA_RT_OK;
}
