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
  bool tuple = false;    // whether the function returns a tuple
  bool numpyOnly = true; // whether NumPy itself has all of its results' types
  Py_ssize_t index = 0;
  Ref owner; // keeps the module alive
  const tessera_rt_function *function = nullptr;
};

struct TableObject {
  PyObject_HEAD std::vector<std::unique_ptr<Specialisation>> *entries;
  Py_ssize_t last; // index of the specialisation that ran last, or -1
};

/// Binds a call to the first specialisation that accepts it: OK with *frame and *found set,
/// MISMATCH when there is none, else the error of the one that refused.
tessera_rt_status bind(TableObject *table, Arguments &arguments, unsigned missing,
                       tessera_rt_frame **frame, Specialisation **found);

/// Runs a bound call on the CPU, without the interpreter's lock when there is enough to do.
tessera_rt_status execute(tessera_rt_frame *frame, void *const *results);

/// Whether `object` is a Table.
bool isTable(PyObject *object);

/// A frame that is released.
struct Frame {
  tessera_rt_frame *frame = nullptr;
  ~Frame() {
    if (frame)
      tessera_rt_frame_release(frame);
  }
};

/// The shape of a result as a tuple.
PyObject *shapeOf(const tessera_rt_tensor &tensor);

} // namespace tessera::python

#endif // TESSERA_PYTHON_TABLE_H
