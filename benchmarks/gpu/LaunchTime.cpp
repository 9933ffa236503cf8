//===- LaunchTime.cpp - A call from C++ beside the driver's own launch ----===//
//
// A library that check.py loads, so that Python's calls and these are timed alternately in one
// process. It calls a function of a bundle, which has one launch, with dense tensors of fp32; the
// driver's own launch has the same kernel and arguments, recorded from a call.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/drivers/cuda/Device.h"
#include "../../runtime/src/Module.h"

#include <chrono>
#include <utility>

using namespace tessera::rt;

namespace {

constexpr int32_t gpu = TESSERA_RT_DEVICE_CUDA(0);
cuda::CUlaunchConfig config;
cuda::CUfunction kernel;
std::vector<int64_t> words;
std::vector<void *> pointers;

/// Replaces the driver's launch once, and records its arguments.
cuda::CUresult remember(const cuda::CUlaunchConfig *given, cuda::CUfunction function,
                        void **parameters, void **) {
  config = *given;
  kernel = function;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = *static_cast<int64_t *>(parameters[i]);
    pointers[i] = &words[i];
  }
  return cuda::CUDA_SUCCESS;
}

/// The call that is timed.
struct Subject {
  const tessera_rt_function *function = nullptr;
  tessera_rt_stream stream = {};
  int64_t sizes[2], strides[2];
  std::vector<tessera_rt_value> args;
  void *result = nullptr;
  tessera_rt_frame *frame = nullptr;
  cuda::Device *device = nullptr;
} subject;

/// Memory of a tensor with the subject's sizes, filled with zeros.
void *memory() {
  auto bytes = static_cast<uint64_t>(subject.sizes[0] * subject.sizes[1] * 4);
  void *made = nullptr;
  if (tessera_rt_allocate(subject.stream, bytes, &made) == TESSERA_RT_OK)
    tessera_rt_fill(subject.stream, made, 0, bytes);
  return made;
}

bool open(const char *path, const char *name, int count) {
  tessera_rt_module *module;
  if (tessera_rt_load_file(path, &module) ||
      tessera_rt_get_function(module, gpu, nullptr, name, 0, &subject.function) ||
      tessera_rt_stream_create(gpu, 0, &subject.stream))
    return false;
  subject.args.resize(static_cast<size_t>(count));
  for (tessera_rt_value &arg : subject.args) {
    arg.kind = TESSERA_RT_TENSOR;
    arg.as.tensor = {memory(), TESSERA_RT_FP32, 2, subject.sizes, subject.strides, gpu, 0};
  }
  subject.result = memory();
  if (tessera_rt_prepare(subject.function, subject.args.data(), count, &subject.frame))
    return false;
  tessera_rt_status status;
  subject.device = cuda::open(0, status);
  auto &api = const_cast<cuda::Api &>(subject.device->api);
  words.resize(subject.function->plan.words.size());
  pointers.resize(words.size());
  auto launch = std::exchange(api.cuLaunchKernelEx, remember);
  status = tessera_rt_execute_on(subject.frame, &subject.result, subject.stream);
  api.cuLaunchKernelEx = launch;
  config.attrs = nullptr; // none: a Tile IR kernel configures its cluster itself
  return status == TESSERA_RT_OK && subject.function->plan.steps.size() == 1;
}

template <typename Work> double nanoseconds(int count, Work work) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    work();
  std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / count;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// Null, or the error.
EXPORTED const char *launch_time_open(const char *path, const char *name, int tensors, int64_t rows,
                                      int64_t columns) {
  subject.sizes[0] = rows;
  subject.sizes[1] = subject.strides[0] = columns;
  subject.strides[1] = 1;
  return open(path, name, tensors) ? nullptr : tessera_rt_last_error();
}

/// Nanoseconds of one launch in a burst. 0: the driver's own; 1: of a prepared call; 2: of a
/// repeated call; 3: of a whole call.
EXPORTED double launch_time_burst(int kind, int count) {
  cuda::Current current(*subject.device);
  auto *args = subject.args.data();
  auto number = static_cast<int32_t>(subject.args.size());
  auto execute = [&](tessera_rt_frame *frame) {
    tessera_rt_execute_on(frame, &subject.result, subject.stream);
  };
  switch (kind) {
  case 0:
    return nanoseconds(count, [&] {
      subject.device->api.cuLaunchKernelEx(&config, kernel, pointers.data(), nullptr);
    });
  case 1:
    return nanoseconds(count, [&] { execute(subject.frame); });
  case 2:
    return nanoseconds(count, [&] {
      tessera_rt_rebind(subject.frame, args, number);
      execute(subject.frame);
    });
  default:
    return nanoseconds(count, [&] {
      tessera_rt_frame *made;
      tessera_rt_prepare(subject.function, args, number, &made);
      execute(made);
      tessera_rt_frame_release(made);
    });
  }
}
