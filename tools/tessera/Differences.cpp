//===- Differences.cpp - Gradients against finite differences -------------===//
//
// The reference evaluates the function in float64 at two points on either side of the inputs. The
// difference is compared with the sum of the gradient's elements times the distances of the points.
// The points are rounded to the arguments' types first, so that their rounding does not matter.
//
//===----------------------------------------------------------------------===//
#include "Differences.h"

#include "Numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace tessera::cli {

namespace {

/// The step relative to inputs of a type, and the error that remains of the difference.
struct Step {
  double length, tolerance;
};

Step stepOf(int32_t dtype) {
  return dtype == TESSERA_RT_FP64 ? Step{1e-5, 1e-6} : Step{1e-3, 1e-3};
}

void store(std::byte *data, int32_t dtype, int64_t i, double value) {
  if (dtype == TESSERA_RT_FP64) {
    std::memcpy(data + i * 8, &value, 8);
  } else {
    float narrow = float(value);
    std::memcpy(data + i * 4, &narrow, 4);
  }
}

/// The arguments by the names or numbers of `--grad`.
std::vector<size_t> differentiated(const Options &options, const std::vector<ArgumentSpec> &specs) {
  std::vector<size_t> indices;
  std::istringstream names(options.gradients);
  for (std::string name; std::getline(names, name, ',');)
    for (size_t i = 0; i < specs.size(); ++i)
      if (specs[i].name == name || std::to_string(i) == name)
        indices.push_back(i);
  return indices;
}

class Differences {
public:
  Differences(Program &function, const Inputs &inputs) : function(function), inputs(inputs) {}

  /// Compares one gradient. False if it is wrong, or after a message.
  bool check(size_t argument, const ArgumentSpec &spec, const tessera_output &gradient);

private:
  bool evaluate(size_t argument, const Buffer &moved, double &value);

  Program &function;
  const Inputs &inputs;
};

bool Differences::evaluate(size_t argument, const Buffer &moved, double &value) {
  std::vector<tessera_rt_value> values = inputs.values;
  values[argument].as.tensor.data = moved.data;
  Result result = function.reference(values);
  if (tessera_result_status(result.get()) != TESSERA_OK ||
      tessera_result_output_count(result.get()) == 0)
    return false;
  tessera_output output = tessera_result_output(result.get(), 0);
  value = elementAt(output.value.data, output.value.dtype, 0);
  return true;
}

bool Differences::check(size_t argument, const ArgumentSpec &spec, const tessera_output &gradient) {
  int64_t count = spec.elementCount();
  Step step = stepOf(spec.dtype);
  Buffer direction, above, below;
  if (!direction.allocate(count * 8) || !above.allocate(count * 8) || !below.allocate(count * 8))
    return false;
  fillRandom(direction.data, TESSERA_RT_FP64, count, argument + 1);
  const void *data = inputs.values[argument].as.tensor.data;
  double expected = 0, scale = 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = elementAt(data, spec.dtype, i);
    double move = step.length * elementAt(direction.data, TESSERA_RT_FP64, i);
    store(above.data, spec.dtype, i, x + move);
    store(below.data, spec.dtype, i, x - move);
    double distance = elementAt(above.data, spec.dtype, i) - elementAt(below.data, spec.dtype, i);
    double part = elementAt(gradient.value.data, gradient.value.dtype, i) * distance;
    expected += part;
    scale += std::fabs(part);
  }
  double high = 0, low = 0;
  if (!evaluate(argument, above, high) || !evaluate(argument, below, low)) {
    std::fprintf(stderr, "tessera: error: the reference of the function failed\n");
    return false;
  }
  double error = std::fabs(high - low - expected);
  scale = std::max(scale, 1e-12 * std::max(std::fabs(high), 1.0));
  bool good = error <= step.tolerance * scale;
  std::printf("  gradient of '%s'  differs by %.3g of %.3g from finite differences  %s\n",
              spec.name.c_str(), error, scale, good ? "ok" : "WRONG");
  return good;
}

} // namespace

int checkDifferences(const Options &options, const Inputs &inputs,
                     const tessera_result *reference) {
  Options plain = options;
  plain.gradients.clear();
  Program function;
  if (!function.read(options.program, plain))
    return Usage;
  const std::vector<ArgumentSpec> &specs = function.arguments();
  std::vector<size_t> indices = differentiated(options, specs);
  if (indices.size() != tessera_result_output_count(reference))
    return Success; // arguments that are not given by name
  Differences differences(function, inputs);
  bool good = true;
  for (size_t i = 0; i < indices.size(); ++i) {
    const ArgumentSpec &spec = specs[indices[i]];
    bool isWide = spec.dtype == TESSERA_RT_FP64 || spec.dtype == TESSERA_RT_FP32;
    bool isDense = spec.memoryCount() == spec.elementCount();
    if (spec.kind != TESSERA_ARGUMENT_TENSOR || !isWide || !isDense) {
      std::printf("  gradient of '%s'  is not compared with finite differences\n",
                  spec.name.c_str());
      continue;
    }
    good &= differences.check(indices[i], spec, tessera_result_output(reference, i));
  }
  return good ? Success : Failure;
}

} // namespace tessera::cli
