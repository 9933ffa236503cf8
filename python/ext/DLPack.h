//===- DLPack.h - The C exchange interface of array libraries -------------===//
//
// The part of DLPack 1 that we use, declared here because it is an ABI and not a library. A type
// whose attribute `__dlpack_c_exchange_api__` is a capsule of an ExchangeApi lets its arrays be
// read and created without Python code, and reports its current stream.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_DLPACK_H
#define TESSERA_PYTHON_DLPACK_H

#include <cstdint>

namespace tessera::python::dlpack {

enum DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3 };

struct Device {
  int32_t type;
  int32_t id;
};

enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3 = 10, // without infinities
  Float8E5M2 = 12,
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

/// Strides count elements.
struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byteOffset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct ManagedTensor {
  static constexpr const char *capsuleName = "dltensor_versioned";
  Version version;
  void *context;
  void (*deleter)(ManagedTensor *self);
  uint64_t flags;
  Tensor tensor;
};

/// Before version 1.
struct UnversionedTensor {
  static constexpr const char *capsuleName = "dltensor";
  Tensor tensor;
  void *context;
  void (*deleter)(UnversionedTensor *self);
};

struct ExchangeApi {
  Version version;
  ExchangeApi *previous; // of an older major version
  int (*allocate)(Tensor *prototype, ManagedTensor **out, void *errorContext,
                  void (*setError)(void *errorContext, const char *kind, const char *message));
  int (*managedFromObject)(void *object, ManagedTensor **out);
  int (*objectFromManaged)(ManagedTensor *tensor, void **object); // takes ownership of the tensor
  int (*tensorFromObject)(void *object, Tensor *out);             // may be null
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

inline constexpr const char *capsuleName = "dlpack_exchange_api";
inline constexpr uint32_t majorVersion = 1;

} // namespace tessera::python::dlpack

#endif // TESSERA_PYTHON_DLPACK_H
