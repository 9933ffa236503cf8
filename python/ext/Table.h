//===- Table.h - The specialisations of a function by shape class ---------===//

#ifndef TESSERA_PYTHON_TABLE_H
#define TESSERA_PYTHON_TABLE_H

#include "Arguments.h"

#include <memory>
#include <vector>

namespace tessera::python {

/// One loaded specialisation. Those of tier 1 are timed, and get hot; so are the first calls of
/// code that replaced one.
struct Specialisation {
  static constexpr uint64_t never = UINT64_MAX;

  /// Adds a call of this time; whether it was the call that made it hot.
  bool count(uint64_t nanoseconds);
  bool isTimed() const { return timedCalls < callsToTime; }

  std::string key; // its key; ignored if `anyClass`
  bool anyClass = false;
  bool tuple = false; // whether the function returns a tuple
  int32_t device = TESSERA_RT_DEVICE_CPU;
  Py_ssize_t index = 0;
  Ref owner; // keeps the module alive
  const tessera_rt_function *function = nullptr;
  uint64_t calls = 0, timedCalls = 0, callsToTime = 0, spent = 0; // in nanoseconds
  uint64_t hotAfter = never;                                      // `spent`
  bool isHot = false, isReplaced = false;
};

struct TableObject {
  PyObject_HEAD std::vector<std::unique_ptr<Specialisation>> *entries;
  // Those that were replaced: a call may still run them.
  std::vector<std::unique_ptr<Specialisation>> *replaced;
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
  bool isQuick = false;
  bool madeHot = false; // its specialisation

  BoundCall() = default;
  BoundCall(const BoundCall &) = delete;
  ~BoundCall();
};

/// Binds a call to the first specialisation that accepts it: OK with `call` filled in, MISMATCH if
/// there is none, otherwise the error of the one that rejected it. `isQuick`: the arguments were
/// read here, so that two calls with the same runtime values have one class.
tessera_rt_status bind(TableObject *table, Arguments &arguments, unsigned missing, bool isQuick,
                       BoundCall &call);

/// Runs a bound call: on a GPU without the GIL, on the CPU without it if there is enough work.
tessera_rt_status execute(BoundCall &call, void *const *results, void *stream);

/// Whether `object` is a Table.
bool isTable(PyObject *object);

} // namespace tessera::python

#endif // TESSERA_PYTHON_TABLE_H
