//===- Arguments.cpp - The arguments of a call and their shape class ------===//

#include "Arguments.h"

namespace tessera::python {

Arguments::~Arguments() {
  for (unsigned i = 0; i < bufferCount; ++i)
    PyBuffer_Release(&buffers[i]);
}

/// The runtime's type of a buffer of native numbers, or -1.
static int32_t dtypeOf(const char *format, Py_ssize_t bytes) {
  if (!format)
    return TESSERA_RT_UINT8;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (format[0] == 0 || format[1] != 0)
    return -1;
  switch (*format) {
  case 'd':
    return TESSERA_RT_FP64;
  case 'f':
    return TESSERA_RT_FP32;
  case 'e':
    return TESSERA_RT_FP16;
  case '?':
    return TESSERA_RT_BOOL;
  case 'B':
    return TESSERA_RT_UINT8;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
    return bytes == 8   ? TESSERA_RT_INT64
           : bytes == 4 ? TESSERA_RT_INT32
           : bytes == 2 ? TESSERA_RT_INT16
                        : TESSERA_RT_INT8;
  }
  return -1;
}

int64_t *Arguments::reserve(int64_t ndim) {
  if (ndim < 0 ||
      2 * ndim > static_cast<int64_t>(capacity * dimensionsPerArgument - dimensionCount))
    return nullptr;
  int64_t *place = dimensions.data() + dimensionCount;
  dimensionCount += 2 * static_cast<unsigned>(ndim);
  return place;
}

/// The next runtime argument; the caller ensures that there is room.
tessera_rt_value *Arguments::next(int32_t kind) {
  Entry &entry = entries[entryCount++];
  entry.kind = kind;
  entry.value = runtimeCount;
  tessera_rt_value *value = &runtime[runtimeCount++];
  value->kind = kind;
  value->reserved = 0;
  return value;
}

void Arguments::addTensor(const tessera_rt_tensor &tensor) {
  next(TESSERA_RT_TENSOR)->as.tensor = tensor;
  if (tensors++ == 0)
    place = tensor.device;
  else if (tensor.device != place)
    place = -1;
  if (tensor.device != TESSERA_RT_DEVICE_CPU)
    aligned = aligned && reinterpret_cast<uintptr_t>(tensor.data) % gpuAlignment == 0;
}

/// A NumPy array through the buffer protocol, which has no format for types of other packages;
/// returns false if the Python code must handle it.
bool Arguments::addBuffer(PyObject *object, bool writable) {
  Py_buffer &buffer = buffers[bufferCount];
  int flags = PyBUF_STRIDED_RO | (writable ? PyBUF_WRITABLE : 0);
  int32_t dtype = -1;
  if (PyObject_GetBuffer(object, &buffer, flags | PyBUF_FORMAT) == 0) {
    dtype = dtypeOf(buffer.format, buffer.itemsize);
  } else {
    PyErr_Clear();
    dtype = extensionTypeOf(object);
    if (dtype < 0)
      return false;
    if (PyObject_GetBuffer(object, &buffer, flags) != 0) {
      PyErr_Clear();
      return false;
    }
  }
  ++bufferCount;
  int64_t *sizes = reserve(buffer.ndim);
  auto address = reinterpret_cast<uintptr_t>(buffer.buf);
  if (dtype < 0 || !sizes || address % static_cast<uintptr_t>(buffer.itemsize) != 0)
    return false;
  int64_t *strides = sizes + buffer.ndim;
  for (int d = 0; d < buffer.ndim; ++d) {
    sizes[d] = buffer.shape[d];
    strides[d] = buffer.strides[d] / buffer.itemsize;
    if (strides[d] * buffer.itemsize != buffer.strides[d])
      return false;
  }
  addTensor({buffer.buf, dtype, buffer.ndim, sizes, strides, TESSERA_RT_DEVICE_CPU, 0});
  return true;
}

Arguments::Outcome Arguments::addObject(PyObject *object, ParameterKind parameter, bool writable) {
  if (entryCount == capacity)
    return Outcome::Unsuitable;
  bool any = parameter == ParameterKind::Any;
  if (PyFloat_CheckExact(object) && (any || parameter == ParameterKind::Float)) {
    next(TESSERA_RT_FLOAT)->as.real = PyFloat_AsDouble(object);
    return Outcome::Done;
  }
  if (PyBool_Check(object) && (any || parameter == ParameterKind::Bool)) {
    next(TESSERA_RT_BOOLEAN)->as.integer = object == Py_True;
    return Outcome::Done;
  }
  if (PyLong_CheckExact(object) && (any || parameter == ParameterKind::Int)) {
    int overflow = 0;
    int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow)
      return Outcome::Unsuitable;
    next(TESSERA_RT_INT)->as.integer = number;
    return Outcome::Done;
  }
  if (!any && parameter != ParameterKind::Tensor)
    return Outcome::Unsuitable;
  const ArrayType *type = arrayTypeOf(object);
  if (type->kind == ArrayType::None)
    return Outcome::Unsuitable;
  if (type->kind == ArrayType::NumPy) {
    if (!addBuffer(object, writable))
      return Outcome::Unsuitable;
  } else {
    tessera_rt_tensor tensor;
    if (!readTensor(*type, object, tensor) ||
        reinterpret_cast<intptr_t>(tensor.data) % elementBytes(tensor.dtype) != 0)
      return Outcome::Unsuitable;
    addTensor(tensor);
    if (checksGradients && type->kind == ArrayType::Torch && !requiresGradient)
      requiresGradient = requiresGrad(*type, object);
  }
  if (tensors == 1)
    firstType = type;
  return Outcome::Done;
}

