//===- FakeTest.cpp - Error paths of the CUDA driver, with the fake libcuda -===//
//
// Every entry point fails once at every call of the scenario. In every case nothing crashes,
// nothing leaks, and the next run of the scenario succeeds.
//
//===----------------------------------------------------------------------===//

#include "../drivers/cuda/Api.h"
#include "Devices.h"
#include "fake/FakeCuda.h"

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <thread>

using namespace tessera::rt;
using namespace tessera::rt::test;

namespace {

constexpr int32_t gpu = TESSERA_RT_DEVICE_CUDA(0);

const fake_cuda::Control &fake() {
  static const fake_cuda::Control *control = [] {
    void *library = dlopen(TESSERA_CTS_FAKE_CUDA, RTLD_NOW);
    auto get = reinterpret_cast<fake_cuda::GetControl>(dlsym(library, "fake_cuda_control"));
    return get();
  }();
  return *control;
}

/// Everything once; the first status that is not OK.
tessera_rt_status scenario() {
  tessera_rt_status status = TESSERA_RT_OK;
  auto run = [&](tessera_rt_status next) {
    if (status == TESSERA_RT_OK)
      status = next;
    return next == TESSERA_RT_OK;
  };
  tessera_rt_stream stream = {};
  tessera_rt_event *events[2] = {};
  tessera_rt_library *library = nullptr;
  tessera_rt_graph *graph = nullptr;
  tessera_rt_frame *frame = nullptr;
  void *memory = nullptr, *host = nullptr;
  std::vector<uint8_t> bundle = ptxBundle(axpy(), 16);
  tessera_rt_module *module = nullptr;
  const tessera_rt_function *function = nullptr;
  float data[64] = {};
  tessera_rt_launch_config config = shape(1);
  config.shared_bytes = 50000;
  config.cluster[0] = 1;
  const tessera_rt_device_kernel *kernel = nullptr;
  tessera_rt_pool_statistics statistics = {};
  statistics.struct_bytes = sizeof(statistics);
  int32_t done = 0;
  double milliseconds = 0;
  if (run(tessera_rt_load(bundle.data(), bundle.size(), &module)) &&
      run(tessera_rt_stream_create(gpu, 0, &stream)) &&
      run(tessera_rt_event_create(gpu, &events[0])) &&
      run(tessera_rt_event_create(gpu, &events[1])) &&
      run(tessera_rt_allocate(stream, sizeof(data), &memory)) &&
      run(tessera_rt_host_allocate(gpu, sizeof(data), &host)) &&
      run(tessera_rt_event_record(events[0], stream)) &&
      run(tessera_rt_copy(stream, memory, data, sizeof(data))) &&
      run(tessera_rt_fill(stream, memory, 0, sizeof(data))) &&
      run(tessera_rt_library_load(gpu, plainPtx, std::strlen(plainPtx), &library)) &&
      run(tessera_rt_library_kernel(library, "increment", &kernel)) &&
      run(tessera_rt_event_record(events[1], stream)) &&
      run(tessera_rt_event_elapsed(events[0], events[1], &milliseconds)) &&
      run(tessera_rt_event_query(events[0], &done)) &&
      run(tessera_rt_event_synchronize(events[1])) &&
      run(tessera_rt_stream_wait(stream, events[0])) &&
      run(tessera_rt_stream_query(stream, &done)) &&
      run(tessera_rt_get_function(module, gpu, nullptr, "f", 0, &function))) {
    int64_t word = pointer(static_cast<int64_t *>(memory));
    Vector vector = {16, 1};
    auto *floats = static_cast<float *>(memory);
    tessera_rt_value args[] = {vector.value(floats), vector.value(floats), scalar(1)};
    args[0].as.tensor.device = args[1].as.tensor.device = gpu;
    void *results[] = {floats + 16};
    if (run(tessera_rt_launch(kernel, &config, &word, 1, stream)) &&
        run(tessera_rt_prepare(function, args, 3, &frame)) &&
        run(tessera_rt_execute_on(frame, results, stream)) &&
        run(tessera_rt_stream_synchronize(stream)) && run(tessera_rt_capture_begin(stream))) {
      run(tessera_rt_execute_on(frame, results, stream));
      run(tessera_rt_capture_end(stream, &graph));
      if (graph)
        run(tessera_rt_graph_launch(graph, stream));
    }
  }
  run(tessera_rt_pool_get_statistics(gpu, &statistics));
  run(tessera_rt_pool_trim(gpu, 0));
  run(tessera_rt_device_synchronize(gpu));
  if (frame)
    tessera_rt_frame_release(frame);
  if (graph)
    tessera_rt_graph_release(graph);
  if (memory) // freeing may fail too; it is retried until it works
    while (tessera_rt_deallocate(stream, memory, sizeof(data)) != TESSERA_RT_OK)
      run(TESSERA_RT_DEVICE);
  if (host)
    tessera_rt_host_deallocate(gpu, host);
  if (library)
    tessera_rt_library_release(library);
  for (tessera_rt_event *event : events)
    if (event)
      tessera_rt_event_release(event);
  tessera_rt_stream_release(stream);
  tessera_rt_module_release(module);
  return status;
}

/// `blocks`: memory that the driver refused to free; `libraries`: code that others' graphs use.
void expectNothingAlive(const std::string &after, int64_t blocks, int64_t libraries) {
  fake_cuda::Counts counts = fake().counts();
  EXPECT_EQ(counts.streams, 0) << after;
  EXPECT_EQ(counts.events, 0) << after;
  EXPECT_EQ(counts.libraries, libraries) << after;
  EXPECT_EQ(counts.graphs, 0) << after;
  EXPECT_EQ(counts.graphExecs, 0) << after;
  EXPECT_EQ(counts.allocations, blocks) << after;
  EXPECT_EQ(counts.hostAllocations, 0) << after;
  EXPECT_EQ(counts.contextsOnStack, 0) << after;
  EXPECT_EQ(counts.misuses, 0) << after;
}

TEST(FakeCuda, EveryCallMayFail) {
  int failures = 0;
  int64_t blocks = 0, libraries = fake().counts().libraries;
  ASSERT_OK(scenario());
  expectNothingAlive("a run without failures", blocks, libraries);
  for (const char *const *name = fake().entryPoints(); *name; ++name) {
    for (int after = 0; after < 50; ++after) {
      fake().failNext(*name, cuda::CUDA_ERROR_INVALID_VALUE, after);
      tessera_rt_status status = scenario();
      bool used = status != TESSERA_RT_OK;
      failures += used;
      std::string where = std::string(*name) + ", call " + std::to_string(after);
      fake().failNext(*name, 0, 0);
      // The first free is that of a call's temporaries, which the caller does not see.
      if (used && !std::strcmp(*name, "cuMemFreeAsync") && after == 0)
        ++blocks;
      expectNothingAlive(where, blocks, libraries);
      ASSERT_OK(scenario()) << "after " << where;
      // After the last call of this name all further runs would be the same.
      if (!used && after > 5)
        break;
    }
    if (testing::Test::HasFailure())
      break;
  }
  EXPECT_GT(failures, 40);
}

TEST(FakeCuda, TheDriverIsAskedForWhatALaunchNeeds) {
  tessera_rt_stream stream = {gpu, 0, nullptr};
  tessera_rt_library *library = nullptr;
  ASSERT_OK(tessera_rt_library_load(gpu, hopperPtx, std::strlen(hopperPtx), &library));
  const tessera_rt_device_kernel *kernel = nullptr;
  ASSERT_OK(tessera_rt_library_kernel(library, "ranks", &kernel));
  {
    Buffer<uint32_t> out(stream, 32);
    int64_t word = pointer(out.data());
    tessera_rt_launch_config config = shape(32, 64);
    config.cluster[0] = 16; // not portable: the driver must be queried
    config.flags = TESSERA_RT_LAUNCH_COOPERATIVE | TESSERA_RT_LAUNCH_DEPENDENT;
    config.shared_bytes = 100 << 10;
    ASSERT_OK(tessera_rt_launch(kernel, &config, &word, 1, stream));
  }
  unsigned cluster[3], shared;
  int cooperative, dependent;
  fake().lastLaunch(cluster, &cooperative, &dependent, &shared);
  EXPECT_EQ(cluster[0], 16u);
  EXPECT_EQ(cluster[1], 1u);
  EXPECT_EQ(cooperative, 1);
  EXPECT_EQ(dependent, 1);
  EXPECT_EQ(shared, 100u << 10);
  tessera_rt_library_release(library);
}

/// Limits in messages are those of the chip.
TEST(FakeCuda, ErrorsNameTheLimitsOfTheChip) {
  tessera_rt_stream stream = {gpu, 0, nullptr};
  tessera_rt_library *library = nullptr;
  ASSERT_OK(tessera_rt_library_load(gpu, hopperPtx, std::strlen(hopperPtx), &library));
  const tessera_rt_device_kernel *kernel = nullptr;
  ASSERT_OK(tessera_rt_library_kernel(library, "ranks", &kernel));
  {
    Buffer<uint32_t> out(stream, 32);
    int64_t word = pointer(out.data());
    auto message = [&](const tessera_rt_launch_config &config) -> std::string {
      EXPECT_EQ(tessera_rt_launch(kernel, &config, &word, 1, stream), TESSERA_RT_DEVICE);
      return tessera_rt_last_error();
    };
    tessera_rt_launch_config config = shape(32, 64);
    config.shared_bytes = 228 << 10;
    EXPECT_NE(message(config).find("; a block on sm_90 has at most 232448 bytes of shared memory"),
              std::string::npos);
    config = shape(32, 2048);
    EXPECT_NE(message(config).find("; a block has at most 1024 threads"), std::string::npos);
    config = shape(32, 64);
    config.cluster[0] = 32;
    EXPECT_NE(message(config).find("; a cluster on sm_90 has at most 16 blocks and divides the"),
              std::string::npos);
    fake().failNext("cuLaunchKernelEx", cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0);
    EXPECT_NE(message(shape(32, 64))
                  .find("; a block on sm_90 has at most 1024 threads, 65536 registers and 232448 "
                        "bytes of shared memory"),
              std::string::npos);
  }
  tessera_rt_library_release(library);
}

/// x, of rank 2 and two bytes an element, whose boxes are copied.
Program boxes(uint32_t spans) {
  Program program;
  program.arguments = {{Argument::Tensor, "x", DType::BF16, 2}};
  program.slots = {{Slot::ArgSize, 0, 0, {}},
                   {Slot::ArgSize, 0, 1, {}},
                   {Slot::ArgStride, 0, 0, {}},
                   {Slot::ArgStride, 0, 1, {}}};
  program.kernels = {"boxes"};
  Step &step = program.steps.emplace_back();
  step.grid = {Expr::constant(1)};
  step.words.resize(5);
  step.words[0].kind = Word::ArgAddress;
  for (int64_t i = 0; i < 4; ++i)
    step.words[1 + i].expr = Expr::slot(i);
  step.maps = {{0, 2, 128, spans, {1, 0}, {64, 16}}};
  return program;
}

TEST(FakeCuda, TensorMapsAreMadeWhenTheyChange) {
  const char *code = ".version 8.0\n.target sm_90a\n.entry boxes(.param .u64 a, .param .u64 b, "
                     ".param .u64 c, .param .u64 d, "
                     ".param .u64 e, .param .align 64 .b8 f[128])\n.reqntid 32\n{ ret; }\n";
  Bundle bundle;
  CodeImage &image = bundle.images.emplace_back();
  image.target = "sm_90a:ptx";
  image.code.assign(code, code + std::strlen(code));
  KernelEntry &entry = image.kernels.emplace_back();
  entry.name = "boxes";
  entry.shape.block[0] = 32;
  bundle.functions = {{"f", 0, encode(boxes(1))}, {"g", 0, encode(boxes(2))}};
  std::vector<uint8_t> bytes = encode(bundle);
  tessera_rt_module *module = nullptr;
  const tessera_rt_function *function = nullptr, *wide = nullptr;
  ASSERT_OK(tessera_rt_load(bytes.data(), bytes.size(), &module));
  ASSERT_OK(tessera_rt_get_function(module, gpu, nullptr, "f", 0, &function));
  ASSERT_OK(tessera_rt_get_function(module, gpu, nullptr, "g", 0, &wide));
  tessera_rt_stream stream = {gpu, 0, nullptr};
  Buffer<uint16_t> memory(stream, 1 << 16);
  auto call = [&](size_t first, std::array<int64_t, 2> sizes, std::array<int64_t, 2> strides) {
    tessera_rt_value arg = {};
    arg.kind = TESSERA_RT_TENSOR;
    arg.as.tensor = {
        memory.data() + first, TESSERA_RT_BF16, 2, sizes.data(), strides.data(), gpu, 0};
    tessera_rt_frame *frame = nullptr;
    EXPECT_OK(tessera_rt_prepare(function, &arg, 1, &frame));
    tessera_rt_status status = tessera_rt_execute_on(frame, nullptr, stream);
    tessera_rt_frame_release(frame);
    return status;
  };
  auto map = [] {
    std::array<uint64_t, 21> words = {};
    void *where;
    EXPECT_EQ(fake().lastArguments(&where, words.data(), words.size()), 21);
    std::array<uint64_t, 16> map;
    std::copy(words.begin() + 5, words.end(), map.begin());
    return map;
  };
  ASSERT_OK(call(0, {32, 96}, {96, 1}));
  auto first = map();
  EXPECT_EQ(first[0], static_cast<uint64_t>(pointer(memory.data())));
  EXPECT_EQ(first[1], 96u); // neighbours first
  EXPECT_EQ(first[2], 32u);
  EXPECT_EQ(first[7], 192u);
  EXPECT_EQ(first[11], 64u | 16u << 12);
  EXPECT_EQ(first[12], 2u | cuda::CU_TENSOR_MAP_DATA_TYPE_UINT16 << 8 |
                           cuda::CU_TENSOR_MAP_SWIZZLE_128B << 16);
  ASSERT_OK(call(0, {32, 96}, {96, 1}));
  EXPECT_EQ(map(), first); // as it was made
  // Threads have maps of their own, and this one has no context yet.
  std::thread([&] { ASSERT_OK(call(0, {32, 96}, {96, 1})); }).join();
  ASSERT_OK(call(64, {32, 96}, {96, 1}));
  EXPECT_EQ(map()[0], first[0] + 128);
  EXPECT_EQ(map()[13], first[13] + 2);
  ASSERT_OK(call(0, {32, 96}, {104, 1}));
  EXPECT_EQ(map()[7], 208u);
  // The stride of a single row does not matter, and an empty tensor copies nothing.
  ASSERT_OK(call(0, {1, 96}, {7, 1}));
  EXPECT_EQ(map()[7], 128u);
  ASSERT_OK(call(0, {32, 0}, {0, 1}));
  EXPECT_EQ(map()[1], 1u);
  EXPECT_EQ(map()[0], 128u);
  EXPECT_EQ(call(0, {32, 96}, {97, 1}), TESSERA_RT_DEVICE);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("the driver makes no tensor map of address"),
            std::string::npos);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("sizes (96, 32), strides in bytes (194)"),
            std::string::npos);
  ASSERT_OK(call(0, {32, 96}, {96, 1}));
  EXPECT_EQ(map()[7], 192u);
  // Adjacent spans form a separate dimension.
  function = wide;
  ASSERT_OK(call(0, {32, 256}, {256, 1}));
  EXPECT_EQ(map()[1], 64u);
  EXPECT_EQ(map()[2], 32u);
  EXPECT_EQ(map()[3], 4u);
  EXPECT_EQ(map()[8], 128u);
  EXPECT_EQ(map()[11], 64u | 16u << 12 | 2u << 24);
  tessera_rt_module_release(module);
}

