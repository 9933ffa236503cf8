//===- Results.cpp - The results of a fast call ---------------------------===//

#include "Results.h"

namespace tessera::python {

/// Row-major without gaps, the layout of kernel results.
static bool isDense(const tessera_rt_tensor &tensor) {
  int64_t expected = 1;
  bool dense = true;
  for (int32_t d = tensor.ndim; d-- > 0; expected *= tensor.sizes[d]) {
    if (tensor.sizes[d] == 0)
      return true;
    dense = dense && (tensor.sizes[d] == 1 || tensor.strides[d] == expected);
  }
  return dense;
}

namespace {
/// The bytes that a tensor touches; none if it is empty.
struct Range {
  intptr_t begin, end;

  explicit Range(const tessera_rt_tensor &tensor) {
    begin = end = reinterpret_cast<intptr_t>(tensor.data);
    intptr_t bytes = elementBytes(tensor.dtype), low = 0, high = 0;
    for (int32_t d = 0; d < tensor.ndim; ++d) {
      if (tensor.sizes[d] == 0)
        return;
      intptr_t reach = (tensor.sizes[d] - 1) * tensor.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    begin += low * bytes;
    end += (high + 1) * bytes;
  }
  bool meets(const Range &other) const {
    return begin < end && other.begin < other.end && begin < other.end && other.begin < end;
  }
};
} // namespace

/// Whether a range overlaps a tensor among the values.
static bool meetsAny(const Range &range, const tessera_rt_value *values, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (values[i].kind == TESSERA_RT_TENSOR && range.meets(Range(values[i].as.tensor)))
      return true;
  return false;
}

Results::Outcome Results::useOne(PyObject *array, int32_t index) {
  auto outcome = given.addObject(array, ParameterKind::Tensor, /*writable=*/true);
  if (outcome != Outcome::Done)
    return outcome;
  tessera_rt_tensor wanted;
  tessera_rt_frame_result(call.frame, index, &wanted);
  const tessera_rt_tensor &tensor = given.values()[index].as.tensor;
  bool fits = tensor.dtype == wanted.dtype && tensor.ndim == wanted.ndim &&
              tensor.device == call.found->device && given.isAligned() && isDense(tensor);
  for (int32_t d = 0; fits && d < wanted.ndim; ++d)
    fits = tensor.sizes[d] == wanted.sizes[d];
  if (!fits)
    return Outcome::Unsuitable;
  Range range(tensor);
  if (meetsAny(range, arguments.values(), arguments.count()) ||
      meetsAny(range, given.values(), index))
    return Outcome::Unsuitable;
  places[static_cast<size_t>(index)] = tensor.data;
  return Outcome::Done;
}

Results::Outcome Results::use(PyObject *out) {
  int32_t count = tessera_rt_function_result_count(call.found->function);
  if (!call.found->tuple) {
    single = Ref(Py_NewRef(out));
    return useOne(out, 0);
  }
  if (!PyTuple_CheckExact(out) || PyTuple_Size(out) != count)
    return Outcome::Unsuitable;
  tuple = Ref(Py_NewRef(out));
  for (int32_t i = 0; i < count; ++i)
    if (auto outcome = useOne(PyTuple_GetItem(out, i), i); outcome != Outcome::Done)
      return outcome;
  return Outcome::Done;
}

Results::Outcome Results::make() {
  const ArrayType &library = *arguments.library();
  int32_t count = tessera_rt_function_result_count(call.found->function);
  if (call.found->tuple && !(tuple = Ref(PyTuple_New(count))))
    return Outcome::Failed;
  for (int32_t i = 0; i < count; ++i) {
    tessera_rt_tensor tensor;
    tessera_rt_frame_result(call.frame, i, &tensor);
    if (!hasElementType(library, tensor.dtype))
      return Outcome::Unsuitable;
    Ref array(makeArray(library, tensor, call.found->device, &places[static_cast<size_t>(i)]));
    if (!array)
      return Outcome::Failed;
    if (!call.found->tuple)
      single = std::move(array);
    else if (PyTuple_SetItem(tuple.get(), i, array.release()) != 0)
      return Outcome::Failed;
  }
  return Outcome::Done;
}

PyObject *Results::take() { return call.found->tuple ? tuple.release() : single.release(); }

} // namespace tessera::python
