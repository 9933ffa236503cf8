//===- PoolTest.cpp - Threads: coverage, nesting, forks, several callers --===//

#include "../drivers/cpu/ThreadPool.h"
#include "Programs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tessera::rt;
using namespace tessera::rt::test;

namespace {

template <typename T> int64_t pointer(T *address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address));
}

/// A kernel that is launched over a grid of the first word, on all threads.
struct Launcher {
  tessera_rt_kernel kernel;
  uint64_t scratch = 0;

  void operator()(std::vector<int64_t> words) const {
    cpu::Launch launch = {kernel, words.data(), words[0], 1, /*work=*/-1, scratch, nullptr};
    EXPECT_TRUE(words[0] == 0 || cpu::launch(launch));
  }
};

struct Pool : testing::Test {
  Pool() { tessera_rt_set_num_threads(4); }
  ~Pool() override { tessera_rt_set_num_threads(0); }
};

void countKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *) {
  auto *counts = reinterpret_cast<std::atomic<int> *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    counts[i].fetch_add(1, std::memory_order_relaxed);
}

TEST_F(Pool, EveryIndexRunsOnce) {
  Launcher launch{countKernel};
  for (int64_t total : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(total + 1));
    for (int round = 0; round < 50; ++round)
      launch({total, pointer(counts.data())});
    for (int64_t i = 0; i < total; ++i)
      ASSERT_EQ(counts[static_cast<size_t>(i)].load(), 50) << i << " of " << total;
    EXPECT_EQ(counts[static_cast<size_t>(total)].load(), 0);
  }
}

TEST_F(Pool, ManyShortLaunches) {
  Launcher launch{countKernel};
  std::vector<std::atomic<int>> counts(8);
  for (int round = 0; round < 20000; ++round)
    launch({8, pointer(counts.data())});
  for (auto &count : counts)
    EXPECT_EQ(count.load(), 20000);
}

TEST_F(Pool, LaunchesAfterAPause) {
  Launcher launch{countKernel};
  std::vector<std::atomic<int>> counts(100);
  for (int round = 0; round < 20; ++round) {
    usleep(2000); // the workers are asleep by now
    launch({100, pointer(counts.data())});
  }
  for (auto &count : counts)
    EXPECT_EQ(count.load(), 20);
}

TEST_F(Pool, ScratchBelongsToOneThread) {
  std::atomic<int> failures{0};
  Launcher launch{
      [](const int64_t *args, int64_t begin, int64_t, const tessera_rt_kernel_env *env) {
        auto *failures = reinterpret_cast<std::atomic<int> *>(args[1]);
        auto *words = static_cast<int64_t *>(env->scratch);
        size_t count = env->scratch_bytes / 8;
        if (env->thread_index >= env->thread_count || env->thread_count > 4 ||
            reinterpret_cast<uintptr_t>(words) % 64 != 0 || count != 1000)
          failures->fetch_add(1);
        std::fill(words, words + count, begin);
        if (std::count(words, words + count, begin) != 1000)
          failures->fetch_add(1);
      },
      8000};
  for (int round = 0; round < 300; ++round)
    launch({64, pointer(&failures)});
  EXPECT_EQ(failures.load(), 0);
}

TEST_F(Pool, ScratchThatCannotBeHad) {
  tessera_rt_module *module =
      load(launchOnly(0, {Expr::constant(4)}), {{"k", countKernel, 1ull << 60}});
  tessera_rt_frame *frame = nullptr;
  ASSERT_EQ(tessera_rt_prepare(tessera_rt_function_at(module, 0), nullptr, 0, &frame),
            TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_execute(frame, nullptr), TESSERA_RT_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_rt_last_error(),
               "out of memory: kernel 'k' needs 1.0 EiB of scratch memory per thread");
  tessera_rt_frame_release(frame);
  tessera_rt_module_release(module);
}

/// The number of launches that used the pool.
uint64_t parallelLaunches() {
  tessera_rt_metrics metrics = {};
  metrics.struct_bytes = sizeof(metrics);
  tessera_rt_get_metrics(&metrics);
  return metrics.parallel_launches;
}

/// Waits for as many microseconds per index as its argument word.
void waitKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *) {
  auto until =
      std::chrono::steady_clock::now() + std::chrono::microseconds(args[0] * (end - begin));
  while (std::chrono::steady_clock::now() < until)
    ;
}