TEST(FakeCuda, ACallerKeepsItsContext) {
  // A call for the second device in a thread that uses the first keeps the first one current.
  tessera_rt_stream first = {gpu, 0, nullptr}, second = {TESSERA_RT_DEVICE_CUDA(1), 0, nullptr};
  Buffer<int64_t> one(first, std::vector<int64_t>{1}), two(second, std::vector<int64_t>{2});
  EXPECT_EQ(one.read()[0], 1);
  EXPECT_EQ(two.read()[0], 2);
  int32_t device = -1;
  ASSERT_OK(tessera_rt_address_device(two.data(), &device));
  EXPECT_EQ(device, TESSERA_RT_DEVICE_CUDA(1));
  EXPECT_EQ(fake().counts().contextsOnStack, 0);
}

TEST(FakeCuda, ThePoolIsTrimmedWhenMemoryRunsOut) {
  uint64_t before = poolOf(gpu).trims_for_memory;
  tessera_rt_stream stream = {gpu, 0, nullptr};
  void *memory = nullptr;
  uint64_t part = fake_cuda::memoryBytes / 10 * 6, whole = fake_cuda::memoryBytes / 10 * 7;
  ASSERT_OK(tessera_rt_allocate(stream, part, &memory));
  ASSERT_OK(tessera_rt_deallocate(stream, memory, part));
  ASSERT_OK(tessera_rt_allocate(stream, whole, &memory));
  ASSERT_OK(tessera_rt_deallocate(stream, memory, whole));
  EXPECT_EQ(poolOf(gpu).trims_for_memory, before + 1);
  ASSERT_OK(tessera_rt_pool_trim(gpu, 0));
}

