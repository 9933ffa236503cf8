//===- Table.cpp - The specialisations of a function by shape class -------===//

#include "Table.h"

#include <chrono>
#include <cstring>

namespace tessera::python {

/// Below this work, releasing the GIL does not pay off.
static constexpr int64_t keepLockBelow = 20'000;

static PyTypeObject *tableType = nullptr;
static constexpr const char *moduleCapsule = "tessera_rt_module";

tessera_rt_module *moduleOf(PyObject *capsule) {
  return static_cast<tessera_rt_module *>(PyCapsule_GetPointer(capsule, moduleCapsule));
}

bool isTable(PyObject *object) { return Py_TYPE(object) == tableType; }

BoundCall::~BoundCall() {
  if (!frame)
    return;
  if (isQuick && found->isVariant) {
    auto *variant = static_cast<Variant *>(found);
    if (variant->state == Variant::Active)
      std::swap(frame, variant->kept);
  } else if (isQuick && !found->isReplaced) {
    std::swap(frame, table->kept);
    table->keptFor = found;
  }
  if (frame)
    tessera_rt_frame_release(frame);
}

/// Programs often call one function with the same shapes.
static bool bindAgain(TableObject *table, const Arguments &arguments, BoundCall &call) {
  if (!table->kept || table->keptFor->isReplaced)
    return false;
  call.frame = std::exchange(table->kept, nullptr);
  call.found = table->keptFor;
  if (tessera_rt_rebind(call.frame, arguments.values(), arguments.count()) == TESSERA_RT_OK) {
    table->last = call.found->index;
    return true;
  }
  tessera_rt_frame_release(std::exchange(call.frame, nullptr));
  return false;
}

static tessera_rt_status bindAny(TableObject *table, Arguments &arguments, unsigned missing,
                                 bool isQuick, BoundCall &call) {
  if (isQuick && bindAgain(table, arguments, call))
    return TESSERA_RT_OK;
  std::string_view key = arguments.key(missing);
  auto &entries = *table->entries;
  auto attempt = [&](Specialisation *entry) {
    if (entry->device != arguments.device() || (!entry->anyClass && entry->key != key))
      return TESSERA_RT_MISMATCH;
    call.found = entry;
    return tessera_rt_prepare(entry->function, arguments.values(), arguments.count(), &call.frame);
  };
  // Also with the same class.
  if (table->last >= 0) {
    tessera_rt_status status = attempt(entries[static_cast<size_t>(table->last)].get());
    if (status != TESSERA_RT_MISMATCH)
      return status;
  }
  for (auto &entry : entries) {
    tessera_rt_status status = attempt(entry.get());
    if (status == TESSERA_RT_MISMATCH)
      continue;
    if (status == TESSERA_RT_OK)
      table->last = entry->index;
    return status;
  }
  return TESSERA_RT_MISMATCH;
}

tessera_rt_status bind(TableObject *table, Arguments &arguments, unsigned missing, bool isQuick,
                       BoundCall &call) {
  call.table = table;
  call.isQuick = isQuick;
  if (!table->variants->empty() && bindVariant(table, arguments, missing, call))
    return TESSERA_RT_OK;
  tessera_rt_status status = bindAny(table, arguments, missing, isQuick, call);
  if (status == TESSERA_RT_OK && (call.found->observer || !table->variants->empty()))
    noteCall(table, arguments, call);
  return status;
}

static tessera_rt_status run(const BoundCall &call, void *const *results, void *stream) {
  int64_t work = tessera_rt_frame_work(call.frame);
  tessera_rt_stream on = {call.found->device, 0, stream};
  if (work >= 0 && work < keepLockBelow)
    return tessera_rt_execute_on(call.frame, results, on);
  PyThreadState *state = PyEval_SaveThread();
  tessera_rt_status status = tessera_rt_execute_on(call.frame, results, on);
  PyEval_RestoreThread(state);
  return status;
}

tessera_rt_status execute(BoundCall &call, void *const *results, void *stream) {
  Specialisation &entry = *call.found;
  if (entry.isVariant)
    static_cast<Variant &>(entry).hit();
  else
    ++entry.calls;
  bool isObserved = entry.observer && entry.observer->isTimed();
  if (!entry.isTimed() && !isObserved && !call.inTrial)
    return run(call, results, stream);
  auto start = std::chrono::steady_clock::now();
  tessera_rt_status status = run(call, results, stream);
  auto spent = static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
  if (call.inTrial)
    call.inTrial->rival = std::min(call.inTrial->rival, spent);
  if (isObserved && entry.observer)
    entry.observer->addTime(spent);
  if (!entry.isTimed())
    return status;
  bool isHot = entry.count(spent);
  call.madeHot |= entry.isVariant ? endTrial(call.table, entry) : isHot;
  return status;
}

static PyObject *newTable(PyTypeObject *type, PyObject *, PyObject *) {
  auto *self = reinterpret_cast<TableObject *>(PyType_GenericAlloc(type, 0));
  if (!self)
    return nullptr;
  self->entries = new std::vector<std::unique_ptr<Specialisation>>;
  self->replaced = new std::vector<std::unique_ptr<Specialisation>>;
  self->variants = new std::vector<std::unique_ptr<Variant>>;
  self->retired = new std::vector<std::unique_ptr<Variant>>;
  self->last = -1;
  self->kept = nullptr;
  self->keptFor = nullptr;
  return reinterpret_cast<PyObject *>(self);
}

static void freeTable(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  auto *self = reinterpret_cast<TableObject *>(object);
  if (self->kept)
    tessera_rt_frame_release(self->kept);
  delete self->entries;
  delete self->replaced;
  delete self->variants;
  delete self->retired;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/// add(module, name, index, key or None, tuple, device, hot_after) -> number of the specialisation;
/// with the nanoseconds after which it is hot, its calls are timed
static PyObject *add(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<TableObject *>(object);
  PyObject *owner, *keyObject;
  const char *name;
  Py_ssize_t index;
  int tuple, device = TESSERA_RT_DEVICE_CPU;
  long long hotAfter = -1;
  if (!PyArg_ParseTuple(args, "OsnOp|iL", &owner, &name, &index, &keyObject, &tuple, &device,
                        &hotAfter))
    return nullptr;
  tessera_rt_module *module = moduleOf(owner);
  if (!module)
    return nullptr;
  auto entry = std::make_unique<Specialisation>();
  tessera_rt_status status = tessera_rt_get_function(module, device, nullptr, name,
                                                     static_cast<size_t>(index), &entry->function);
  if (status != TESSERA_RT_OK && status != TESSERA_RT_NOT_FOUND)
    return raise(status);
  if (status == TESSERA_RT_NOT_FOUND) {
    PyErr_Format(PyExc_KeyError, "the bundle has no function '%s' number %zd", name, index);
    return nullptr;
  }
  if (keyObject == Py_None) {
    entry->anyClass = true;
  } else {
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(keyObject, &bytes, &length) != 0)
      return nullptr;
    entry->key.assign(bytes, static_cast<size_t>(length));
  }
  entry->device = device;
  entry->tuple = tuple || tessera_rt_function_result_count(entry->function) != 1;
  entry->index = static_cast<Py_ssize_t>(self->entries->size());
  entry->owner = Ref(Py_NewRef(owner));
  if (hotAfter >= 0) {
    entry->hotAfter = static_cast<uint64_t>(hotAfter);
    entry->callsToTime = Specialisation::never;
  }
  self->entries->push_back(std::move(entry));
  return PyLong_FromSsize_t(static_cast<Py_ssize_t>(self->entries->size()) - 1);
}

Specialisation *entryAt(TableObject *table, Py_ssize_t number) {
  if (number >= 0 && static_cast<size_t>(number) < table->entries->size())
    return (*table->entries)[static_cast<size_t>(number)].get();
  PyErr_SetString(PyExc_IndexError, "there is no such specialisation");
  return nullptr;
}

/// replace(number, module, name): calls run the other module from now on
static PyObject *replace(PyObject *object, PyObject *args) {
  constexpr uint64_t callsToTime = 16;
  auto *self = reinterpret_cast<TableObject *>(object);
  Py_ssize_t number;
  PyObject *owner;
  const char *name;
  if (!PyArg_ParseTuple(args, "nOs", &number, &owner, &name))
    return nullptr;
  Specialisation *old = entryAt(self, number);
  tessera_rt_module *module = old ? moduleOf(owner) : nullptr;
  if (!module)
    return nullptr;
  auto entry = std::make_unique<Specialisation>();
  if (auto status =
          tessera_rt_get_function(module, old->device, nullptr, name, 0, &entry->function))
    return raise(status);
  entry->key = old->key;
  entry->anyClass = old->anyClass;
  entry->tuple = old->tuple;
  entry->device = old->device;
  entry->index = number;
  entry->owner = Ref(Py_NewRef(owner));
  entry->callsToTime = callsToTime;
  old->isReplaced = true;
  std::swap((*self->entries)[static_cast<size_t>(number)], entry);
  self->replaced->push_back(std::move(entry));
  Py_RETURN_NONE;
}

/// figures(number) -> calls, timed calls, their nanoseconds
static PyObject *figures(PyObject *object, PyObject *number) {
  Py_ssize_t at = PyLong_AsSsize_t(number);
  if (PyErr_Occurred())
    return nullptr;
  Specialisation *entry = entryAt(reinterpret_cast<TableObject *>(object), at);
  if (!entry)
    return nullptr;
  return Py_BuildValue("KKK", static_cast<unsigned long long>(entry->calls),
                       static_cast<unsigned long long>(entry->timedCalls),
                       static_cast<unsigned long long>(entry->spent));
}

/// cool(number): a specialisation that became hot may do so again
static PyObject *cool(PyObject *object, PyObject *number) {
  Py_ssize_t at = PyLong_AsSsize_t(number);
  if (PyErr_Occurred())
    return nullptr;
  Specialisation *entry = entryAt(reinterpret_cast<TableObject *>(object), at);
  if (!entry)
    return nullptr;
  entry->isHot = false;
  Py_RETURN_NONE;
}

/// The numbers of the specialisations that are hot.
static PyObject *hot(PyObject *object, void *) {
  auto *self = reinterpret_cast<TableObject *>(object);
  Ref numbers(PyList_New(0));
  for (const auto &entry : *self->entries) {
    if (!numbers || !entry->isHot)
      continue;
    Ref number(PyLong_FromSsize_t(entry->index));
    if (!number || PyList_Append(numbers.get(), number.get()) != 0)
      return nullptr;
  }
  return numbers.release();
}

/// The numbers of the specialisations whose calls were observed.
static PyObject *ripe(PyObject *object, void *) {
  auto *self = reinterpret_cast<TableObject *>(object);
  Ref numbers(PyList_New(0));
  for (const auto &entry : *self->entries) {
    if (!numbers || !entry->observer || !entry->observer->isTold)
      continue;
    Ref number(PyLong_FromSsize_t(entry->index));
    if (!number || PyList_Append(numbers.get(), number.get()) != 0)
      return nullptr;
  }
  return numbers.release();
}

static bool read(Arguments &arguments, PyObject *specifications) {
  Py_ssize_t count = PySequence_Size(specifications);
  if (count < 0)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item(PySequence_GetItem(specifications, i));
    // The sequence keeps the item, and with it the text of a constant, alive.
    if (!item || !arguments.addSpecification(item.get()))
      return false;
  }
  return true;
}

