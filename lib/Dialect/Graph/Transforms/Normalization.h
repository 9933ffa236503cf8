//===- Normalization.h - Rows of exponentials over their sum ----*- C++ -*-===//
//
// exp(x - max(x)) / sum(exp(x - max(x))) along rows, where backward has to compute it again:
// exp(x - r) with r = max + log(sum). One number of each row then is saved instead of two, and no
// element is divided.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_NORMALIZATION_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_NORMALIZATION_H

#include "tessera/Dialect/Graph/Analysis/SavedValues.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::gir {

/// A quotient, and the maximum and the sum of its rows.
struct Normalization {
  MapOp quotient;
  ReduceOp max, sum;
};

/// The normalized rows that the forward part computes.
llvm::SmallVector<Normalization> findNormalizations(const JointFunction &joint);

/// Lets what the forward part does not use begin at x - r.
void subtractLogSums(const JointFunction &joint, llvm::ArrayRef<Normalization> those);

/// The maximum in `r` = max + log(sum), if exponents of the sum are relative to it; else null.
ReduceOp maximumOf(mlir::Value r);

} // namespace tessera::gir

#endif
