//===- DType.h - The element types of programs -----------------*- C++ -*-===//
#ifndef TESSERA_SUPPORT_DTYPE_H
#define TESSERA_SUPPORT_DTYPE_H

#include "tessera_rt/dtype.h"

namespace tessera {

/// The types are the runtime's: they are part of the bundle format.
using rt::DType, rt::DTypeInfo, rt::dtypeInfo, rt::dtypeName, rt::dtypeBytes, rt::isFloat,
    rt::numDTypes;

} // namespace tessera

#endif