/// run(specifications, missing, allocate, stream) -> results, or None if no specialisation fits;
/// the stream is a GPU's native handle
static PyObject *runTable(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<TableObject *>(object);
  PyObject *specifications, *allocate;
  unsigned missing;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(args, "OIO|K", &specifications, &missing, &allocate, &stream))
    return nullptr;
  Arguments arguments(lengthOf(specifications));
  if (!read(arguments, specifications))
    return nullptr;
  BoundCall call;
  tessera_rt_status status = bind(self, arguments, missing, /*isQuick=*/false, call);
  if (status == TESSERA_RT_MISMATCH)
    Py_RETURN_NONE;
  if (status != TESSERA_RT_OK)
    return raise(status);

  int32_t count = tessera_rt_function_result_count(call.found->function);
  Room<void *, fewResults> addresses(static_cast<size_t>(count));
  Ref results(PyList_New(0));
  for (int32_t i = 0; i < count && results; ++i) {
    tessera_rt_tensor tensor;
    tessera_rt_frame_result(call.frame, i, &tensor);
    Ref shape(shapeOf(tensor));
    if (!shape)
      return nullptr;
    Ref made(PyObject_CallFunction(allocate, "iiO", int(i), int(tensor.dtype), shape.get()));
    unsigned long long address;
    PyObject *item;
    if (!made || !PyArg_ParseTuple(made.get(), "KO", &address, &item) ||
        PyList_Append(results.get(), item) != 0)
      return nullptr;
    addresses[static_cast<size_t>(i)] = reinterpret_cast<void *>(address);
  }
  if (!results)
    return nullptr;
  status = execute(call, addresses.data(), reinterpret_cast<void *>(stream));
  if (status != TESSERA_RT_OK)
    return raise(status);
  return Py_BuildValue("(OO)", results.get(), call.found->tuple ? Py_True : Py_False);
}

