//===- Libraries.cpp - Array libraries that need no Python code -----------===//

#include "Libraries.h"

#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace tessera::python {

namespace {

constexpr int numTypes = 12;

/// Each element type: its bytes, its name in DLPack and in NumPy and PyTorch.
struct ElementType {
  int64_t bytes;
  dlpack::DataType dlpack;
  const char *numpy, *torch;
} elementTypes[numTypes] = {
    {8, {dlpack::Float, 64, 1}, "float64", "float64"},
    {4, {dlpack::Float, 32, 1}, "float32", "float32"},
    {2, {dlpack::BFloat, 16, 1}, nullptr, "bfloat16"},
    {2, {dlpack::Float, 16, 1}, "float16", "float16"},
    {8, {dlpack::Int, 64, 1}, "int64", "int64"},
    {4, {dlpack::Int, 32, 1}, "int32", "int32"},
    {2, {dlpack::Int, 16, 1}, "int16", "int16"},
    {1, {dlpack::Int, 8, 1}, "int8", "int8"},
    {1, {dlpack::UInt, 8, 1}, "uint8", "uint8"},
    {1, {dlpack::Bool, 8, 1}, "bool", "bool"},
    {1, {dlpack::Float8E4M3, 8, 1}, nullptr, "float8_e4m3fn"},
    {1, {dlpack::Float8E5M2, 8, 1}, nullptr, "float8_e5m2"},
};

/// numpy.empty or torch.empty, and what it is called with.
struct Maker {
  PyObject *empty = nullptr, *ndarray = nullptr; // the latter of NumPy
  PyObject *dtypes[numTypes] = {};
  struct Keywords {
    int32_t device, dtype;
    PyObject *dictionary;
  };
  std::vector<Keywords> keywords;
} numpyMaker, torchMaker;

} // namespace

int64_t elementBytes(int32_t dtype) { return elementTypes[dtype].bytes; }

