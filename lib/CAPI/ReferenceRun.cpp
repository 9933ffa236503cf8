//===- ReferenceRun.cpp - Reference evaluations of the C ABI --------------===//
#include "ReferenceRun.h"
#include "Binding.h"

#include "tessera/Reference/Reference.h"

#include <cstring>

namespace tessera::capi {

using namespace mlir;
namespace {

template <typename T> void copyAs(const std::vector<int64_t> &from, std::vector<std::byte> &to) {
  to.resize(from.size() * sizeof(T));
  for (size_t i = 0; i < from.size(); ++i) {
    T value = T(from[i]);
    std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void storeIntegers(DType dtype, const std::vector<int64_t> &from, std::vector<std::byte> &to) {
  switch (dtypeBytes(dtype)) {
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
  bool isFloat = tessera::isFloat(evaluated.dtype);
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
    Binding binding(request, result.info, values);
    func::FuncOp function = binding.bind(module);
    if (!function)
      return failure();
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
