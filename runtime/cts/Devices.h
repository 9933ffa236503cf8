//===- Devices.h - Tests that every device passes -------------------------===//
//
// A test of `DeviceTest` runs on the CPU and on the first GPU. Without a GPU it is reported as
// skipped, with the runtime's reason.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CTS_DEVICES_H
#define TESSERA_RT_CTS_DEVICES_H

#include "Kernels.h"
#include "Programs.h"

#include <gtest/gtest.h>
#include <vector>

namespace tessera::rt::test {

#define EXPECT_OK(call) EXPECT_EQ(call, TESSERA_RT_OK) << tessera_rt_last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, TESSERA_RT_OK) << tessera_rt_last_error()

/// The header of an ELF image for an NVIDIA GPU, without sections.
std::string cubinHeader();

/// "" if the device can be used, otherwise the reason.
std::string unsupported(int32_t device);

tessera_rt_device_info infoOf(int32_t device);
tessera_rt_pool_statistics poolOf(int32_t device);

/// A program over kernels of Kernels.h as a bundle with PTX: function "f", blocks of `threads`.
std::vector<uint8_t> ptxBundle(const Program &program, uint32_t threads);
/// The same as a module for the device; the CPU's has native kernels.
tessera_rt_module *loadProgram(int32_t device, const Program &program, uint32_t threads);
/// axpy() of Programs.h.
tessera_rt_module *loadAxpy(int32_t device);

template <typename T> int64_t pointer(T *address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address));
}

/// One launch configuration over `blocks` CTAs.
tessera_rt_launch_config shape(int64_t blocks, uint32_t threads = 1);

/// Memory on a stream's device that frees itself.
template <typename T> class Buffer {
public:
  Buffer(tessera_rt_stream stream, size_t count) : stream(stream), count(count) {
    EXPECT_OK(tessera_rt_allocate(stream, bytes(), &memory));
  }
  Buffer(tessera_rt_stream stream, const std::vector<T> &values) : Buffer(stream, values.size()) {
    EXPECT_OK(tessera_rt_copy(stream, memory, values.data(), bytes()));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { tessera_rt_deallocate(stream, memory, bytes()); }

  T *data() const { return static_cast<T *>(memory); }
  uint64_t bytes() const { return count * sizeof(T); }
  /// Its content, after all work of the stream.
  std::vector<T> read() const {
    std::vector<T> values(count);
    EXPECT_OK(tessera_rt_copy(stream, values.data(), memory, bytes()));
    EXPECT_OK(tessera_rt_stream_synchronize(stream));
    return values;
  }

private:
  tessera_rt_stream stream;
  size_t count;
  void *memory = nullptr;
};

struct DeviceTest : testing::TestWithParam<int32_t> {
  int32_t device = GetParam();
  tessera_rt_stream stream = {device, 0, nullptr};
  tessera_rt_library *library = nullptr;

  bool isCpu() const { return device == TESSERA_RT_DEVICE_CPU; }
  void SetUp() override;
  void TearDown() override;

  const tessera_rt_device_kernel *kernel(const char *name, tessera_rt_library *from = nullptr);
  tessera_rt_status launch(const char *name, tessera_rt_launch_config config,
                           std::vector<int64_t> words, tessera_rt_library *from = nullptr);
  /// Runs axpy over n elements on a stream and checks every one.
  void checkAxpy(const tessera_rt_function *function, tessera_rt_stream on, int64_t n);
};

std::string deviceLabel(const testing::TestParamInfo<int32_t> &info);

/// The output of a child process, and its exit status (128 + the signal that ended it).
struct ChildResult {
  int status;
  std::string output;
};
/// Runs this program again as `scenario` (Children.cpp) with more environment ("NAME=VALUE").
ChildResult runChild(const std::string &scenario, int32_t device,
                     std::vector<std::string> environment = {});
/// The main function of a child process.
int childMain(const std::string &scenario, int32_t device);

} // namespace tessera::rt::test

#endif // TESSERA_RT_CTS_DEVICES_H
