//===- Extension.h - What the parts of the extension module share ---------===//
//
// `_tessera` is written against Python's limited API, so that one build serves Python 3.11 and
// later. It is the quick half of the package: it binds the arguments of a call, finds the
// specialisation, and runs it. Whatever is rare is left to the Python half.
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

/// The exception classes of the Python half.
struct Errors {
  PyObject *tessera = nullptr;
  PyObject *argument = nullptr;
  PyObject *device = nullptr;
  PyObject *memory = nullptr;
  PyObject *range = nullptr;
};
extern Errors errors;

/// Raises the exception that belongs to a failed call of the runtime; gives null.
PyObject *raise(tessera_rt_status status);

/// Makes the types and functions of one part known to the module; false with an exception set.
bool addTable(PyObject *module);
bool addFunction(PyObject *module);
bool addCompiler(PyObject *module);
bool addLibraries(PyObject *module);
bool addExport(PyObject *module);

} // namespace tessera::python

#endif // TESSERA_PYTHON_EXTENSION_H