static bool readTuple(PyObject *tuple, int64_t *numbers, Py_ssize_t length) {
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != length) {
    PyErr_SetString(PyExc_TypeError, "sizes and strides must be tuples of one length");
    return false;
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (numbers[i] == -1 && PyErr_Occurred())
      return false;
  }
  return true;
}

bool Arguments::addSpecification(PyObject *item) {
  if (PyBool_Check(item)) {
    next(TESSERA_RT_BOOLEAN)->as.integer = item == Py_True;
    return true;
  }
  if (PyLong_Check(item)) {
    int64_t number = PyLong_AsLongLong(item);
    if (number == -1 && PyErr_Occurred())
      return false;
    next(TESSERA_RT_INT)->as.integer = number;
    return true;
  }
  if (PyFloat_Check(item)) {
    next(TESSERA_RT_FLOAT)->as.real = PyFloat_AsDouble(item);
    return true;
  }
  if (PyUnicode_Check(item)) {
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(item, &length);
    if (!text)
      return false;
    Entry &entry = entries[entryCount++];
    entry.kind = constantKind;
    entry.constant = {text, static_cast<size_t>(length)};
    return true;
  }
  unsigned long long address;
  int dtype, device = TESSERA_RT_DEVICE_CPU;
  PyObject *sizes, *strides;
  if (!PyTuple_Check(item) ||
      !PyArg_ParseTuple(item, "KiOO|i", &address, &dtype, &sizes, &strides, &device)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "expected (address, dtype, sizes, strides, device)");
    return false;
  }
  Py_ssize_t ndim = PyTuple_Check(sizes) ? PyTuple_Size(sizes) : -1;
  int64_t *sizesAt = reserve(ndim);
  if (!sizesAt) {
    PyErr_SetString(errors.argument, "the arguments have too many dimensions");
    return false;
  }
  if (!readTuple(sizes, sizesAt, ndim) || !readTuple(strides, sizesAt + ndim, ndim))
    return false;
  addTensor({reinterpret_cast<void *>(address), dtype, static_cast<int32_t>(ndim), sizesAt,
             sizesAt + ndim, device, 0});
  return true;
}

