//===- DeviceTest.cpp - Memory, streams, launches, calls, graphs ----------===//

#include "Devices.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace tessera::rt;
using namespace tessera::rt::test;

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest,
                         testing::Values(TESSERA_RT_DEVICE_CPU, TESSERA_RT_DEVICE_CUDA(0)),
                         deviceLabel);

TEST_P(DeviceTest, Information) {
  tessera_rt_device_info info = infoOf(device);
  EXPECT_EQ(info.device, device);
  EXPECT_NE(std::string(info.name), "");
  EXPECT_GT(info.memory_bytes, 0u);
  EXPECT_GT(info.sm_count, 0);
  EXPECT_EQ(std::string(info.target).starts_with("sm_"), !isCpu());
  uint64_t free = 0, total = 0;
  ASSERT_OK(tessera_rt_device_memory(device, &free, &total));
  EXPECT_LE(free, total);
  // A caller with an older struct gets fewer fields.
  tessera_rt_device_info part;
  std::memset(&part, 0x11, sizeof(part));
  part.struct_bytes = offsetof(tessera_rt_device_info, target);
  ASSERT_OK(tessera_rt_device_get_info(device, &part));
  EXPECT_STREQ(part.name, info.name);
  EXPECT_EQ(part.target[0], 0x11);
  int32_t can = 0;
  ASSERT_OK(tessera_rt_device_can_access(device, device, &can));
  EXPECT_TRUE(can);
  std::printf("%s: %s, %s, %d SMs, %.1f GiB, L2 %.1f MiB, CUDA %d\n", info.bus, info.name,
              info.target, info.sm_count, static_cast<double>(info.memory_bytes) / (1 << 30),
              static_cast<double>(info.l2_bytes) / (1 << 20), info.driver_version);
}

TEST_P(DeviceTest, NoSuchDevice) {
  tessera_rt_stream other;
  EXPECT_EQ(tessera_rt_stream_create(0x70000, 0, &other), TESSERA_RT_UNSUPPORTED);
  EXPECT_STREQ(tessera_rt_last_error(), "there is no device 458752");
  if (isCpu())
    return;
  EXPECT_EQ(tessera_rt_stream_create(TESSERA_RT_DEVICE_CUDA(63), 0, &other),
            TESSERA_RT_UNSUPPORTED);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("there is no device cuda:63"),
            std::string::npos);
}

TEST_P(DeviceTest, CopiesAndFills) {
  for (size_t n : {1, 7, 1000, 1 << 20}) {
    std::vector<int32_t> values(n);
    for (size_t i = 0; i < n; ++i)
      values[i] = static_cast<int32_t>(i * 2654435761u);
    Buffer<int32_t> first(stream, values), second(stream, n);
    ASSERT_OK(tessera_rt_copy(stream, second.data(), first.data(), first.bytes()));
    EXPECT_EQ(second.read(), values);
    ASSERT_OK(tessera_rt_fill(stream, second.data(), 0x5a, second.bytes()));
    EXPECT_EQ(second.read(), std::vector<int32_t>(n, 0x5a5a5a5a));
    EXPECT_EQ(pointer(first.data()) % 64, 0);
    int32_t where = -1;
    ASSERT_OK(tessera_rt_address_device(first.data() + n - 1, &where));
    EXPECT_EQ(where, device);
    ASSERT_OK(tessera_rt_address_device(values.data(), &where));
    EXPECT_EQ(where, TESSERA_RT_DEVICE_CPU);
  }
  EXPECT_OK(tessera_rt_copy(stream, nullptr, nullptr, 0));
}

TEST_P(DeviceTest, HostMemory) {
  void *memory = nullptr;
  ASSERT_OK(tessera_rt_host_allocate(device, 4096, &memory));
  std::memset(memory, 3, 4096);
  Buffer<uint8_t> there(stream, 4096);
  ASSERT_OK(tessera_rt_copy(stream, there.data(), memory, 4096));
  EXPECT_EQ(there.read(), std::vector<uint8_t>(4096, 3));
  tessera_rt_host_deallocate(device, memory);
}

TEST_P(DeviceTest, ThePoolCountsAndTrims) {
  ASSERT_OK(tessera_rt_device_synchronize(device));
  ASSERT_OK(tessera_rt_pool_trim(device, 0));
  tessera_rt_pool_statistics before = poolOf(device);
  {
    Buffer<char> one(stream, 5 << 20), two(stream, 3 << 20);
    tessera_rt_pool_statistics during = poolOf(device);
    EXPECT_GE(during.in_use, before.in_use + (8u << 20));
    EXPECT_GE(during.in_use_peak, during.in_use);
    EXPECT_GE(during.reserved, during.in_use);
    EXPECT_EQ(during.allocations, before.allocations + 2);
    EXPECT_EQ(during.allocated_bytes, before.allocated_bytes + (8u << 20));
  }
  ASSERT_OK(tessera_rt_stream_synchronize(stream));
  tessera_rt_pool_statistics after = poolOf(device);
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_GT(after.reserved, after.in_use); // kept for reuse
  ASSERT_OK(tessera_rt_pool_trim(device, 0));
  after = poolOf(device);
  EXPECT_LE(after.reserved, before.reserved);
}

