//===- Profile.cpp - Kernel times -----------------------------------------===//

#include "Profile.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace tessera::rt {

static bool isAskedFor() {
  const char *text = std::getenv("TESSERA_PROFILE");
  return text && *text && std::strcmp(text, "0") != 0;
}
std::atomic<bool> profiling{isAskedFor()};

namespace {

struct Name {
  std::string function, kernel;
  int32_t device;
  bool operator<(const Name &other) const {
    return std::tie(function, kernel, device) <
           std::tie(other.function, other.kernel, other.device);
  }
};

struct Times {
  uint64_t launches = 0;
  double seconds = 0;
};

/// A launch on a GPU whose events were not read yet.
struct Pending {
  Name name;
  tessera_rt_event *start, *end;
};

class Profile {
public:
  void add(const Name &name, double seconds) {
    std::lock_guard<std::mutex> lock(mutex);
    addLocked(name, seconds);
  }

  void add(Pending launch) {
    std::lock_guard<std::mutex> lock(mutex);
    pending.push_back(std::move(launch));
    // Completed ones are read now and then, so that their number stays small.
    int32_t done = 1;
    while (pending.size() > mostPending &&
           tessera_rt_event_query(pending.front().end, &done) == TESSERA_RT_OK && done)
      readFront();
  }

  std::map<Name, Times> read() {
    std::lock_guard<std::mutex> lock(mutex);
    while (!pending.empty()) {
      tessera_rt_event_synchronize(pending.front().end);
      readFront();
    }
    return times;
  }

private:
  static constexpr size_t mostPending = 1024;

  void addLocked(const Name &name, double seconds) {
    Times &sum = times[name];
    ++sum.launches;
    sum.seconds += seconds;
  }

  /// A launch without a time, because it was captured into a graph, is dropped.
  void readFront() {
    Pending launch = std::move(pending.front());
    pending.pop_front();
    double milliseconds = 0;
    if (tessera_rt_event_elapsed(launch.start, launch.end, &milliseconds) == TESSERA_RT_OK)
      addLocked(launch.name, milliseconds * 1e-3);
    tessera_rt_event_release(launch.start);
    tessera_rt_event_release(launch.end);
  }

  std::mutex mutex;
  std::map<Name, Times> times;
  std::deque<Pending> pending;
};

/// Never destroyed: launches may come from threads that outlive static objects.
Profile &profile() {
  static auto *made = new Profile;
  return *made;
}

std::string escaped(const std::string &label) {
  std::string text;
  for (char c : label) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c;
  }
  return text;
}

std::string labelOf(int32_t device) {
  return device == TESSERA_RT_DEVICE_CPU ? "cpu" : "cuda:" + std::to_string(deviceOrdinal(device));
}

} // namespace

static tessera_rt_status launchOnCpu(const Name &name, Driver &driver, tessera_rt_stream stream,
                                     const Launch &launch) {
  auto start = std::chrono::steady_clock::now();
  tessera_rt_status status = driver.launch(stream, launch);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (status == TESSERA_RT_OK)
    profile().add(name, taken.count());
  return status;
}

tessera_rt_status launchTimed(const std::string &function, Driver &driver, tessera_rt_stream stream,
                              const Launch &launch) {
  Name name = {function, launch.kernel->name, stream.device};
  if (stream.device == TESSERA_RT_DEVICE_CPU)
    return launchOnCpu(name, driver, stream, launch);
  Pending timed = {name, nullptr, nullptr};
  bool ready = tessera_rt_event_create(stream.device, &timed.start) == TESSERA_RT_OK &&
               tessera_rt_event_create(stream.device, &timed.end) == TESSERA_RT_OK &&
               tessera_rt_event_record(timed.start, stream) == TESSERA_RT_OK;
  tessera_rt_status status = driver.launch(stream, launch);
  if (ready && status == TESSERA_RT_OK &&
      tessera_rt_event_record(timed.end, stream) == TESSERA_RT_OK) {
    profile().add(std::move(timed));
    return status;
  }
  for (tessera_rt_event *event : {timed.start, timed.end})
    if (event)
      tessera_rt_event_release(event);
  return status;
}

std::string profileText() {
  std::map<Name, Times> times = profile().read();
  if (times.empty())
    return "";
  std::string seconds = "# HELP tessera_kernel_seconds_total time of kernels while profiling\n"
                        "# TYPE tessera_kernel_seconds_total counter\n";
  std::string launches = "# HELP tessera_kernel_launches_total kernels that were timed\n"
                         "# TYPE tessera_kernel_launches_total counter\n";
  for (const auto &[name, sum] : times) {
    std::string labels = "{function=\"" + escaped(name.function) + "\",kernel=\"" +
                         escaped(name.kernel) + "\",device=\"" + labelOf(name.device) + "\"} ";
    char number[32];
    std::snprintf(number, sizeof(number), "%.9f\n", sum.seconds);
    seconds += "tessera_kernel_seconds_total" + labels + number;
    launches += "tessera_kernel_launches_total" + labels + std::to_string(sum.launches) + "\n";
  }
  return seconds + launches;
}

} // namespace tessera::rt

void tessera_rt_set_profiling(int32_t on) {
  tessera::rt::profiling.store(on != 0, std::memory_order_relaxed);
}

int32_t tessera_rt_get_profiling(void) {
  return tessera::rt::profiling.load(std::memory_order_relaxed);
}
