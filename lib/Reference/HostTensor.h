//===- HostTensor.h - Reading tensors in host memory -----------*- C++ -*-===//
#ifndef TESSERA_LIB_REFERENCE_HOSTTENSOR_H
#define TESSERA_LIB_REFERENCE_HOSTTENSOR_H

#include "Tensor.h"

namespace tessera::reference {

/// A contiguous copy with bounds of zero.
TensorRef readHostTensor(const HostTensor &host);

} // namespace tessera::reference

#endif
