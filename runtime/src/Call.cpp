//===- Call.cpp - Running a call ------------------------------------------===//

#include "Frame.h"
#include "Metrics.h"
#include "Print.h"
#include "Profile.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace tessera::rt;

namespace {

/// Runs the steps of one call.
class Runner {
public:
  Runner(tessera_rt_frame *frame, void *const *results, char *temporaries, tessera_rt_stream stream)
      : frame(frame), plan(frame->function->plan), results(results), temporaries(temporaries),
        stream(stream) {}

  tessera_rt_status run(size_t index) {
    const PlanStep &step = plan.steps[index];
    const int64_t *grid = frame->grids + 3 * index;
    if (grid[0] == 0)
      return TESSERA_RT_OK;
    int64_t small[64];
    std::vector<int64_t> large;
    int64_t *words = small;
    if (step.wordCount > 64) {
      large.resize(step.wordCount);
      words = large.data();
    }
    std::copy_n(frame->words + step.firstWord, step.wordCount, words);
    for (uint32_t i = step.firstPatch; i < step.firstPatch + step.patchCount; ++i)
      patch(words[plan.patches[i]], plan.words[step.firstWord + plan.patches[i]]);
    const tessera_rt_function &function = *frame->function;
    const BoundKernel &bound = function.kernels[step.kernel];
    Launch launch = {bound.kernel, &bound.shape, grid, words, step.wordCount, step.grain};
    if (function.device == TESSERA_RT_DEVICE_CPU) {
      launch.work = static_cast<int64_t>(std::min(stepWork(frame, index), 1e18));
      launch.cost = &function.costs[index];
    }
    tessera_rt_failure failure = {INT64_MAX, 0, 0};
    launch.failure = &failure;
    launch.maps = plan.source.steps[index].maps;
    tessera_rt_status status = profiling.load(std::memory_order_relaxed)
                                   ? launchTimed(function.name, *function.driver, stream, launch)
                                   : function.driver->launch(stream, launch);
    return status == TESSERA_RT_OK && failure.program != INT64_MAX ? tell(failure, index) : status;
  }

  /// Prints the requested tensors after all launches are done.
  tessera_rt_status print() {
    const tessera_rt_function &function = *frame->function;
    if (plan.source.prints.empty())
      return TESSERA_RT_OK;
    if (auto status = function.driver->synchronize(stream))
      return fail(status, "function '" + function.name +
                              "' prints tensors, which has to wait for the device: " +
                              tessera_rt_last_error());
    for (const Print &print : plan.source.prints)
      if (auto status = printOne(print))
        return status;
    return TESSERA_RT_OK;
  }

private:
  tessera_rt_status printOne(const Print &print) {
    const tessera_rt_function &function = *frame->function;
    const Program &source = plan.source;
    bool overflow = false;
    auto bytesOf = [&](DType dtype, const std::vector<Expr> &sizes, std::vector<int64_t> *values) {
      int64_t bytes = dtypeBytes(dtype);
      for (const Expr &size : sizes) {
        int64_t value = evaluate(size, frame->slots, overflow);
        overflow |= value < 0 || __builtin_mul_overflow(bytes, value, &bytes);
        if (values)
          values->push_back(value);
      }
      return bytes;
    };
    std::vector<int64_t> sizes;
    int64_t bytes = bytesOf(print.dtype, print.sizes, &sizes);
    int64_t held = print.isTemporary
                       ? evaluate(source.temporaries[print.index].bytes, frame->slots, overflow)
                       : bytesOf(source.results[print.index].dtype,
                                 source.results[print.index].sizes, nullptr);
    if (overflow || bytes > held)
      return fail(TESSERA_RT_INVALID, "function '" + function.name + "': the print of '" +
                                          print.label + "' is not in memory");
    std::vector<char> data(static_cast<size_t>(bytes));
    const void *memory =
        print.isTemporary ? temporaries + frame->temporaries[print.index] : results[print.index];
    if (bytes) {
      if (auto status = function.driver->copy(stream, data.data(), memory, data.size()))
        return status;
      if (auto status = function.driver->synchronize(stream))
        return status;
    }
    std::string text = formatTensor(print.label, print.dtype, sizes, data.data());
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return TESSERA_RT_OK;
  }