TEST_F(Pool, SmallWorkIsNotSharedOnceItIsKnown) {
  tessera_rt_module *module = load(launchOnly(1, {Expr::constant(8)}), {{"k", waitKernel, 0}});
  const tessera_rt_function *function = tessera_rt_function_at(module, 0);
  auto call = [&](int64_t microseconds) {
    tessera_rt_value arg = {};
    arg.kind = TESSERA_RT_INT;
    arg.as.integer = microseconds;
    tessera_rt_frame *frame = nullptr;
    EXPECT_EQ(tessera_rt_prepare(function, &arg, 1, &frame), TESSERA_RT_OK);
    EXPECT_EQ(tessera_rt_execute(frame, nullptr), TESSERA_RT_OK);
    tessera_rt_frame_release(frame);
  };
  call(0);
  uint64_t before = parallelLaunches();
  for (int i = 0; i < 20; ++i)
    call(0);
  EXPECT_LT(parallelLaunches() - before, 10u); // an interrupted one may appear large
  for (int i = 0; i < 20; ++i)
    call(100);
  EXPECT_GT(parallelLaunches() - before, 10u);
  tessera_rt_module_release(module);
}

TEST_F(Pool, NestedCallsRunInline) {
  static Launcher *inner;
  Launcher counting{
      [](const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env) {
        if (env->thread_count != 1)
          reinterpret_cast<std::atomic<int> *>(args[1])[0].fetch_add(1000000);
        std::memset(env->scratch, 0, env->scratch_bytes);
        countKernel(args, begin, end, env);
      },
      256};
  inner = &counting;
  Launcher outer{
      [](const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env) {
        std::memset(env->scratch, 0x77, env->scratch_bytes);
        for (int64_t i = begin; i < end; ++i)
          (*inner)({5, args[1]});
        for (uint64_t i = 0; i < env->scratch_bytes; ++i)
          if (static_cast<const char *>(env->scratch)[i] != 0x77)
            reinterpret_cast<std::atomic<int> *>(args[1])[0].fetch_add(1000000);
      },
      512};
  std::vector<std::atomic<int>> counts(5);
  outer({(100), pointer(counts.data())});
  for (auto &count : counts)
    EXPECT_EQ(count.load(), 100);
}

TEST_F(Pool, SeveralCallers) {
  Launcher launch{countKernel};
  std::vector<std::thread> threads;
  std::vector<std::vector<std::atomic<int>>> counts(6);
  for (auto &mine : counts) {
    mine = std::vector<std::atomic<int>>(333);
    threads.emplace_back([&launch, &mine] {
      for (int round = 0; round < 300; ++round)
        launch({333, pointer(mine.data())});
    });
  }
  for (auto &thread : threads)
    thread.join();
  for (auto &mine : counts)
    for (auto &count : mine)
      ASSERT_EQ(count.load(), 300);
}

TEST_F(Pool, AForkedChildMakesItsOwnPool) {
  Launcher launch{countKernel};
  std::vector<std::atomic<int>> counts(1000);
  launch({1000, pointer(counts.data())});
  for (int round = 0; round < 5; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      uint64_t before = parallelLaunches();
      for (int i = 0; i < 10; ++i)
        launch({1000, pointer(counts.data())});
      bool good = true;
      for (auto &count : counts)
        good = good && count.load() == 11;
      _exit(good && parallelLaunches() > before ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  launch({1000, pointer(counts.data())});
  EXPECT_EQ(counts[0].load(), 2);
}

TEST_F(Pool, TheNumberOfThreadsCanChange) {
  Launcher launch{countKernel};
  std::vector<std::atomic<int>> counts(64);
  int rounds = 0;
  for (int threads : {1, 2, 8, 3, 1, 5}) {
    EXPECT_EQ(tessera_rt_set_num_threads(threads), TESSERA_RT_OK);
    EXPECT_EQ(tessera_rt_get_num_threads(), threads);
    for (int i = 0; i < 20; ++i, ++rounds)
      launch({64, pointer(counts.data())});
  }
  for (auto &count : counts)
    EXPECT_EQ(count.load(), rounds);
}

} // namespace
