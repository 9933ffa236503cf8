//===- Libraries.h - Array libraries that need no Python code -------------===//
//
// NumPy is read through the buffer protocol; PyTorch (2.10 and later) and others through DLPack's C
// exchange interface. The properties of a type are looked up once. Arrays of other types are left
// to the Python code (arrays.py).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_LIBRARIES_H
#define TESSERA_PYTHON_LIBRARIES_H

#include "DLPack.h"
#include "Extension.h"
#include "tessera_rt/dtype.h"

namespace tessera::python {

/// How arrays of one type are read and created.
struct ArrayType {
  enum Kind { None, NumPy, Exchange, Torch };
  PyTypeObject *type = nullptr; // kept alive
  Kind kind = None;
  const dlpack::ExchangeApi *api = nullptr; // of Exchange and Torch
  PyObject *requiresGrad = nullptr;         // the descriptor of Torch, and its getter
  descrgetfunc getRequiresGrad = nullptr;
};

/// The properties of the object's type. Valid until process exit.
const ArrayType *arrayTypeOf(PyObject *object);

/// Reads an array of kind Exchange or Torch; sizes and strides belong to the object. Returns false,
/// without an exception, if the Python code must handle it.
bool readTensor(const ArrayType &type, PyObject *object, tessera_rt_tensor &tensor);

/// Whether a tensor of kind Torch requires gradients, and whether PyTorch records operations on
/// such tensors.
bool requiresGrad(const ArrayType &type, PyObject *tensor);
bool isGradEnabled();

/// The library's current stream; returns false with an exception set.
bool currentStream(const ArrayType &type, int32_t device, void *&stream);

/// Whether the module is imported and has a function that creates arrays; looked up once.
bool canMakeNumPy();
bool canMakeTorch();

/// A new dense array and the address of its memory; null with an exception set.
PyObject *makeArray(const ArrayType &type, const tessera_rt_tensor &tensor, int32_t device,
                    void **address);

/// Whether the library has arrays of this element type.
bool hasElementType(const ArrayType &type, int32_t dtype);

/// The element type of a NumPy array whose dtype another package defines (ml_dtypes), or -1.
int32_t extensionTypeOf(PyObject *array);

/// The shape of a tensor as a tuple.
PyObject *shapeOf(const tessera_rt_tensor &tensor);

/// An element type by its number, tessera_rt_dtype.
inline const rt::DTypeInfo &elementType(int32_t dtype) { return rt::dtypeInfos[dtype]; }
inline constexpr int numTypes = rt::numDTypes;
inline int64_t elementBytes(int32_t dtype) { return elementType(dtype).bytes(); }
inline dlpack::DataType dlpackType(int32_t dtype) {
  const rt::DTypeInfo &type = elementType(dtype);
  return {type.dlpackCode, uint8_t(8 * type.bytes()), 1};
}
/// Whether NumPy itself has the type; ml_dtypes has the others.
inline bool isOfNumPy(int32_t dtype) {
  uint8_t code = elementType(dtype).dlpackCode;
  return code == dlpack::Int || code == dlpack::UInt || code == dlpack::Float ||
         code == dlpack::Bool;
}

} // namespace tessera::python

#endif // TESSERA_PYTHON_LIBRARIES_H
