//===- Specialisation.h - Loaded code for a class of calls ----------------===//

#ifndef TESSERA_PYTHON_SPECIALISATION_H
#define TESSERA_PYTHON_SPECIALISATION_H

#include "Arguments.h"

#include <memory>
#include <vector>

namespace tessera::python {

class Observer;

/// One loaded specialisation. Those of tier 1 are timed, and get hot; so are the first calls of
/// code that replaced one.
struct Specialisation {
  static constexpr uint64_t never = UINT64_MAX;

  Specialisation();
  ~Specialisation();

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
  uint64_t fastest = never;                                       // of the timed calls
  uint64_t hotAfter = never;                                      // `spent`
  bool isHot = false, isReplaced = false, isVariant = false;
  std::unique_ptr<Observer> observer; // while calls are observed
};

} // namespace tessera::python

#endif // TESSERA_PYTHON_SPECIALISATION_H
