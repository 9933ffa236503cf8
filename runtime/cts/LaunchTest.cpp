//===- LaunchTest.cpp - GPU launches --------------------------------------===//

#include "../drivers/cuda/Device.h"
#include "Devices.h"
#include "Plan.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tessera::rt;
using namespace tessera::rt::test;

namespace {

struct GpuTest : DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GpuTest, testing::Values(TESSERA_RT_DEVICE_CUDA(0)), deviceLabel);

/// The kernels that need Hopper.
struct HopperTest : DeviceTest {
  tessera_rt_library *hopper = nullptr;
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped())
      return;
    if (!infoOf(device).clusters)
      GTEST_SKIP() << "unsupported: " << infoOf(device).target << " has no clusters";
    ASSERT_OK(tessera_rt_library_load(device, hopperPtx, std::strlen(hopperPtx), &hopper));
  }
  void TearDown() override {
    if (hopper)
      tessera_rt_library_release(hopper);
    DeviceTest::TearDown();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, HopperTest, testing::Values(TESSERA_RT_DEVICE_CUDA(0)),
                         deviceLabel);

TEST_P(GpuTest, WrongCode) {
  tessera_rt_library *bad = nullptr;
  auto message = [&](const std::string &code) -> std::string {
    EXPECT_EQ(tessera_rt_library_load(device, code.data(), code.size(), &bad), TESSERA_RT_INVALID);
    return tessera_rt_last_error();
  };
  const std::string start = "code could not be loaded: ";
  EXPECT_EQ(message(""), start + "it is neither a cubin nor PTX");
  EXPECT_EQ(message("no PTX at all"), start + "it is neither a cubin nor PTX");
  EXPECT_EQ(message("\x7f"
                    "ELF and nothing more"),
            start + "the cubin is truncated");
  std::string elf = cubinHeader();
  EXPECT_EQ(message(elf.replace(18, 1, 1, 62)), start + "the ELF image is not for a GPU of NVIDIA");
  elf = cubinHeader();
  elf[41] = 1; // the sections would be past the end
  EXPECT_EQ(message(elf), start + "the cubin is truncated");
  // The driver's compiler reports the location.
  std::string text = message(".version 7.8\n.target sm_80\nerror\n");
  EXPECT_NE(text.find("code could not be loaded on "), std::string::npos) << text;
  EXPECT_NE(text.find("line 3"), std::string::npos) << text;
}