/// The strides of dimensions of size 1 are ignored; an empty tensor is dense.
Arguments::Layout Arguments::layoutOf(const tessera_rt_tensor &tensor) {
  Layout layout = {-1, true};
  int64_t dense = 1;
  bool empty = false;
  for (int32_t d = tensor.ndim; d-- > 0;) {
    int64_t size = tensor.sizes[d];
    empty = empty || size == 0;
    if (size == 1)
      continue;
    if (layout.unitDim < 0 && tensor.strides[d] == 1)
      layout.unitDim = d;
    layout.contiguous = layout.contiguous && tensor.strides[d] == dense;
    dense *= size;
  }
  if (empty || dense == 1) {
    layout.contiguous = true;
    layout.unitDim = tensor.ndim - 1;
  }
  return layout;
}

std::string_view Arguments::key(unsigned missing) {
  keyText.clear();
  int32_t ordinal = place == TESSERA_RT_DEVICE_CPU ? -1 : place - TESSERA_RT_DEVICE_CUDA(0);
  for (int32_t part : {ordinal & 0xff, ordinal >> 8, int32_t(aligned)})
    keyText.push_back(static_cast<char>(part));
  for (unsigned i = 0; i < entryCount; ++i) {
    const Entry &entry = entries[i];
    keyText.push_back(static_cast<char>(entry.kind));
    if (entry.kind == constantKind) {
      keyText += std::to_string(entry.constant.size()) + ":";
      keyText += entry.constant;
    } else if (entry.kind == TESSERA_RT_TENSOR) {
      const tessera_rt_tensor &tensor = runtime[entry.value].as.tensor;
      Layout layout = layoutOf(tensor);
      keyText.push_back(static_cast<char>(tensor.dtype));
      keyText.push_back(static_cast<char>(tensor.ndim));
      keyText.push_back(static_cast<char>(layout.contiguous ? 127 : layout.unitDim));
      for (int32_t d = 0; d < tensor.ndim; ++d)
        keyText.push_back(static_cast<char>(tessera_rt_classify_size(tensor.sizes[d]).code));
    }
  }
  keyText.push_back(static_cast<char>(missing));
  return keyText;
}

PyObject *Arguments::describe() const {
  Ref list(PyList_New(0));
  if (!list)
    return nullptr;
  for (unsigned i = 0; i < entryCount; ++i) {
    const Entry &entry = entries[i];
    const tessera_rt_value &value = runtime[entry.value];
    Ref item;
    if (entry.kind == constantKind) {
      item = Ref(Py_BuildValue("(is#)", constantKind, entry.constant.data(),
                               static_cast<Py_ssize_t>(entry.constant.size())));
    } else if (entry.kind == TESSERA_RT_FLOAT) {
      item = Ref(Py_BuildValue("(id)", entry.kind, value.as.real));
    } else if (entry.kind != TESSERA_RT_TENSOR) {
      item = Ref(Py_BuildValue("(iL)", entry.kind, static_cast<long long>(value.as.integer)));
    } else {
      const tessera_rt_tensor &tensor = value.as.tensor;
      Ref dims(PyTuple_New(tensor.ndim));
      if (!dims)
        return nullptr;
      for (int32_t d = 0; d < tensor.ndim; ++d) {
        tessera_rt_size_class size = tessera_rt_classify_size(tensor.sizes[d]);
        PyObject *dim = Py_BuildValue("(LLLi)", static_cast<long long>(tensor.sizes[d]),
                                      static_cast<long long>(size.divisor),
                                      static_cast<long long>(size.bound), int(size.fixed));
        if (!dim || PyTuple_SetItem(dims.get(), d, dim) != 0)
          return nullptr;
      }
      Layout layout = layoutOf(tensor);
      item = Ref(Py_BuildValue("(iiiiO)", TESSERA_RT_TENSOR, tensor.dtype, layout.unitDim,
                               int(layout.contiguous), dims.get()));
    }
    if (!item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  return list.release();
}

} // namespace tessera::python
