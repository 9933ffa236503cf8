//===- Function.cpp - The quick path of a call ----------------------------===//
//
// A call with NumPy arrays and Python numbers only, whose class was seen before, never enters
// Python code. Whatever else happens (keywords, other libraries, a new class, a captured constant
// that has changed) goes to the method `_slow` of the Python half with the arguments as they came.
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include <cstddef>
#include <unistd.h>

namespace tessera::python {

namespace {

/// A captured name and the object that it stood for: holder[name] of a dictionary, or holder.name.
struct Watch {
  PyObject *holder, *name, *expected;
  bool item;
};

struct FunctionObject {
  PyObject_HEAD TableObject *table;
  std::vector<Watch> *watches;
  std::string *parameters; // a ParameterKind for each
  Py_ssize_t required;     // parameters without a default
};

/// NumPy, once it has been seen in a call.
struct NumPy {
  PyTypeObject *array = nullptr;
  PyObject *empty = nullptr;
  PyObject *dtypes[10] = {};
} numpy;

PyObject *slowName = nullptr;

} // namespace

/// Fails with an exception only when NumPy is there but broken.
static bool findNumPy() {
  if (numpy.array)
    return true;
  // Arrays only exist where NumPy was imported already.
  PyObject *modules = PySys_GetObject("modules");
  PyObject *module = modules ? PyDict_GetItemString(modules, "numpy") : nullptr;
  if (!module)
    return true;
  static constexpr const char *names[10] = {"float64", "float32", nullptr, "float16", "int64",
                                            "int32",   "int16",   "int8",  "uint8",   "bool"};
  Ref makeDtype(PyObject_GetAttrString(module, "dtype"));
  Ref array(PyObject_GetAttrString(module, "ndarray"));
  numpy.empty = PyObject_GetAttrString(module, "empty");
  if (!makeDtype || !array || !numpy.empty) {
    PyErr_Clear(); // a half-imported NumPy: try again at the next call
    return true;
  }
  for (int i = 0; i < 10; ++i)
    if (names[i] && !(numpy.dtypes[i] = PyObject_CallFunction(makeDtype.get(), "s", names[i])))
      return false;
  numpy.array = reinterpret_cast<PyTypeObject *>(array.release());
  return true;
}

/// Whether all captured names still stand for the same objects.
static bool unchanged(const std::vector<Watch> &watches) {
  for (const Watch &watch : watches) {
    if (watch.item) {
      if (PyDict_GetItem(watch.holder, watch.name) != watch.expected)
        return false;
      continue;
    }
    Ref value(PyObject_GetAttr(watch.holder, watch.name));
    if (!value)
      PyErr_Clear();
    if (value.get() != watch.expected)
      return false;
  }
  return true;
}

static PyObject *callSlow(PyObject *self, PyObject *args, PyObject *kwargs) {
  Ref keywords(kwargs ? Py_NewRef(kwargs) : PyDict_New());
  if (!keywords)
    return nullptr;
  return PyObject_CallMethodObjArgs(self, slowName, args, keywords.get(), nullptr);
}

/// Whether this machine could hold the tensor. Some systems promise any amount of memory, and end the
/// process that writes to it.
static bool fitsMemory(const tessera_rt_tensor &tensor) {
  static const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<double>(sysconf(_SC_PAGESIZE));
  static constexpr double itemBytes[10] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  double bytes = itemBytes[tensor.dtype];
  for (int32_t d = 0; d < tensor.ndim; ++d)
    bytes *= static_cast<double>(tensor.sizes[d]);
  return bytes <= memory;
}

/// numpy.empty for a result, with the address of its memory.
static PyObject *allocate(const tessera_rt_tensor &tensor, void **address) {
  Ref shape(shapeOf(tensor));
  if (!shape)
    return nullptr;
  if (!fitsMemory(tensor)) {
    PyErr_Format(errors.memory, "out of memory: a result has the shape %R", shape.get());
    return nullptr;
  }
  Ref array(
      PyObject_CallFunctionObjArgs(numpy.empty, shape.get(), numpy.dtypes[tensor.dtype], nullptr));
  if (!array) {
    // NumPy says "array is too big" as a ValueError, and MemoryError where the system refuses.
    if (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
      PyErr_Clear();
      PyErr_Format(errors.memory, "out of memory: a result has the shape %R", shape.get());
    }
    return nullptr;
  }
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.get(), &buffer, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0)
    return nullptr;
  *address = buffer.buf;
  PyBuffer_Release(&buffer);
  return array.release();
}

/// The results of a bound call.
static PyObject *finish(tessera_rt_frame *frame, const Specialisation &found) {
  int32_t count = tessera_rt_function_result_count(found.function);
  void *addresses[64];
  Ref tuple;
  if (found.tuple && !(tuple = Ref(PyTuple_New(count))))
    return nullptr;
  Ref single;
  for (int32_t i = 0; i < count; ++i) {
    tessera_rt_tensor tensor;
    tessera_rt_frame_result(frame, i, &tensor);
    Ref array(allocate(tensor, &addresses[i]));
    if (!array)
      return nullptr;
    if (!found.tuple)
      single = std::move(array);
    else if (PyTuple_SetItem(tuple.get(), i, array.release()) != 0)
      return nullptr;
  }
  tessera_rt_status status = execute(frame, addresses);
  if (status != TESSERA_RT_OK)
    return raise(status);
  return found.tuple ? tuple.release() : single.release();
}

