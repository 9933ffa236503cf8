//===- Function.cpp - The fast path of a call -----------------------------===//
//
// A call with arrays of known libraries and Python numbers only, whose shape class is compiled,
// never enters Python code. All other calls (keywords other than out= and stream=, other libraries,
// a new class, a changed captured constant) call the method `_slow` of the Python code with the
// original arguments.
//
//===----------------------------------------------------------------------===//

#include "Results.h"

#include <cstddef>
#include <structmember.h>

namespace tessera::python {

namespace {

/// A captured name and its object: holder[name] of a dictionary, or holder.name.
struct Watch {
  PyObject *holder, *name, *expected;
  bool item;
};

/// The vectorcall protocol. The limited API declares it from 3.12 on; the ABI is that of 3.9.
using VectorCall = PyObject *(*)(PyObject * object, PyObject *const *args, size_t flags,
                                 PyObject *names);
constexpr unsigned long hasVectorCall = 1ul << 11; // Py_TPFLAGS_HAVE_VECTORCALL
constexpr size_t argumentsOffset = size_t(1) << (8 * sizeof(size_t) - 1); // of `flags`

struct FunctionObject {
  PyObject_HEAD VectorCall entry;
  TableObject *table;
  std::vector<Watch> *watches;
  std::string *parameters; // a ParameterKind for each
  size_t required;         // parameters without a default
  bool isRecordable;       // whether `_slow` makes calls that PyTorch records
};

PyObject *slowName = nullptr, *heatName = nullptr, *outName = nullptr, *streamName = nullptr;
PyObject *handleName = nullptr; // of PyTorch's streams

/// The keywords of a call that are not arguments of the function; borrowed.
struct Keywords {
  PyObject *out = nullptr, *stream = nullptr;

  /// Returns false if it is another keyword.
  bool add(PyObject *name, PyObject *value);
};

/// Tells the Python code that a specialisation is hot: it may start to compile. The call itself is
/// done: an interrupt is raised after it.
static void tellHot(FunctionObject *self) {
  auto *object = reinterpret_cast<PyObject *>(self);
  Ref done(PyObject_CallMethodObjArgs(object, heatName, nullptr));
  if (done)
    return;
  if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
    return PyErr_WriteUnraisable(object);
  PyErr_Clear();
  PyErr_SetInterrupt();
}

/// The arguments of a call by position.
struct Positional {
  PyObject *const *args;
  size_t count;
};

} // namespace

bool Keywords::add(PyObject *name, PyObject *value) {
  if (value == Py_None)
    value = nullptr;
  if (name == outName || PyUnicode_Compare(name, outName) == 0)
    out = value;
  else if (name == streamName || PyUnicode_Compare(name, streamName) == 0)
    stream = value;
  else
    return false;
  return true;
}

/// Whether all captured names still refer to the same objects.
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

/// Removes our own frame from the traceback of an error that was placed in the user's source
/// (errors.py).
static void showUsersFrames() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref mark(PyObject_GetAttrString(value, "_placed"));
  Ref next(mark && traceback ? PyObject_GetAttrString(traceback, "tb_next") : nullptr);
  bool placed = next && PyObject_IsTrue(mark.get()) == 1;
  PyErr_Clear();
  if (placed) {
    Py_DECREF(traceback);
    traceback = next.get() == Py_None ? nullptr : next.release();
    PyException_SetTraceback(value, traceback ? traceback : Py_None);
  }
  PyErr_Restore(type, value, traceback);
}

static PyObject *callSlow(PyObject *self, PyObject *args, PyObject *kwargs) {
  Ref keywords(kwargs ? Py_NewRef(kwargs) : PyDict_New());
  if (!keywords)
    return nullptr;
  PyObject *result = PyObject_CallMethodObjArgs(self, slowName, args, keywords.get(), nullptr);
  if (!result)
    showUsersFrames();
  return result;
}

/// The stream of a call on a GPU: the given one, an int or PyTorch's, otherwise the library's
/// current stream. Unsuitable: another library's object.
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
static Results::Outcome callQuickly(FunctionObject *self, Positional given,
                                    const Keywords &keywords, PyObject *&result) {
  using Outcome = Results::Outcome;
  if (!self->table || given.count > self->parameters->size() || given.count < self->required ||
      !unchanged(*self->watches))
    return Outcome::Unsuitable;
  Arguments arguments(given.count);
  arguments.checksGradients = self->isRecordable && !keywords.out;
  for (size_t i = 0; i < given.count; ++i) {
    auto outcome =
        arguments.addObject(given.args[i], static_cast<ParameterKind>((*self->parameters)[i]));
    if (outcome != Outcome::Done)
      return outcome;
  }
  if (arguments.isRecorded())
    return Outcome::Unsuitable;
  bool isGpu = arguments.device() != TESSERA_RT_DEVICE_CPU;
  // New arrays for a stream other than the library's must be allocated there: see arrays.py.
  if (!arguments.hasTensor() || arguments.device() < 0 ||
      (keywords.stream && (!isGpu || !keywords.out)))
    return Outcome::Unsuitable;
  void *stream = nullptr;
  if (isGpu)
    if (auto outcome = findStream(arguments, keywords.stream, stream); outcome != Outcome::Done)
      return outcome;

  // Another thread may replace the table while this one runs.
  Ref keep(Py_NewRef(reinterpret_cast<PyObject *>(self->table)));
  BoundCall call;
  auto missing = static_cast<unsigned>(self->parameters->size() - given.count);
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
      if (call.madeHot)
        tellHot(self);
      return Outcome::Done;
    }
  }
  raise(status);
  return Outcome::Failed;
}

