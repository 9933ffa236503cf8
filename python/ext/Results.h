//===- Results.h - The results of a fast call -----------------------------===//
//
// New arrays of the arguments' library, or the arrays of `out=` where they can be written to as
// they are: of the right type and shape, dense, aligned, apart from the arguments and from each
// other. Whatever else `out=` holds is left to the Python half (results.py), which copies or
// complains.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_RESULTS_H
#define TESSERA_PYTHON_RESULTS_H

#include "Table.h"

namespace tessera::python {

class Results {
public:
  using Outcome = Arguments::Outcome;

  Results(const BoundCall &call, const Arguments &arguments)
      : call(call), arguments(arguments), given(count(call)), places(count(call)) {}
  Results(const Results &) = delete;

  /// The arrays of `out=`.
  Outcome use(PyObject *out);
  /// New arrays.
  Outcome make();

  void *const *addresses() const { return places.data(); }
  /// The return value of the call: an array, or a tuple.
  PyObject *take();

private:
  static size_t count(const BoundCall &call) {
    return static_cast<size_t>(tessera_rt_function_result_count(call.found->function));
  }
  Outcome useOne(PyObject *array, int32_t index);

  const BoundCall &call;
  const Arguments &arguments;
  Arguments given; // the arrays of `out=`
  Ref single, tuple;
  Room<void *, fewResults> places;
};

} // namespace tessera::python

#endif // TESSERA_PYTHON_RESULTS_H
