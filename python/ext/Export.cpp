//===- Export.cpp - Results for libraries that read DLPack ----------------===//
//
// A result for a library that is supported through `from_dlpack` only: memory of ours with a shape
// and a type, which the library takes over. NumPy could export it, but supports neither bf16 nor
// fp8.
//
//===----------------------------------------------------------------------===//
#include "DLPack.h"
#include "Extension.h"
#include "Libraries.h"

#include <vector>

namespace tessera::python {

namespace {

/// The shared part of all exported tensors of one memory; an object, so that Python counts its
/// references.
struct ExportObject {
  PyObject_HEAD PyObject *owner;
  void *data;
  dlpack::DataType type;
  std::vector<int64_t> *sizes; // then the strides
};

/// The description in a capsule: `T` is DLPack's struct before or since version 1.
template <typename T> struct Described {
  T managed;
  PyObject *owner;

  static void release(T *managed) {
    auto *self = reinterpret_cast<Described *>(managed);
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(self->owner);
    PyGILState_Release(state);
    delete self;
  }

  /// For a capsule that was not consumed: a consumer renames it.
  static void drop(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, T::capsuleName))
      release(static_cast<T *>(PyCapsule_GetPointer(capsule, T::capsuleName)));
  }

  static PyObject *capsule(ExportObject *exported) {
    auto *self = new Described{};
    auto rank = static_cast<int32_t>(exported->sizes->size() / 2);
    int64_t *sizes = exported->sizes->data();
    self->managed.tensor = {exported->data, {dlpack::Cpu, 0}, rank, exported->type,
                            sizes,          sizes + rank,     0};
    self->managed.deleter = release;
    if constexpr (requires { self->managed.version; })
      self->managed.version = {dlpack::majorVersion, 0};
    self->owner = reinterpret_cast<PyObject *>(exported);
    Py_INCREF(self->owner);
    PyObject *made = PyCapsule_New(&self->managed, T::capsuleName, drop);
    if (!made)
      release(&self->managed);
    return made;
  }
};

} // namespace

static PyTypeObject *exportType;

static void freeExport(PyObject *object) {
  auto *self = reinterpret_cast<ExportObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  Py_XDECREF(self->owner);
  delete self->sizes;
  auto *release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(object);
  Py_DECREF(type);
}

/// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
static PyObject *toDLPack(PyObject *object, PyObject *args, PyObject *keywords) {
  static const char *names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", const_cast<char **>(names), &stream,
                                   &version, &device, &copy))
    return nullptr;
  auto *self = reinterpret_cast<ExportObject *>(object);
  long major = 0;
  if (PyTuple_Check(version) && PyTuple_Size(version) > 0)
    major = PyLong_AsLong(PyTuple_GetItem(version, 0));
  if (PyErr_Occurred())
    return nullptr;
  return major >= 1 ? Described<dlpack::ManagedTensor>::capsule(self)
                    : Described<dlpack::UnversionedTensor>::capsule(self);
}

static PyObject *deviceOf(PyObject *, PyObject *) {
  return Py_BuildValue("(ii)", static_cast<int>(dlpack::Cpu), 0);
}

/// export(owner, address, dtype, shape): dense memory that the owner keeps alive
static PyObject *exportMemory(PyObject *, PyObject *args) {
  PyObject *owner, *shape;
  unsigned long long address;
  unsigned type;
  if (!PyArg_ParseTuple(args, "OKIO!", &owner, &address, &type, &PyTuple_Type, &shape))
    return nullptr;
  if (type >= numTypes)
    return PyErr_Format(PyExc_ValueError, "there is no element type %u", type);
  auto rank = static_cast<size_t>(PyTuple_Size(shape));
  auto sizes = std::vector<int64_t>(2 * rank);
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, static_cast<Py_ssize_t>(i)));
    sizes[rank + i] = step;
    step *= sizes[i];
  }
  if (PyErr_Occurred())
    return nullptr;
  auto *allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(exportType, Py_tp_alloc));
  auto *self = reinterpret_cast<ExportObject *>(allocate(exportType, 0));
  if (!self)
    return nullptr;
  Py_INCREF(owner);
  self->owner = owner;
  self->data = reinterpret_cast<void *>(address);
  self->type = dlpackType(type);
  self->sizes = new std::vector<int64_t>(std::move(sizes));
  return reinterpret_cast<PyObject *>(self);
}

static PyMethodDef exportMethods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(toDLPack)),
     METH_VARARGS | METH_KEYWORDS, "the memory as a capsule of DLPack"},
    {"__dlpack_device__", deviceOf, METH_NOARGS, "the CPU"},
    {nullptr, nullptr, 0, nullptr}};

static PyMethodDef exportFunctions[] = {
    {"export", exportMemory, METH_VARARGS, "export(owner, address, dtype, shape)"},
    {nullptr, nullptr, 0, nullptr}};

bool addExport(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(freeExport)},
                         {Py_tp_methods, exportMethods},
                         {0, nullptr}};
  PyType_Spec spec = {"tessera._tessera.Export", sizeof(ExportObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  if (!exportType)
    exportType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return exportType && PyModule_AddFunctions(module, exportFunctions) == 0;
}

} // namespace tessera::python