TEST(FakeCuda, ABundleChoosesTheBestCodeForTheChip) {
  auto image = [](const char *target, bool isCubin) {
    CodeImage image;
    image.target = target;
    std::string code = (isCubin ? cubinHeader() : "") + plainPtx;
    image.code.assign(code.begin(), code.end());
    image.kernels = {{"store", 0, 0, {}}};
    return image;
  };
  std::string host = hostTarget().substr(0, hostTarget().find(':'));
  std::string foreign = host == "x86_64" ? "aarch64" : "x86_64";
  Bundle bundle;
  bundle.images = {image("sm_80:ptx", false),
                   image("sm_80:tileir", true),
                   image(("sm_90:tileir," + foreign).c_str(), true),
                   image(("sm_90:tileir," + host).c_str(), true),
                   image("sm_90a:ptx", true),
                   image("sm_100:tileir", true)};
  // Each program stores the number of its image.
  for (uint32_t i = 0; i < bundle.images.size(); ++i) {
    Program program = launchOnly(1, {Expr::constant(1)});
    program.kernels = {"store"};
    Word value;
    value.expr = Expr::constant(i);
    program.steps[0].words.push_back(value);
    bundle.functions.push_back({"f", i, encode(program)});
  }
  tessera_rt_stream stream = {gpu, 0, nullptr};
  Buffer<int64_t> out(stream, std::vector<int64_t>{-1});
  auto choice = [&](const char *backend) -> int64_t {
    std::vector<uint8_t> bytes = encode(bundle);
    tessera_rt_module *module = nullptr;
    if (tessera_rt_load(bytes.data(), bytes.size(), &module))
      return -1;
    const tessera_rt_function *function = nullptr;
    int64_t found = -2;
    if (tessera_rt_get_function(module, gpu, backend, "f", 0, &function) == TESSERA_RT_OK) {
      tessera_rt_value arg = {};
      arg.kind = TESSERA_RT_INT;
      arg.as.integer = pointer(out.data());
      tessera_rt_frame *frame = nullptr;
      EXPECT_OK(tessera_rt_prepare(function, &arg, 1, &frame));
      EXPECT_OK(tessera_rt_execute_on(frame, nullptr, stream));
      tessera_rt_frame_release(frame);
      found = out.read()[0];
    }
    tessera_rt_module_release(module);
    return found;
  };
  EXPECT_EQ(choice(nullptr), 3); // both match exactly; the first one is used
  EXPECT_EQ(choice("tileir"), 3);
  EXPECT_EQ(choice("ptx"), 4);
  EXPECT_EQ(choice("smoke"), -2);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("did not come by 'smoke'"),
            std::string::npos);
  bundle.functions.erase(bundle.functions.begin() + 3, bundle.functions.begin() + 5);
  EXPECT_EQ(choice(nullptr), 0); // only PTX fits
  bundle.images.erase(bundle.images.begin(), bundle.images.begin() + 2);
  bundle.images.erase(bundle.images.begin() + 1, bundle.images.begin() + 3);
  bundle.functions = {{"f", 0, bundle.functions[0].program}, {"f", 1, bundle.functions[0].program}};
  EXPECT_EQ(choice(nullptr), -1);
  std::string message = tessera_rt_last_error();
  EXPECT_EQ(message, "the bundle has no code for this machine: the code needs a host of " +
                         foreign + ", this machine is " + host +
                         "; the code is for sm_100, the GPU is sm_90");
}