/// last_error(): why the runtime rejected the last call of this thread
static PyObject *lastError(PyObject *, PyObject *) {
  return PyUnicode_FromString(tessera_rt_last_error());
}

/// describe(specifications, missing) -> (key, description of each argument)
static PyObject *describe(PyObject *, PyObject *args) {
  PyObject *specifications;
  unsigned missing;
  if (!PyArg_ParseTuple(args, "OI", &specifications, &missing))
    return nullptr;
  Arguments arguments(lengthOf(specifications));
  if (!read(arguments, specifications))
    return nullptr;
  std::string_view key = arguments.key(missing);
  Ref description(arguments.describe());
  if (!description)
    return nullptr;
  return Py_BuildValue("(y#O)", key.data(), static_cast<Py_ssize_t>(key.size()), description.get());
}

static PyObject *last(PyObject *object, void *) {
  return PyLong_FromSsize_t(reinterpret_cast<TableObject *>(object)->last);
}

static void releaseModule(PyObject *capsule) {
  tessera_rt_module_release(
      static_cast<tessera_rt_module *>(PyCapsule_GetPointer(capsule, moduleCapsule)));
}

PyObject *wrapModule(tessera_rt_status status, tessera_rt_module *module) {
  if (status != TESSERA_RT_OK)
    return raise(status);
  PyObject *capsule = PyCapsule_New(module, moduleCapsule, releaseModule);
  if (!capsule)
    tessera_rt_module_release(module);
  return capsule;
}