static PyObject *call(PyObject *object, PyObject *args, PyObject *kwargs) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  Py_ssize_t given = PyTuple_Size(args);
  auto parameters = static_cast<Py_ssize_t>(self->parameters->size());
  if (!self->table || (kwargs && PyDict_Size(kwargs) > 0) || given > parameters ||
      given < self->required || !unchanged(*self->watches))
    return callSlow(object, args, kwargs);
  if (!findNumPy())
    return nullptr;
  if (!numpy.array)
    return callSlow(object, args, kwargs);
  {
    Arguments arguments;
    for (Py_ssize_t i = 0; i < given; ++i) {
      auto kind = static_cast<ParameterKind>((*self->parameters)[static_cast<size_t>(i)]);
      auto outcome = arguments.addObject(PyTuple_GetItem(args, i), kind, numpy.array);
      if (outcome == Arguments::Outcome::Failed)
        return nullptr;
      if (outcome == Arguments::Outcome::Unsuitable)
        return callSlow(object, args, kwargs);
    }
    Frame frame;
    Specialisation *found = nullptr;
    tessera_rt_status status = TESSERA_RT_MISMATCH;
    if (arguments.hasTensor())
      status = bind(self->table, arguments, static_cast<unsigned>(parameters - given), &frame.frame,
                    &found);
    if (status == TESSERA_RT_OK && found->numpyOnly)
      return finish(frame.frame, *found);
    if (status != TESSERA_RT_OK && status != TESSERA_RT_MISMATCH)
      return raise(status);
  }
  return callSlow(object, args, kwargs);
}

static void clearWatches(std::vector<Watch> &watches) {
  // Released after the vector is empty: a destructor may call back into this function.
  std::vector<Watch> old;
  old.swap(watches);
  for (const Watch &watch : old) {
    Py_DECREF(watch.holder);
    Py_DECREF(watch.name);
    Py_DECREF(watch.expected);
  }
}

static PyObject *newFunction(PyTypeObject *type, PyObject *, PyObject *) {
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject *object = allocate(type, 0);
  if (!object)
    return nullptr;
  auto *self = reinterpret_cast<FunctionObject *>(object);
  self->table = nullptr;
  self->watches = new std::vector<Watch>;
  self->parameters = new std::string;
  self->required = 0;
  return object;
}

static int clear(PyObject *object) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  PyObject *table = reinterpret_cast<PyObject *>(std::exchange(self->table, nullptr));
  Py_XDECREF(table);
  if (self->watches)
    clearWatches(*self->watches);
  return 0;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(reinterpret_cast<PyObject *>(self->table));
  if (self->watches)
    for (const Watch &watch : *self->watches) {
      Py_VISIT(watch.holder);
      Py_VISIT(watch.expected);
    }
  return 0;
}

static void freeFunction(PyObject *object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  auto *self = reinterpret_cast<FunctionObject *>(object);
  delete self->watches;
  delete self->parameters;
  PyTypeObject *type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/// _configure(kinds, required): the parameters' kinds as letters
static PyObject *configure(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  const char *kinds;
  Py_ssize_t length, required;
  if (!PyArg_ParseTuple(args, "s#n", &kinds, &length, &required))
    return nullptr;
  self->parameters->assign(kinds, static_cast<size_t>(length));
  self->required = required;
  Py_RETURN_NONE;
}

/// _activate(table, watches): from now on calls use this table while the watches hold
static PyObject *activate(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  PyObject *table, *list;
  if (!PyArg_ParseTuple(args, "OO", &table, &list))
    return nullptr;
  if (!isTable(table) || !PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "expected a table and a list of watches");
    return nullptr;
  }
  std::vector<Watch> watches;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject *holder, *name, *expected;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OUO", &holder, &name, &expected)) {
      clearWatches(watches);
      return nullptr;
    }
    watches.push_back(
        {Py_NewRef(holder), Py_NewRef(name), Py_NewRef(expected), PyDict_CheckExact(holder) != 0});
  }
  watches.swap(*self->watches);
  PyObject *old = reinterpret_cast<PyObject *>(self->table);
  self->table = reinterpret_cast<TableObject *>(Py_NewRef(table));
  Py_XDECREF(old);
  clearWatches(watches);
  Py_RETURN_NONE;
}

/// _current(): whether a table is active and its watches hold
static PyObject *current(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  return PyBool_FromLong(self->table && unchanged(*self->watches));
}

static PyMethodDef functionMethods[] = {
    {"_configure", configure, METH_VARARGS, "_configure(kinds, required)"},
    {"_activate", activate, METH_VARARGS, "_activate(table, watches)"},
    {"_current", current, METH_NOARGS, "_current(): whether the active table may be used"},
    {nullptr, nullptr, 0, nullptr}};

bool addFunction(PyObject *module) {
  slowName = PyUnicode_InternFromString("_slow");
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(newFunction)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(freeFunction)},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear)},
                         {Py_tp_call, reinterpret_cast<void *>(call)},
                         {Py_tp_methods, functionMethods},
                         {0, nullptr}};
  PyType_Spec spec = {"tessera._tessera.Function", sizeof(FunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return slowName && type && PyModule_AddType(module, type) == 0;
}

} // namespace tessera::python
