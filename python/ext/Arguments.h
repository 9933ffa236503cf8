//===- Arguments.h - The arguments of a call and their shape class --------===//
//
// Sizes are run-time values, but code is compiled for a shape class: 0 and 1 exactly, other sizes
// by their divisor and magnitude. Two calls whose arguments have the same key (device, types,
// ranks, classes, layouts; on a GPU whether addresses are aligned) share a specialisation. The
// table of classes is tessera_rt_classify_size only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_ARGUMENTS_H
#define TESSERA_PYTHON_ARGUMENTS_H

#include "Libraries.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::python {

/// A parameter's annotation, as far as it concerns a scalar.
enum class ParameterKind : char { Any = 'a', Tensor = 't', Int = 'i', Float = 'f', Bool = 'b' };

/// The kind of an argument that is part of the specialisation; its value is JSON text.
inline constexpr int32_t constantKind = 4;

/// An array whose length is known when it is made. Short ones need no allocation. The elements are
/// not initialised.
template <typename T, size_t N> class Room {
public:
  explicit Room(size_t count)
      : many(count > N ? new T[count] : nullptr), first(many ? many.get() : few) {}

  T &operator[](size_t i) { return first[i]; }
  const T &operator[](size_t i) const { return first[i]; }
  T *data() { return first; }
  const T *data() const { return first; }

private:
  T few[N];
  std::unique_ptr<T[]> many;
  T *first;
};

class Arguments {
public:
  /// The number of arguments for which a call allocates nothing.
  static constexpr unsigned fewArguments = 64;
  /// Sizes and strides.
  static constexpr unsigned dimensionsPerArgument = 16;

  explicit Arguments(size_t count)
      : capacity(std::max<size_t>(count, fewArguments)), entries(count), runtime(count),
        buffers(count), dimensions(count * dimensionsPerArgument) {}
  Arguments(const Arguments &) = delete;
  ~Arguments();

  enum class Outcome { Done, Unsuitable, Failed };

  /// Adds an array of a known library, or a Python number. Unsuitable: the Python code must handle
  /// it; no exception is set then. Numbers and sizes may belong to the object, which must not
  /// change while they are used.
  Outcome addObject(PyObject *object, ParameterKind parameter, bool writable = false);

  /// Adds an argument that the Python code has converted: (address, dtype, sizes, strides, device;
  /// may be omitted for the CPU), a number, or JSON text. Returns false with an exception set.
  bool addSpecification(PyObject *specification);

  /// The key of these arguments, with `missing` parameters left to their defaults.
  std::string_view key(unsigned missing);

  /// A list with one item per argument, from which a compilation request is made:
  ///   (0, dtype, unit stride dimension, contiguous, ((size, divisor, hint, fixed), …))
  ///   (1 | 2 | 3, value)   (4, JSON text)
  PyObject *describe() const;

  /// The runtime's arguments: all but the constants.
  const tessera_rt_value *values() const { return runtime.data(); }
  int32_t count() const { return static_cast<int32_t>(runtimeCount); }
  bool hasTensor() const { return tensors > 0; }
  /// The number of arguments, with constants, and the value of one; null of a constant.
  unsigned size() const { return entryCount; }
  const tessera_rt_value *at(unsigned i) const {
    return i < entryCount && entries[i].kind != constantKind ? &runtime[entries[i].value] : nullptr;
  }
  /// Whether PyTorch records operations on a tensor; known if `checksGradients` is set first.
  bool isRecorded() const { return requiresGradient && isGradEnabled(); }
  bool checksGradients = false;

  /// The device of the tensors; -1 if they are on several.
  int32_t device() const { return place; }
  /// The exchange interface of the first tensor; null if the Python code converted it.
  const ArrayType *library() const { return firstType; }

  /// The alignment of addresses on a GPU that the fastest code requires.
  static constexpr uintptr_t gpuAlignment = 16;
  bool isAligned() const { return aligned; }

private:
  struct Layout {
    int32_t unitDim;
    bool contiguous;
  };
  static Layout layoutOf(const tessera_rt_tensor &tensor);

  int64_t *reserve(int64_t ndim);
  tessera_rt_value *next(int32_t kind);
  void addTensor(const tessera_rt_tensor &tensor);
  bool addBuffer(PyObject *object, bool writable);

  struct Entry {
    int32_t kind;
    uint32_t value;            // index into `runtime`
    std::string_view constant; // of constantKind
  };
  size_t capacity;
  Room<Entry, fewArguments> entries;
  Room<tessera_rt_value, fewArguments> runtime;
  Room<Py_buffer, fewArguments> buffers;
  Room<int64_t, fewArguments * dimensionsPerArgument> dimensions;
  unsigned entryCount = 0, runtimeCount = 0, bufferCount = 0, dimensionCount = 0, tensors = 0;
  int32_t place = TESSERA_RT_DEVICE_CPU;
  bool aligned = true;
  const ArrayType *firstType = nullptr;
  bool requiresGradient = false;
  std::string keyText;
};

/// The length of a sequence; 0 for other objects.
inline size_t lengthOf(PyObject *sequence) {
  Py_ssize_t length = PySequence_Size(sequence);
  if (length < 0)
    PyErr_Clear();
  return static_cast<size_t>(std::max<Py_ssize_t>(length, 0));
}

} // namespace tessera::python

#endif // TESSERA_PYTHON_ARGUMENTS_H