TEST_P(DeviceTest, MemoryThatCannotBeHad) {
  void *memory = &memory;
  uint64_t errorsBefore = poolOf(device).in_use;
  EXPECT_EQ(tessera_rt_allocate(stream, 1ull << 50, &memory), TESSERA_RT_OUT_OF_MEMORY);
  EXPECT_EQ(memory, nullptr);
  std::string message = tessera_rt_last_error();
  EXPECT_NE(message.find("1.0 PiB were asked for"), std::string::npos) << message;
  EXPECT_EQ(poolOf(device).in_use, errorsBefore);
  // The device is still usable.
  Buffer<int64_t> word(stream, std::vector<int64_t>{7});
  EXPECT_EQ(word.read()[0], 7);
}

TEST_P(DeviceTest, ThePoolGivesBackWhatItKeepsBeforeItFails) {
  if (isCpu())
    GTEST_SKIP() << "unsupported: the CPU has no memory of its own";
  ASSERT_OK(tessera_rt_device_synchronize(device));
  ASSERT_OK(tessera_rt_pool_trim(device, 0));
  uint64_t free = 0, total = 0;
  ASSERT_OK(tessera_rt_device_memory(device, &free, &total));
  void *memory = nullptr;
  // Two freed halves cannot serve one block that is larger than either.
  uint64_t part = free / 10 * 4, whole = free / 10 * 7;
  void *halves[2];
  for (void *&half : halves)
    ASSERT_OK(tessera_rt_allocate(stream, part, &half));
  for (void *half : halves)
    ASSERT_OK(tessera_rt_deallocate(stream, half, part));
  ASSERT_OK(tessera_rt_allocate(stream, whole, &memory));
  ASSERT_OK(tessera_rt_deallocate(stream, memory, whole));
  ASSERT_OK(tessera_rt_stream_synchronize(stream));
  ASSERT_OK(tessera_rt_pool_trim(device, 0));
}

TEST_P(DeviceTest, StreamsAndEvents) {
  tessera_rt_stream other;
  ASSERT_OK(tessera_rt_stream_create(device, -1, &other));
  tessera_rt_event *start = nullptr, *end = nullptr;
  ASSERT_OK(tessera_rt_event_create(device, &start));
  ASSERT_OK(tessera_rt_event_create(device, &end));
  double milliseconds = -1;
  EXPECT_NE(tessera_rt_event_elapsed(start, end, &milliseconds), TESSERA_RT_OK);
  {
    Buffer<int64_t> word(stream, std::vector<int64_t>{1});
    ASSERT_OK(tessera_rt_event_record(start, stream));
    ASSERT_OK(launch("increment", shape(1), {pointer(word.data())}));
    ASSERT_OK(tessera_rt_event_record(end, stream));
    // Later work in the other stream sees everything before the event.
    ASSERT_OK(tessera_rt_stream_wait(other, end));
    int64_t seen = 0;
    ASSERT_OK(tessera_rt_copy(other, &seen, word.data(), 8));
    ASSERT_OK(tessera_rt_stream_synchronize(other));
    EXPECT_EQ(seen, 2);
  }
  ASSERT_OK(tessera_rt_event_synchronize(end));
  ASSERT_OK(tessera_rt_event_elapsed(start, end, &milliseconds));
  EXPECT_GE(milliseconds, 0);
  int32_t done = 0;
  ASSERT_OK(tessera_rt_event_query(end, &done));
  EXPECT_TRUE(done);
  ASSERT_OK(tessera_rt_stream_synchronize(stream));
  ASSERT_OK(tessera_rt_stream_query(stream, &done));
  EXPECT_TRUE(done);
  int32_t wrong = isCpu() ? TESSERA_RT_DEVICE_CUDA(0) : TESSERA_RT_DEVICE_CPU;
  EXPECT_EQ(tessera_rt_event_record(start, {wrong, 0, nullptr}), TESSERA_RT_ARGUMENT);
  tessera_rt_event_release(start);
  tessera_rt_event_release(end);
  tessera_rt_stream_release(other);
}