TEST(FakeCuda, KernelsOfOneProgramComeFromSeveralImages) {
  auto image = [](const char *target, const char *kernel) {
    CodeImage image;
    image.target = target;
    std::string code = cubinHeader() + plainPtx;
    image.code.assign(code.begin(), code.end());
    image.kernels = {{kernel, 0, 0, {}}};
    return image;
  };
  Bundle bundle;
  bundle.images = {image("sm_90a:ptx", "store"), image("sm_90:tileir", "increment")};
  Program program = launchOnly(1, {Expr::constant(1)});
  program.kernels = {"store", "increment"};
  Word value;
  value.expr = Expr::constant(41);
  program.steps[0].words.push_back(value);
  Step second = program.steps[0];
  second.kernel = 1;
  second.words.pop_back();
  program.steps.push_back(second);
  bundle.functions = {{"f", 0, encode(program), {1}}};
  auto get = [&](const char *backend, const tessera_rt_function *&function) {
    std::vector<uint8_t> bytes = encode(bundle);
    tessera_rt_module *module = nullptr;
    tessera_rt_status status = tessera_rt_load(bytes.data(), bytes.size(), &module);
    return status ? status : tessera_rt_get_function(module, gpu, backend, "f", 0, &function);
  };
  const tessera_rt_function *function = nullptr;
  ASSERT_OK(get(nullptr, function));
  tessera_rt_stream stream = {gpu, 0, nullptr};
  Buffer<int64_t> out(stream, std::vector<int64_t>{-1});
  tessera_rt_value arg = {};
  arg.kind = TESSERA_RT_INT;
  arg.as.integer = pointer(out.data());
  tessera_rt_frame *frame = nullptr;
  ASSERT_OK(tessera_rt_prepare(function, &arg, 1, &frame));
  int64_t before = fake().counts().launches;
  ASSERT_OK(tessera_rt_execute_on(frame, nullptr, stream));
  tessera_rt_frame_release(frame);
  EXPECT_EQ(fake().counts().launches, before + 2);

  // Neither backend has it alone; an image declares its kernels, and all images must fit the
  // device.
  EXPECT_EQ(get("ptx", function), TESSERA_RT_NOT_FOUND);
  bundle.images[1].kernels[0].name = "other";
  EXPECT_EQ(get(nullptr, function), TESSERA_RT_INVALID);
  EXPECT_STREQ(tessera_rt_last_error(),
               "function 'f': its kernel 'increment' is not in the code images");
  bundle.images[1].kernels[0].name = "increment";
  bundle.images[1].target = "sm_100:tileir";
  EXPECT_EQ(get(nullptr, function), TESSERA_RT_NOT_FOUND);
}