/// With a tuple and a dictionary.
static PyObject *call(PyObject *object, PyObject *args, PyObject *kwargs) {
  PyObject *name, *value, *result = nullptr;
  auto count = static_cast<size_t>(PyTuple_Size(args));
  Room<PyObject *, Arguments::fewArguments> items(count);
  Keywords keywords;
  bool isQuick = true;
  for (size_t i = 0; i < count; ++i)
    items[i] = PyTuple_GetItem(args, static_cast<Py_ssize_t>(i));
  for (Py_ssize_t at = 0; isQuick && kwargs && PyDict_Next(kwargs, &at, &name, &value);)
    isQuick = keywords.add(name, value);
  auto outcome = Results::Outcome::Unsuitable;
  if (isQuick)
    outcome = callQuickly(reinterpret_cast<FunctionObject *>(object), {items.data(), count},
                          keywords, result);
  return outcome == Results::Outcome::Unsuitable ? callSlow(object, args, kwargs) : result;
}

/// The values of keywords follow the positional ones.
static PyObject *callVector(PyObject *object, PyObject *const *args, size_t flags,
                            PyObject *names) {
  Positional given = {args, flags & ~argumentsOffset};
  PyObject *result = nullptr;
  Keywords keywords;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  bool isQuick = true;
  for (Py_ssize_t i = 0; isQuick && i < named; ++i)
    isQuick = keywords.add(PyTuple_GetItem(names, i), args[given.count + static_cast<size_t>(i)]);
  if (isQuick) {
    auto outcome = callQuickly(reinterpret_cast<FunctionObject *>(object), given, keywords, result);
    if (outcome != Results::Outcome::Unsuitable)
      return result;
  }
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(given.count))), dictionary(PyDict_New());
  if (!tuple || !dictionary)
    return nullptr;
  for (size_t i = 0; i < given.count; ++i)
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(dictionary.get(), PyTuple_GetItem(names, i),
                       args[given.count + static_cast<size_t>(i)]) != 0)
      return nullptr;
  return callSlow(object, tuple.get(), dictionary.get());
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
  self->entry = callVector;
  self->table = nullptr;
  self->watches = new std::vector<Watch>;
  self->parameters = new std::string;
  self->required = 0;
  self->isRecordable = false;
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

/// _configure(kinds, required, recordable=False): the parameters' kinds as letters
static PyObject *configure(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<FunctionObject *>(object);
  const char *kinds;
  Py_ssize_t length, required;
  int isRecordable = 0;
  if (!PyArg_ParseTuple(args, "s#n|p", &kinds, &length, &required, &isRecordable))
    return nullptr;
  self->isRecordable = isRecordable != 0;
  self->parameters->assign(kinds, static_cast<size_t>(length));
  self->required = static_cast<size_t>(required);
  Py_RETURN_NONE;
}

/// _activate(table, watches): calls use this table from now on while the watches hold
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
    {"_configure", configure, METH_VARARGS, "_configure(kinds, required, recordable=False)"},
    {"_activate", activate, METH_VARARGS, "_activate(table, watches)"},
    {"_current", current, METH_NOARGS, "_current(): whether the active table may be used"},
    {nullptr, nullptr, 0, nullptr}};

bool addFunction(PyObject *module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, entry), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  slowName = PyUnicode_InternFromString("_slow");
  heatName = PyUnicode_InternFromString("_heated");
  outName = PyUnicode_InternFromString("out");
  streamName = PyUnicode_InternFromString("stream");
  handleName = PyUnicode_InternFromString("cuda_stream");
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(newFunction)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(freeFunction)},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear)},
                         {Py_tp_call, reinterpret_cast<void *>(call)},
                         {Py_tp_methods, functionMethods},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec = {"tessera._tessera.Function", sizeof(FunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | hasVectorCall,
                      slots};
  // The module may be imported again: existing functions stay valid.
  static auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return slowName && heatName && outName && streamName && handleName && type &&
         PyModule_AddType(module, type) == 0;
}

} // namespace tessera::python
