//===- Devices.cpp - Common parts of the device tests ---------------------===//

#include "Devices.h"

#include <cstring>

namespace tessera::rt::test {

std::string cubinHeader() {
  std::string header(64, 0);
  header.replace(0, 4,
                 "\x7f"
                 "ELF");
  header[18] = static_cast<char>(190);
  return header;
}

std::string unsupported(int32_t device) {
  int32_t count = 0;
  if (tessera_rt_device_count(device >> 16, &count) != TESSERA_RT_OK)
    return tessera_rt_last_error();
  return (device & 0xffff) < count ? "" : "there are only " + std::to_string(count) + " devices";
}

tessera_rt_device_info infoOf(int32_t device) {
  tessera_rt_device_info info = {};
  info.struct_bytes = sizeof(info);
  EXPECT_OK(tessera_rt_device_get_info(device, &info));
  return info;
}

tessera_rt_pool_statistics poolOf(int32_t device) {
  tessera_rt_pool_statistics statistics = {};
  statistics.struct_bytes = sizeof(statistics);
  EXPECT_OK(tessera_rt_pool_get_statistics(device, &statistics));
  return statistics;
}

std::vector<uint8_t> ptxBundle(const Program &program, uint32_t threads) {
  Bundle bundle;
  CodeImage &image = bundle.images.emplace_back();
  image.target = "sm_80:ptx";
  image.code.assign(plainPtx, plainPtx + std::strlen(plainPtx));
  for (const std::string &name : program.kernels) {
    KernelEntry &entry = image.kernels.emplace_back();
    entry.name = name;
    entry.shape.block[0] = threads;
  }
  bundle.functions = {{"f", 0, encode(program)}};
  return encode(bundle);
}

tessera_rt_module *loadProgram(int32_t device, const Program &program, uint32_t threads) {
  if (device == TESSERA_RT_DEVICE_CPU)
    return load(program, {{"copy", copyKernel, 0},
                          {"scale", scaleKernel, 0},
                          {"store", storeKernel, 0},
                          {"nothing", nothingKernel, 0}});
  std::vector<uint8_t> bytes = ptxBundle(program, threads);
  tessera_rt_module *module = nullptr;
  EXPECT_OK(tessera_rt_load(bytes.data(), bytes.size(), &module));
  return module;
}

tessera_rt_module *loadAxpy(int32_t device) { return loadProgram(device, axpy(), 16); }

tessera_rt_launch_config shape(int64_t blocks, uint32_t threads) {
  tessera_rt_launch_config config = {};
  config.struct_bytes = sizeof(config);
  config.grid[0] = blocks;
  config.grid[1] = config.grid[2] = 1;
  config.block[0] = threads;
  config.block[1] = config.block[2] = 1;
  return config;
}

void DeviceTest::SetUp() {
  if (std::string why = unsupported(device); !why.empty())
    GTEST_SKIP() << "unsupported: " << why;
  ASSERT_OK(tessera_rt_stream_create(device, 0, &stream));
  library = loadKernels(device);
}

void DeviceTest::TearDown() {
  if (!library)
    return;
  EXPECT_OK(tessera_rt_device_synchronize(device));
  tessera_rt_library_release(library);
  tessera_rt_stream_release(stream);
}

const tessera_rt_device_kernel *DeviceTest::kernel(const char *name, tessera_rt_library *from) {
  const tessera_rt_device_kernel *found = nullptr;
  EXPECT_OK(tessera_rt_library_kernel(from ? from : library, name, &found));
  return found;
}

tessera_rt_status DeviceTest::launch(const char *name, tessera_rt_launch_config config,
                                     std::vector<int64_t> words, tessera_rt_library *from) {
  return tessera_rt_launch(kernel(name, from), &config, words.data(),
                           static_cast<uint32_t>(words.size()), stream);
}

void DeviceTest::checkAxpy(const tessera_rt_function *function, tessera_rt_stream on, int64_t n) {
  std::vector<float> x(static_cast<size_t>(2 * n)), y(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 1000);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(i % 777) + 0.5f;
  Buffer<float> xs(on, x), ys(on, y), out(on, static_cast<size_t>(n));
  Vector strided = {n, 2}, backwards = {n, -1};
  tessera_rt_value args[] = {strided.value(xs.data()), backwards.value(ys.data() + n - 1),
                             scalar(2.5)};
  args[0].as.tensor.device = args[1].as.tensor.device = device;
  tessera_rt_frame *frame = nullptr;
  ASSERT_OK(tessera_rt_prepare(function, args, 3, &frame));
  void *results[] = {out.data()};
  ASSERT_OK(tessera_rt_execute_on(frame, results, on));
  tessera_rt_frame_release(frame);
  std::vector<float> found = out.read();
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], x[2 * i] * 2.5f + y[found.size() - 1 - i]) << i << " of " << n;
}

std::string deviceLabel(const testing::TestParamInfo<int32_t> &info) {
  return info.param == TESSERA_RT_DEVICE_CPU ? "cpu" : "cuda";
}

} // namespace tessera::rt::test
