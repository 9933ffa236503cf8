//===- Call.cpp - Running a call ------------------------------------------===//

#include "Frame.h"
#include "Metrics.h"
#include "Profile.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

namespace {

/// Runs the steps of one call.
class Runner {
public:
  Runner(tessera_rt_frame *frame, void *const *results, char *temporaries,
         tessera_rt_stream stream)
      : frame(frame), plan(frame->function->plan), results(results), temporaries(temporaries),
        stream(stream) {}

  tessera_rt_status run(size_t index) {
    const PlanStep &step = plan.steps[index];
    const int64_t *grid = frame->grids + 3 * index;
    if (grid[0] == 0)
      return TESSERA_RT_OK;
    bool overflow = false;
    int64_t small[64];
    std::vector<int64_t> large;
    int64_t *words = small;
    if (step.wordCount > 64) {
      large.resize(step.wordCount);
      words = large.data();
    }
    for (uint32_t i = 0; i < step.wordCount; ++i)
      words[i] = word(plan.words[step.firstWord + i], overflow);
    if (overflow)
      return fail(TESSERA_RT_OUT_OF_MEMORY,
                  "function '" + frame->function->name +
                      "': the sizes of this call do not fit into 64 bits");
    const tessera_rt_function &function = *frame->function;
    const BoundKernel &bound = function.kernels[step.kernel];
    Launch launch = {bound.kernel, &bound.shape, grid, words, step.wordCount, step.grain};
    if (function.device == TESSERA_RT_DEVICE_CPU) {
      launch.work = static_cast<int64_t>(std::min(stepWork(frame, index), 1e18));
      launch.cost = &function.costs[index];
    }
    if (profiling.load(std::memory_order_relaxed))
      return launchTimed(function.name, *function.driver, stream, launch);
    return function.driver->launch(stream, launch);
  }

private:
  int64_t word(const PlanWord &w, bool &overflow) const {
    auto address = [&](const void *base) {
      return static_cast<int64_t>(
          reinterpret_cast<uintptr_t>(base) +
          static_cast<uint64_t>(plan.evaluate(w.expr, frame->slots, overflow)));
    };
    switch (w.kind) {
    case Word::ArgAddress:
      return address(frame->addresses[w.index]);
    case Word::ResultAddress:
      return address(results[w.index]);
    case Word::TempAddress:
      return address(temporaries + frame->temporaries[w.index]);
    case Word::Integer:
      return plan.evaluate(w.expr, frame->slots, overflow);
    case Word::Scalar:
      break;
    }
    int64_t bits = frame->scalars[w.index];
    if (plan.source.arguments[w.index].kind != Argument::Float)
      return static_cast<int64_t>(scalarBits(bits, w.dtype));
    double real;
    std::memcpy(&real, &bits, 8);
    return static_cast<int64_t>(scalarBits(real, w.dtype));
  }

  tessera_rt_frame *frame;
  const Plan &plan;
  void *const *results;
  char *temporaries;
  tessera_rt_stream stream;
};

} // namespace

tessera_rt_status tessera_rt_execute_on(tessera_rt_frame *frame, void *const *results,
                                        tessera_rt_stream stream) {
  count(metrics.calls);
  const tessera_rt_function &function = *frame->function;
  if (stream.device != function.device)
    return fail(TESSERA_RT_ARGUMENT, "function '" + function.name + "' is for " +
                                         deviceName(function.device) + ", the stream is of " +
                                         deviceName(stream.device));
  void *block = nullptr;
  auto bytes = static_cast<uint64_t>(frame->temporaryBytes);
  if (bytes)
    if (auto status = function.driver->allocate(stream, bytes, block))
      return fail(status, "function '" + function.name + "' needs " + formatBytes(bytes) +
                              " of temporary memory: " + tessera_rt_last_error());
  Runner runner(frame, results, static_cast<char *>(block), stream);
  tessera_rt_status status = TESSERA_RT_OK;
  for (size_t i = 0; i < function.plan.steps.size() && status == TESSERA_RT_OK; ++i)
    status = runner.run(i);
  if (block) {
    // The first failure is the one to tell.
    std::string message = status ? tessera_rt_last_error() : "";
    tessera_rt_status freed = function.driver->deallocate(stream, block, bytes);
    status = status ? fail(status, std::move(message)) : freed;
  }
  return status;
}

tessera_rt_status tessera_rt_execute(tessera_rt_frame *frame, void *const *results) {
  return tessera_rt_execute_on(frame, results, {frame->function->device, 0, nullptr});
}