/// C = A B in bf16, 256 × 512 × 128, assembled by NVIDIA's tileiras from CUDA Tile IR, kernel
/// `mini_gemm`, tiles of 128 × 256: stored as a file, since not every machine has tileiras.
TEST_P(GpuTest, CudaTileIR) {
  const char *path = std::getenv("TESSERA_CTS_TILEIR");
  if (!path)
    GTEST_SKIP() << "unsupported: TESSERA_CTS_TILEIR names no cubin of CUDA Tile IR";
  std::ifstream file(path, std::ios::binary);
  std::string code((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  tessera_rt_library *tiles = nullptr;
  ASSERT_OK(tessera_rt_library_load(device, code.data(), code.size(), &tiles));
  constexpr size_t m = 256, n = 512, k = 128;
  auto bf16 = [](size_t value) { // small integers are exact
    return static_cast<uint16_t>(scalarBits(static_cast<int64_t>(value), DType::BF16));
  };
  std::vector<uint16_t> a(m * k), b(k * n), c(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = bf16(i / k % 3);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = bf16(i % n % 5);
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = bf16(k * (i / n % 3) * (i % n % 5));
  {
    Buffer<uint16_t> as(stream, a), bs(stream, b), cs(stream, m * n);
    std::vector<int64_t> words = {pointer(as.data()), pointer(bs.data()), pointer(cs.data())};
    tessera_rt_launch_config config = shape(n / 256);
    config.grid[1] = m / 128;
    ASSERT_OK(launch("mini_gemm", config, words, tiles));
    EXPECT_EQ(cs.read(), c);
    // Captured, its hidden parameters are kept.
    ASSERT_OK(tessera_rt_fill(stream, cs.data(), 0xff, cs.bytes()));
    ASSERT_OK(tessera_rt_capture_begin(stream));
    ASSERT_OK(launch("mini_gemm", config, words, tiles));
    tessera_rt_graph *graph = nullptr;
    ASSERT_OK(tessera_rt_capture_end(stream, &graph));
    ASSERT_OK(tessera_rt_graph_launch(graph, stream));
    EXPECT_EQ(cs.read(), c);
    tessera_rt_graph_release(graph);
  }
  tessera_rt_library_release(tiles);
}

/// A graph outlives the library of its kernels: one of this runtime, and one that another library
/// captures.
TEST_P(GpuTest, GraphsKeepTheirCode) {
  tessera_rt_status status;
  cuda::Device *opened = cuda::open(0, status);
  ASSERT_NE(opened, nullptr);
  auto *handle = static_cast<cuda::CUstream>(stream.handle);
  cuda::Current current(*opened);
  const cuda::Api &api = opened->api;
  Buffer<int64_t> counter(stream, std::vector<int64_t>{0});
  ASSERT_OK(tessera_rt_stream_synchronize(stream));
  for (bool isOurs : {true, false}) {
    tessera_rt_library *code = nullptr;
    ASSERT_OK(tessera_rt_library_load(device, plainPtx, std::strlen(plainPtx), &code));
    tessera_rt_graph *graph = nullptr;
    cuda::CUgraph captured = nullptr;
    cuda::CUgraphExec exec = nullptr;
    if (isOurs)
      ASSERT_OK(tessera_rt_capture_begin(stream));
    else
      ASSERT_EQ(api.cuStreamBeginCapture(handle, cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0);
    ASSERT_OK(launch("increment", shape(1), {pointer(counter.data())}, code));
    if (isOurs) {
      ASSERT_OK(tessera_rt_capture_end(stream, &graph));
    } else {
      ASSERT_EQ(api.cuStreamEndCapture(handle, &captured), 0);
      ASSERT_EQ(api.cuGraphInstantiateWithFlags(&exec, captured, 0), 0);
    }
    tessera_rt_library_release(code);
    if (isOurs)
      ASSERT_OK(tessera_rt_graph_launch(graph, stream));
    else
      ASSERT_EQ(api.cuGraphLaunch(exec, handle), 0);
    EXPECT_EQ(counter.read()[0], isOurs ? 1 : 2);
    if (isOurs) {
      tessera_rt_graph_release(graph);
    } else {
      ASSERT_EQ(api.cuGraphExecDestroy(exec), 0);
      ASSERT_EQ(api.cuGraphDestroy(captured), 0);
    }
  }
}

TEST_P(GpuTest, ErrorsNameTheKernelItsGridAndItsArguments) {
  Buffer<int64_t> word(stream, std::vector<int64_t>{0});
  tessera_rt_launch_config config = shape(3, 5000); // more threads than a block can have
  EXPECT_EQ(launch("store", config, {pointer(word.data()), 77}), TESSERA_RT_DEVICE);
  char expected[200];
  std::snprintf(expected, sizeof(expected),
                "cuda:0: kernel 'store', grid (3, 1, 1), block (5000, 1, 1), arguments (0x%llx, "
                "77) could not be launched; a block has at most 1024 threads: ",
                static_cast<unsigned long long>(pointer(word.data())));
  EXPECT_TRUE(std::string(tessera_rt_last_error()).starts_with(expected))
      << tessera_rt_last_error();
  config = shape(1);
  config.grid[1] = 70000;
  EXPECT_EQ(launch("store", config, {pointer(word.data()), 77}), TESSERA_RT_DEVICE);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("at most 65535 blocks"), std::string::npos);
  config = shape(1ll << 31);
  EXPECT_EQ(launch("store", config, {pointer(word.data()), 77}), TESSERA_RT_ARGUMENT);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("grid (2147483648, 1, 1)"),
            std::string::npos);
  // The device stays usable.
  ASSERT_OK(launch("store", shape(1), {pointer(word.data()), 78}));
  EXPECT_EQ(word.read()[0], 78);
}

TEST_P(GpuTest, TheNumberOfArgumentsIsChecked) {
  tessera_rt_status status = launch("store", shape(1), {1, 2, 3});
  if (status == TESSERA_RT_OK)
    GTEST_SKIP() << "unsupported: this driver does not tell a kernel's parameters";
  EXPECT_EQ(status, TESSERA_RT_ARGUMENT);
  EXPECT_EQ(std::string(tessera_rt_last_error()),
            "expected 2 arguments, found 3: kernel 'store', grid (1, 1, 1), block (1, 1, 1), "
            "arguments (1, 2, 3)");
  EXPECT_EQ(launch("store", shape(1), {1}), TESSERA_RT_ARGUMENT);
}

TEST_P(GpuTest, CooperativeLaunches) {
  auto blocks = static_cast<size_t>(infoOf(device).sm_count);
  Buffer<uint32_t> counter(stream, std::vector<uint32_t>{0}), out(stream, blocks);
  tessera_rt_launch_config config = shape(static_cast<int64_t>(blocks));
  config.flags = TESSERA_RT_LAUNCH_COOPERATIVE;
  ASSERT_OK(launch("meet", config, {pointer(counter.data()), pointer(out.data())}));
  EXPECT_EQ(out.read(), std::vector<uint32_t>(blocks, static_cast<uint32_t>(blocks)));
  // More blocks than are resident at once cannot all wait for each other.
  config = shape(1 << 20);
  config.flags = TESSERA_RT_LAUNCH_COOPERATIVE;
  EXPECT_EQ(launch("meet", config, {pointer(counter.data()), pointer(out.data())}),
            TESSERA_RT_DEVICE);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("must fit onto the GPU at once"),
            std::string::npos)
      << tessera_rt_last_error();
}

TEST_P(GpuTest, LargeSharedMemory) {
  Buffer<uint32_t> out(stream, std::vector<uint32_t>{0});
  for (uint64_t bytes : {uint64_t(1024), uint64_t(60 << 10), infoOf(device).shared_bytes}) {
    tessera_rt_launch_config config = shape(1);
    config.shared_bytes = static_cast<uint32_t>(bytes);
    ASSERT_OK(tessera_rt_fill(stream, out.data(), 0, out.bytes()));
    ASSERT_OK(launch("tail", config, {pointer(out.data()), static_cast<int64_t>(bytes)}));
    EXPECT_EQ(out.read()[0], 1234u) << bytes;
  }
  tessera_rt_launch_config config = shape(1);
  config.shared_bytes = 1 << 20;
  EXPECT_EQ(launch("tail", config, {pointer(out.data()), 1 << 20}), TESSERA_RT_DEVICE);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("1048576 bytes of shared memory"),
            std::string::npos)
      << tessera_rt_last_error();
}