/// load(bytes) -> module
static PyObject *load(PyObject *, PyObject *args) {
  const char *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "y#", &bytes, &length))
    return nullptr;
  tessera_rt_module *module = nullptr;
  return wrapModule(tessera_rt_load(bytes, static_cast<size_t>(length), &module), module);
}

/// load_file(path) -> module
static PyObject *loadFile(PyObject *, PyObject *args) {
  PyObject *path;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
    return nullptr;
  Ref owned(path);
  tessera_rt_module *module = nullptr;
  return wrapModule(tessera_rt_load_file(PyBytes_AsString(path), &module), module);
}

/// Text of a bundle, which is untrusted.
static PyObject *decoded(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

/// functions(module) -> names, one per specialisation, and the manifest
static PyObject *functions(PyObject *, PyObject *capsule) {
  tessera_rt_module *module = moduleOf(capsule);
  if (!module)
    return nullptr;
  Ref names(PyList_New(0));
  for (size_t i = 0; names && i < tessera_rt_function_count(module); ++i) {
    Ref name(decoded(tessera_rt_function_name(tessera_rt_function_at(module, i))));
    if (!name || PyList_Append(names.get(), name.get()) != 0)
      return nullptr;
  }
  size_t length = 0;
  const char *text = tessera_rt_module_manifest(module, &length);
  Ref manifest(decoded({text, length}));
  return names && manifest ? Py_BuildValue("(OO)", names.get(), manifest.get()) : nullptr;
}

static PyMethodDef tableMethods[] = {
    {"add", add, METH_VARARGS,
     "add(module, name, index, key, tuple, device): a loaded specialisation"},
    {"replace", replace, METH_VARARGS, "replace(number, module, name): other code for a class"},
    {"figures", figures, METH_O, "figures(number): calls, timed calls, their nanoseconds"},
    {"cool", cool, METH_O, "cool(number): a specialisation may become hot again"},
    {"observe", observe, METH_VARARGS,
     "observe(number, skipped, calls, nanoseconds): sees calls that take so long; 0 ends it"},
    {"observed", observed, METH_O, "observed(number): what the calls have in common, or None"},
    {"add_variant", addVariant, METH_VARARGS,
     "add_variant(number, module, name, count, guards, is_measured, patience): code for calls"},
    {"variant", variantFigures, METH_O,
     "variant(number): state, calls, fastest nanoseconds, misses of each guard"},
    {"retire", retireVariant, METH_O, "retire(number): no call runs the variant from now on"},
    {"run", runTable, METH_VARARGS,
     "run(specifications, missing, allocate, stream): the results, or None"},
    {nullptr, nullptr, 0, nullptr}};
static PyGetSetDef tableAttributes[] = {
    {"last", last, nullptr, "number of the specialisation that ran last, or -1", nullptr},
    {"hot", hot, nullptr, "numbers of the specialisations that are hot", nullptr},
    {"ripe", ripe, nullptr, "numbers of the specialisations whose calls were observed", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMethodDef functionsOfModule[] = {
    {"describe", describe, METH_VARARGS, "describe(specifications, missing): key and classes"},
    {"last_error", lastError, METH_NOARGS, "why the runtime refused the last call"},
    {"load", load, METH_VARARGS, "load(bytes): a bundle, loaded"},
    {"load_file", loadFile, METH_VARARGS, "load_file(path): a bundle of a file, loaded"},
    {"functions", functions, METH_O, "functions(module): names and manifest of a bundle"},
    {nullptr, nullptr, 0, nullptr}};

bool addTable(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(newTable)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(freeTable)},
                         {Py_tp_methods, tableMethods},
                         {Py_tp_getset, tableAttributes},
                         {0, nullptr}};
  PyType_Spec spec = {"tessera._tessera.Table", sizeof(TableObject), 0, Py_TPFLAGS_DEFAULT, slots};
  if (!tableType) // the module may be imported anew
    tableType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return tableType && PyModule_AddType(module, tableType) == 0 &&
         PyModule_AddFunctions(module, functionsOfModule) == 0;
}

} // namespace tessera::python