bool hasElementType(const ArrayType &type, int32_t dtype) {
  return type.kind != ArrayType::NumPy || elementTypes[dtype].numpy;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Fills in a module's function `empty`; false, without an exception, where that cannot be had.
static bool findMaker(Maker &maker, const char *moduleName) {
  if (maker.empty)
    return true;
  PyObject *modules = PySys_GetObject("modules");
  PyObject *module = modules ? PyDict_GetItemString(modules, moduleName) : nullptr;
  if (module)
    maker.empty = PyObject_GetAttrString(module, "empty");
  if (maker.empty && &maker == &numpyMaker)
    maker.ndarray = PyObject_GetAttrString(module, "ndarray");
  for (int i = 0; maker.empty && i < numTypes; ++i) {
    const char *name = &maker == &numpyMaker ? elementTypes[i].numpy : elementTypes[i].torch;
    Ref type(name ? PyObject_GetAttrString(module, name) : nullptr);
    if (type && &maker == &numpyMaker) {
      Ref make(PyObject_GetAttrString(module, "dtype"));
      type = Ref(make ? PyObject_CallFunctionObjArgs(make.get(), type.get(), nullptr) : nullptr);
    }
    maker.dtypes[i] = type.release(); // null: a version that has no such type
    PyErr_Clear();
  }
  PyErr_Clear();
  return maker.empty;
}

static std::string attributeText(PyObject *object, const char *name) {
  Ref value(PyObject_GetAttrString(object, name));
  const char *text = value && PyUnicode_Check(value.get())
                         ? PyUnicode_AsUTF8AndSize(value.get(), nullptr)
                         : nullptr;
  std::string result = text ? text : "";
  PyErr_Clear();
  return result;
}

/// The exchange interface that a type itself declares. Subclasses may mean something else by their
/// data (a wrapper, a tensor that is traced), all but PyTorch's parameters.
static const dlpack::ExchangeApi *exchangeApiOf(PyObject *type, const std::string &module) {
  static constexpr const char *attribute = "__dlpack_c_exchange_api__";
  Ref own(PyObject_GetAttrString(type, "__dict__"));
  Ref name(PyUnicode_FromString(attribute));
  int isOwn = own && name ? PySequence_Contains(own.get(), name.get()) : 0;
  PyErr_Clear();
  bool isParameter =
      module == "torch.nn.parameter" && attributeText(type, "__name__") == "Parameter";
  if (isOwn != 1 && !isParameter)
    return nullptr;
  Ref capsule(PyObject_GetAttrString(type, attribute));
  auto *api = static_cast<const dlpack::ExchangeApi *>(
      capsule ? PyCapsule_GetPointer(capsule.get(), dlpack::capsuleName) : nullptr);
  PyErr_Clear();
  while (api && api->version.major != dlpack::majorVersion)
    api = api->previous;
  return api && api->tensorFromObject ? api : nullptr;
}

static ArrayType examine(PyTypeObject *type) {
  auto *object = reinterpret_cast<PyObject *>(type);
  ArrayType known = {type, ArrayType::None, nullptr};
  std::string module = attributeText(object, "__module__");
  std::string_view root = std::string_view(module).substr(0, module.find('.'));
  if (module == "numpy" && attributeText(object, "__name__") == "ndarray") {
    if (findMaker(numpyMaker, "numpy"))
      known.kind = ArrayType::NumPy;
  } else if ((known.api = exchangeApiOf(object, module))) {
    if (root != "torch")
      known.kind = ArrayType::Exchange;
    else if (findMaker(torchMaker, "torch"))
      known.kind = ArrayType::Torch;
  }
  return known;
}

const ArrayType *arrayTypeOf(PyObject *object) {
  static constexpr unsigned most = 32;
  static ArrayType known[most];
  static unsigned count = 0;
  static const ArrayType unknown;
  PyTypeObject *type = Py_TYPE(object);
  for (unsigned i = 0; i < count; ++i)
    if (known[i].type == type)
      return &known[i];
  if (count == most)
    return &unknown;
  ArrayType made = examine(type);
  Py_INCREF(reinterpret_cast<PyObject *>(type));
  known[count] = made;
  return &known[count++];
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static int32_t dtypeOf(dlpack::DataType type) {
  if (type.lanes == 1)
    for (int32_t i = 0; i < numTypes; ++i)
      if (elementTypes[i].dlpack.code == type.code && elementTypes[i].dlpack.bits == type.bits)
        return i;
  return -1;
}

/// Whether the tensor's numbers may stand in memory with the other sign. PyTorch has that for the
/// imaginary part of a conjugate, which is every second number of its memory.
static bool mayBeNegated(const dlpack::Tensor &tensor) {
  for (int32_t d = 0; d < tensor.ndim; ++d)
    if (tensor.strides[d] % 2)
      return false;
  return true;
}

static bool isNegated(PyObject *object) {
  static PyObject *name = PyUnicode_InternFromString("is_neg");
  Ref answer(PyObject_CallMethodObjArgs(object, name, nullptr));
  if (!answer)
    PyErr_Clear();
  return answer.get() != Py_False;
}

bool readTensor(const ArrayType &type, PyObject *object, tessera_rt_tensor &tensor) {
  dlpack::Tensor read;
  if (type.api->tensorFromObject(object, &read) != 0) {
    PyErr_Clear();
    return false;
  }
  int32_t dtype = dtypeOf(read.dtype);
  int32_t device;
  if (read.device.type == dlpack::Cpu || read.device.type == dlpack::CudaHost)
    device = TESSERA_RT_DEVICE_CPU;
  else if (read.device.type == dlpack::Cuda && read.device.id >= 0 && read.device.id <= 0xffff)
    device = TESSERA_RT_DEVICE_CUDA(read.device.id);
  else
    return false;
  auto address = reinterpret_cast<uintptr_t>(read.data) + read.byteOffset;
  if (dtype < 0)
    return false;
  if (type.kind == ArrayType::Torch && mayBeNegated(read) && isNegated(object))
    return false;
  tensor = {reinterpret_cast<void *>(address), dtype, read.ndim, read.shape, read.strides, device,
            0};
  return true;
}

bool currentStream(const ArrayType &type, int32_t device, void *&stream) {
  int32_t ordinal = device - TESSERA_RT_DEVICE_CUDA(0);
  return type.api->currentStream(dlpack::Cuda, ordinal, &stream) == 0;
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

/// Whether this machine could hold the tensor. Some systems promise any amount of memory, and end the
/// process that writes to it.
static bool fitsMemory(const tessera_rt_tensor &tensor) {
  static const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<double>(sysconf(_SC_PAGESIZE));
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

/// PyTorch's keywords dtype= and device=, made once.
static PyObject *keywordsFor(int32_t dtype, int32_t device) {
  for (const Maker::Keywords &known : torchMaker.keywords)
    if (known.dtype == dtype && known.device == device)
      return known.dictionary;
  Ref place(device == TESSERA_RT_DEVICE_CPU
                ? PyUnicode_FromString("cpu")
                : PyUnicode_FromFormat("cuda:%d", device - TESSERA_RT_DEVICE_CUDA(0)));
  Ref dictionary(PyDict_New());
  if (!place || !dictionary ||
      PyDict_SetItemString(dictionary.get(), "dtype", torchMaker.dtypes[dtype]) != 0 ||
      PyDict_SetItemString(dictionary.get(), "device", place.get()) != 0)
    return nullptr;
  torchMaker.keywords.push_back({device, dtype, dictionary.get()});
  return dictionary.release();
}

/// numpy.empty(shape, dtype) or torch.empty(shape, dtype=…, device=…).
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
    Ref arguments(PyTuple_Pack(1, shape));
    array = arguments ? PyObject_Call(maker.empty, arguments.get(), keywords) : nullptr;
  }
  // "array is too big" is NumPy's ValueError, no memory on a GPU PyTorch's RuntimeError.
  if (!array && (PyErr_ExceptionMatches(PyExc_MemoryError) ||
                 PyErr_ExceptionMatches(PyExc_ValueError) ||
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
  prototype.dtype = elementTypes[tensor.dtype].dlpack;
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

/// NumPy aligns to 16 bytes. A large array is cut from a larger one so that it begins at a cache
/// line: vectors that straddle two lines take up to a third longer to write.
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

//===----------------------------------------------------------------------===//
// For the Python half
//===----------------------------------------------------------------------===//

static const ArrayType *exchangeTypeOf(PyObject *object) {
  const ArrayType *type = arrayTypeOf(object);
  return type->api ? type : nullptr;
}

/// read_array(array) -> (address, dtype, sizes, strides, device), or None for an array that cannot be
/// read through the exchange interface
static PyObject *readArray(PyObject *, PyObject *object) {
  const ArrayType *type = exchangeTypeOf(object);
  tessera_rt_tensor tensor;
  if (!type || !readTensor(*type, object, tensor))
    Py_RETURN_NONE;
  tessera_rt_tensor steps = tensor;
  steps.sizes = tensor.strides;
  Ref sizes(shapeOf(tensor)), strides(shapeOf(steps));
  if (!sizes || !strides)
    return nullptr;
  return Py_BuildValue("(KiOOi)",
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tensor.data)),
                       tensor.dtype, sizes.get(), strides.get(), tensor.device);
}

/// make_array(like, dtype, shape, device) -> (address, array of the library of `like`)
static PyObject *makeArrayLike(PyObject *, PyObject *args) {
  PyObject *like, *shape;
  int dtype, device;
  if (!PyArg_ParseTuple(args, "OiO!i", &like, &dtype, &PyTuple_Type, &shape, &device))
    return nullptr;
  std::vector<int64_t> sizes;
  for (Py_ssize_t d = 0; d < PyTuple_Size(shape); ++d)
    sizes.push_back(PyLong_AsLongLong(PyTuple_GetItem(shape, d)));
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  const ArrayType *type = exchangeTypeOf(like);
  if (PyErr_Occurred() || !type || dtype < 0 || dtype >= numTypes)
    return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "no such array");
  tessera_rt_tensor tensor = {nullptr,        dtype,          static_cast<int32_t>(sizes.size()),
                              sizes.data(),   strides.data(), device,
                              0};
  void *address = nullptr;
  Ref array(makeArray(*type, tensor, device, &address));
  if (!array)
    return nullptr;
  return Py_BuildValue(
      "(KO)", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)), array.get());
}

/// current_stream(array, device) -> the handle of the library's current stream
static PyObject *currentStreamOf(PyObject *, PyObject *args) {
  PyObject *object;
  int device;
  if (!PyArg_ParseTuple(args, "Oi", &object, &device))
    return nullptr;
  const ArrayType *type = exchangeTypeOf(object);
  void *stream = nullptr;
  if (!type)
    return PyErr_Format(PyExc_TypeError, "no such array");
  return currentStream(*type, device, stream) ? PyLong_FromVoidPtr(stream) : nullptr;
}

static PyMethodDef libraryFunctions[] = {
    {"read_array", readArray, METH_O, "read_array(array): address, dtype, sizes, strides, device"},
    {"make_array", makeArrayLike, METH_VARARGS, "make_array(like, dtype, shape, device)"},
    {"current_stream", currentStreamOf, METH_VARARGS, "current_stream(array, device)"},
    {nullptr, nullptr, 0, nullptr}};

bool addLibraries(PyObject *module) { return PyModule_AddFunctions(module, libraryFunctions) == 0; }

} // namespace tessera::python
