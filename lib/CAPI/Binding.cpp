//===- Binding.cpp - Binds the values of a call to a function's arguments -===//
#include "Binding.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::capi {

using namespace mlir;
using reference::HostTensor;

static std::optional<HostTensor> tensorOf(const tessera_rt_tensor &tensor) {
  if (tensor.ndim < 0 || tensor.dtype < 0 || tensor.dtype >= int32_t(numDTypes))
    return std::nullopt;
  HostTensor host;
  host.dtype = DType(tensor.dtype);
  host.sizes.assign(tensor.sizes, tensor.sizes + tensor.ndim);
  host.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  host.data = tensor.data;
  return host;
}

static std::optional<HostTensor> scalarOf(const tessera_rt_value &value, Type elementType,
                                          ScalarStorage &storage) {
  std::optional<DType> dtype = dtypeFromMlir(elementType);
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

func::FuncOp Binding::bind(ModuleOp module) {
  func::FuncOp function;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!function || candidate.getSymName() == request.program.function)
      function = candidate;
  if (!function)
    module.emitError("expected a function");
  else if (!bind(function))
    function.emitError("the values of the call do not match the function's arguments");
  else
    return function;
  return nullptr;
}

bool Binding::bind(func::FuncOp function) {
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

/// The graph function's argument for a parameter; -1 if there is none.
int Binding::parameterOf(const ArgSpec &spec, size_t position) const {
  for (const ParamInfo &param : info.params)
    if (param.name == spec.name)
      return param.argument;
  return info.params.empty() ? int(position) : -1;
}

bool Binding::bindOne(func::FuncOp function, int argument, const std::string &name,
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

} // namespace tessera::capi
