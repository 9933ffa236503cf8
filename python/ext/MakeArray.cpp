//===- MakeArray.cpp - New arrays for results ------------------------------===//
//
// NumPy's and PyTorch's arrays are created by their own `empty`, so that they behave like a user's:
// a PyTorch tensor belongs to its allocator, can be resized and recorded on a stream. Other
// libraries allocate through the exchange interface.
//
//===----------------------------------------------------------------------===//

#include "Libraries.h"

#include <algorithm>
#include <unistd.h>
#include <vector>

namespace tessera::python {

namespace {

/// numpy.empty or torch.empty_strided, which takes a third less time than torch.empty, and its
/// arguments.
struct Maker {
  PyObject *empty = nullptr;
  PyObject *ndarray = nullptr; // of NumPy
  PyObject *device = nullptr;  // torch.device
  PyObject *dtypes[numTypes] = {};
  struct Keywords {
    int32_t device, dtype;
    PyObject *dictionary;
  };
  std::vector<Keywords> keywords;
} numpyMaker, torchMaker;

} // namespace

/// Looks up a module's function; returns false, without an exception, if that fails.
static bool findMaker(Maker &maker, const char *moduleName) {
  if (maker.empty)
    return true;
  PyObject *modules = PySys_GetObject("modules");
  PyObject *module = modules ? PyDict_GetItemString(modules, moduleName) : nullptr;
  if (module)
    maker.empty = PyObject_GetAttrString(module, &maker == &torchMaker ? "empty_strided" : "empty");
  if (maker.empty && &maker == &numpyMaker)
    maker.ndarray = PyObject_GetAttrString(module, "ndarray");
  else if (maker.empty)
    maker.device = PyObject_GetAttrString(module, "device");
  for (int i = 0; maker.empty && i < numTypes; ++i) {
    const char *name = elementType(i).library;
    if (&maker == &torchMaker)
      maker.dtypes[i] = PyObject_GetAttrString(module, name);
    else if (isOfNumPy(i))
      maker.dtypes[i] = PyObject_CallMethod(module, "dtype", "s", name);
    PyErr_Clear(); // a version that has no such type
  }
  PyErr_Clear();
  return maker.empty;
}

bool canMakeNumPy() { return findMaker(numpyMaker, "numpy"); }
bool canMakeTorch() { return findMaker(torchMaker, "torch"); }

/// NumPy's dtype of an element type; null if its package is not imported yet.
static PyObject *numpyType(int32_t dtype) {
  PyObject *&known = numpyMaker.dtypes[dtype];
  if (known || isOfNumPy(dtype))
    return known;
  PyObject *modules = PySys_GetObject("modules");
  PyObject *package = modules ? PyDict_GetItemString(modules, "ml_dtypes") : nullptr;
  PyObject *numpy = package ? PyDict_GetItemString(modules, "numpy") : nullptr;
  Ref scalar(numpy ? PyObject_GetAttrString(package, elementType(dtype).library) : nullptr);
  if (scalar)
    known = PyObject_CallMethod(numpy, "dtype", "O", scalar.get());
  PyErr_Clear();
  return known;
}

bool hasElementType(const ArrayType &type, int32_t dtype) {
  return type.kind != ArrayType::NumPy || numpyType(dtype);
}

int32_t extensionTypeOf(PyObject *array) {
  Ref described(PyObject_GetAttrString(array, "dtype"));
  PyErr_Clear();
  for (int32_t i = 0; described && i < numTypes; ++i)
    if (!isOfNumPy(i) && numpyType(i) == described.get())
      return i;
  return -1;
}

/// Whether this machine could hold the tensor. Some systems overcommit memory, and kill the process
/// that writes to it.
static bool fitsMemory(const tessera_rt_tensor &tensor) {
  static const auto memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  auto bytes = static_cast<double>(elementBytes(tensor.dtype));
  for (int32_t d = 0; d < tensor.ndim; ++d)
    bytes *= static_cast<double>(tensor.sizes[d]);
  return bytes <= memory;
}

static PyObject *outOfMemory(PyObject *shape) {
  PyErr_Clear();
  PyErr_Format(errors.memory, "out of memory: a result has the shape %R", shape);
  return nullptr;
}

/// PyTorch's keywords dtype= and device=, created once.
static PyObject *keywordsFor(int32_t dtype, int32_t device) {
  for (const Maker::Keywords &known : torchMaker.keywords)
    if (known.dtype == dtype && known.device == device)
      return known.dictionary;
  if (!torchMaker.device) {
    PyErr_SetString(errors.tessera, "PyTorch has no class 'device'");
    return nullptr;
  }
  Ref place(device == TESSERA_RT_DEVICE_CPU
                ? PyObject_CallFunction(torchMaker.device, "s", "cpu")
                : PyObject_CallFunction(torchMaker.device, "si", "cuda",
                                        int(device - TESSERA_RT_DEVICE_CUDA(0))));
  Ref dictionary(PyDict_New());
  if (!place || !dictionary ||
      PyDict_SetItemString(dictionary.get(), "dtype", torchMaker.dtypes[dtype]) != 0 ||
      PyDict_SetItemString(dictionary.get(), "device", place.get()) != 0)
    return nullptr;
  torchMaker.keywords.push_back({device, dtype, dictionary.get()});
  return dictionary.release();
}

/// The strides of a dense tensor in elements, as PyTorch counts them.
static PyObject *stridesOf(const tessera_rt_tensor &tensor) {
  Ref strides(PyTuple_New(tensor.ndim));
  int64_t step = 1;
  for (int32_t d = tensor.ndim; strides && d-- > 0; step *= std::max<int64_t>(1, tensor.sizes[d])) {
    PyObject *stride = PyLong_FromLongLong(step);
    if (!stride || PyTuple_SetItem(strides.get(), d, stride) != 0)
      return nullptr;
  }
  return strides.release();
}

/// numpy.empty(shape, dtype) or torch.empty_strided(shape, strides, dtype=…, device=…).
static PyObject *callEmpty(Maker &maker, PyObject *shape, const tessera_rt_tensor &tensor,
                           int32_t device) {
  if (!maker.dtypes[tensor.dtype]) {
    PyErr_Format(errors.tessera, "a result has an element type that the arguments' library lacks");
    return nullptr;
  }
  PyObject *array = nullptr;
  if (&maker == &numpyMaker) {
    array = PyObject_CallFunctionObjArgs(maker.empty, shape, maker.dtypes[tensor.dtype], nullptr);
  } else if (PyObject *keywords = keywordsFor(tensor.dtype, device)) {
    Ref strides(stridesOf(tensor));
    Ref arguments(strides ? PyTuple_Pack(2, shape, strides.get()) : nullptr);
    array = arguments ? PyObject_Call(maker.empty, arguments.get(), keywords) : nullptr;
  }
  // "array is too big" is NumPy's ValueError, out of memory on a GPU is PyTorch's RuntimeError.
  if (!array &&
      (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
       PyErr_ExceptionMatches(PyExc_RuntimeError)))
    return outOfMemory(shape);
  return array;
}

/// By the library's own allocator.
static PyObject *makeManaged(const ArrayType &type, PyObject *shape,
                             const tessera_rt_tensor &tensor, int32_t device) {
  dlpack::Tensor prototype = {};
  prototype.device = {dlpack::Cpu, 0};
  if (device != TESSERA_RT_DEVICE_CPU)
    prototype.device = {dlpack::Cuda, device - TESSERA_RT_DEVICE_CUDA(0)};
  prototype.ndim = tensor.ndim;
  prototype.dtype = dlpackType(tensor.dtype);
  prototype.shape = const_cast<int64_t *>(tensor.sizes);
  prototype.strides = const_cast<int64_t *>(tensor.strides);
  dlpack::ManagedTensor *made = nullptr;
  auto ignore = [](void *, const char *, const char *) {};
  if (type.api->allocate(&prototype, &made, nullptr, ignore) != 0 || !made)
    return outOfMemory(shape);
  void *object = nullptr;
  return type.api->objectFromManaged(made, &object) == 0 ? static_cast<PyObject *>(object)
                                                         : nullptr;
}

PyObject *shapeOf(const tessera_rt_tensor &tensor) {
  Ref shape(PyTuple_New(tensor.ndim));
  for (int32_t d = 0; shape && d < tensor.ndim; ++d) {
    PyObject *size = PyLong_FromLongLong(tensor.sizes[d]);
    if (!size || PyTuple_SetItem(shape.get(), d, size) != 0)
      return nullptr;
  }
  return shape.release();
}

/// The address of a NumPy array's first element; null with an exception.
static void *addressOf(PyObject *array) {
  Py_buffer buffer;
  if (!array || PyObject_GetBuffer(array, &buffer, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0)
    return nullptr;
  void *address = buffer.buf;
  PyBuffer_Release(&buffer);
  return address;
}

/// NumPy aligns to 16 bytes. A large array is sliced from a larger one so that it starts at a cache
/// line: storing vectors that straddle two lines takes up to a third longer.
static PyObject *makeNumPy(PyObject *shape, const tessera_rt_tensor &tensor, void **address) {
  constexpr int64_t large = 1 << 16, line = 64;
  int64_t bytes = elementBytes(tensor.dtype);
  for (int32_t d = 0; d < tensor.ndim; ++d)
    bytes *= tensor.sizes[d];
  if (bytes < large || !numpyMaker.ndarray || !numpyMaker.dtypes[tensor.dtype]) {
    Ref array(callEmpty(numpyMaker, shape, tensor, TESSERA_RT_DEVICE_CPU));
    *address = addressOf(array.get());
    return *address ? array.release() : nullptr;
  }
  tessera_rt_tensor whole = {};
  int64_t size = bytes + line - 1;
  whole.dtype = TESSERA_RT_UINT8;
  whole.ndim = 1;
  whole.sizes = &size;
  Ref wholeShape(shapeOf(whole));
  Ref memory(wholeShape ? callEmpty(numpyMaker, wholeShape.get(), whole, TESSERA_RT_DEVICE_CPU)
                        : nullptr);
  void *start = addressOf(memory.get());
  if (!start) {
    PyErr_Clear();
    return outOfMemory(shape);
  }
  int64_t offset = -reinterpret_cast<intptr_t>(start) & (line - 1);
  *address = static_cast<char *>(start) + offset;
  Ref offsetNumber(PyLong_FromLongLong(offset));
  return offsetNumber ? PyObject_CallFunctionObjArgs(numpyMaker.ndarray, shape,
                                                     numpyMaker.dtypes[tensor.dtype], memory.get(),
                                                     offsetNumber.get(), nullptr)
                      : nullptr;
}

PyObject *makeArray(const ArrayType &type, const tessera_rt_tensor &tensor, int32_t device,
                    void **address) {
  Ref shape(shapeOf(tensor));
  if (!shape)
    return nullptr;
  if (device == TESSERA_RT_DEVICE_CPU && !fitsMemory(tensor))
    return outOfMemory(shape.get());
  if (type.kind == ArrayType::NumPy)
    return makeNumPy(shape.get(), tensor, address);
  Ref array(type.kind == ArrayType::Torch ? callEmpty(torchMaker, shape.get(), tensor, device)
                                          : makeManaged(type, shape.get(), tensor, device));
  tessera_rt_tensor made;
  if (!array)
    return nullptr;
  if (!readTensor(type, array.get(), made)) {
    PyErr_SetString(errors.tessera, "a result that the arguments' library made cannot be read");
    return nullptr;
  }
  *address = made.data;
  return array.release();
}

} // namespace tessera::python
