//===- Magnitude.h - Bounds that hold for all inputs -----------*- C++ -*-===//
#ifndef TESSERA_FUSION_MAGNITUDE_H
#define TESSERA_FUSION_MAGNITUDE_H

#include "tessera/Fusion/Expr.h"

namespace tessera {

/// A bound on |e| that holds for all inputs (tanh, sigmoid, products with constants …); infinity if
/// none is known.
double magnitudeBound(Expr e);

} // namespace tessera

#endif