TEST_P(DeviceTest, LaunchesRunInOrder) {
  Buffer<int64_t> word(stream, std::vector<int64_t>{0});
  ASSERT_OK(launch("store", shape(1), {pointer(word.data()), 1ll << 40}));
  for (int i = 0; i < 100; ++i)
    ASSERT_OK(launch("increment", shape(1), {pointer(word.data())}));
  EXPECT_EQ(word.read()[0], (1ll << 40) + 100);
  // An empty grid is not launched.
  ASSERT_OK(launch("increment", shape(0), {pointer(word.data())}));
  EXPECT_EQ(word.read()[0], (1ll << 40) + 100);
}

TEST_P(DeviceTest, WrongLaunches) {
  const tessera_rt_device_kernel *missing = nullptr;
  EXPECT_EQ(tessera_rt_library_kernel(library, "absent", &missing), TESSERA_RT_NOT_FOUND);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("'absent'"), std::string::npos);
  Buffer<int64_t> word(stream, std::vector<int64_t>{0});
  tessera_rt_launch_config config = shape(1);
  config.struct_bytes = 1;
  EXPECT_EQ(launch("increment", config, {pointer(word.data())}), TESSERA_RT_ARGUMENT);
  config = shape(1);
  config.flags = 0x80;
  EXPECT_EQ(launch("increment", config, {pointer(word.data())}), TESSERA_RT_ARGUMENT);
  config = shape(1ll << 40);
  config.grid[1] = 1ll << 40;
  EXPECT_EQ(launch("increment", config, {pointer(word.data())}), TESSERA_RT_ARGUMENT);
  int32_t wrong = isCpu() ? TESSERA_RT_DEVICE_CUDA(0) : TESSERA_RT_DEVICE_CPU;
  config = shape(1);
  int64_t argument = pointer(word.data());
  EXPECT_EQ(tessera_rt_launch(kernel("increment"), &config, &argument, 1, {wrong, 0, nullptr}),
            TESSERA_RT_ARGUMENT);
  EXPECT_EQ(word.read()[0], 0);
}

TEST_P(DeviceTest, CallsOfAHostProgram) {
  tessera_rt_module *module = loadAxpy(device);
  const tessera_rt_function *function = nullptr;
  ASSERT_OK(tessera_rt_get_function(module, device, nullptr, "f", 0, &function));
  EXPECT_EQ(tessera_rt_function_device(function), device);
  const tessera_rt_function *none = nullptr;
  EXPECT_EQ(tessera_rt_get_function(module, device, nullptr, "f", 1, &none), TESSERA_RT_NOT_FOUND);
  EXPECT_EQ(tessera_rt_get_function(module, device, nullptr, "g", 0, &none), TESSERA_RT_NOT_FOUND);
  for (int64_t n : {2, 15, 16, 17, 1000, 100000})
    checkAxpy(function, stream, n);
  // Memory of the wrong device is rejected before anything runs.
  float data[4] = {};
  Vector vector = {4, 1};
  tessera_rt_value args[] = {vector.value(data), vector.value(data), scalar(1)};
  args[0].as.tensor.device = device;
  args[1].as.tensor.device = isCpu() ? TESSERA_RT_DEVICE_CUDA(0) : TESSERA_RT_DEVICE_CPU;
  tessera_rt_frame *frame = nullptr;
  EXPECT_EQ(tessera_rt_prepare(function, args, 3, &frame), TESSERA_RT_MISMATCH);
  std::string expected = isCpu()
                             ? "argument 'y': expected memory of the CPU, found memory of cuda:0"
                             : "argument 'y': expected memory of cuda:0, found memory of the CPU";
  EXPECT_EQ(tessera_rt_last_error(), expected);
  tessera_rt_module_release(module);
}

TEST_P(DeviceTest, ProgramsKnowTheDeviceAndAddresses) {
  // Stores the number of SMs in x, which must be aligned.
  Program program;
  program.arguments = {{Argument::Tensor, "x", DType::Int64, 1}};
  program.slots = {{Slot::ArgAddress, 0, 0, {}},
                   {Slot::Device, 0, static_cast<uint32_t>(DeviceFact::SmCount), {}}};
  Expr rest = Expr::binary(ExprOp::Mod, Expr::slot(0), Expr::constant(16));
  program.guards = {{Guard::Specialisation,
                     Expr::binary(ExprOp::Eq, rest, Expr::constant(0)),
                     "argument 'x': expected an address that is a multiple of 16",
                     {}}};
  program.kernels = {"store"};
  Step step;
  step.grid = {Expr::constant(1)};
  Word address, value;
  address.kind = Word::ArgAddress;
  value.expr = Expr::slot(1);
  step.words = {address, value};
  program.steps = {step};
  tessera_rt_module *module = loadProgram(device, program, 1);
  const tessera_rt_function *function = nullptr;
  ASSERT_OK(tessera_rt_get_function(module, device, nullptr, "f", 0, &function));
  {
    Buffer<int64_t> words(stream, std::vector<int64_t>{0, 0});
    int64_t size = 1, stride = 1;
    tessera_rt_value arg = {};
    arg.as.tensor = {words.data(), TESSERA_RT_INT64, 1, &size, &stride, device, 0};
    tessera_rt_frame *frame = nullptr;
    ASSERT_OK(tessera_rt_prepare(function, &arg, 1, &frame));
    ASSERT_OK(tessera_rt_execute_on(frame, nullptr, stream));
    tessera_rt_frame_release(frame);
    EXPECT_EQ(words.read()[0], infoOf(device).sm_count);
    arg.as.tensor.data = words.data() + 1;
    EXPECT_EQ(tessera_rt_prepare(function, &arg, 1, &frame), TESSERA_RT_MISMATCH);
    EXPECT_STREQ(tessera_rt_last_error(),
                 "argument 'x': expected an address that is a multiple of 16");
  }
  tessera_rt_module_release(module);
}

