//===- FakeArrays.cpp - An array library for tests ------------------------===//
//
// A Python module `fake_arrays` with one type, Array, that offers DLPack's C exchange interface
// like PyTorch. Its arrays claim to be on the device they are created for; their memory is the
// host's, so that GPU calls can be tested with the fake libcuda, and timed.
//
//===----------------------------------------------------------------------===//

#include "../../../python/ext/DLPack.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

using namespace tessera::python;

namespace {

struct Contents {
  dlpack::Tensor tensor = {};
  std::vector<int64_t> shape, strides;
  void *block = nullptr;
  size_t bytes = 0;

  Contents() = default;
  Contents(const Contents &) = delete;
  ~Contents() {
    if (block && isReserved())
      munmap(block, bytes);
    else
      std::free(block);
  }
  /// An allocation that is too large has only an address.
  bool isReserved() const { return bytes > 64 << 20; }
};

struct ArrayObject {
  PyObject_HEAD Contents *contents;
};

PyTypeObject *arrayType = nullptr;
void *stream = nullptr; // reported as the current one
long allocations = 0;   // made through the interface
bool failsToAllocate = false;

constexpr size_t alignment = 256; // like CUDA's allocators

/// Memory for the elements; `offset` bytes of it come before the first.
bool allocate(Contents &contents, size_t offset) {
  int64_t low = 0, high = 0, item = contents.tensor.dtype.bits / 8;
  for (size_t d = 0; d < contents.shape.size(); ++d) {
    int64_t reach = (contents.shape[d] - 1) * contents.strides[d];
    (reach < 0 ? low : high) += contents.shape[d] ? reach : 0;
  }
  contents.bytes = static_cast<size_t>((high - low + 1) * item) + offset;
  if (contents.isReserved()) {
    contents.block = mmap(nullptr, contents.bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (contents.block == MAP_FAILED)
      return false;
  } else {
    if (posix_memalign(&contents.block, alignment, contents.bytes) != 0)
      return false;
    std::memset(contents.block, 0, contents.bytes);
  }
  contents.tensor.data = static_cast<char *>(contents.block) + offset - low * item;
  contents.tensor.ndim = static_cast<int32_t>(contents.shape.size());
  contents.tensor.shape = contents.shape.data();
  contents.tensor.strides = contents.strides.data();
  return true;
}

void makeDense(Contents &contents) {
  contents.strides.resize(contents.shape.size());
  int64_t step = 1;
  for (size_t d = contents.shape.size(); d-- > 0; step *= contents.shape[d])
    contents.strides[d] = step;
}

PyObject *wrap(Contents *contents) {
  auto *made = reinterpret_cast<ArrayObject *>(PyType_GenericAlloc(arrayType, 0));
  if (made)
    made->contents = contents;
  return reinterpret_cast<PyObject *>(made);
}

//===----------------------------------------------------------------------===//
// The exchange interface
//===----------------------------------------------------------------------===//

int tensorFromObject(void *object, dlpack::Tensor *out) {
  *out = static_cast<ArrayObject *>(object)->contents->tensor;
  return 0;
}

int allocateManaged(dlpack::Tensor *prototype, dlpack::ManagedTensor **out, void *context,
                    void (*setError)(void *, const char *, const char *)) {
  auto *contents = new Contents;
  contents->tensor.device = prototype->device;
  contents->tensor.dtype = prototype->dtype;
  contents->shape.assign(prototype->shape, prototype->shape + prototype->ndim);
  makeDense(*contents);
  if (failsToAllocate || !allocate(*contents, 0)) {
    delete contents;
    setError(context, "MemoryError", "no memory");
    return -1;
  }
  ++allocations;
  *out = new dlpack::ManagedTensor{{1, 3}, contents, nullptr, 0, contents->tensor};
  return 0;
}

int objectFromManaged(dlpack::ManagedTensor *tensor, void **object) {
  *object = wrap(static_cast<Contents *>(tensor->context));
  delete tensor;
  return *object ? 0 : -1;
}

int managedFromObject(void *, dlpack::ManagedTensor **) {
  PyErr_SetString(PyExc_BufferError, "the tests need no such tensor");
  return -1;
}

int currentStream(int32_t, int32_t, void **out) {
  *out = stream;
  return 0;
}

dlpack::ExchangeApi api = {
    {1, 3},           nullptr,      allocateManaged, managedFromObject, objectFromManaged,
    tensorFromObject, currentStream};

//===----------------------------------------------------------------------===//
// The type and the module
//===----------------------------------------------------------------------===//

bool readNumbers(PyObject *tuple, std::vector<int64_t> &numbers) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i)
    numbers.push_back(PyLong_AsLongLong(PyTuple_GetItem(tuple, i)));
  return !PyErr_Occurred();
}

/// Array(shape, code, bits, device_type, device_id, strides=None, offset=0)
PyObject *newArray(PyTypeObject *, PyObject *args, PyObject *) {
  PyObject *shape, *strides = Py_None;
  int code, bits, type, id, offset = 0;
  if (!PyArg_ParseTuple(args, "O!iiii|Oi", &PyTuple_Type, &shape, &code, &bits, &type, &id,
                        &strides, &offset))
    return nullptr;
  auto *contents = new Contents;
  contents->tensor.device = {type, id};
  contents->tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  bool good = readNumbers(shape, contents->shape);
  if (strides == Py_None)
    makeDense(*contents);
  else
    good = good && readNumbers(strides, contents->strides);
  if (good && allocate(*contents, static_cast<size_t>(offset)))
    return wrap(contents);
  delete contents;
  return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
}

void freeArray(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  delete reinterpret_cast<ArrayObject *>(object)->contents;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

PyObject *address(PyObject *object, void *) {
  return PyLong_FromVoidPtr(reinterpret_cast<ArrayObject *>(object)->contents->tensor.data);
}

PyObject *shapeOf(PyObject *object, void *) {
  const auto &shape = reinterpret_cast<ArrayObject *>(object)->contents->shape;
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (size_t d = 0; d < shape.size(); ++d)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return tuple;
}

PyObject *setStream(PyObject *, PyObject *number) {
  stream = PyLong_AsVoidPtr(number);
  if (PyErr_Occurred())
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *setFailing(PyObject *, PyObject *flag) {
  failsToAllocate = PyObject_IsTrue(flag);
  Py_RETURN_NONE;
}

PyObject *countAllocations(PyObject *, PyObject *) { return PyLong_FromLong(allocations); }

PyGetSetDef attributes[] = {{"address", address, nullptr, nullptr, nullptr},
                            {"shape", shapeOf, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef functions[] = {{"set_stream", setStream, METH_O, "the current stream's handle"},
                           {"set_failing", setFailing, METH_O, "whether no memory can be had"},
                           {"allocations", countAllocations, METH_NOARGS, "arrays made so far"},
                           {nullptr, nullptr, 0, nullptr}};

} // namespace

PyMODINIT_FUNC PyInit_fake_arrays(void) {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "fake_arrays",
                                   "An array library for tests.",
                                   -1,
                                   functions,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(newArray)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(freeArray)},
                         {Py_tp_getset, attributes},
                         {0, nullptr}};
  PyType_Spec spec = {"fake_arrays.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject *module = PyModule_Create(&definition);
  arrayType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  PyObject *capsule = PyCapsule_New(&api, dlpack::capsuleName, nullptr);
  if (!module || !arrayType || !capsule ||
      PyObject_SetAttrString(reinterpret_cast<PyObject *>(arrayType), "__dlpack_c_exchange_api__",
                             capsule) != 0 ||
      PyModule_AddType(module, arrayType) != 0)
    return nullptr;
  return module;
}
