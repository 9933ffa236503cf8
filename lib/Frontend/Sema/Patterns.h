//===- Patterns.h - Tensors that are computed from their indices -*- C++ -*-===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_PATTERNS_H
#define TESSERA_LIB_FRONTEND_SEMA_PATTERNS_H

#include "Emitter.h"

namespace tessera::sema {

/// Emits the operations that compute a tensor whose elements follow from their indices: what an
/// argument is replaced by that is known to have these elements. A mask becomes a comparison of
/// indices, whose live range streams skip.
Value emitPattern(Emitter &emit, const TensorPattern &pattern);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_PATTERNS_H
