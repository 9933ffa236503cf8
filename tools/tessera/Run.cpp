//===- Run.cpp - `tessera run` --------------------------------------------===//
//
// Makes random inputs, compiles, runs, and on request compares with the float64 reference and
// measures. The memory of results is filled with NaN patterns first, so that an element that no
// kernel wrote is found.
//
//===----------------------------------------------------------------------===//
#include "Differences.h"
#include "Inputs.h"
#include "Numbers.h"
#include "Program.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tessera::cli {

namespace {

struct ModuleRelease {
  void operator()(tessera_rt_module *module) const { tessera_rt_module_release(module); }
};

/// A loaded function, the results' memory, and one call.
class Call {
public:
  bool load(const tessera_result *compiled) {
    uint64_t length = 0;
    const void *bundle = tessera_result_bundle(compiled, &length);
    tessera_rt_module *loaded = nullptr;
    if (tessera_rt_load(bundle, length, &loaded) != TESSERA_RT_OK)
      return fail("the compiled function cannot be loaded");
    module.reset(loaded);
    function = tessera_rt_function_at(loaded, 0);
    if (function)
      return true;
    std::fprintf(stderr, "tessera: error: the code is not for this machine\n");
    return false;
  }

  /// Binds once to learn the results' shapes, and poisons their memory.
  bool allocate(const Inputs &inputs) {
    tessera_rt_frame *frame = nullptr;
    if (prepare(inputs, &frame) != TESSERA_RT_OK)
      return fail("the call is refused");
    int32_t count = tessera_rt_function_result_count(function);
    buffers.resize(count);
    shapes.resize(count);
    types.resize(count);
    for (int32_t i = 0; i < count; ++i) {
      tessera_rt_tensor tensor = {};
      tessera_rt_frame_result(frame, i, &tensor);
      shapes[i].assign(tensor.sizes, tensor.sizes + tensor.ndim);
      types[i] = tensor.dtype;
      int64_t bytes = dtypeBytes(tensor.dtype) * elementCount(i);
      if (!buffers[i].allocate(bytes)) {
        tessera_rt_frame_release(frame);
        return fail("no memory for the results");
      }
      std::memset(buffers[i].data, 0xFF, size_t(bytes));
      addresses.push_back(buffers[i].data);
    }
    tessera_rt_frame_release(frame);
    return true;
  }

  bool run(const Inputs &inputs) {
    tessera_rt_frame *frame = nullptr;
    tessera_rt_status status = prepare(inputs, &frame);
    if (status == TESSERA_RT_OK) {
      status = tessera_rt_execute(frame, addresses.data());
      tessera_rt_frame_release(frame);
    }
    return status == TESSERA_RT_OK || fail("the call failed");
  }

  size_t resultCount() const { return types.size(); }
  int64_t elementCount(size_t i) const {
    int64_t count = 1;
    for (int64_t size : shapes[i])
      count *= size;
    return count;
  }
  const void *data(size_t i) const { return buffers[i].data; }
  int32_t dtype(size_t i) const { return types[i]; }
  std::string type(size_t i) const {
    return typeText(types[i], shapes[i].data(), int32_t(shapes[i].size()));
  }

private:
  tessera_rt_status prepare(const Inputs &inputs, tessera_rt_frame **frame) {
    return tessera_rt_prepare(function, inputs.values.data(), int32_t(inputs.values.size()), frame);
  }
  static bool fail(const char *what) {
    std::fprintf(stderr, "tessera: error: %s: %s\n", what, tessera_rt_last_error());
    return false;
  }

