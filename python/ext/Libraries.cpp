//===- Libraries.cpp - Array libraries that need no Python code -----------===//

#include "Libraries.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::python {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string attributeText(PyObject *object, const char *name) {
  Ref value(PyObject_GetAttrString(object, name));
  const char *text = value && PyUnicode_Check(value.get())
                         ? PyUnicode_AsUTF8AndSize(value.get(), nullptr)
                         : nullptr;
  std::string result = text ? text : "";
  PyErr_Clear();
  return result;
}

/// The exchange interface that a type itself declares. Subclasses may interpret their data
/// differently (a wrapper, a traced tensor), except for PyTorch's parameters.
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
    if (canMakeNumPy())
      known.kind = ArrayType::NumPy;
  } else if ((known.api = exchangeApiOf(object, module))) {
    if (root != "torch")
      known.kind = ArrayType::Exchange;
    else if (canMakeTorch())
      known.kind = ArrayType::Torch;
  }
  if (known.kind == ArrayType::Torch &&
      (known.requiresGrad = PyObject_GetAttrString(object, "requires_grad"))) {
    // Without the lookup of the name, which takes a third of the time.
    void *getter = PyType_GetSlot(Py_TYPE(known.requiresGrad), Py_tp_descr_get);
    known.getRequiresGrad = reinterpret_cast<descrgetfunc>(getter);
    PyErr_Clear();
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
      if (dlpackType(i).code == type.code && dlpackType(i).bits == type.bits)
        return i;
  return -1;
}

/// Whether the tensor's numbers may be stored negated. In PyTorch this occurs for the imaginary
/// part of a conjugate, which is every second number in memory.
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

bool requiresGrad(const ArrayType &type, PyObject *tensor) {
  static PyObject *name = PyUnicode_InternFromString("requires_grad");
  Ref answer(type.getRequiresGrad ? type.getRequiresGrad(type.requiresGrad, tensor,
                                                         reinterpret_cast<PyObject *>(type.type))
                                  : PyObject_GetAttr(tensor, name));
  if (!answer)
    PyErr_Clear();
  return answer.get() == Py_True;
}

bool isGradEnabled() {
  static PyObject *function = nullptr;
  if (!function) {
    PyObject *modules = PySys_GetObject("modules");
    PyObject *torch = modules ? PyDict_GetItemString(modules, "torch") : nullptr;
    function = torch ? PyObject_GetAttrString(torch, "is_grad_enabled") : nullptr;
  }
  Ref answer(function ? PyObject_CallObject(function, nullptr) : nullptr);
  PyErr_Clear();
  return answer.get() == Py_True;
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
  tensor = {
      reinterpret_cast<void *>(address), dtype, read.ndim, read.shape, read.strides, device, 0};
  return true;
}

bool currentStream(const ArrayType &type, int32_t device, void *&stream) {
  int32_t ordinal = device - TESSERA_RT_DEVICE_CUDA(0);
  return type.api->currentStream(dlpack::Cuda, ordinal, &stream) == 0;
}

//===----------------------------------------------------------------------===//
// For the Python code
//===----------------------------------------------------------------------===//

static const ArrayType *exchangeTypeOf(PyObject *object) {
  const ArrayType *type = arrayTypeOf(object);
  return type->api ? type : nullptr;
}

/// read_array(array) -> (address, dtype, sizes, strides, device), or None for an array that cannot
/// be read through the exchange interface
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
  tessera_rt_tensor tensor = {
      nullptr, dtype, static_cast<int32_t>(sizes.size()), sizes.data(), strides.data(), device, 0};
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