TEST_P(HopperTest, Clusters) {
  constexpr size_t blocks = 16;
  for (uint32_t size : {1u, 2u, 4u, 8u}) {
    Buffer<uint32_t> out(stream, blocks);
    tessera_rt_launch_config config = shape(blocks);
    config.cluster[0] = size;
    ASSERT_OK(launch("ranks", config, {pointer(out.data())}, hopper));
    std::vector<uint32_t> found = out.read();
    for (uint32_t i = 0; i < blocks; ++i)
      EXPECT_EQ(found[i], i % size + 100 * size) << "block " << i << " of clusters of " << size;
  }
  Buffer<uint32_t> out(stream, blocks);
  tessera_rt_launch_config config = shape(15);
  config.cluster[0] = 2;
  EXPECT_EQ(launch("ranks", config, {pointer(out.data())}, hopper), TESSERA_RT_DEVICE);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("cluster (2, 1, 1)"), std::string::npos)
      << tessera_rt_last_error();
}

TEST_P(HopperTest, DependentLaunches) {
  Buffer<int64_t> word(stream, std::vector<int64_t>{0}), out(stream, std::vector<int64_t>{0});
  for (int round = 0; round < 20; ++round) {
    ASSERT_OK(tessera_rt_fill(stream, word.data(), 0, word.bytes()));
    ASSERT_OK(launch("produce", shape(1), {pointer(word.data()), 100000}, hopper));
    tessera_rt_launch_config config = shape(1);
    config.flags = TESSERA_RT_LAUNCH_DEPENDENT;
    ASSERT_OK(launch("consume", config, {pointer(word.data()), pointer(out.data())}, hopper));
    EXPECT_EQ(out.read()[0], 42);
  }
}

TEST_P(GpuTest, PeersOrAClearRefusal) {
  if (std::string why = unsupported(TESSERA_RT_DEVICE_CUDA(1)); !why.empty())
    GTEST_SKIP() << "unsupported: " << why;
  int32_t can = -1;
  ASSERT_OK(tessera_rt_device_can_access(device, TESSERA_RT_DEVICE_CUDA(1), &can));
  tessera_rt_status status = tessera_rt_device_enable_access(device, TESSERA_RT_DEVICE_CUDA(1));
  EXPECT_EQ(status, can ? TESSERA_RT_OK : TESSERA_RT_UNSUPPORTED);
  if (can) // a second time is not an error
    EXPECT_OK(tessera_rt_device_enable_access(device, TESSERA_RT_DEVICE_CUDA(1)));
  tessera_rt_stream other = {TESSERA_RT_DEVICE_CUDA(1), 0, nullptr};
  Buffer<int64_t> here(stream, std::vector<int64_t>{5}), there(other, std::vector<int64_t>{6});
  EXPECT_OK(tessera_rt_copy(other, there.data(), here.data(), 8));
  EXPECT_EQ(there.read()[0], 5);
  EXPECT_EQ(tessera_rt_device_enable_access(device, TESSERA_RT_DEVICE_CPU), TESSERA_RT_UNSUPPORTED);
}

