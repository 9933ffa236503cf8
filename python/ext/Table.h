//===- Table.h - The specialisations of a function by class ---------------===//

#ifndef TESSERA_PYTHON_TABLE_H
#define TESSERA_PYTHON_TABLE_H

#include "Arguments.h"

#include <memory>
#include <vector>

namespace tessera::python {

/// One loaded specialisation.
struct Specialisation {
  std::string key; // of its class; not looked at where `anyClass`
  bool anyClass = false;
  bool tuple = false; // whether the function returns a tuple
  int32_t device = TESSERA_RT_DEVICE_CPU;
  Py_ssize_t index = 0;
  Ref owner; // keeps the module alive
  const tessera_rt_function *function = nullptr;
};

struct TableObject {
  PyObject_HEAD std::vector<std::unique_ptr<Specialisation>> *entries;
  Py_ssize_t last; // index of the specialisation that ran last, or -1
  // The frame of the last quick call, for one that is like it; null while a call uses it.
  tessera_rt_frame *kept;
  Specialisation *keptFor;
};

inline constexpr int maxResults = 64;

/// A call that was bound. Where it was a quick one, its frame is kept for the next.
struct BoundCall {
  TableObject *table = nullptr; // kept alive by the caller
  tessera_rt_frame *frame = nullptr;
  Specialisation *found = nullptr;
  bool isQuick = false;

  BoundCall() = default;
  BoundCall(const BoundCall &) = delete;
  ~BoundCall();
};

/// Binds a call to the first specialisation that accepts it: OK with `call` filled in, MISMATCH
/// when there is none, else the error of the one that refused. `isQuick`: the arguments were read
/// here, so that two calls with the same values of the runtime are of one class.
tessera_rt_status bind(TableObject *table, Arguments &arguments, unsigned missing, bool isQuick,
                       BoundCall &call);

/// Runs a bound call, on the CPU without the interpreter's lock when there is enough to do, on a
/// GPU always without it.
tessera_rt_status execute(const BoundCall &call, void *const *results, void *stream);

/// Whether `object` is a Table.
bool isTable(PyObject *object);

} // namespace tessera::python

#endif // TESSERA_PYTHON_TABLE_H
