//===- Extension.h - Common parts of the extension module -----------------===//
//
// `_tessera` uses Python's limited API, so that one build works with Python 3.11 and later. It
// implements the fast path of calls: it binds the arguments, finds the specialisation, and runs it.
// Rare cases are left to the Python code.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_EXTENSION_H
#define TESSERA_PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tessera_rt.h"

#include <utility>

namespace tessera::python {

/// An owned reference.
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject *owned) : object(owned) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref &operator=(Ref &&other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  Ref(const Ref &) = delete;
  ~Ref() { Py_XDECREF(object); }

  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  PyObject *object = nullptr;
};

/// The exception classes of the Python code.
struct Errors {
  PyObject *tessera = nullptr;
  PyObject *argument = nullptr;
  PyObject *device = nullptr;
  PyObject *memory = nullptr;
  PyObject *range = nullptr;
};
extern Errors errors;

/// Raises the exception for a failed call of the runtime; returns null.
PyObject *raise(tessera_rt_status status);

/// The Python object of a loaded module, which it owns; null with an exception set.
PyObject *wrapModule(tessera_rt_status status, tessera_rt_module *module);

/// Adds the types and functions of one part to the module; returns false with an exception set.
bool addTable(PyObject *module);
bool addFunction(PyObject *module);
bool addCompiler(PyObject *module);
bool addLibraries(PyObject *module);
bool addExport(PyObject *module);
bool addCache(PyObject *module);
bool addPeak(PyObject *module);

} // namespace tessera::python

#endif // TESSERA_PYTHON_EXTENSION_H
