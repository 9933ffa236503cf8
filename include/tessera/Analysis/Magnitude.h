//===- Magnitude.h - Bounds that hold for all inputs -----------*- C++ -*-===//
#ifndef TESSERA_ANALYSIS_MAGNITUDE_H
#define TESSERA_ANALYSIS_MAGNITUDE_H

#include "tessera/Analysis/Expr.h"

namespace tessera {

/// A bound on |e| that holds for all inputs (tanh, sigmoid, products with constants …); infinity if
/// none is known.
double magnitudeBound(Expr e);

} // namespace tessera

#endif