  /// The error of a failed check.
  tessera_rt_status tell(const tessera_rt_failure &failure, size_t index) const {
    const std::vector<Check> &checks = plan.source.steps[index].checks;
    if (failure.check < 0 || static_cast<size_t>(failure.check) >= checks.size())
      return fail(TESSERA_RT_INVALID, "function '" + frame->function->name +
                                          "': a kernel reports a check that it does not have");
    const Check &check = checks[static_cast<size_t>(failure.check)];
    std::vector<int64_t> values = {failure.value};
    bool overflow = false;
    for (const Expr &operand : check.operands)
      values.push_back(evaluate(operand, frame->slots, overflow));
    std::string text = expand(check.message, values);
    if (!check.excerpt.empty())
      text += "\n" + check.excerpt;
    return fail(check.kind == Check::Index ? TESSERA_RT_INDEX : TESSERA_RT_ASSERTION,
                std::move(text));
  }

  /// Adds the address to an offset, or inserts a scalar argument.
  void patch(int64_t &value, const PlanWord &w) const {
    auto add = [&](const void *base) {
      value =
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(base) + static_cast<uint64_t>(value));
    };
    switch (w.kind) {
    case Word::ArgAddress:
      return add(frame->addresses[w.index]);
    case Word::ResultAddress:
      return add(results[w.index]);
    case Word::TempAddress:
      return add(temporaries + frame->temporaries[w.index]);
    case Word::Integer:
      return;
    case Word::Scalar:
      break;
    }
    int64_t bits = frame->scalars[w.index];
    double real;
    std::memcpy(&real, &bits, 8);
    value = static_cast<int64_t>(plan.source.arguments[w.index].kind == Argument::Float
                                     ? scalarBits(real, w.dtype)
                                     : scalarBits(bits, w.dtype));
  }

  tessera_rt_frame *frame;
  const Plan &plan;
  void *const *results;
  char *temporaries;
  tessera_rt_stream stream;
};

} // namespace

/// Computes the words of all steps without addresses; they are the same for every call with these
/// shapes. Returns false on overflow.
static bool findWords(tessera_rt_frame *frame) {
  const Plan &plan = frame->function->plan;
  bool overflow = false;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep &step = plan.steps[i];
    if (frame->grids[3 * i] == 0) // its sizes may be anything
      continue;
    for (uint32_t w = step.firstWord; w < step.firstWord + step.wordCount; ++w)
      frame->words[w] = plan.evaluate(plan.words[w].expr, frame->slots, overflow);
  }
  frame->hasWords = !overflow;
  return !overflow;
}

tessera_rt_status tessera_rt_execute_on(tessera_rt_frame *frame, void *const *results,
                                        tessera_rt_stream stream) {
  count(metrics.calls);
  const tessera_rt_function &function = *frame->function;
  if (stream.device != function.device)
    return fail(TESSERA_RT_ARGUMENT, "function '" + function.name + "' is for " +
                                         deviceName(function.device) + ", the stream is of " +
                                         deviceName(stream.device));
  if (!frame->hasWords && !findWords(frame))
    return fail(TESSERA_RT_OUT_OF_MEMORY,
                "function '" + function.name + "': the sizes of this call do not fit into 64 bits");
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
  if (status == TESSERA_RT_OK)
    status = runner.print();
  if (block) {
    // The first failure is reported.
    std::string message = status ? tessera_rt_last_error() : "";
    tessera_rt_status freed = function.driver->deallocate(stream, block, bytes);
    status = status ? fail(status, std::move(message)) : freed;
  }
  return status;
}

tessera_rt_status tessera_rt_execute(tessera_rt_frame *frame, void *const *results) {
  return tessera_rt_execute_on(frame, results, {frame->function->device, 0, nullptr});
}