TEST_P(DeviceTest, GraphsReplay) {
  tessera_rt_module *module = loadAxpy(device);
  const tessera_rt_function *function = nullptr;
  ASSERT_OK(tessera_rt_get_function(module, device, nullptr, "f", 0, &function));
  constexpr int64_t n = 1000;
  std::vector<float> x(n, 3), y(n, 4);
  {
    Buffer<float> xs(stream, x), ys(stream, y), out(stream, n);
    Buffer<int64_t> counter(stream, std::vector<int64_t>{0});
    Vector vector = {n, 1};
    tessera_rt_value args[] = {vector.value(xs.data()), vector.value(ys.data()), scalar(2)};
    args[0].as.tensor.device = args[1].as.tensor.device = device;
    ASSERT_OK(tessera_rt_stream_synchronize(stream));

    ASSERT_OK(tessera_rt_capture_begin(stream));
    tessera_rt_frame *frame = nullptr;
    ASSERT_OK(tessera_rt_prepare(function, args, 3, &frame));
    void *results[] = {out.data()};
    ASSERT_OK(tessera_rt_execute_on(frame, results, stream));
    tessera_rt_frame_release(frame);
    ASSERT_OK(launch("increment", shape(1), {pointer(counter.data())}));
    tessera_rt_graph *graph = nullptr;
    ASSERT_OK(tessera_rt_capture_end(stream, &graph));
    EXPECT_EQ(counter.read()[0], 0); // captured, not run

    for (int round = 1; round <= 3; ++round) {
      std::fill(x.begin(), x.end(), static_cast<float>(round));
      ASSERT_OK(tessera_rt_copy(stream, xs.data(), x.data(), xs.bytes()));
      ASSERT_OK(tessera_rt_graph_launch(graph, stream));
      EXPECT_EQ(out.read(), std::vector<float>(n, static_cast<float>(round) * 2 + 4));
    }
    EXPECT_EQ(counter.read()[0], 3);
    tessera_rt_graph_release(graph);
  }
  tessera_rt_graph *none = nullptr;
  EXPECT_NE(tessera_rt_capture_end(stream, &none), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_capture_begin({device, 0, nullptr}), TESSERA_RT_ARGUMENT);
  tessera_rt_module_release(module);
}

TEST_P(DeviceTest, SeveralThreads) {
  tessera_rt_module *module = loadAxpy(device);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      tessera_rt_stream mine;
      ASSERT_OK(tessera_rt_stream_create(device, 0, &mine));
      const tessera_rt_function *function = nullptr;
      ASSERT_OK(tessera_rt_get_function(module, device, nullptr, "f", 0, &function));
      for (int round = 0; round < 30; ++round)
        checkAxpy(function, mine, 100 + 37 * t + round);
      tessera_rt_stream_release(mine);
    });
  for (std::thread &thread : threads)
    thread.join();
  tessera_rt_module_release(module);
}

TEST_P(DeviceTest, MetricsCount) {
  tessera_rt_metrics before = {}, after = {};
  before.struct_bytes = after.struct_bytes = sizeof(before);
  tessera_rt_get_metrics(&before);
  {
    Buffer<int64_t> word(stream, std::vector<int64_t>{0});
    ASSERT_OK(launch("increment", shape(1), {pointer(word.data())}));
    word.read();
    tessera_rt_get_metrics(&after);
  }
  EXPECT_EQ(after.launches + after.device_launches, before.launches + before.device_launches + 1);
  EXPECT_EQ(after.copies, before.copies + 2);
  EXPECT_EQ(after.copied_bytes, before.copied_bytes + 16);
  if (!isCpu()) {
    EXPECT_GE(after.device_memory_in_use, before.device_memory_in_use + 8);
  }
}
