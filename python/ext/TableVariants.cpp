//===- TableVariants.cpp - Variants in a table of specialisations ---------===//

#include "Table.h"

#include <cstring>

namespace tessera::python {

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The values of the arguments that a variant's code has.
static int32_t valuesFor(const Variant &variant, const Arguments &arguments,
                         Room<tessera_rt_value, Arguments::fewArguments> &values) {
  int32_t count = 0;
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (const tessera_rt_value *value = arguments.at(i); value && !variant.dropped[i])
      values[static_cast<size_t>(count++)] = *value;
  return count;
}

/// With a frame of an earlier call, the class is that of the earlier call.
static bool bindTo(Variant &variant, TableObject *table, Arguments &arguments, unsigned missing,
                   BoundCall &call) {
  Room<tessera_rt_value, Arguments::fewArguments> values(arguments.size());
  int32_t count = valuesFor(variant, arguments, values);
  if (call.isQuick && variant.kept) {
    call.frame = std::exchange(variant.kept, nullptr);
    if (tessera_rt_rebind(call.frame, values.data(), count) == TESSERA_RT_OK)
      return true;
    tessera_rt_frame_release(std::exchange(call.frame, nullptr));
  }
  const Specialisation &general = *(*table->entries)[static_cast<size_t>(variant.index)];
  bool isOfClass = variant.device == arguments.device() && general.key == arguments.key(missing);
  if (isOfClass &&
      tessera_rt_prepare(variant.function, values.data(), count, &call.frame) == TESSERA_RT_OK)
    return true;
  variant.failed = variant.guards.size();
  return false;
}

bool bindVariant(TableObject *table, Arguments &arguments, unsigned missing, BoundCall &call) {
  for (const auto &variant : *table->variants) {
    if (variant->dropped.size() != arguments.size() || !variant->accepts(arguments))
      continue;
    if (variant->isMeasured && variant->isTimed() &&
        std::exchange(variant->isRivalNext, !variant->isRivalNext)) {
      call.inTrial = variant.get();
      return false;
    }
    if (!bindTo(*variant, table, arguments, missing, call))
      continue;
    call.found = variant.get();
    table->last = variant->index;
    return true;
  }
  return false;
}

/// Those that are not active: calls do not try them any more.
static void sweep(TableObject *table) {
  auto &variants = *table->variants;
  for (size_t i = 0; i < variants.size();)
    if (variants[i]->state == Variant::Active) {
      ++i;
    } else {
      table->retired->push_back(std::move(variants[i]));
      variants.erase(variants.begin() + static_cast<ptrdiff_t>(i));
    }
}

/// What calls have in common may be different from now on: the Python code decides what to do.
static void ripen(Specialisation &entry) {
  if (!entry.observer)
    entry.observer = std::make_unique<Observer>(0, 0, 0);
  entry.observer->isTold = true;
}

void noteCall(TableObject *table, const Arguments &arguments, BoundCall &call) {
  if (call.inTrial)
    return;
  Specialisation &entry = *call.found;
  bool isOneRetired = false;
  for (const auto &variant : *table->variants)
    if (variant->index == entry.index && variant->dropped.size() == arguments.size())
      isOneRetired |= variant->miss();
  if (isOneRetired) {
    sweep(table);
    ripen(entry);
    call.madeHot = true;
    return;
  }
  Observer *observer = entry.observer.get();
  if (!observer || !observer->isNext())
    return;
  observer->see(arguments);
  if (!observer->isDone())
    return;
  observer->copyContents(arguments);
  observer->isTold = call.madeHot = true;
}

bool endTrial(TableObject *table, Specialisation &tried) {
  auto &variant = static_cast<Variant &>(tried);
  if (!variant.isMeasured || variant.isTimed() || variant.fastest < variant.rival ||
      variant.state != Variant::Active)
    return false;
  variant.retire(Variant::Slower);
  sweep(table);
  ripen(*(*table->entries)[static_cast<size_t>(variant.index)]);
  return true;
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

static Specialisation *entryOf(PyObject *table, PyObject *number) {
  Py_ssize_t at = PyLong_AsSsize_t(number);
  return PyErr_Occurred() ? nullptr : entryAt(reinterpret_cast<TableObject *>(table), at);
}

PyObject *observe(PyObject *object, PyObject *args) {
  Py_ssize_t number;
  unsigned long long skipped, calls, nanoseconds;
  if (!PyArg_ParseTuple(args, "nKKK", &number, &skipped, &calls, &nanoseconds))
    return nullptr;
  Specialisation *entry = entryAt(reinterpret_cast<TableObject *>(object), number);
  if (!entry)
    return nullptr;
  entry->observer = calls ? std::make_unique<Observer>(skipped, calls, nanoseconds) : nullptr;
  Py_RETURN_NONE;
}

PyObject *observed(PyObject *object, PyObject *number) {
  Specialisation *entry = entryOf(object, number);
  if (!entry)
    return nullptr;
  if (!entry->observer)
    Py_RETURN_NONE;
  return entry->observer->describe();
}

/// (0, argument, dimension, size), (1, argument, kind, number), (2, argument, dtype, sizes, bytes)
static bool readGuard(PyObject *item, Guard &guard) {
  int kind;
  unsigned argument;
  PyObject *value, *bytes = nullptr;
  if (!PyArg_ParseTuple(item, "iIiO|O", &kind, &argument, &guard.type, &value, &bytes))
    return false;
  guard.kind = static_cast<Guard::Kind>(kind);
  guard.argument = argument;
  if (kind == Guard::Content) {
    char *data = nullptr;
    Py_ssize_t length = 0;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &length) != 0)
      return false;
    guard.bytes.assign(data, static_cast<size_t>(length));
    for (size_t d = 0; d < lengthOf(value); ++d) {
      Ref size(PySequence_GetItem(value, static_cast<Py_ssize_t>(d)));
      guard.sizes.push_back(size ? PyLong_AsLongLong(size.get()) : 0);
    }
  } else if (kind == Guard::Number && guard.type == TESSERA_RT_FLOAT) {
    double real = PyFloat_AsDouble(value);
    std::memcpy(&guard.value, &real, sizeof real);
  } else {
    guard.value = PyLong_AsLongLong(value);
  }
  return !PyErr_Occurred();
}

