//===- Children.cpp - Scenarios in child processes ------------------------===//
//
// A scenario prints its observations and returns 0 if they are correct. Errors that are sticky for
// a process, and process exits, can only be tested in a separate process.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace tessera::rt::test {

ChildResult runChild(const std::string &scenario, int32_t device,
                     std::vector<std::string> environment) {
  int ends[2];
  if (pipe(ends) != 0)
    return {-1, "no pipe"};
  for (char **entry = environ; *entry; ++entry)
    environment.emplace_back(*entry); // the first of a name counts
  std::vector<char *> variables;
  for (std::string &entry : environment)
    variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string number = std::to_string(device), name = scenario;
  std::string self = "/proc/self/exe", flag = "--child";
  char path[4096] = "";
  if (ssize_t length = readlink(self.c_str(), path, sizeof(path) - 1); length > 0)
    self.assign(path, static_cast<size_t>(length));
  char *arguments[] = {self.data(), flag.data(), name.data(), number.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  int error = posix_spawn(&child, self.c_str(), &actions, nullptr, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ChildResult result = {-1, ""};
  char buffer[4096];
  while (ssize_t got = error ? 0 : read(ends[0], buffer, sizeof(buffer))) {
    if (got < 0)
      break;
    result.output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (!error && waitpid(child, &status, 0) == child)
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

namespace {

int tell(tessera_rt_status status) {
  std::printf("%d: %s\n", status, status ? tessera_rt_last_error() : "fine");
  return status;
}

/// A kernel that runs as long as the process.
tessera_rt_status find(int32_t device, const char *name, const tessera_rt_device_kernel **kernel) {
  static auto *libraries = new std::map<int32_t, tessera_rt_library *>;
  auto [library, isNew] = libraries->try_emplace(device);
  if (isNew)
    library->second = loadKernels(device);
  return library->second ? tessera_rt_library_kernel(library->second, name, kernel)
                         : TESSERA_RT_DEVICE;
}

tessera_rt_status launchOne(int32_t device, tessera_rt_stream stream, const char *name,
                            std::vector<int64_t> words) {
  const tessera_rt_device_kernel *kernel = nullptr;
  if (auto status = find(device, name, &kernel))
    return status;
  tessera_rt_launch_config config = shape(1);
  return tessera_rt_launch(kernel, &config, words.data(), static_cast<uint32_t>(words.size()),
                           stream);
}

/// One call, checked: 0 if it is correct.
int smallCall(int32_t device) {
  tessera_rt_stream stream = {device, 0, nullptr};
  Buffer<int64_t> word(stream, std::vector<int64_t>{0});
  if (tell(launchOne(device, stream, "store", {pointer(word.data()), 99})))
    return 1;
  return word.read()[0] == 99 ? 0 : 1;
}

/// Leaves main while kernels run, and another thread keeps launching.
int exitInFlight(int32_t device) {
  tessera_rt_stream stream;
  if (tell(tessera_rt_stream_create(device, 0, &stream)))
    return 1;
  bool isCpu = device == TESSERA_RT_DEVICE_CPU;
  void *memory = nullptr;
  tessera_rt_allocate(stream, 4096, &memory);
  const tessera_rt_device_kernel *kernel = nullptr;
  if (tell(find(device, isCpu ? "increment" : "spin", &kernel)))
    return 1;
  auto work = [=] {
    tessera_rt_launch_config config = shape(1);
    int64_t word = isCpu ? pointer(memory) : 2'000'000;
    return tessera_rt_launch(kernel, &config, &word, 1, stream);
  };
  if (tell(work()))
    return 1;
  std::thread([=] {
    while (work() == TESSERA_RT_OK)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return 0;
}

/// A kernel that writes out of bounds: the device is lost, the process is not.
int fault(int32_t device) {
  tessera_rt_stream stream;
  if (tell(tessera_rt_stream_create(device, 0, &stream)))
    return 1;
  if (tell(launchOne(device, stream, "fault", {0x10})))
    return 2;
  if (tell(tessera_rt_stream_synchronize(stream)) != TESSERA_RT_DEVICE_LOST)
    return 3;
  void *memory = nullptr;
  if (tell(tessera_rt_allocate(stream, 64, &memory)) != TESSERA_RT_DEVICE_LOST)
    return 4;
  tessera_rt_stream_release(stream);
  return smallCall(TESSERA_RT_DEVICE_CPU) ? 5 : 0;
}

/// A fork after CUDA was used: the child gets an error, the parent continues.
int forked(int32_t device) {
  if (smallCall(device))
    return 1;
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    tessera_rt_stream stream;
    tessera_rt_status status = tessera_rt_stream_create(device, 0, &stream);
    tell(status);
    std::fflush(stdout);
    bool right = status == (device == TESSERA_RT_DEVICE_CPU ? TESSERA_RT_OK : TESSERA_RT_DEVICE);
    _exit(right && smallCall(TESSERA_RT_DEVICE_CPU) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? smallCall(device) : 2;
}

/// A fork before CUDA was used: both can use it.
int forkedEarly(int32_t device) {
  pid_t child = fork();
  if (child == 0)
    _exit(smallCall(device));
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? smallCall(device) : 1;
}

int countDevices(int32_t device) {
  int32_t count = 0;
  return tell(tessera_rt_device_count(device >> 16, &count));
}

} // namespace

int childMain(const std::string &scenario, int32_t device) {
  if (scenario == "call")
    return smallCall(device);
  if (scenario == "exit")
    return exitInFlight(device);
  if (scenario == "fault")
    return fault(device);
  if (scenario == "fork")
    return forked(device);
  if (scenario == "fork-early")
    return forkedEarly(device);
  if (scenario == "count")
    return countDevices(device);
  std::printf("there is no scenario '%s'\n", scenario.c_str());
  return 64;
}

namespace {

struct ProcessTest : DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ProcessTest,
                         testing::Values(TESSERA_RT_DEVICE_CPU, TESSERA_RT_DEVICE_CUDA(0)),
                         deviceLabel);

TEST_P(ProcessTest, ASecondProcess) {
  ChildResult child = runChild("call", device);
  EXPECT_EQ(child.status, 0) << child.output;
}

TEST_P(ProcessTest, ExitWithWorkInFlight) {
  for (int round = 0; round < 3; ++round) {
    ChildResult child = runChild("exit", device);
    EXPECT_EQ(child.status, 0) << child.output;
  }
}

TEST_P(ProcessTest, Fork) {
  ChildResult child = runChild("fork", device);
  EXPECT_EQ(child.status, 0) << child.output;
  EXPECT_EQ(child.output.find("it was forked from one that used CUDA") != std::string::npos,
            !isCpu())
      << child.output;
  child = runChild("fork-early", device);
  EXPECT_EQ(child.status, 0) << child.output;
}

TEST_P(ProcessTest, ALostDeviceIsTold) {
  if (isCpu())
    GTEST_SKIP() << "unsupported: a fault on the CPU ends the process";
  ChildResult child = runChild("fault", device);
  EXPECT_EQ(child.status, 0) << child.output;
  EXPECT_NE(child.output.find("the CUDA context of cuda:0 is lost, and nothing runs on this GPU "
                              "until the process is restarted"),
            std::string::npos)
      << child.output;
  EXPECT_NE(child.output.find("kernel 'fault', grid (1, 1, 1), block (1, 1, 1), arguments (16)"),
            std::string::npos)
      << child.output;
  // Waiting after each launch identifies the failing one.
  child = runChild("fault", device, {"TESSERA_CUDA_BLOCKING=1"});
  EXPECT_EQ(child.status, 2) << child.output;
  EXPECT_NE(child.output.find("arguments (16) failed: "), std::string::npos) << child.output;
}

TEST(Process, WithoutADriver) {
  ChildResult child = runChild("count", TESSERA_RT_DEVICE_CUDA(0), {"TESSERA_CUDA_LIBRARY=none"});
  EXPECT_EQ(child.status, TESSERA_RT_UNSUPPORTED);
  EXPECT_EQ(child.output, "5: CUDA is turned off by TESSERA_CUDA_LIBRARY=none\n");
  child = runChild("count", TESSERA_RT_DEVICE_CUDA(0), {"TESSERA_CUDA_LIBRARY=/no/libcuda.so"});
  EXPECT_EQ(child.status, TESSERA_RT_UNSUPPORTED);
  EXPECT_EQ(child.output.find("5: no NVIDIA driver was found: /no/libcuda.so"), 0u) << child.output;
  child = runChild("count", TESSERA_RT_DEVICE_CUDA(0), {"TESSERA_CUDA_LIBRARY=libc.so.6"});
  EXPECT_EQ(child.output, "5: libc.so.6 is not an NVIDIA driver\n");
}

} // namespace

} // namespace tessera::rt::test