  std::unique_ptr<tessera_rt_module, ModuleRelease> module;
  const tessera_rt_function *function = nullptr;
  std::vector<Buffer> buffers;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int32_t> types;
  std::vector<void *> addresses;
};

/// Compares one result with the reference; prints one line.
bool checkResult(const Call &call, size_t i, const tessera_output &expected) {
  Comparison comparison = compare(call.data(i), call.dtype(i), call.elementCount(i), expected);
  std::printf("  result %zu  %-28s", i, call.type(i).c_str());
  if (isFloat(call.dtype(i)))
    std::printf("  error %.3g, bound %.3g (%.3g of it)", comparison.error, comparison.bound,
                comparison.share);
  if (comparison.excluded)
    std::printf("  %llu left out", static_cast<unsigned long long>(comparison.excluded));
  std::printf(comparison.wrong ? "  %llu WRONG\n" : "  ok\n",
              static_cast<unsigned long long>(comparison.wrong));
  if (comparison.wrong)
    std::printf("    first at element %llu: expected %.17g within %.3g, got %.17g\n",
                static_cast<unsigned long long>(comparison.firstWrong), comparison.expected,
                comparison.firstBound, comparison.got);
  return !comparison.wrong;
}

int checkResults(Program &program, const Call &call, const Inputs &inputs, const Options &options) {
  Program other;
  Program *oracle = &program;
  if (!options.reference.empty()) {
    if (!other.read(options.reference, options))
      return Usage;
    oracle = &other;
  }
  Result reference = oracle->reference(inputs.values);
  tessera_status status = tessera_result_status(reference.get());
  if (status != TESSERA_OK) {
    showDiagnostics(reference.get(), options);
    return exitStatus(status);
  }
  if (tessera_result_output_count(reference.get()) != call.resultCount()) {
    std::fprintf(stderr, "tessera: error: the reference has another number of results\n");
    return Failure;
  }
  bool good = true;
  for (size_t i = 0; i < call.resultCount(); ++i) {
    tessera_output expected = tessera_result_output(reference.get(), i);
    int64_t count = 1;
    for (int32_t d = 0; d < expected.value.ndim; ++d)
      count *= expected.value.sizes[d];
    if (count != call.elementCount(i) || expected.dtype != call.dtype(i)) {
      std::fprintf(stderr, "tessera: error: result %zu is %s, the reference's is %s\n", i,
                   call.type(i).c_str(),
                   typeText(expected.dtype, expected.value.sizes, expected.value.ndim).c_str());
      good = false;
      continue;
    }
    good &= checkResult(call, i, expected);
  }
  if (good && !options.gradients.empty())
    return checkDifferences(options, inputs, reference.get());
  return good ? Success : Failure;
}

/// Calls for about a quarter of a second, at least three times, and prints the median.
bool timeCalls(Call &call, const Inputs &inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> milliseconds;
  Clock::time_point start = Clock::now();
  do {
    Clock::time_point before = Clock::now();
    if (!call.run(inputs))
      return false;
    std::chrono::duration<double, std::milli> taken = Clock::now() - before;
    milliseconds.push_back(taken.count());
  } while (milliseconds.size() < 3 ||
           (milliseconds.size() < 10000 && Clock::now() - start < std::chrono::milliseconds(250)));
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("  time      %.4g ms, the median of %zu calls (fastest %.4g ms), %d thread%s\n",
              milliseconds[milliseconds.size() / 2], milliseconds.size(), milliseconds.front(),
              tessera_rt_get_num_threads(), tessera_rt_get_num_threads() == 1 ? "" : "s");
  return true;
}

} // namespace

int run(const Options &options) {
  Program program;
  if (!program.read(options.program, options) || !program.hasAllSizes())
    return Usage;
  Result compiled = program.compile(/*code=*/true);
  showDiagnostics(compiled.get(), options);
  tessera_status status = tessera_result_status(compiled.get());
  if (status != TESSERA_OK)
    return exitStatus(status);

  Inputs inputs;
  Call call;
  if (!inputs.make(program.arguments(), options.seed))
    return Usage;
  if (!call.load(compiled.get()) || !call.allocate(inputs) || !call.run(inputs))
    return Failure;
  int exit = Success;
  if (options.check || !options.reference.empty())
    exit = checkResults(program, call, inputs, options);
  else
    for (size_t i = 0; i < call.resultCount(); ++i)
      std::printf("  result %zu  %s\n", i, call.type(i).c_str());
  if (options.time && exit == Success && !timeCalls(call, inputs))
    return Failure;
  return exit;
}

} // namespace tessera::cli
