//===- ReferenceRun.cpp - Reference evaluations of the C ABI --------------===//
//
// The values of a call come in the order of the request. The frontend says which argument of the
// graph function each parameter became; what it made a constant of the specialisation has none.
//
//===----------------------------------------------------------------------===//
#include "ReferenceRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Reference/Reference.h"

#include <cstring>

namespace tessera::capi {

using namespace mlir;
using reference::HostTensor;

namespace {

/// A scalar in the element type that the graph function has for it.
struct ScalarStorage {
  union {
    double fp64;
    float fp32;
    int64_t integer;
    uint8_t boolean;
  };
};

std::optional<HostTensor> tensorOf(const tessera_rt_tensor &tensor) {
  if (tensor.ndim < 0 || tensor.dtype < TESSERA_RT_FP64 || tensor.dtype > TESSERA_RT_FP8_E5M2)
    return std::nullopt;
  HostTensor host;
  host.dtype = DType(tensor.dtype);
  host.sizes.assign(tensor.sizes, tensor.sizes + tensor.ndim);
  host.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  host.data = tensor.data;
  return host;
}

std::optional<HostTensor> scalarOf(const tessera_rt_value &value, Type elementType,
                                   ScalarStorage &storage) {
  std::optional<DType> dtype = reference::dtypeOf(elementType);
  if (!dtype)
    return std::nullopt;
  double real = value.kind == TESSERA_RT_FLOAT ? value.as.real : double(value.as.integer);
  switch (*dtype) {
  case DType::FP64:
    storage.fp64 = real;
    break;
  case DType::FP32:
    storage.fp32 = float(real);
    break;
  case DType::Int64:
    storage.integer = value.as.integer;
    break;
  case DType::Bool:
    storage.boolean = value.as.integer != 0;
    break;
  default:
    return std::nullopt;
  }
  HostTensor host;
  host.dtype = *dtype;
  host.data = &storage;
  return host;
}

/// The arguments of the graph function, from the values of the call.
class Binding {
public:
  Binding(const CompileRequest &request, const FrontendInfo &info,
          std::span<const tessera_rt_value> values)
      : request(request), info(info), values(values) {}

  bool bind(func::FuncOp function) {
    arguments.resize(function.getNumArguments());
    storage.resize(values.size());
    size_t next = 0;
    for (const auto &[i, spec] : llvm::enumerate(request.program.arguments)) {
      if (spec.kind == ArgSpec::Default || spec.kind == ArgSpec::Constant)
        continue;
      if (next >= values.size())
        return false;
      if (!bindOne(function, parameterOf(spec, i), spec.name, values[next], storage[next]))
        return false;
      ++next;
    }
    return next == values.size();
  }

  std::vector<HostTensor> arguments;
  llvm::StringMap<int64_t> symbols;

private:
  /// The graph function's argument for a parameter; -1: none.
  int parameterOf(const ArgSpec &spec, size_t position) const {
    for (const ParamInfo &param : info.params)
      if (param.name == spec.name)
        return param.argument;
    return info.params.empty() ? int(position) : -1;
  }

  bool bindOne(func::FuncOp function, int argument, const std::string &name,
               const tessera_rt_value &value, ScalarStorage &scalar) {
    if (value.kind == TESSERA_RT_INT)
      symbols[name] = value.as.integer;
    if (argument < 0)
      return true;
    if (size_t(argument) >= arguments.size())
      return false;
    auto type = dyn_cast<gir::TensorType>(function.getArgumentTypes()[argument]);
    if (!type)
      return false;
    std::optional<HostTensor> host = value.kind == TESSERA_RT_TENSOR
                                         ? tensorOf(value.as.tensor)
                                         : scalarOf(value, type.getElementType(), scalar);
    if (host)
      arguments[argument] = std::move(*host);
    return host.has_value();
  }

  const CompileRequest &request;
  const FrontendInfo &info;
  std::span<const tessera_rt_value> values;
  std::vector<ScalarStorage> storage;
};

template <typename T> void copyAs(const std::vector<int64_t> &from, std::vector<std::byte> &to) {
  to.resize(from.size() * sizeof(T));
  for (size_t i = 0; i < from.size(); ++i) {
    T value = T(from[i]);
    std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void storeIntegers(DType dtype, const std::vector<int64_t> &from,
                   std::vector<std::byte> &to) {
  switch (reference::dtypeBytes(dtype)) {
  case 8:
    return copyAs<int64_t>(from, to);
  case 4:
    return copyAs<int32_t>(from, to);
  case 2:
    return copyAs<int16_t>(from, to);
  default:
    return copyAs<uint8_t>(from, to);
  }
}

void makeOutput(reference::Result &&evaluated, Output &output) {
  output.sizes = std::move(evaluated.sizes);
  output.strides.resize(output.sizes.size());
  int64_t stride = 1;
  for (size_t d = output.sizes.size(); d-- > 0;) {
    output.strides[d] = stride;
    stride *= output.sizes[d];
  }
  tessera_output &view = output.view;
  view.dtype = int32_t(evaluated.dtype);
  bool isFloat = reference::isFloat(evaluated.dtype);
  view.value.dtype = isFloat ? int32_t(TESSERA_RT_FP64) : view.dtype;
  view.value.ndim = int32_t(output.sizes.size());
  view.value.sizes = output.sizes.data();
  view.value.strides = output.strides.data();
  view.value.device = TESSERA_RT_DEVICE_CPU;
  if (isFloat) {
    output.values = std::move(evaluated.values);
    output.bounds = std::move(evaluated.bounds);
    view.value.data = output.values.data();
    view.bound = output.bounds.data();
  } else {
    storeIntegers(evaluated.dtype, evaluated.integers, output.integers);
    view.value.data = output.integers.data();
  }
  output.excluded = std::move(evaluated.uncertain);
  for (uint8_t excluded : output.excluded)
    view.excluded_count += excluded;
  view.excluded = view.excluded_count ? output.excluded.data() : nullptr;
}

} // namespace

void runReference(const CompileRequest &request, std::span<const tessera_rt_value> values,
                  CompileResult &result, std::vector<Output> &outputs) {
  withGraph(request, result, [&](ModuleOp module) -> LogicalResult {
    func::FuncOp function;
    for (auto candidate : module.getOps<func::FuncOp>())
      if (!function || candidate.getSymName() == request.program.function)
        function = candidate;
    if (!function)
      return module.emitError("expected a function");
    Binding binding(request, result.info, values);
    if (!binding.bind(function))
      return function.emitError("the values of the call do not match the function's arguments");
    FailureOr<std::vector<reference::Result>> evaluated =
        reference::evaluate(function, binding.arguments, binding.symbols);
    if (failed(evaluated))
      return failure();
    outputs.resize(evaluated->size());
    for (size_t i = 0; i < outputs.size(); ++i)
      makeOutput(std::move((*evaluated)[i]), outputs[i]);
    return success();
  });
}

} // namespace tessera::capi