/// Nanoseconds of one call of `work`: the median of rounds that let the queue drain.
template <typename Work> double nanosecondsOf(int32_t device, Work work) {
  using Clock = std::chrono::steady_clock;
  constexpr int rounds = 101, calls = 200;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      work();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
    EXPECT_OK(tessera_rt_device_synchronize(device));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

/// A function of five tensors that launches `nothing` once.
Program fiveTensors() {
  Program program;
  program.kernels = {"nothing"};
  Step step;
  step.grid = {Expr::binary(ExprOp::CeilDiv, Expr::slot(0), Expr::constant(16))};
  for (uint32_t i = 0; i < 5; ++i) {
    program.arguments.push_back({Argument::Tensor, "x" + std::to_string(i), DType::FP32, 2});
    program.slots.push_back({Slot::ArgSize, i, 0, {}});
    program.slots.push_back({Slot::ArgSize, i, 1, {}});
    if (i)
      program.guards.push_back({Guard::Error,
                                Expr::binary(ExprOp::Eq, Expr::slot(0), Expr::slot(2 * i)),
                                "sizes differ",
                                {}});
    Word word;
    word.kind = Word::ArgAddress;
    word.index = i;
    step.words.push_back(word);
  }
  program.steps = {step};
  return program;
}

TEST_P(GpuTest, LaunchOverhead) {
  Buffer<float> memory(stream, 1024);
  tessera_rt_status status;
  cuda::Device *opened = cuda::open(0, status);
  ASSERT_NE(opened, nullptr);
  const tessera_rt_device_kernel *nothing = kernel("nothing");
  auto function = reinterpret_cast<const cuda::CudaKernel *>(nothing)->function;
  int64_t words[5];
  void *pointers[5];
  for (int i = 0; i < 5; ++i) {
    words[i] = pointer(memory.data());
    pointers[i] = &words[i];
  }
  auto *handle = static_cast<cuda::CUstream>(stream.handle);
  cuda::CUlaunchConfig direct = {4, 1, 1, 16, 1, 1, 0, handle, nullptr, 0};
  tessera_rt_launch_config config = shape(4, 16);

  tessera_rt_module *module = loadProgram(device, fiveTensors(), 16);
  const tessera_rt_function *five = nullptr;
  ASSERT_OK(tessera_rt_get_function(module, device, nullptr, "f", 0, &five));
  int64_t sizes[] = {32, 32}, strides[] = {32, 1};
  tessera_rt_value args[5] = {};
  for (tessera_rt_value &arg : args)
    arg.as.tensor = {memory.data(), TESSERA_RT_FP32, 2, sizes, strides, device, 0};
  tessera_rt_frame *kept = nullptr;
  ASSERT_OK(tessera_rt_prepare(five, args, 5, &kept));

  // As in a program that uses CUDA: the context is current.
  cuda::Current current(*opened);
  double driver = 1e9, launched = 1e9, prepared = 1e9, rebound = 1e9, called = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) { // other processes disturb only some of them
    driver = std::min(driver, nanosecondsOf(device, [&] {
                        opened->api.cuLaunchKernelEx(&direct, function, pointers, nullptr);
                      }));
    launched = std::min(launched, nanosecondsOf(device, [&] {
                          tessera_rt_launch(nothing, &config, words, 5, stream);
                        }));
    prepared = std::min(
        prepared, nanosecondsOf(device, [&] { tessera_rt_execute_on(kept, nullptr, stream); }));
    rebound = std::min(rebound, nanosecondsOf(device, [&] {
                         tessera_rt_rebind(kept, args, 5);
                         tessera_rt_execute_on(kept, nullptr, stream);
                       }));
    called = std::min(called, nanosecondsOf(device, [&] {
                        tessera_rt_frame *frame;
                        tessera_rt_prepare(five, args, 5, &frame);
                        tessera_rt_execute_on(frame, nullptr, stream);
                        tessera_rt_frame_release(frame);
                      }));
  }
  std::printf(
      "launch overhead, five arguments, nanoseconds: the driver's own launch %.0f; over "
      "it: tessera_rt_launch %.0f, a prepared call %.0f, a call like the one before %.0f, a "
      "whole call %.0f\n",
      driver, launched - driver, prepared - driver, rebound - driver, called - driver);
  RecordProperty("driver_ns", static_cast<int>(driver));
  RecordProperty("launch_over_ns", static_cast<int>(launched - driver));
  RecordProperty("prepared_over_ns", static_cast<int>(prepared - driver));
  RecordProperty("rebound_over_ns", static_cast<int>(rebound - driver));
  RecordProperty("call_over_ns", static_cast<int>(called - driver));
  // Times on a machine without a GPU depend on other processes.
  double limit = std::string(infoOf(device).name) == "Fake GPU" ? 5000 : 300;
  EXPECT_LT(launched - driver, limit);
  EXPECT_LT(prepared - driver, limit);
  EXPECT_LT(rebound - driver, limit);
  EXPECT_LT(called - driver, limit);
  tessera_rt_frame_release(kept);
  tessera_rt_module_release(module);
}

} // namespace
