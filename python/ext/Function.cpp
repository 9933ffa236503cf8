//===- Function.cpp - The quick path of a call ----------------------------===//
//
// A call with arrays of libraries that are known here and Python numbers only, whose class was seen
// before, never enters Python code. Whatever else happens (other keywords than out= and stream=,
// other libraries, a new class, a captured constant that has changed) goes to the method `_slow` of
// the Python half with the arguments as they came.
//
//===----------------------------------------------------------------------===//

#include "Results.h"

#include <cstddef>

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

PyObject *slowName = nullptr, *outName = nullptr, *streamName = nullptr;
PyObject *handleName = nullptr; // of PyTorch's streams

/// The keywords of a call that are not arguments of the function; borrowed.
struct Keywords {
  PyObject *out = nullptr, *stream = nullptr;

  /// False where there are others.
  bool read(PyObject *kwargs);
};

} // namespace

bool Keywords::read(PyObject *kwargs) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
    if (key == outName || PyUnicode_Compare(key, outName) == 0)
      out = value == Py_None ? nullptr : value;
    else if (key == streamName || PyUnicode_Compare(key, streamName) == 0)
      stream = value == Py_None ? nullptr : value;
    else
      return false;
  }
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

/// The stream that a call on a GPU goes to: the one that is given, an int or PyTorch's, else the
/// library's. Unsuitable: another library's object.
static Results::Outcome findStream(const Arguments &arguments, PyObject *given, void *&stream) {
  if (!given)
    return currentStream(*arguments.library(), arguments.device(), stream)
               ? Results::Outcome::Done
               : Results::Outcome::Failed;
  Ref handle(PyLong_Check(given) ? Py_NewRef(given) : PyObject_GetAttr(given, handleName));
  if (handle)
    stream = PyLong_AsVoidPtr(handle.get());
  if (!PyErr_Occurred())
    return Results::Outcome::Done;
  PyErr_Clear();
  return Results::Outcome::Unsuitable;
}

/// One call. Unsuitable: it must take the slow path, and nothing has happened yet.
static Results::Outcome callQuickly(FunctionObject *self, PyObject *args, const Keywords &keywords,
                                    PyObject *&result) {
  using Outcome = Results::Outcome;
  Py_ssize_t given = PyTuple_Size(args);
  Arguments arguments;
  for (Py_ssize_t i = 0; i < given; ++i) {
    auto kind = static_cast<ParameterKind>((*self->parameters)[static_cast<size_t>(i)]);
    auto outcome = arguments.addObject(PyTuple_GetItem(args, i), kind);
    if (outcome != Outcome::Done)
      return outcome;
  }
  bool isGpu = arguments.device() != TESSERA_RT_DEVICE_CPU;
  // New arrays for another stream than the library's must be made there: see arrays.py.
  if (!arguments.hasTensor() || arguments.device() < 0 ||
      (keywords.stream && (!isGpu || !keywords.out)))
    return Outcome::Unsuitable;
  void *stream = nullptr;
  if (isGpu)
    if (auto outcome = findStream(arguments, keywords.stream, stream); outcome != Outcome::Done)
      return outcome;

  // Another thread may put another table in place while this one runs.
  Ref keep(Py_NewRef(reinterpret_cast<PyObject *>(self->table)));
  BoundCall call;
  auto missing = static_cast<unsigned>(self->parameters->size() - static_cast<size_t>(given));
  tessera_rt_status status = bind(self->table, arguments, missing, /*isQuick=*/true, call);
  if (status == TESSERA_RT_MISMATCH)
    return Outcome::Unsuitable;
  if (status == TESSERA_RT_OK) {
    Results results(call, arguments);
    auto outcome = keywords.out ? results.use(keywords.out) : results.make();
    if (outcome != Outcome::Done)
      return outcome;
    status = execute(call, results.addresses(), stream);
    if (status == TESSERA_RT_OK) {
      result = results.take();
      return Outcome::Done;
    }
  }
  raise(status);
  return Outcome::Failed;
}

static PyObject *call(PyObject *object, PyObject *args, PyObject *kwargs) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  Py_ssize_t given = PyTuple_Size(args);
  Keywords keywords;
  if (!self->table || given > static_cast<Py_ssize_t>(self->parameters->size()) ||
      given < self->required || !keywords.read(kwargs) || !unchanged(*self->watches))
    return callSlow(object, args, kwargs);
  PyObject *result = nullptr;
  switch (callQuickly(self, args, keywords, result)) {
  case Results::Outcome::Done:
    return result;
  case Results::Outcome::Failed:
    return nullptr;
  case Results::Outcome::Unsuitable:
    break;
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
  outName = PyUnicode_InternFromString("out");
  streamName = PyUnicode_InternFromString("stream");
  handleName = PyUnicode_InternFromString("cuda_stream");
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
  return slowName && outName && streamName && handleName && type && PyModule_AddType(module, type) == 0;
}

} // namespace tessera::python