TEST(FakeCuda, SpecializationsOfOneFunctionUseTheirOwnBackends) {
  Bundle bundle;
  for (const char *target : {"sm_90:tileir", "sm_90a:ptx"}) {
    CodeImage &image = bundle.images.emplace_back();
    image.target = target;
    std::string code = cubinHeader() + plainPtx;
    image.code.assign(code.begin(), code.end());
    image.kernels = {{"increment", 0, 0, {}}};
    Program program = launchOnly(1, {Expr::constant(1)});
    program.kernels = {"increment"};
    bundle.functions.push_back({"f", uint32_t(bundle.images.size() - 1), encode(program)});
  }
  std::vector<uint8_t> bytes = encode(bundle);
  tessera_rt_module *module = nullptr;
  const tessera_rt_function *function = nullptr;
  ASSERT_OK(tessera_rt_load(bytes.data(), bytes.size(), &module));
  EXPECT_OK(tessera_rt_get_function(module, gpu, nullptr, "f", 1, &function));
  EXPECT_EQ(tessera_rt_get_function(module, gpu, "ptx", "f", 1, &function), TESSERA_RT_NOT_FOUND);
  EXPECT_OK(tessera_rt_get_function(module, gpu, "ptx", "f", 0, &function));
  tessera_rt_module_release(module);
}

TEST(FakeCuda, DriversThatCannotBeUsed) {
  auto count = [](const char *setting) { return runChild("count", gpu, {setting}).output; };
  EXPECT_EQ(count("FAKE_CUDA_DEVICES=0"),
            "5: the NVIDIA driver is there, but it shows no GPU to this process\n");
  EXPECT_EQ(count("FAKE_CUDA_VERSION=11040"),
            "5: the NVIDIA driver is too old: it supports CUDA 11.4, expected 12.0 or later "
            "(driver 525)\n");
  EXPECT_NE(count("FAKE_CUDA_INIT=34").find("is the toolkit's stub library"), std::string::npos);
  EXPECT_NE(count("FAKE_CUDA_INIT=999").find("could not be initialised: "), std::string::npos);
  EXPECT_EQ(count("FAKE_CUDA_INIT=100"),
            "5: the NVIDIA driver is there, but it shows no GPU to this process\n");
}

TEST(FakeCuda, DevicesWithoutPools) {
  ChildResult child = runChild("call", gpu, {"FAKE_CUDA_POOLS=0"});
  EXPECT_EQ(child.status, 0) << child.output;
}

} // namespace
