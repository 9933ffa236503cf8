//===- Table.h - The specialisations of a function by shape class ---------===//

#ifndef TESSERA_PYTHON_TABLE_H
#define TESSERA_PYTHON_TABLE_H

#include "Variants.h"

namespace tessera::python {

struct TableObject {
  PyObject_HEAD std::vector<std::unique_ptr<Specialisation>> *entries;
  // Those that were replaced: a call may still run them.
  std::vector<std::unique_ptr<Specialisation>> *replaced;
  std::vector<std::unique_ptr<Variant>> *variants; // those that calls may run
  std::vector<std::unique_ptr<Variant>> *retired;
  Py_ssize_t last; // index of the specialisation that ran last, or -1
  // The frame of the last fast call, to be bound again; null while a call uses it.
  tessera_rt_frame *kept;
  Specialisation *keptFor;
};

/// The number of results for which a call allocates nothing.
inline constexpr size_t fewResults = 64;

/// A bound call. If it was a fast one, its frame is kept for the next.
struct BoundCall {
  TableObject *table = nullptr; // kept alive by the caller
  tessera_rt_frame *frame = nullptr;
  Specialisation *found = nullptr;
  Variant *inTrial = nullptr; // that the specialisation is compared with
  bool isQuick = false;
  bool madeHot = false; // its specialisation: the Python code has something to do

  BoundCall() = default;
  BoundCall(const BoundCall &) = delete;
  ~BoundCall();
};

/// Binds a call to the first specialisation that accepts it: OK with `call` filled in, MISMATCH if
/// there is none, otherwise the error of the one that rejected it. `isQuick`: the arguments were
/// read here, so that two calls with the same runtime values have one class.
tessera_rt_status bind(TableObject *table, Arguments &arguments, unsigned missing, bool isQuick,
                       BoundCall &call);

/// Binds a call to a variant that accepts it; whether there is one.
bool bindVariant(TableObject *table, Arguments &arguments, unsigned missing, BoundCall &call);

/// A specialisation will run a call that its variants did not accept: counts that, and lets its
/// observer see the call.
void noteCall(TableObject *table, const Arguments &arguments, BoundCall &call);

/// After a variant's trial: retires it if it was not faster; whether it did.
bool endTrial(TableObject *table, Specialisation &tried);

/// The specialisation of this number; null with an exception set.
Specialisation *entryAt(TableObject *table, Py_ssize_t number);

/// The module of a capsule; null with an exception set.
tessera_rt_module *moduleOf(PyObject *capsule);

/// Methods of tables that concern variants.
PyObject *observe(PyObject *table, PyObject *args);
PyObject *observed(PyObject *table, PyObject *number);
PyObject *addVariant(PyObject *table, PyObject *args);
PyObject *variantFigures(PyObject *table, PyObject *number);
PyObject *retireVariant(PyObject *table, PyObject *number);

/// Runs a bound call: on a GPU without the GIL, on the CPU without it if there is enough work.
tessera_rt_status execute(BoundCall &call, void *const *results, void *stream);

/// Whether `object` is a Table.
bool isTable(PyObject *object);

} // namespace tessera::python

#endif // TESSERA_PYTHON_TABLE_H
