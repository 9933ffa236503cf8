//===- Harness.cpp - Running interpreted programs in tests ----------------===//
#include "Harness.h"

#include "tessera/Bundle/Bundle.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Interpreter/Interpreter.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static std::vector<int64_t> denseStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d])
    strides[d] = stride;
  return strides;
}

int64_t Array::count() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

Array::Array(DType dtype, std::vector<int64_t> given)
    : dtype(dtype), sizes(std::move(given)), strides(denseStrides(sizes)),
      bytes(size_t(count() * dtypeBytes(dtype)) + 64) {}

void Array::set(int64_t index, double value) {
  uint64_t bits =
      isFloat(dtype) ? rt::encodeFloat(value, dtype) : rt::encodeInteger(int64_t(value), dtype);
  rt::storeBits(bytes.data() + index * dtypeBytes(dtype), bits, dtype);
}

double Array::get(int64_t index) const {
  uint64_t bits = rt::loadBits(bytes.data() + index * dtypeBytes(dtype), dtype);
  return isFloat(dtype) ? rt::decodeFloat(bits, dtype) : double(rt::decodeInteger(bits, dtype));
}

Array Array::random(DType dtype, std::vector<int64_t> sizes, std::mt19937 &random) {
  Array array(dtype, std::move(sizes));
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < array.count(); ++i) {
    unsigned special = random() % 100;
    double value = special == 0 ? -INFINITY : special == 1 ? 0.0 : normal(random);
    array.set(i, isFloat(dtype)
                     ? value
                     : double(int64_t(random() % 41) - (dtype == DType::UInt8 ? 0 : 20)));
  }
  return array;
}

Array Array::permuted(const std::vector<unsigned> &order) const {
  std::vector<int64_t> stored;
  for (unsigned d : order)
    stored.push_back(sizes[d] + 1);
  Array result(dtype, stored);
  std::vector<int64_t> own(sizes.size());
  for (size_t k = 0; k < order.size(); ++k)
    own[order[k]] = result.strides[k];
  for (int64_t i = 0; i < count(); ++i) {
    int64_t to = 0, rest = i;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d])
      to += rest % sizes[d] * own[d];
    std::memcpy(result.bytes.data() + to * dtypeBytes(dtype), bytes.data() + i * dtypeBytes(dtype),
                size_t(dtypeBytes(dtype)));
  }
  result.sizes = sizes;
  result.strides = own;
  return result;
}

tessera_rt_value Array::value() const {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_TENSOR;
  value.as.tensor = {const_cast<char *>(bytes.data()),
                     int32_t(dtype),
                     int32_t(sizes.size()),
                     sizes.data(),
                     strides.data(),
                     TESSERA_RT_DEVICE_CPU,
                     0};
  return value;
}

namespace {
/// A loaded program; null after a failure.
struct Module {
  ~Module() { tessera_rt_module_release(module); }
  tessera_rt_module *module = nullptr;
};
} // namespace

static std::vector<uint8_t> encodeProgram(func::FuncOp function) {
  OwningOpRef<ModuleOp> source = ModuleOp::create(function.getLoc());
  auto copy = cast<func::FuncOp>(function->clone());
  source->push_back(copy);
  OwningOpRef<ModuleOp> holder = ModuleOp::create(function.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
  FailureOr<target::ProgramOp> made = interpreter::interpret(copy, builder);
  if (failed(made))
    return {};
  FailureOr<rt::Program> written = makeProgram(*made);
  return succeeded(written) ? rt::encode(*written) : std::vector<uint8_t>();
}

std::vector<Array> test::interpretOn(func::FuncOp function, const std::vector<Array> &arguments,
                                     const char *level, std::string *message) {
  auto fail = [&](const std::string &text) {
    if (message)
      *message = text;
    else
      ADD_FAILURE() << text;
    return std::vector<Array>();
  };
  std::vector<uint8_t> program = encodeProgram(function);
  if (program.empty())
    return fail("the function has no program");
  Module module;
  std::span<const tessera_rt_native_kernel> kernels = readyKernels(level);
  if (tessera_rt_module_from_functions("f", program.data(), program.size(), kernels.data(),
                                       kernels.size(), &module.module))
    return fail(tessera_rt_last_error());
  std::vector<tessera_rt_value> values;
  for (const Array &argument : arguments)
    values.push_back(argument.value());
  const tessera_rt_function *loaded = tessera_rt_function_at(module.module, 0);
  tessera_rt_frame *frame = nullptr;
  if (tessera_rt_prepare(loaded, values.data(), int32_t(values.size()), &frame))
    return fail(tessera_rt_last_error());
  std::vector<Array> results;
  std::vector<void *> places;
  for (int32_t i = 0; i < tessera_rt_function_result_count(loaded); ++i) {
    tessera_rt_tensor tensor;
    tessera_rt_frame_result(frame, i, &tensor);
    results.emplace_back(DType(tensor.dtype),
                         std::vector<int64_t>(tensor.sizes, tensor.sizes + tensor.ndim));
  }
  for (Array &result : results)
    places.push_back(result.bytes.data());
  tessera_rt_status status = tessera_rt_execute(frame, places.data());
  tessera_rt_frame_release(frame);
  return status ? fail(tessera_rt_last_error()) : results;
}

std::string test::compareWithReference(func::FuncOp function, const std::vector<Array> &arguments,
                                       int64_t *checked) {
  std::vector<reference::HostTensor> tensors(arguments.begin(), arguments.end());
  auto expected = reference::evaluate(function, tensors);
  if (failed(expected))
    return "the reference fails";
  for (const char *level : readyLevels()) {
    std::string message;
    std::vector<Array> results = interpretOn(function, arguments, level, &message);
    if (results.size() != expected->size())
      return "level " + std::string(level) + ": " + message;
    for (size_t i = 0; i < results.size(); ++i) {
      const reference::Result &wanted = (*expected)[i];
      reference::Comparison comparison = reference::compare(wanted, results[i]);
      if (checked)
        *checked += comparison.checked;
      if (comparison.ok())
        continue;
      int64_t at = comparison.firstWrong;
      std::string text;
      llvm::raw_string_ostream stream(text);
      stream << "level " << level << ", result " << i << ", element " << at << ": got "
             << results[i].get(at) << ", expected ";
      if (wanted.values.empty())
        stream << wanted.integers[at];
      else
        stream << wanted.values[at] << " +- " << wanted.bounds[at];
      return text;
    }
  }
  return "";
}

std::string test::compareWithReference(const std::string &text,
                                       const std::vector<Array> &arguments) {
  Program program(text);
  return program.module
             ? compareWithReference(*program.module->getOps<func::FuncOp>().begin(), arguments)
             : "the text is wrong";
}