/// A number or the elements of a tensor are part of the code.
static bool readGuards(PyObject *list, Variant &variant) {
  for (size_t i = 0; i < lengthOf(list); ++i) {
    Ref item(PySequence_GetItem(list, static_cast<Py_ssize_t>(i)));
    Guard &guard = variant.guards.emplace_back();
    if (!item || !readGuard(item.get(), guard))
      return false;
    if (guard.argument >= variant.dropped.size()) {
      PyErr_SetString(PyExc_IndexError, "there is no such argument");
      return false;
    }
    if (guard.kind != Guard::Size)
      variant.dropped[guard.argument] = true;
  }
  return true;
}

PyObject *addVariant(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<TableObject *>(object);
  Py_ssize_t number;
  PyObject *owner, *guards;
  const char *name;
  unsigned count;
  unsigned long long patience;
  int isMeasured;
  if (!PyArg_ParseTuple(args, "nOsIOpK", &number, &owner, &name, &count, &guards, &isMeasured,
                        &patience))
    return nullptr;
  Specialisation *general = entryAt(self, number);
  tessera_rt_module *module = general ? moduleOf(owner) : nullptr;
  if (!module)
    return nullptr;
  auto variant = std::make_unique<Variant>();
  variant->isVariant = true;
  variant->dropped.assign(count, false);
  if (!readGuards(guards, *variant))
    return nullptr;
  if (auto status =
          tessera_rt_get_function(module, general->device, nullptr, name, 0, &variant->function))
    return raise(status);
  variant->device = general->device;
  variant->tuple = general->tuple;
  variant->index = number;
  variant->owner = Ref(Py_NewRef(owner));
  variant->callsToTime = Variant::callsOfTrial;
  variant->isMeasured = isMeasured != 0;
  variant->patience = patience;
  auto at = static_cast<Py_ssize_t>(self->variants->size() + self->retired->size());
  variant->number = at;
  self->variants->push_back(std::move(variant));
  return PyLong_FromSsize_t(at);
}

static Variant *variantAt(PyObject *object, PyObject *number) {
  auto *table = reinterpret_cast<TableObject *>(object);
  Py_ssize_t at = PyLong_AsSsize_t(number);
  for (auto *variants : {table->variants, table->retired})
    for (const auto &variant : *variants)
      if (variant->number == at && !PyErr_Occurred())
        return variant.get();
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_IndexError, "there is no such variant");
  return nullptr;
}

PyObject *variantFigures(PyObject *object, PyObject *number) {
  static constexpr const char *names[] = {"active", "missed", "slower", "dropped"};
  Variant *variant = variantAt(object, number);
  Ref misses(variant ? PyList_New(0) : nullptr);
  if (!misses)
    return nullptr;
  for (const Guard &guard : variant->guards) {
    Ref count(PyLong_FromUnsignedLongLong(guard.misses));
    if (!count || PyList_Append(misses.get(), count.get()) != 0)
      return nullptr;
  }
  return Py_BuildValue("(sKKO)", names[variant->state],
                       static_cast<unsigned long long>(variant->calls),
                       static_cast<unsigned long long>(variant->fastest), misses.get());
}

PyObject *retireVariant(PyObject *object, PyObject *number) {
  Variant *variant = variantAt(object, number);
  if (!variant)
    return nullptr;
  variant->retire(Variant::Dropped);
  sweep(reinterpret_cast<TableObject *>(object));
  Py_RETURN_NONE;
}

} // namespace tessera::python
